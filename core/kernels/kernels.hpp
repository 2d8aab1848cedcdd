// Loops in which most of the time of a fit goes by. They are compiled once for every kind of processor, and the best
// that this one can run is chosen when the module is loaded. All give the same numbers, to the last bit.
//
// Only plain numbers and pointers go in and out: a template that several of these files shared would be kept once, for
// whichever processor, by the linker.
#pragma once

#include <cstdint>

namespace saltmine {

using Word = std::uint64_t;
using Int = std::int64_t;
using Index = std::int32_t;

// An item in the rows of one class. A one adds what it is worth where its cell is open; so does a zero, subtracted.
struct Term {
    const Word* column;
    const Word* cells;  // open cells are those of cells ^ flip; null: all ones add, and zeros count for nothing
    Word flip;
    double worth;
};

// The relaxed factors, those before the last step, and what the data is multiplied with in the step in Y. The number of
// patterns is a multiple of eight; those that are too many are zeros.
struct RelaxedFactors {
    float *X, *X_before;        // (n, r)
    float *V, *V_before;        // (c, n, r)
    float *Y, *Y_before;        // (m, r)
    float* weights;             // (c, n, r)
    Int n_classes, n_items, n_patterns;
};

// The constants of the relaxed objective.
struct RelaxedCosts {
    const float* u;      // (n,)
    float mu;
    const float* cross;  // (c, c)
    const float* items;  // (n,)
};

// How far a step goes.
struct Pace {
    float inertia, weight;
};

// The data of a step in X and V: P is D_a^T Y_a, (c, n, r), G is Y_a^T Y_a, (c, r, r); and the sizes of the steps.
struct ItemStep {
    const float *P, *G, *X_steps, *V_steps;
    bool alterations;
};

// The data of a step in Y: product is D_a W_a, (m, r), gram is (X + V_a)^T (X + V_a), (r, r).
struct RowStep {
    const float *product, *gram, *codes, *steps;
};

// Probabilities of ones by chance, and rates of use and strengths of a pattern that explains a part of them.
struct ChanceCells {
    const double *p, *rates, *strengths;
};

struct Kernels {
    const char* name;

    // Rows of the words from begin to end whose terms add up to more than the price.
    void (*choose_rows)(const Term* terms, Int n_terms, const Word* row_mask, Int begin, Int end, double price, Word* rows);
    // The sums themselves, 64 for every word.
    void (*weigh_rows)(const Term* terms, Int n_terms, const Word* row_mask, Int begin, Int end, double* sums);
    // The same without cells, plus a constant, for the first rows of a word and those after it; sums of others are zero.
    void (*weigh_first)(const Term* terms, Int n_terms, Int begin, Int n_rows, double constant, double* sums);
    // Add what the ones and zeros of a word are worth to the sums of its first rows, in whole groups of eight.
    void (*add_to_rows)(Word ones, Word zeros, Int n_rows, double worth, double* sums);

    // Weighted counts over the words from begin to end: of rows without covered ones, and of those with a one.
    void (*count_open)(const Word* rows, const Word* covered, const Word* column, const Int* weights, Int begin, Int end,
                       Int* open, Int* ones);
    // Open ones and open cells of some rows between each edge and the next, ones first.
    void (*count_parts)(const Word* rows, const Word* covered, const Word* column, const Int* edges, Int n_parts,
                        Int* counts);
    // A weighted count of the bits that two sets have in common.
    Int (*count_common)(const Word* one, const Word* other, const Int* weights, Int begin, Int end);
    // Add to n sums the weighted count of the bits that each set has in common with one.
    void (*add_counts)(const Word* sets, Word one, Int weight, Int n, Int* sums);
    // In which of eight words more than half of the open cells of the rows are ones.
    unsigned (*paying_words)(const Word* rows, const Word* covered, const Word* columns);

    // The largest sum of two numbers at the same place; n is a multiple of eight.
    double (*largest_sum)(const double* one, const double* other, Int n);

    // Add up the rows of a factor at some indices, or add them to what is there.
    void (*add_floats)(const Index* begin, const Index* end, const float* factor, Int width, bool first, float* out);
    void (*add_doubles)(const Index* begin, const Index* end, const double* factor, Int width, bool first, double* out);

    // The logarithm of 1 - rate + rate e^ratio, of n ratios, a multiple of eight; and its sum over n, with zeros after
    // them up to such a multiple.
    void (*log_mixtures)(const double* ratios, Int n, double rate, double* logs);
    double (*sum_mixtures)(const double* ratios, Int n, double rate);
    // What a pattern leaves of the probabilities of chance, and covers; logarithms of n cells, a multiple of eight.
    void (*explain)(const ChanceCells& cells, Int n, double* log_p, double* log_q, double* log_covered);
    // Which numbers, 64 for every word, are larger than one.
    void (*find_above)(const double* values, Int n_words, double least, Word* found);

    // For rows of NARROW numbers: add one to those at some indices; add one^T other to sums, of the first columns of one,
    // whose rows are a stride apart; multiply the first columns of such rows with a matrix; rotate two rows.
    void (*add_to_each)(const Index* begin, const Index* end, const double* row, double* out);
    void (*add_narrow_products)(const double* one, Int n_columns, Int stride, const double* other, Int n_rows, double* sums);
    void (*multiply_narrow)(const double* rows, Int n_columns, Int stride, const double* matrix, Int n_rows, double* out);
    void (*rotate)(double* one, double* other, double cosine, double sine);
    // Add counts times rates; and what counts are above an expectation, by about the standard deviation.
    void (*add_expected)(const Int* counts, const double* rates, Int n, double* sums);
    void (*score_counts)(const Int* counts, const double* expected, Int n, double* scores);

    // Steps of the accelerated descent for items or rows from begin to end. The scratch has room for `scratch_floats`
    // numbers. The upper halves of the Gram matrices of the patterns are added to `grams`, (c, r, r).
    void (*step_items)(const RelaxedFactors&, const RelaxedCosts&, const ItemStep&, Pace, Int begin, Int end,
                       float* scratch, float* grams);
    void (*step_rows)(const RelaxedFactors&, const RelaxedCosts&, const RowStep&, Pace, Int begin, Int end,
                      float* scratch);
};

// Columns of narrow matrices.
constexpr Int NARROW = 32;

// Items or rows of a step that are taken at a time, so that they stay in the cache.
constexpr Int STEP_BLOCK = 32;

constexpr Int step_scratch(Int n_classes, Int n_patterns) {
    return (1 + 3 * n_classes) * STEP_BLOCK * n_patterns + 32 * n_classes;
}

// Those of this processor, once they are chosen.
extern const Kernels* kernels;

// Choose the loops of this name, or the best that the processor can run where there is none. Returns nothing, or why
// that cannot be.
const char* choose_kernels(const char* name);

}  // namespace saltmine
