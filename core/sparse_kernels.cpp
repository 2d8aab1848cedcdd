// Products with sparse data, held as CSR without values: every stored entry is a one.
#include <algorithm>

#include "bindings.hpp"
#include "kernels/kernels.hpp"
#include "views.hpp"

namespace saltmine {
namespace {

void add_rows(const Index* begin, const Index* end, Matrix<const float> factor, bool first, float* out) {
    kernels->add_floats(begin, end, factor.data, factor.shape[1], first, out);
}

void add_rows(const Index* begin, const Index* end, Matrix<const double> factor, bool first, double* out) {
    kernels->add_doubles(begin, end, factor.data, factor.shape[1], first, out);
}

// Multiply a panel of items of every class with the usage; out is (c, n, r).
//
// The rows that have item i in class a are ones[starts[a, i]] up to that before starts[a, i + 1], which is the next
// number also where a class ends.
template <class T>
void multiply_items(
    Array<const Int> starts, Array<const Index> ones, Matrix<const T> usage, Int begin, Int end, View<T, 3> out
) {
    for (Int a = 0; a < out.shape[0]; ++a) {
        const Int* of_class = starts.data + a * out.shape[1];
        for (Int i = begin; i < end; ++i) {
            add_rows(ones.data + of_class[i], ones.data + of_class[i + 1], usage, true, &out(a, i, 0));
        }
    }
}

// Multiply a panel of rows with a factor strip by strip of the items, so that a strip of it stays in the cache.
//
// The items of row j in strip b are ones[strip_starts[b, j]] up to that before strip_starts[b + 1, j].
template <class T>
void multiply_rows(
    Matrix<const Int> strip_starts, Array<const Index> ones, Matrix<const T> factor, Int begin, Int end, Matrix<T> out
) {
    for (Int b = 0; b + 1 < strip_starts.shape[0]; ++b) {
        for (Int j = begin; j < end; ++j) {
            add_rows(ones.data + strip_starts(b, j), ones.data + strip_starts(b + 1, j), factor, b == 0, &out(j, 0));
        }
    }
}

// Find where every strip of so many items begins in rows with sorted items, and where the last one ends.
void find_strip_starts(Array<const Int> starts, Array<const Index> ones, Int width, Matrix<Int> strip_starts) {
    const Int n_strips = strip_starts.shape[0] - 1;
    for (Int j = 0; j < strip_starts.shape[1]; ++j) {
        Int k = starts[j];
        for (Int b = 0; b < n_strips; ++b) {
            while (k < starts[j + 1] && ones[k] < b * width) ++k;
            strip_starts(b, j) = k;
        }
        strip_starts(n_strips, j) = starts[j + 1];
    }
}

// Count the ones of every item in rows of one class, unweighted and with the weights of the rows.
void count_items(
    Array<const Int> starts, Array<const Index> ones, Array<const Int> row_weights, Int begin, Int end,
    Array<Int> counts, Array<Int> weighted
) {
    for (Int j = begin; j < end; ++j) {
        for (Int k = starts[j]; k < starts[j + 1]; ++k) {
            ++counts[ones[k]];
            weighted[ones[k]] += row_weights[j];
        }
    }
}

// Write the rows of every item in one class; ends are where these begin, and are moved to where they end.
void transpose(
    Array<const Int> starts, Array<const Index> ones, Int begin, Int end, Array<Int> ends, Array<Index> rows
) {
    for (Int j = begin; j < end; ++j) {
        for (Int k = starts[j]; k < starts[j + 1]; ++k) rows[ends[ones[k]]++] = static_cast<Index>(j);
    }
}

}  // namespace

}  // namespace saltmine

SALTMINE_BIND(sparse_kernels, saltmine, multiply_items<float>, multiply_items<double>, multiply_rows<float>,
              multiply_rows<double>, find_strip_starts, count_items, transpose)
