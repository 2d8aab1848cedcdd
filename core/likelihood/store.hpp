// The data of one block: a set of rows for every item, and the strata that rows belong to.
#pragma once

#include <cmath>

#include "../bits.hpp"
#include "../choices.hpp"
#include "../kernels/kernels.hpp"
#include "../views.hpp"

namespace saltmine::likelihood {

using Words = std::vector<Word>;
using Doubles = std::vector<double>;

// Ones and cells of an item in some rows of a stratum.
struct Count {
    Int ones = 0, cells = 0;
};

// Rows are sorted by stratum: class, and bin by the surplus of ones of the row. Every stratum begins with a word.
struct Store {
    Int n_items = 0, n_words = 0, n_classes = 0, n_rows = 0, n_bins = 1;
    Words columns, mask;               // (n, words), (words,): rows that have an item, and rows that there are
    Words unobserved;                  // (n, words), or nothing: cells that were not measured
    Words closed;                      // (n, words): cells that take no part: not observed, or explained by a pattern
    std::vector<Int> edges;            // (strata + 1,) words
    std::vector<Int> class_of, bin_of; // (strata,)
    std::vector<Int> sizes;            // (strata,) rows
    std::vector<Int> places;           // (rows,): the bit of every row of the input
    std::vector<Int> labels;           // (rows,): its class
    std::vector<Int> weights;          // (words,): ones, for the kernels

    Doubles codes;                     // (n,): minus the logarithm of an item's share of all ones
    bool has_sizes = false;            // whether bins matter

    // Columns, and cells that are not observed if there are any, have a bit for every row of the input.
    Store(Matrix<const Word> columns, Matrix<const Word> observed, Array<const Int> labels);

    // Sort rows by class and by the surplus of their open ones; the sets of rows go with them.
    void stratify(const std::vector<Words*>& sets);
    Doubles surplus() const;
    bool varies_in_size() const;

    Int n_strata() const { return static_cast<Int>(class_of.size()); }
    const Word* column(Int i) const { return columns.data() + i * n_words; }
    const Word* closed_cells(Int i) const { return closed.data() + i * n_words; }
    Word* closed_cells(Int i) { return closed.data() + i * n_words; }

    // Ones and open cells of an item in some rows, for every stratum.
    void count(Int i, const Word* rows, Count* counts) const {
        static_assert(sizeof(Count) == 2 * sizeof(Int));
        kernels->count_parts(rows, closed_cells(i), column(i), edges.data(), n_strata(), &counts->ones);
    }
    Int count_rows(const Word* rows, Int h) const {
        Int count = 0;
        for (Int w = edges[h]; w < edges[h + 1]; ++w) count += count_ones(rows[w]);
        return count;
    }
    Int count_rows(const Word* rows) const {
        Int count = 0;
        for (Int w = 0; w < n_words; ++w) count += count_ones(rows[w]);
        return count;
    }
};

inline double logit(double p) { return std::log(p / (1 - p)); }

}  // namespace saltmine::likelihood
