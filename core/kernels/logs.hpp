// Exponentials and logarithms of many numbers, the same to the last bit on every processor.
#pragma once

#include "lanes.hpp"

namespace saltmine::SALTMINE_CPU {

constexpr Int OF_DOUBLE = LANES<double>;
typedef Lanes<double> Reals;
typedef Lanes<Word> Bits64;

// Added to a number it leaves the nearest integer in the last bits.
constexpr double ROUNDING = 6755399441055744.0;
constexpr double LOG2_HIGH = 6.93147180369123816490e-01, LOG2_LOW = 1.90821492927058770002e-10;
constexpr double LOG2_INVERSE = 1.44269504088896338700;
// Above this exponent e^x is taken for e^x + 1, as the sums of rows do; below the least, for zero.
constexpr double MUCH = 30.0, LEAST_EXPONENT = -690.0;

static Reals all_of(double value) { return Reals{} + value; }

// e^x for numbers between LEAST_EXPONENT and 700.
static Reals exp_of(Reals x) {
    const Reals shifted = x * LOG2_INVERSE + ROUNDING, k = shifted - ROUNDING;
    const Reals r = (x - k * LOG2_HIGH) - k * LOG2_LOW;
    // 1 / k! from k = 13 down.
    constexpr double TERMS[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0};
    Reals sum = all_of(TERMS[0]);
    for (int t = 1; t < 14; ++t) sum = sum * r + TERMS[t];
    return reinterpret_cast<Reals>(reinterpret_cast<Bits64>(sum) + (reinterpret_cast<Bits64>(shifted) << 52));
}

// The logarithm of positive numbers, but for the least ones; after fdlibm.
static Reals log_of(Reals x) {
    // x = 2^k (1 + f), the second factor between sqrt(1/2) and sqrt(2).
    constexpr Word SIGNIFICAND = (Word{1} << 52) - 1, HALF_ROOT = 0x3FE6A09E667F3BCDULL;
    const Bits64 from_root = reinterpret_cast<Bits64>(x) - HALF_ROOT;
    // The exponent in the last bits of 2^52 + 2^51.
    const Bits64 exponent = (from_root >> 52) ^ 0x800, placed = exponent + 0x4338000000000000ULL;
    const Reals k = reinterpret_cast<Reals>(placed) - (ROUNDING + 2048.0);
    const Reals f = reinterpret_cast<Reals>((from_root & SIGNIFICAND) + HALF_ROOT) - 1.0;
    const Reals s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    constexpr double TERMS[] = {1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
                                2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
                                6.666666666666735130e-01};
    Reals sum = all_of(TERMS[0]);
    for (int t = 1; t < 7; ++t) sum = sum * z + TERMS[t];
    return k * LOG2_HIGH - ((half - (s * (half + z * sum) + k * LOG2_LOW)) - f);
}

// Replace numbers by their logarithms; n is a multiple of eight.
static void log_all(double* values, Int n) {
    for (Int k = 0; k < n; k += OF_DOUBLE) store(log_of(load(values + k)), values + k);
}

static void explain(const ChanceCells& cells, Int n, double* log_p, double* log_q, double* log_covered) {
    for (Int k = 0; k < n; k += OF_DOUBLE) {
        const Reals p = load(cells.p + k), strength = load(cells.strengths + k), explained = load(cells.rates + k) * strength;
        const Reals left = (p - explained) / (1.0 - explained), part = 0.15 * p, most = all_of(0.02);
        const Reals least = part < most ? part : most, p0 = left > least ? left : least;
        store(log_of(p0), log_p + k);
        store(log_of(1.0 - p0), log_q + k);
        store(log_of(1.0 - (1.0 - p0) * (1.0 - strength)), log_covered + k);
    }
}

// 1 - rate + rate e^x, of x up to MUCH; and what x has beyond that.
struct Mixture {
    Reals value, beyond;

    Mixture(Reals x, double rate) {
        const Reals most = all_of(MUCH), least = all_of(LEAST_EXPONENT), zero{};
        beyond = x > most ? x - most : zero;
        x = x > most ? most : x;
        x = x < least ? least : x;
        value = 1.0 + rate * (exp_of(x) - 1.0);
    }
};

// The logarithm of 1 - rate + rate e^x; n is a multiple of eight.
static void log_mixtures(const double* ratios, Int n, double rate, double* logs) {
    for (Int k = 0; k < n; k += OF_DOUBLE) {
        const Mixture mixture(load(ratios + k), rate);
        store(log_of(mixture.value) + mixture.beyond, logs + k);
    }
}

// The same, added up over 64 numbers for every word: the product of eight numbers at a time, and its exponent apart.
static double sum_mixtures(const double* ratios, Int n_words, double rate) {
    alignas(64) double products[8], exponents[8], beyond[8];
    for (Int lane = 0; lane < 8; lane += OF_DOUBLE) {
        Reals product = all_of(1.0), exponent{}, more{};
        for (Int w = 0; w < n_words; ++w) {
            for (Int k = 0; k < 64; k += 8) {
                const Mixture mixture(load(ratios + 64 * w + k + lane), rate);
                product *= mixture.value;
                more += mixture.beyond;
            }
            const Bits64 bits = reinterpret_cast<Bits64>(product);
            exponent += reinterpret_cast<Reals>((bits >> 52) + 0x4338000000000000ULL) - (ROUNDING + 1023.0);
            product = reinterpret_cast<Reals>((bits & ((Word{1} << 52) - 1)) + 0x3FF0000000000000ULL);
        }
        store(product, products + lane);
        store(exponent, exponents + lane);
        store(more, beyond + lane);
    }
    double total = 0, extra = 0, logs[8];
    __builtin_memcpy(logs, products, sizeof logs);
    log_all(logs, 8);
    double sum = 0;
    for (int lane = 0; lane < 8; ++lane) sum += logs[lane], total += exponents[lane], extra += beyond[lane];
    return sum + total * LOG2_HIGH + total * LOG2_LOW + extra;
}

// Which numbers, 64 for every word, are larger than one.
static void find_above(const double* values, Int n_words, double least, Word* found) {
    for (Int w = 0; w < n_words; ++w) {
        Word above = 0;
        for (int b = 0; b < 64; ++b) above |= static_cast<Word>(values[64 * w + b] > least) << b;
        found[w] = above;
    }
}

}  // namespace saltmine::SALTMINE_CPU
