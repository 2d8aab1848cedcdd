// Counts of bits, and the largest of some numbers.
#pragma once

#include "lanes.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace saltmine::SALTMINE_CPU {

static Int count_bits(Word word) { return __builtin_popcountll(word); }

// Call count(w) for the words from begin to end; returns the sums of what it gives, times the weights of the words.
struct TwoSums {
    Int first = 0, second = 0;
};
template <class Count>
TwoSums weighted_sums(const Int* weights, Int begin, Int end, Count count) {
    TwoSums sums;
#if defined(__AVX512VPOPCNTDQ__)
    // Several words at a time.
    for (Int w = begin; w < end; ++w) {
        const TwoSums here = count(w);
        sums.first += weights[w] * here.first;
        sums.second += weights[w] * here.second;
    }
#else
    // Words of the same weight stand together: multiplying takes longer than counting.
    for (Int w = begin; w < end;) {
        const Int weight = weights[w];
        TwoSums same;
        for (; w < end && weights[w] == weight; ++w) {
            const TwoSums here = count(w);
            same.first += here.first;
            same.second += here.second;
        }
        sums.first += weight * same.first;
        sums.second += weight * same.second;
    }
#endif
    return sums;
}

#if defined(__AVX2__) && !defined(__AVX512VPOPCNTDQ__)

// The number of bits in each of four words: those of half bytes are looked up.
static __m256i count_bits_of_four(__m256i words) {
    const __m256i table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i of_low = _mm256_shuffle_epi8(table, _mm256_and_si256(words, low));
    const __m256i of_high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi32(words, 4), low));
    return _mm256_sad_epu8(_mm256_add_epi8(of_low, of_high), _mm256_setzero_si256());
}

static __m256i load_four(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

static Int sum_of_four(__m256i sums) {
    Int each[4];
    __builtin_memcpy(each, &sums, sizeof each);
    return each[0] + each[1] + each[2] + each[3];
}

// Four words at a time, as long as they have the weight of the first; returns how far it came.
static Int count_four(const Word* rows, const Word* covered, const Word* column, const Int* weights, Int begin, Int end,
                      TwoSums& sums) {
    if (begin == end) return begin;
    const __m256i weight = _mm256_set1_epi64x(weights[begin]);
    __m256i open = _mm256_setzero_si256(), ones = open;
    Int w = begin;
    for (; w + 4 <= end; w += 4) {
        if (_mm256_movemask_epi8(_mm256_cmpeq_epi64(load_four(weights + w), weight)) != -1) break;
        const __m256i cells = _mm256_andnot_si256(load_four(covered + w), load_four(rows + w));
        open = _mm256_add_epi64(open, count_bits_of_four(cells));
        ones = _mm256_add_epi64(ones, count_bits_of_four(_mm256_and_si256(cells, load_four(column + w))));
    }
    sums.first += weights[begin] * sum_of_four(open);
    sums.second += weights[begin] * sum_of_four(ones);
    return w;
}

#else

static Int count_four(const Word*, const Word*, const Word*, const Int*, Int begin, Int, TwoSums&) { return begin; }

#endif

static void count_open(const Word* rows, const Word* covered, const Word* column, const Int* weights, Int begin,
                       Int end, Int* open, Int* ones) {
    TwoSums sums;
    begin = count_four(rows, covered, column, weights, begin, end, sums);
    const TwoSums others = weighted_sums(weights, begin, end, [=](Int w) {
        const Word cells = rows[w] & ~covered[w];
        return TwoSums{count_bits(cells), count_bits(cells & column[w])};
    });
    *open = sums.first + others.first;
    *ones = sums.second + others.second;
}

static void count_parts(const Word* rows, const Word* covered, const Word* column, const Int* edges, Int n_parts,
                        Int* counts) {
    for (Int h = 0; h < n_parts; ++h) {
        Int open = 0, ones = 0;
        for (Int w = edges[h]; w < edges[h + 1]; ++w) {
            const Word cells = rows[w] & ~covered[w];
            open += count_bits(cells);
            ones += count_bits(cells & column[w]);
        }
        counts[2 * h] = ones;
        counts[2 * h + 1] = open;
    }
}

static Int count_common(const Word* one, const Word* other, const Int* weights, Int begin, Int end) {
    return weighted_sums(weights, begin, end, [=](Int w) { return TwoSums{count_bits(one[w] & other[w]), 0}; }).first;
}

static void add_counts(const Word* sets, Word one, Int weight, Int n, Int* sums) {
    for (Int s = 0; s < n; ++s) sums[s] += weight * count_bits(sets[s] & one);
}

static unsigned paying_words(const Word* rows, const Word* covered, const Word* columns) {
#if defined(__AVX512VPOPCNTDQ__)
    const __m512i open = _mm512_maskz_andnot_epi64(0xFF, _mm512_loadu_si512(covered), _mm512_loadu_si512(rows));
    const __m512i ones = _mm512_popcnt_epi64(_mm512_and_si512(open, _mm512_loadu_si512(columns)));
    return _mm512_cmpgt_epi64_mask(_mm512_add_epi64(ones, ones), _mm512_popcnt_epi64(open));
#else
    unsigned paying = 0;
    for (int k = 0; k < 8; ++k) {
        const Word open = rows[k] & ~covered[k];
        paying |= static_cast<unsigned>(2 * count_bits(open & columns[k]) > count_bits(open)) << k;
    }
    return paying;
#endif
}

static double largest_sum(const double* one, const double* other, Int n) {
    constexpr Int N = LANES<double>;
    const auto sum = [&](Int k) { return load(one + k) + load(other + k); };
    // Two largest: a comparison need not wait for the one before.
    Lanes<double> largest = sum(0), next = sum(N);
    for (Int k = 2 * N; k < n; k += 2 * N) {
        const Lanes<double> here = sum(k), there = sum(k + N);
        largest = here > largest ? here : largest;
        next = there > next ? there : next;
    }
    largest = next > largest ? next : largest;
    double most = largest[0];
    for (Int k = 1; k < N; ++k) most = largest[k] > most ? largest[k] : most;
    return most;
}

}  // namespace saltmine::SALTMINE_CPU
