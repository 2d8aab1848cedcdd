// The likelihood of single rows: classes, patterns that a row may use, and cells given those.
#pragma once

#include "store.hpp"

namespace saltmine::likelihood {

// A model of rows. In class a an item is missing with probability (1 - base) (1 - strength), by the strongest of the
// patterns that the row uses; it uses each of them with its rate in the class, independently of the others.
class RowModel {
public:
    // base is (classes, items), rates are (classes, patterns). Items of pattern s are those from edges[s] to edges[s + 1];
    // strengths are (classes, all of these items), zero where an item is none of the class.
    RowModel(Matrix<const double> base, Matrix<const double> rates, Array<const Int> edges, Array<const Int> items,
             Matrix<const double> strengths);

    Int n_classes() const { return base_.shape[0]; }
    Int n_patterns() const { return rates_.shape[1]; }

    // Log-likelihood of a row with these items in a class, a bound from below that leaves out what hardly matters; the
    // posterior probabilities of use are added to `use` with a weight, if it is given.
    double score(Int a, const Int* begin, const Int* end, double* use) const;

private:
    struct Member {
        Int pattern, place;
    };
    Matrix<const double> base_, rates_, strengths_;
    Array<const Int> edges_, items_;
    std::vector<std::vector<Member>> of_item_;  // patterns that have an item
    Doubles all_zero_;                          // (classes,): nats of a row without ones that uses nothing
    Doubles zeros_;                             // (classes, patterns): nats of use, against none, of such a row
};

}  // namespace saltmine::likelihood
