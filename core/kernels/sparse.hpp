// Sums of the rows of a factor at the ones of a row of sparse data.
#pragma once

#include "lanes.hpp"

namespace saltmine::SALTMINE_CPU {

// Sums that stay in registers side by side: fewer leave the processor idle, more do not fit.
constexpr Int MOST_SUMS = 8;

// The ones of a row.
struct Ones {
    const Index* begin;
    const Index* end;
};

// Add up the rows of a factor in K vectors from one column on.
template <Int K, class T>
void add_vectors(Ones ones, const T* factor, Int width, bool first, T* out) {
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
void add_some(Int n_vectors, Ones ones, const T* factor, Int width, bool first, T* out) {
    if constexpr (K > 1) {
        if (n_vectors < K) return add_some<K - 1>(n_vectors, ones, factor, width, first, out);
    }
    add_vectors<K>(ones, factor, width, first, out);
}

template <class T>
void add_narrow(Ones ones, const T* factor, Int width, bool first, T* out) {
    for (Int s = 0; s < width; ++s) {
        T sum = first ? T{0} : out[s];
        for (const Index* one = ones.begin; one != ones.end; ++one) sum += factor[*one * width + s];
        out[s] = sum;
    }
}

template <class T>
void add_rows(const Index* begin, const Index* end, const T* factor, Int width, bool first, T* out) {
    const Ones ones{begin, end};
    const Int n_vectors = width / LANES<T>, last = width - LANES<T>;
    if (n_vectors == 0) return add_narrow(ones, factor, width, first, out);
    // The last columns overlap with those before, which are the same numbers twice.
    T tail[LANES<T>] = {};
    const bool has_tail = width % LANES<T> != 0;
    if (has_tail) {
        __builtin_memcpy(tail, out + last, sizeof tail);
        add_vectors<1>(ones, factor + last, width, first, tail);
    }
    for (Int v = 0; v < n_vectors; v += MOST_SUMS) {
        const Int from = v * LANES<T>;
        add_some<MOST_SUMS>(n_vectors - v, ones, factor + from, width, first, out + from);
    }
    if (has_tail) __builtin_memcpy(out + last, tail, sizeof tail);
}

}  // namespace saltmine::SALTMINE_CPU
