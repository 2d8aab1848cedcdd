// What Python needs of the library itself.
#include "bind.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace saltmine {
Interpreter interpreter;
}

SALTMINE_VISIBLE void saltmine_set_interpreter(const saltmine::Interpreter* interpreter) noexcept {
    saltmine::interpreter = *interpreter;
}

SALTMINE_VISIBLE const char* saltmine_failure() noexcept { return saltmine::failure.c_str(); }

SALTMINE_VISIBLE void saltmine_free(void* address) noexcept { ::operator delete(address); }

#if defined(__x86_64__) || defined(__i386__)

namespace {

// Bits of leaf 1 (ecx) and of leaf 7 (ebx, ecx) of the instruction cpuid.
constexpr unsigned POPCNT = 1u << 23, OSXSAVE = 1u << 27;
constexpr unsigned AVX2 = 1u << 5, AVX512F = 1u << 16;
constexpr unsigned VPOPCNTDQ = 1u << 14;
// Registers that the system saves: those of AVX, and those of AVX-512 besides.
constexpr unsigned SAVES_AVX = 0x6, SAVES_AVX512 = 0xe6;

struct Processor {
    unsigned leaf1_ecx = 0, leaf7_ebx = 0, leaf7_ecx = 0, saved = 0;

    // By hand, since not every compiler's runtime has __builtin_cpu_supports.
    Processor() {
        unsigned eax, ebx, ecx, edx;
        if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) leaf1_ecx = ecx;
        if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) leaf7_ebx = ebx, leaf7_ecx = ecx;
        if (leaf1_ecx & OSXSAVE) __asm__("xgetbv" : "=a"(saved), "=d"(edx) : "c"(0));
    }
    bool saves(unsigned registers) const { return (saved & registers) == registers; }
};

}  // namespace

#endif

// The name of what the library was built for and the processor lacks; nothing if all is there.
SALTMINE_VISIBLE const char* saltmine_missing() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    [[maybe_unused]] const Processor processor;
#if defined(__AVX512VPOPCNTDQ__)
    if (!(processor.leaf7_ecx & VPOPCNTDQ)) return "AVX-512 VPOPCNTDQ";
#endif
#if defined(__AVX512F__)
    if (!(processor.leaf7_ebx & AVX512F) || !processor.saves(SAVES_AVX512)) return "AVX-512";
#endif
#if defined(__AVX2__)
    if (!(processor.leaf7_ebx & AVX2) || !processor.saves(SAVES_AVX)) return "AVX2";
#endif
#if defined(__POPCNT__)
    if (!(processor.leaf1_ecx & POPCNT)) return "POPCNT";
#endif
#endif
    return "";
}
