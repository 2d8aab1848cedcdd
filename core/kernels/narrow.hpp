// Products with matrices of few columns: numbers are added in the order of the rows, for every column apart.
#pragma once

#include "lanes.hpp"

namespace saltmine::SALTMINE_CPU {

// The registers of a row.
constexpr Int IN_LONG = LONG_REGISTER / static_cast<Int>(sizeof(double)), IN_ROW = NARROW / IN_LONG;
typedef Lanes<double, IN_LONG> Long;

static void add_to_each(const Index* begin, const Index* end, const double* row, double* out) {
    constexpr Int PARTS = IN_ROW < 8 ? 1 : IN_ROW / 8, SOME = IN_ROW / PARTS;
    for (Int part = 0; part < PARTS; ++part) {
        Long values[SOME];
        for (Int v = 0; v < SOME; ++v) values[v] = load<IN_LONG>(row + (part * SOME + v) * IN_LONG);
        for (const Index* at = begin; at != end; ++at) {
            double* to = out + *at * NARROW + part * SOME * IN_LONG;
            for (Int v = 0; v < SOME; ++v) store<IN_LONG>(load<IN_LONG>(to + v * IN_LONG) + values[v], to + v * IN_LONG);
        }
    }
}

// Some rows of the sums, and two registers of each.
template <int ROWS>
void add_block(const double* one, Int stride, const double* other, Int n_rows, double* sums) {
    Long block[ROWS][2];
    for (int a = 0; a < ROWS; ++a) {
        for (int v = 0; v < 2; ++v) block[a][v] = load<IN_LONG>(sums + a * NARROW + v * IN_LONG);
    }
    for (Int j = 0; j < n_rows; ++j) {
        const double* row = other + j * NARROW;
        const Long first = load<IN_LONG>(row), second = load<IN_LONG>(row + IN_LONG);
        for (int a = 0; a < ROWS; ++a) {
            block[a][0] += one[j * stride + a] * first;
            block[a][1] += one[j * stride + a] * second;
        }
    }
    for (int a = 0; a < ROWS; ++a) {
        for (int v = 0; v < 2; ++v) store<IN_LONG>(block[a][v], sums + a * NARROW + v * IN_LONG);
    }
}

// A panel of rows at a time, which stays in the cache.
static void add_narrow_products(const double* one, Int n_columns, Int stride, const double* other, Int n_rows,
                                double* sums) {
    constexpr Int PANEL = 64;
    for (Int j = 0; j < n_rows; j += PANEL) {
        const Int here = n_rows - j < PANEL ? n_rows - j : PANEL;
        for (Int l = 0; l < NARROW; l += 2 * IN_LONG) {
            const double *from = one + j * stride, *to = other + j * NARROW + l;
            Int k = 0;
            for (; k + 4 <= n_columns; k += 4) add_block<4>(from + k, stride, to, here, sums + k * NARROW + l);
            for (; k < n_columns; ++k) add_block<1>(from + k, stride, to, here, sums + k * NARROW + l);
        }
    }
}

template <int ROWS>
void multiply_block(const double* rows, Int n_columns, Int stride, const double* matrix, double* out) {
    for (Int l = 0; l < NARROW; l += 2 * IN_LONG) {
        Long block[ROWS][2] = {};
        for (Int k = 0; k < n_columns; ++k) {
            const double* row = matrix + k * NARROW + l;
            const Long first = load<IN_LONG>(row), second = load<IN_LONG>(row + IN_LONG);
            for (int a = 0; a < ROWS; ++a) {
                block[a][0] += rows[a * stride + k] * first;
                block[a][1] += rows[a * stride + k] * second;
            }
        }
        for (int a = 0; a < ROWS; ++a) {
            for (int v = 0; v < 2; ++v) store<IN_LONG>(block[a][v], out + a * NARROW + l + v * IN_LONG);
        }
    }
}

static void multiply_narrow(const double* rows, Int n_columns, Int stride, const double* matrix, Int n_rows, double* out) {
    Int j = 0;
    for (; j + 4 <= n_rows; j += 4) multiply_block<4>(rows + j * stride, n_columns, stride, matrix, out + j * NARROW);
    for (; j < n_rows; ++j) multiply_block<1>(rows + j * stride, n_columns, stride, matrix, out + j * NARROW);
}

static void rotate(double* one, double* other, double cosine, double sine) {
    for (Int k = 0; k < NARROW; k += IN_LONG) {
        const Long x = load<IN_LONG>(one + k), y = load<IN_LONG>(other + k);
        store<IN_LONG>(cosine * x - sine * y, one + k);
        store<IN_LONG>(sine * x + cosine * y, other + k);
    }
}

static void add_expected(const Int* counts, const double* rates, Int n, double* sums) {
    for (Int k = 0; k < n; ++k) sums[k] += static_cast<double>(counts[k]) * rates[k];
}

static void score_counts(const Int* counts, const double* expected, Int n, double* scores) {
    for (Int k = 0; k < n; ++k) {
        scores[k] = (static_cast<double>(counts[k]) - expected[k]) / __builtin_sqrt(expected[k] + 0.3);
    }
}

}  // namespace saltmine::SALTMINE_CPU
