// What Python needs of the library itself.
#include "bind.hpp"

namespace saltmine {
Interpreter interpreter;
}

SALTMINE_VISIBLE void saltmine_set_interpreter(const saltmine::Interpreter* interpreter) noexcept {
    saltmine::interpreter = *interpreter;
}

SALTMINE_VISIBLE const char* saltmine_failure() noexcept { return saltmine::failure.c_str(); }

SALTMINE_VISIBLE void saltmine_free(void* address) noexcept { ::operator delete(address); }

// Names of what the processor must have and lacks; nothing if all is there.
SALTMINE_VISIBLE const char* saltmine_missing() noexcept {
#if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))
    __builtin_cpu_init();
#if defined(__AVX512VPOPCNTDQ__)
    if (!__builtin_cpu_supports("avx512vpopcntdq")) return "AVX-512 VPOPCNTDQ";
#endif
#if defined(__AVX512F__)
    if (!__builtin_cpu_supports("avx512f")) return "AVX-512";
#endif
#if defined(__AVX2__)
    if (!__builtin_cpu_supports("avx2")) return "AVX2";
#endif
#if defined(__POPCNT__)
    if (!__builtin_cpu_supports("popcnt")) return "POPCNT";
#endif
#endif
    return "";
}
