// Several numbers side by side, which the processor handles at once.
//
// The compiler finds such work in long loops by itself, not in sums or largest values of a few numbers, which have to
// stay in registers. Vectors are no longer than a register: longer ones go through memory with some compilers.
#pragma once

#include "kernels.hpp"

namespace saltmine::SALTMINE_CPU {

// Bytes of a register; the longest ones are worth it in long loops only.
#if defined(__AVX512F__)
constexpr Int REGISTER = 32, LONG_REGISTER = 64;
#elif defined(__AVX__)
constexpr Int REGISTER = 32, LONG_REGISTER = 32;
#else
constexpr Int REGISTER = 16, LONG_REGISTER = 16;
#endif

template <class T>
constexpr Int LANES = REGISTER / static_cast<Int>(sizeof(T));

template <class T, Int N>
struct LanesOf {
    typedef T type __attribute__((vector_size(N * sizeof(T))));
    // Numbers may begin anywhere in memory.
    typedef T in_memory __attribute__((vector_size(N * sizeof(T)), aligned(alignof(T))));
};
template <class T, Int N = LANES<T>>
using Lanes = typename LanesOf<T, N>::type;

template <Int N, class T>
Lanes<T, N> load(const T* from) {
    return *reinterpret_cast<const typename LanesOf<T, N>::in_memory*>(from);
}
template <class T>
Lanes<T> load(const T* from) {
    return load<LANES<T>>(from);
}

template <Int N, class T>
void store(const Lanes<T, N>& lanes, T* to) {
    *reinterpret_cast<typename LanesOf<T, N>::in_memory*>(to) = lanes;
}
template <class T>
void store(const Lanes<T>& lanes, T* to) {
    store<LANES<T>>(lanes, to);
}

}  // namespace saltmine::SALTMINE_CPU
