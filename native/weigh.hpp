// What a pattern saves in the 64 rows of a word.
#pragma once

#include "bits.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace saltmine {

// Sums for the rows of one word; cells that are ones add to them, zeros subtract.
class RowSums64 {
public:
#if defined(__AVX512F__)
    void add(Word ones, Word zeros, double worth) {
        const __m512d value = _mm512_set1_pd(worth);
        for (int k = 0; k < 8; ++k) {
            sums_[k] = _mm512_mask_add_pd(sums_[k], static_cast<__mmask8>(ones >> (8 * k)), sums_[k], value);
            sums_[k] = _mm512_mask_sub_pd(sums_[k], static_cast<__mmask8>(zeros >> (8 * k)), sums_[k], value);
        }
    }
    Word above(double price) const {
        const __m512d value = _mm512_set1_pd(price);
        Word rows = 0;
        for (int k = 0; k < 8; ++k) {
            rows |= static_cast<Word>(_mm512_cmp_pd_mask(sums_[k], value, _CMP_GT_OQ)) << (8 * k);
        }
        return rows;
    }
    void store(double* to) const {
        for (int k = 0; k < 8; ++k) _mm512_storeu_pd(to + 8 * k, sums_[k]);
    }

private:
    __m512d sums_[8] = {_mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd(),
                        _mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd()};
#else
    void add(Word ones, Word zeros, double worth) {
        // No branches, so that the compiler can take several rows at a time.
        for (int b = 0; b < 64; ++b) {
            int sign = static_cast<int>((ones >> b) & 1) - static_cast<int>((zeros >> b) & 1);
            sums_[b] += worth * sign;
        }
    }
    Word above(double price) const {
        Word rows = 0;
        for (int b = 0; b < 64; ++b) rows |= static_cast<Word>(sums_[b] > price) << b;
        return rows;
    }
    void store(double* to) const { std::memcpy(to, sums_, sizeof sums_); }

private:
    double sums_[64] = {};
#endif
};

}  // namespace saltmine
