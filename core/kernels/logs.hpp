// Exponentials and logarithms of many numbers, the same to the last bit on every processor.
#pragma once

#include "lanes.hpp"

namespace saltmine::SALTMINE_CPU {

constexpr Int OF_DOUBLE = LONG_REGISTER / static_cast<Int>(sizeof(double));
typedef Lanes<double, OF_DOUBLE> Reals;
typedef Lanes<Word, OF_DOUBLE> Bits64;

static Reals load_reals(const double* from) { return load<OF_DOUBLE>(from); }
static void store_reals(Reals values, double* to) { store<OF_DOUBLE>(values, to); }

// Added to a number it leaves the nearest integer in the last bits.
constexpr double ROUNDING = 6755399441055744.0;
constexpr Word OF_ROUNDING = 0x4338000000000000ULL;
constexpr double LOG2_HIGH = 6.93147180369123816490e-01, LOG2_LOW = 1.90821492927058770002e-10;
constexpr double LOG2_INVERSE = 1.44269504088896338700;
// Above this exponent e^x is taken for e^x + 1, as the sums of rows do; below the least, for zero.
constexpr double MUCH = 30.0, LEAST_EXPONENT = -690.0;

static Reals all_of(double value) { return Reals{} + value; }

// e^x for numbers between LEAST_EXPONENT and 700.
static Reals exp_of(Reals x) {
    const Reals shifted = x * LOG2_INVERSE + ROUNDING, k = shifted - ROUNDING;
    const Reals r = (x - k * LOG2_HIGH) - k * LOG2_LOW;
    // 1 / k! from k = 12 down.
    constexpr double TERMS[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                                1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0};
    Reals sum = all_of(TERMS[0]);
    for (int t = 1; t < 13; ++t) sum = sum * r + TERMS[t];
    return reinterpret_cast<Reals>(reinterpret_cast<Bits64>(sum) + (reinterpret_cast<Bits64>(shifted) << 52));
}

// The logarithm of positive numbers, but for the least ones; after fdlibm.
static Reals log_of(Reals x) {
    // x = 2^k (1 + f), the second factor between sqrt(1/2) and sqrt(2).
    constexpr Word SIGNIFICAND = (Word{1} << 52) - 1, HALF_ROOT = 0x3FE6A09E667F3BCDULL;
    const Bits64 from_root = reinterpret_cast<Bits64>(x) - HALF_ROOT;
    // The exponent in the last bits of 2^52 + 2^51.
    const Bits64 exponent = (from_root >> 52) ^ 0x800, placed = exponent + OF_ROUNDING;
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
    for (Int k = 0; k < n; k += OF_DOUBLE) store_reals(log_of(load_reals(values + k)), values + k);
}

static void explain(const ChanceCells& cells, Int n, double* log_p, double* log_q, double* log_covered) {
    for (Int k = 0; k < n; k += OF_DOUBLE) {
        const Reals p = load_reals(cells.p + k), strength = load_reals(cells.strengths + k);
        const Reals explained = load_reals(cells.rates + k) * strength;
        const Reals left = (p - explained) / (1.0 - explained), part = 0.15 * p, most = all_of(0.02);
        const Reals least = part < most ? part : most, p0 = left > least ? left : least;
        store_reals(log_of(p0), log_p + k);
        store_reals(log_of(1.0 - p0), log_q + k);
        store_reals(log_of(1.0 - (1.0 - p0) * (1.0 - strength)), log_covered + k);
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
        const Mixture mixture(load_reals(ratios + k), rate);
        store_reals(log_of(mixture.value) + mixture.beyond, logs + k);
    }
}

// The same, added up over n numbers and zeros after them, up to a multiple of eight: products are taken, whose exponents
// are kept apart.
static double sum_mixtures(const double* ratios, Int n, double rate) {
    constexpr Word SIGNIFICAND = (Word{1} << 52) - 1, ONE = 0x3FF0000000000000ULL;
    alignas(64) double products[8], exponents[8], beyond[8];
    for (Int lane = 0; lane < 8; lane += OF_DOUBLE) {
        Reals product = all_of(1.0), exponent{}, more{};
        for (Int begin = 0; begin < n; begin += 64) {
            const Int end = begin + 64 < n ? begin + 64 : n;
            for (Int k = begin; k < end; k += 8) {
                const Mixture mixture(load_reals(ratios + k + lane), rate);
                product *= mixture.value;
                more += mixture.beyond;
            }
            const Bits64 bits = reinterpret_cast<Bits64>(product);
            exponent += reinterpret_cast<Reals>((bits >> 52) + OF_ROUNDING) - (ROUNDING + 1023.0);
            product = reinterpret_cast<Reals>((bits & SIGNIFICAND) + ONE);
        }
        store_reals(product, products + lane);
        store_reals(exponent, exponents + lane);
        store_reals(more, beyond + lane);
    }
    log_all(products, 8);
    double sum = 0, exponent = 0, more = 0;
    for (int lane = 0; lane < 8; ++lane) sum += products[lane], exponent += exponents[lane], more += beyond[lane];
    return sum + exponent * LOG2_HIGH + exponent * LOG2_LOW + more;
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
