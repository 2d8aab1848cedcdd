// Columns of the data as bit sets over the rows: 64 rows to a word.
#include <algorithm>

#include "bindings.hpp"
#include "bits.hpp"
#include "stored.hpp"

namespace saltmine {
namespace {

// Set the bits of all ones; row rows[j] has the place places[j].
void set_bits(Matrix<const bool> matrix, Array<const Int> rows, Array<const Int> places, Matrix<Word> columns) {
    const Int n = matrix.shape[1];
    // Rows of the same word follow each other: their bits are put together before they go to the columns, which lie
    // far apart.
    std::vector<Word> bits(n);
    for (Int j = 0; j < rows.size(); ++j) {
        const bool* row = &matrix(rows[j], 0);
        const Int w = places[j] / 64, place = places[j] % 64;
        for (Int i = 0; i < n; ++i) bits[i] |= static_cast<Word>(row[i]) << place;
        if (j + 1 == rows.size() || places[j + 1] / 64 != w) {
            for (Int i = 0; i < n; ++i) columns(i, w) |= bits[i];
            std::fill(bits.begin(), bits.end(), Word{0});
        }
    }
}

void set_stored_bits(Stored matrix, Array<const Int> rows, Array<const Int> places, Matrix<Word> columns) {
    with_arrays(matrix, [&](auto starts, auto items) {
        for (Int j = 0; j < rows.size(); ++j) {
            const Int row = rows[j], w = places[j] / 64;
            const Word bit = Word{1} << places[j] % 64;
            for (Int k = starts[row]; k < starts[row + 1]; ++k) columns(items[k], w) |= bit;
        }
    });
}

// Move the bit at from[j] of every column to to[j]; the new columns are empty.
void move_bits(Matrix<const Word> columns, Array<const Int> from, Array<const Int> to, Matrix<Word> moved) {
    for (Int i = 0; i < columns.shape[0]; ++i) {
        for (Int j = 0; j < from.size(); ++j) {
            const Word bit = columns(i, from[j] / 64) >> from[j] % 64 & 1;
            moved(i, to[j] / 64) |= bit << to[j] % 64;
        }
    }
}

// Add what every item is worth to the sums, (64 W,), of the rows that have it, for some of the items.
template <class T>
void add_in_rows(Matrix<const Word> columns, Array<const bool> items, Array<const T> worth, Array<T> sums) {
    for (Int i = 0; i < items.size(); ++i) {
        if (!items[i]) continue;
        for (Int w = 0; w < columns.shape[1]; ++w) {
            for (Word left = columns(i, w); left != 0; left &= left - 1) sums[64 * w + lowest_one(left)] += worth[i];
        }
    }
}

void count_in_rows(Matrix<const Word> columns, Array<const bool> items, Array<const Int> weights, Array<Int> counts) {
    add_in_rows(columns, items, weights, counts);
}

void sum_in_rows(Matrix<const Word> columns, Array<const bool> items, Array<const double> worth, Array<double> sums) {
    add_in_rows(columns, items, worth, sums);
}

// Count the cells in which data and model differ, per class and item: noise is (c, n).
// The words of class a are those from edges[a] to edges[a + 1]; usage is (r, W), patterns (c, n, r).
void count_noise(Matrix<const Word> columns, Matrix<const Word> usage, Array<const Int> row_weights,
                 Array<const Int> edges, View<const bool, 3> patterns, Matrix<Int> noise) {
    const Int rank = usage.shape[0];
    std::vector<Word> covered(columns.shape[1]);
    for (Int a = 0; a + 1 < edges.size(); ++a) {
        const Int begin = edges[a], end = edges[a + 1];
        for (Int i = 0; i < columns.shape[0]; ++i) {
            std::fill(covered.begin() + begin, covered.begin() + end, Word{0});
            for (Int s = 0; s < rank; ++s) {
                if (!patterns(a, i, s)) continue;
                for (Int w = begin; w < end; ++w) covered[w] |= usage(s, w);
            }
            Int differ = 0;
            for (Int w = begin; w < end; ++w) differ += row_weights[w] * count_ones(covered[w] ^ columns(i, w));
            noise(a, i) = differ;
        }
    }
}

}  // namespace
}  // namespace saltmine

SALTMINE_BIND(bit_sets, saltmine, set_bits, set_stored_bits, move_bits, count_in_rows, sum_in_rows, count_noise)
