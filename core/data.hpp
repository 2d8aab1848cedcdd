// The data and the constants of f: see Data in saltmine/solver/kernels.py.
#pragma once

#include "bits.hpp"
#include "code_length.hpp"

namespace saltmine {

struct Data {
    Matrix<const Word> columns;     // (n, W)
    Array<const Int> row_weights;   // (W,): rows of the input behind a row of every word
    Array<const Word> row_mask;     // (W,): ones where a row stands
    Array<const Int> word_sizes;    // (W,): rows of every word, in its lowest bits
    Array<const Int> edges;         // (c+1,): words of the classes
    Array<const Int> class_sizes;   // (c,): rows of the input
    Array<const double> row_shifts; // (64 W,)
    Array<const double> row_odds;   // (64 W,)
    Costs costs;

    Int n_items() const { return columns.shape[0]; }
    Int n_words() const { return columns.shape[1]; }
    Int n_classes() const { return edges.shape[0] - 1; }
    const Word* column(Int i) const { return columns.data + i * columns.shape[1]; }
};

}  // namespace saltmine
