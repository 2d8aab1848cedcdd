// A pattern, how it is fitted to the open cells, and what speaks for it.
#pragma once

#include <limits>

#include "chance.hpp"

namespace saltmine::likelihood {

struct Pattern {
    std::vector<Int> items;      // rising
    std::vector<char> in_class;  // (items, classes): whether an item belongs to it in the rows of a class
    Words rows;                  // that use it
    Doubles strengths;           // (items,): probability of a one where chance gives none
    bool within = true;          // whether its items go together within classes, or only as classes differ
    bool whole = false;          // whether two patterns in its place were tried, and were worse
    double doubt = 0;            // mean probability of rows that use it that they do not
    double value = -std::numeric_limits<double>::infinity();

    Int size() const { return static_cast<Int>(items.size()); }
    bool has(Int k, Int a, Int n_classes) const { return in_class[k * n_classes + a] != 0; }
    bool is_shared(Int k, Int n_classes) const {
        for (Int a = 0; a < n_classes; ++a) {
            if (!has(k, a, n_classes)) return false;
        }
        return true;
    }
};

// Items of a pattern that the classes do not share.
Int count_class_items(const Pattern& pattern, Int n_classes);

// What the choice of the items costs, in nats.
double price_of_items(const Store& store, const Pattern& pattern);

// What chance makes of items that classes share, and of those that a class adds: these have to be more frequent in rows
// that use the pattern than in others of the same class.
struct Chances {
    Chance of_all, of_classes;

    const Chance& of(bool within, bool shared) const { return shared && !within ? of_all : of_classes; }
};

// Of an item and the rows of one class or more: ones and cells of the rows that use a pattern, and what chance makes of
// them; the same without what the pattern explains; and those of the other rows.
struct ClassSums {
    double ones = 0, cells = 0, expected = 0, nats = 0, base = 0;
    double rest_ones = 0, rest_cells = 0, rest_expected = 0;

    ClassSums& operator+=(const ClassSums& other) {
        ones += other.ones, cells += other.cells, expected += other.expected, nats += other.nats, base += other.base;
        rest_ones += other.rest_ones, rest_cells += other.rest_cells, rest_expected += other.rest_expected;
        return *this;
    }
};

// Fits patterns to the open cells of a store; one for each thread.
class Fitter {
public:
    Fitter(const Store& store, const Chances& chances, bool alterations);

    // Turns of items and rows until nothing changes; false if less than two items or three rows are left. The start
    // has rows, or items if it has no rows.
    bool fit(Pattern& pattern, int turns);
    // Logarithm of an e-value, less the price of the items: strengths are averaged over a grid that no data chooses.
    double evidence(const Pattern& pattern);

private:
    const Store& store_;
    const Chances& chances_;
    bool alterations_;
    std::vector<Count> used_;
    Doubles ratios_;       // 64 for every word
    Doubles unexplained_;  // (strata,)
    std::vector<Words> cells_;  // scratch, two for every item

    // Cells of a pattern, those of an item in a stratum together: what chance makes of them, and logarithms of what the
    // pattern leaves of that and covers; (strata, items), and some more.
    Doubles p_, log_p_, log_q_, ones_, zeros_, rates_, strengths_, log_left_, log_left_q_, log_covered_;
    Doubles log_miss_, constants_;  // (items,), (strata,)
    // Terms of the rows of a stratum, those from edges[h] to edges[h + 1], and the cells that they are of; or -1 - item
    // for zeros.
    std::vector<Term> terms_;
    std::vector<Int> term_edges_, term_cells_;
    // Rows of a stratum that have the same of the items: a digit each, 2 for ones, 1 for zeros, 0 for closed cells.
    struct Kind {
        Int stratum, code, count;
    };
    std::vector<Kind> kinds_;
    Doubles kind_ratios_;

    std::vector<ClassSums> of_classes_;

    // What is known of the strength of an item beforehand: that of the pattern, as by some cells, and the least.
    struct ItemPrior {
        double density, cells, least;
    };
    // Classes that have an item, what that gains, and its strength in them.
    struct Choice {
        std::vector<char> in;
        double gain = 0, strength = 0;
    };
    void sum_classes(Int i, const Chance& chance, const Doubles& rates, double density);
    bool is_rare(Int i, const Chance& chance) const;
    Choice weigh_item(const ClassSums& sums, double rest_gain, const ItemPrior& prior, double price) const;
    Choice alter(const ItemPrior& prior, double price);
    bool choose_items(Pattern& pattern, double density, bool first, const Doubles& rates);
    void soften(Pattern& pattern);
    bool have_most(const Pattern& pattern);
    double mean_strength(const Pattern& pattern) const;
    void choose_rows(Pattern& pattern, const Doubles& rates);
    double doubt(const Pattern& pattern, const Doubles& rates);
    void gather(const Pattern& pattern, const Doubles& strengths);
    void explain(Int size, const Doubles& rates);
    void open_items(const Pattern& pattern, bool all);
    void list_terms(const Pattern& pattern);
    void list_kinds(const Pattern& pattern);
    void weigh(Int size);
    void sum_kinds(Int size, double rate, double* sums);
    Doubles sum_rates(const Pattern& pattern, const Doubles& strengths);
    Doubles best_rates(const Doubles& sums) const;
    std::vector<Int> scaled_rates(const Chance& chance, double power) const;
    double average(const Pattern& pattern, const Doubles& sums) const;
    Doubles use_rates(const Doubles& used) const;
    Doubles count_used(const Pattern& pattern) const;
};

}  // namespace saltmine::likelihood
