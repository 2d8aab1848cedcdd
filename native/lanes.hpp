// Several numbers side by side, which the processor handles at once.
//
// The compiler finds such work in long loops by itself, not in sums or largest values of a few numbers, which have to
// stay in registers. Where registers are shorter it uses several.
#pragma once

#include <cstring>

#include "bind.hpp"

namespace saltmine {

constexpr Int N_LANES = 8;

template <class T>
struct LanesOf {
    typedef T type __attribute__((vector_size(N_LANES * sizeof(T))));
};
template <class T>
using Lanes = typename LanesOf<T>::type;

// Numbers may begin anywhere in memory.
template <class T>
Lanes<T> load(const T* from) {
    Lanes<T> lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

template <class T>
void store(const Lanes<T>& lanes, T* to) {
    std::memcpy(to, &lanes, sizeof lanes);
}

}  // namespace saltmine
