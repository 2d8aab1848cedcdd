// Which loops the processor can run.
#include <cstring>
#include <utility>

#include "kernels.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace saltmine {

const Kernels* kernels = nullptr;

#if defined(__x86_64__)
extern const Kernels kernels_v2, kernels_v3, kernels_v4;

namespace {

// Bits of cpuid, and of the registers that the system saves. Not every compiler has __builtin_cpu_supports.
struct Features {
    unsigned leaf1_c = 0, leaf7_b = 0, leaf7_c = 0, extended_c = 0, saved = 0;

    bool have(const Features& all) const {
        return (leaf1_c & all.leaf1_c) == all.leaf1_c && (leaf7_b & all.leaf7_b) == all.leaf7_b &&
               (leaf7_c & all.leaf7_c) == all.leaf7_c && (extended_c & all.extended_c) == all.extended_c &&
               (saved & all.saved) == all.saved;
    }
};

// SSE4.2, POPCNT and what they imply; FMA, MOVBE, AVX2, F16C, BMI, LZCNT; AVX-512 F, DQ, CD, BW, VL, VPOPCNTDQ.
constexpr Features V2{1u << 9 | 1u << 19 | 1u << 20 | 1u << 23, 0, 0, 0, 0};
constexpr Features V3{V2.leaf1_c | 1u << 12 | 1u << 22 | 1u << 28 | 1u << 29, 1u << 3 | 1u << 5 | 1u << 8, 0, 1u << 5, 0x6};
constexpr Features V4{V3.leaf1_c, V3.leaf7_b | 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31, 1u << 14,
                      V3.extended_c, 0xe6};

Features of_processor() {
    Features found;
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) found.leaf1_c = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) found.leaf7_b = b, found.leaf7_c = c;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d)) found.extended_c = c;
    if (found.leaf1_c >> 27 & 1) __asm__("xgetbv" : "=a"(found.saved), "=d"(d) : "c"(0));
    return found;
}

}  // namespace

const char* choose_kernels(const char* name) {
    const Features found = of_processor();
    const std::pair<const Kernels*, Features> all[] = {{&kernels_v4, V4}, {&kernels_v3, V3}, {&kernels_v2, V2}};
    const bool any = name == nullptr || *name == '\0';
    for (const auto& [loops, needed] : all) {
        if (!any && std::strcmp(name, loops->name) != 0) continue;
        if (found.have(needed)) {
            kernels = loops;
            return nullptr;
        }
        if (!any) return "This processor lacks what SALTMINE_CPU asks for; unset it to use what there is.";
    }
    if (!any) return "SALTMINE_CPU must be v2, v3 or v4; unset it to use what this processor has.";
    return "saltmine needs a processor with SSE4.2 and POPCNT (x86-64-v2, made since about 2009).";
}

#else

extern const Kernels kernels_baseline;
// Other processors have one kind: on ARM of 64 bits that is NEON, which all of them have.
const char* choose_kernels(const char*) {
    kernels = &kernels_baseline;
    return nullptr;
}

#endif

}  // namespace saltmine
