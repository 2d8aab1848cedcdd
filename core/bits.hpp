// Words of 64 rows.
#pragma once

#include "views.hpp"

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace saltmine {

inline Int count_ones(Word word) {
#if defined(_MSC_VER)
    return static_cast<Int>(__popcnt64(word));
#else
    return __builtin_popcountll(word);
#endif
}

// The place of the lowest one of a word that is not zero.
inline Int lowest_one(Word word) {
#if defined(_MSC_VER)
    unsigned long place;
    _BitScanForward64(&place, word);
    return static_cast<Int>(place);
#else
    return __builtin_ctzll(word);
#endif
}

inline bool has_bit(Word word, Int place) { return (word >> place) & 1; }

}  // namespace saltmine
