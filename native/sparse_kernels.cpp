// Products with sparse data, held as CSR without values: every stored entry is a one.
#include <algorithm>

#include "lanes.hpp"

namespace saltmine {
namespace {

using Index = std::int32_t;

// Sums that stay in registers side by side: fewer leave the processor idle, more do not fit.
constexpr Int MOST_SUMS = 8;

// The ones of a row.
struct Row {
    const Index* begin;
    const Index* end;
};

// Add up the rows of a factor at the ones of a row of the data, in K vectors from one column on.
template <Int K, class T>
void add_rows(Row ones, const T* factor, Int width, bool first, T* out) {
    Lanes<T> sums[K];
    for (Int k = 0; k < K; ++k) sums[k] = first ? Lanes<T>{} : load(out + k * LANES<T>);
    for (const Index* one = ones.begin; one != ones.end; ++one) {
        const T* row = factor + *one * width;
        for (Int k = 0; k < K; ++k) sums[k] += load(row + k * LANES<T>);
    }
    for (Int k = 0; k < K; ++k) store(sums[k], out + k * LANES<T>);
}

// The same for a number of vectors that is known only now.
template <Int K, class T>
void add_some(Int n_vectors, Row ones, const T* factor, Int width, bool first, T* out) {
    if constexpr (K > 1) {
        if (n_vectors < K) return add_some<K - 1>(n_vectors, ones, factor, width, first, out);
    }
    add_rows<K>(ones, factor, width, first, out);
}

template <class T>
void add_narrow(Row ones, const T* factor, Int width, bool first, T* out) {
    for (Int s = 0; s < width; ++s) {
        T sum = first ? T{0} : out[s];
        for (const Index* one = ones.begin; one != ones.end; ++one) sum += factor[*one * width + s];
        out[s] = sum;
    }
}

// Write the sum of the rows of a factor at the ones of a row of the data, or add it to what is there.
template <class T>
void multiply_row(Row ones, Matrix<const T> factor, bool first, T* out) {
    const Int width = factor.shape[1], n_vectors = width / LANES<T>, last = width - LANES<T>;
    if (n_vectors == 0) return add_narrow(ones, factor.data, width, first, out);
    // The last columns overlap with those before, which are the same numbers twice.
    T tail[LANES<T>] = {};
    const bool has_tail = width % LANES<T> != 0;
    if (has_tail) {
        std::copy(out + last, out + width, tail);
        add_rows<1>(ones, factor.data + last, width, first, tail);
    }
    for (Int v = 0; v < n_vectors; v += MOST_SUMS) {
        const Int from = v * LANES<T>;
        add_some<MOST_SUMS>(n_vectors - v, ones, factor.data + from, width, first, out + from);
    }
    if (has_tail) std::copy(tail, tail + LANES<T>, out + last);
}

}  // namespace

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
            const Row row{ones.data + of_class[i], ones.data + of_class[i + 1]};
            multiply_row(row, usage, true, &out(a, i, 0));
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
            const Row row{ones.data + strip_starts(b, j), ones.data + strip_starts(b + 1, j)};
            multiply_row(row, factor, b == 0, &out(j, 0));
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

constexpr auto multiply_items_float = multiply_items<float>;
constexpr auto multiply_items_double = multiply_items<double>;
constexpr auto multiply_rows_float = multiply_rows<float>;
constexpr auto multiply_rows_double = multiply_rows<double>;

}  // namespace saltmine

using namespace saltmine;

SALTMINE_EXPORT(multiply_items_float)
SALTMINE_EXPORT(multiply_items_double)
SALTMINE_EXPORT(multiply_rows_float)
SALTMINE_EXPORT(multiply_rows_double)
SALTMINE_EXPORT(find_strip_starts)
SALTMINE_EXPORT(count_items)
SALTMINE_EXPORT(transpose)
