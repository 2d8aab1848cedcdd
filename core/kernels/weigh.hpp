// What patterns save in the 64 rows of a word.
#pragma once

#include "lanes.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace saltmine::SALTMINE_CPU {

// The cells of a term in one word: open ones add, open zeros subtract.
struct Cells {
    Word open, ones;

    Cells(const Term& term, Word row_mask, Int w)
        : open(term.cells == nullptr ? term.column[w] : row_mask & (term.cells[w] ^ term.flip)), ones(term.column[w]) {}
};

#if defined(__AVX512F__)

// Sums for the rows of one word, eight to a register.
class RowSums {
public:
    void add(const Term& term, Word row_mask, Int w) {
        const __m512d plus = _mm512_set1_pd(term.worth), minus = _mm512_set1_pd(-term.worth);
        // Masks come faster from memory than from another register.
        Word open = Cells(term, row_mask, w).open;
        __asm__("" : "+m"(open));
        const auto* of_open = reinterpret_cast<const __mmask8*>(&open);
        const auto* of_ones = reinterpret_cast<const __mmask8*>(term.column + w);
        for (int k = 0; k < 8; ++k) {
            const __m512d value = _mm512_mask_blend_pd(of_ones[k], minus, plus);
            sums_[k] = _mm512_mask_add_pd(sums_[k], of_open[k], sums_[k], value);
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
};

static void sum_terms(const Term* terms, Int n_terms, Word row_mask, Int w, RowSums& sums) {
    for (Int k = 0; k < n_terms; ++k) sums.add(terms[k], row_mask, w);
}

// The sums of the first rows of a word, eight for every group, without cells.
template <int GROUPS>
void sum_groups(const Term* terms, Int n_terms, Int w, double* out) {
    __m512d sums[GROUPS];
    for (int k = 0; k < GROUPS; ++k) sums[k] = _mm512_setzero_pd();
    for (Int t = 0; t < n_terms; ++t) {
        const __m512d worth = _mm512_set1_pd(terms[t].worth);
        const auto* rows = reinterpret_cast<const __mmask8*>(terms[t].column + w);
        for (int k = 0; k < GROUPS; ++k) sums[k] = _mm512_mask_add_pd(sums[k], rows[k], sums[k], worth);
    }
    for (int k = 0; k < GROUPS; ++k) _mm512_storeu_pd(out + 8 * k, sums[k]);
}

static void sum_first(const Term* terms, Int n_terms, Int w, Int n_rows, double* out) {
    if (n_rows <= 8) return sum_groups<1>(terms, n_terms, w, out);
    if (n_rows <= 16) return sum_groups<2>(terms, n_terms, w, out);
    if (n_rows <= 32) return sum_groups<4>(terms, n_terms, w, out);
    sum_groups<8>(terms, n_terms, w, out);
}

static void add_to_rows(Word ones, Word zeros, Int n_rows, double worth, double* sums) {
    const __m512d value = _mm512_set1_pd(worth);
    for (Int k = 0; k < n_rows; k += 8) {
        __m512d sum = _mm512_loadu_pd(sums + k);
        sum = _mm512_mask_add_pd(sum, static_cast<__mmask8>(ones >> k), sum, value);
        sum = _mm512_mask_sub_pd(sum, static_cast<__mmask8>(zeros >> k), sum, value);
        _mm512_storeu_pd(sums + k, sum);
    }
}

#else

// Rows of a register, and the masks of every choice of them: a row that is chosen has all bits, or the bit of the sign if
// it is not.
constexpr int ROWS = LANES<double>, CHOICES = 1 << ROWS;
typedef Int Bits __attribute__((vector_size(8 * ROWS)));

struct Masks {
    alignas(32) Int all[CHOICES][ROWS] = {}, sign_of_others[CHOICES][ROWS] = {};

    constexpr Masks() {
        for (int choice = 0; choice < CHOICES; ++choice) {
            for (int row = 0; row < ROWS; ++row) {
                const bool chosen = (choice >> row) & 1;
                all[choice][row] = chosen ? -1 : 0;
                sign_of_others[choice][row] = chosen ? 0 : INT64_MIN;
            }
        }
    }
};

static constexpr Masks MASKS;

// Some of these rows at a time, so that their sums stay in registers.
constexpr int SUMS = 8, PART = SUMS * ROWS;

static Lanes<double> signed_worth(Word open, Word ones, Lanes<double> worth) {
    const Bits sign = *reinterpret_cast<const Bits*>(MASKS.sign_of_others[ones % CHOICES]);
    const Bits mask = *reinterpret_cast<const Bits*>(MASKS.all[open % CHOICES]);
    return reinterpret_cast<Lanes<double>>((reinterpret_cast<Bits>(worth) ^ sign) & mask);
}

// Which rows of a register are all ones.
static Word chosen(Bits rows) {
#if defined(__AVX__)
    return _mm256_movemask_pd(reinterpret_cast<__m256d>(rows));
#elif defined(__SSE2__)
    return _mm_movemask_pd(reinterpret_cast<__m128d>(rows));
#else
    Word found = 0;
    for (int k = 0; k < ROWS; ++k) found |= static_cast<Word>(rows[k] & 1) << k;
    return found;
#endif
}

// Sums for the rows of one word.
class RowSums {
public:
    Word above(double price) const {
        Word rows = 0;
        for (int b = 0; b < 64; b += ROWS) rows |= static_cast<Word>(chosen(load(sums_ + b) > price)) << b;
        return rows;
    }
    void store(double* to) const { __builtin_memcpy(to, sums_, sizeof sums_); }
    double* part(int first) { return sums_ + first; }

private:
    alignas(32) double sums_[64];
};

static void sum_terms(const Term* terms, Int n_terms, Word row_mask, Int w, RowSums& sums) {
    for (int first = 0; first < 64; first += PART) {
        Lanes<double> part[SUMS] = {};
        for (Int t = 0; t < n_terms; ++t) {
            Cells cells(terms[t], row_mask, w);
            const Lanes<double> worth = Lanes<double>{} + terms[t].worth;
            cells.open >>= first;
            cells.ones >>= first;
            for (int k = 0; k < SUMS; ++k) part[k] += signed_worth(cells.open >> k * ROWS, cells.ones >> k * ROWS, worth);
        }
        for (int k = 0; k < SUMS; ++k) store(part[k], sums.part(first + k * ROWS));
    }
}

// The sums of the first rows of a word, without cells.
static void sum_first(const Term* terms, Int n_terms, Int w, Int n_rows, double* out) {
    for (Int first = 0; first < n_rows; first += PART) {
        Lanes<double> part[SUMS] = {};
        for (Int t = 0; t < n_terms; ++t) {
            const Word rows = terms[t].column[w] >> first;
            const Lanes<double> worth = Lanes<double>{} + terms[t].worth;
            for (int k = 0; k < SUMS; ++k) {
                const Bits mask = *reinterpret_cast<const Bits*>(MASKS.all[(rows >> k * ROWS) % CHOICES]);
                part[k] += reinterpret_cast<Lanes<double>>(reinterpret_cast<Bits>(worth) & mask);
            }
        }
        for (int k = 0; k < SUMS; ++k) store(part[k], out + first + k * ROWS);
    }
}

static void add_to_rows(Word ones, Word zeros, Int n_rows, double worth, double* sums) {
    const Lanes<double> value = Lanes<double>{} + worth;
    for (Int k = 0; k < (n_rows + 7) / 8 * 8; k += ROWS) {
        store(load(sums + k) + signed_worth((ones | zeros) >> k, ones >> k, value), sums + k);
    }
}

#endif

static void choose_rows(const Term* terms, Int n_terms, const Word* row_mask, Int begin, Int end, double price, Word* rows) {
    for (Int w = begin; w < end; ++w) {
        RowSums sums;
        sum_terms(terms, n_terms, row_mask[w], w, sums);
        rows[w] = sums.above(price) & row_mask[w];
    }
}

static void weigh_rows(const Term* terms, Int n_terms, const Word* row_mask, Int begin, Int end, double* out) {
    for (Int w = begin; w < end; ++w) {
        RowSums sums;
        sum_terms(terms, n_terms, row_mask[w], w, sums);
        sums.store(out + 64 * w);
    }
}

static void weigh_first(const Term* terms, Int n_terms, Int begin, Int n_rows, double constant, double* out) {
    for (Int w = begin; n_rows > 0; ++w, n_rows -= 64) {
        double* sums = out + 64 * w;
        const Int here = n_rows < 64 ? n_rows : 64;
        sum_first(terms, n_terms, w, here, sums);
        for (Int j = 0; j < here; ++j) sums[j] += constant;
        for (Int j = here; j < 64; ++j) sums[j] = 0;
    }
}

}  // namespace saltmine::SALTMINE_CPU
