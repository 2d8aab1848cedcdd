// Several numbers side by side, which the processor handles at once.
//
// The compiler finds such work in long loops by itself, not in sums or largest values of a few numbers, which have to
// stay in registers. Where registers are shorter it uses several.
#pragma once

#include "bind.hpp"

namespace saltmine {

constexpr Int N_LANES = 8;

template <class T, Int N>
struct LanesOf {
    typedef T type __attribute__((vector_size(N * sizeof(T))));
    // Numbers may begin anywhere in memory.
    typedef T in_memory __attribute__((vector_size(N * sizeof(T)), aligned(alignof(T))));
};
template <class T, Int N = N_LANES>
using Lanes = typename LanesOf<T, N>::type;

template <Int N = N_LANES, class T>
Lanes<T, N> load(const T* from) {
    return *reinterpret_cast<const typename LanesOf<T, N>::in_memory*>(from);
}

template <Int N = N_LANES, class T>
void store(const Lanes<T, N>& lanes, T* to) {
    *reinterpret_cast<typename LanesOf<T, N>::in_memory*>(to) = lanes;
}

}  // namespace saltmine
