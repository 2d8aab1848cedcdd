// Products of small matrices in single precision: panels of a factor with Gram matrices.
//
// Blocks of them stay in the cache between the steps, which BLAS could not do. The number of columns is a multiple of
// eight.
#pragma once

#include "lanes.hpp"

namespace saltmine::SALTMINE_CPU {

// Numbers that are added at once, and how many rows of a product, with three such vectors each, registers hold.
constexpr Int WIDE = LONG_REGISTER / 4, TILE_ROWS = LONG_REGISTER == 64 ? 8 : 4;

// Entry (i, k) of the left matrix stands at i * row + k * column.
struct Left {
    const float* data;
    Int row, column;
};

// Part of a product: R rows, and K vectors of N lanes from the first column of right and out on.
template <Int R, Int K, Int N>
void multiply_tile(Left left, const float* right, Int width, Int depth, float* out, bool add) {
    using Vector = Lanes<float, N>;
    Vector sums[R][K];
    for (Int i = 0; i < R; ++i) {
        for (Int j = 0; j < K; ++j) sums[i][j] = add ? load<N>(out + i * width + j * N) : Vector{};
    }
    for (Int k = 0; k < depth; ++k) {
        Vector from[K];
        for (Int j = 0; j < K; ++j) from[j] = load<N>(right + k * width + j * N);
        for (Int i = 0; i < R; ++i) {
            const float entry = left.data[i * left.row + k * left.column];
            for (Int j = 0; j < K; ++j) sums[i][j] += entry * from[j];
        }
    }
    for (Int i = 0; i < R; ++i) {
        for (Int j = 0; j < K; ++j) store<N>(sums[i][j], out + i * width + j * N);
    }
}

// K vectors of all rows.
template <Int K, Int N>
void multiply_columns(Left left, const float* right, Int width, Int n_rows, Int depth, float* out, bool add) {
    Int i = 0;
    for (; i + TILE_ROWS <= n_rows; i += TILE_ROWS) {
        const Left rows{left.data + i * left.row, left.row, left.column};
        multiply_tile<TILE_ROWS, K, N>(rows, right, width, depth, out + i * width, add);
    }
    for (; i < n_rows; ++i) {
        const Left row{left.data + i * left.row, left.row, left.column};
        multiply_tile<1, K, N>(row, right, width, depth, out + i * width, add);
    }
}

// Write left times right, (n_rows, depth) and (depth, width), or add it to what is there.
//
// Of a symmetric product, such as a Gram matrix, only what is on the diagonal and above is needed.
inline void multiply(
    Left left, const float* right, Int width, Int n_rows, Int depth, float* out, bool add, bool symmetric = false
) {
    Int s = 0;
    const auto rows_above = [&](Int end) { return symmetric && end < n_rows ? end : n_rows; };
    for (Int end = 0; s < width; s = end) {
        if (end = s + 3 * WIDE; end <= width) {
            multiply_columns<3, WIDE>(left, right + s, width, rows_above(end), depth, out + s, add);
        } else if (end = s + 2 * WIDE; end <= width) {
            multiply_columns<2, WIDE>(left, right + s, width, rows_above(end), depth, out + s, add);
        } else if (end = s + WIDE; end <= width) {
            multiply_columns<1, WIDE>(left, right + s, width, rows_above(end), depth, out + s, add);
        } else {
            end = s + LANES<float>;
            multiply_columns<1, LANES<float>>(left, right + s, width, rows_above(end), depth, out + s, add);
        }
    }
}

}  // namespace saltmine::SALTMINE_CPU
