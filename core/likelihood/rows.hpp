// The likelihood of single rows: classes, patterns that a row may use, and cells given those.
#pragma once

#include "../team.hpp"
#include "store.hpp"

namespace saltmine::likelihood {

// Rows by their items: those of row j are from pointers[j] to pointers[j + 1].
struct RowItems {
    Array<const Int> pointers, columns;

    Int size() const { return pointers.size() - 1; }
    const Int* begin(Int j) const { return columns.data + pointers[j]; }
    const Int* end(Int j) const { return columns.data + pointers[j + 1]; }
};

// A model of rows. In class a an item is missing with probability (1 - base) (1 - strength), by the strongest of the
// patterns that the row uses; it uses each of them with its rate in the class, independently of the others.
class RowModel {
public:
    // base is (classes, items), rates are (classes, patterns). Items of pattern s are those from edges[s] to edges[s + 1],
    // which are its places; strengths are (classes, places), zero where an item is none of the class.
    RowModel(Matrix<const double> base, Matrix<const double> rates, Array<const Int> edges, Array<const Int> items,
             Matrix<const double> strengths);

    Int n_classes() const { return base_.shape[0]; }
    Int n_items() const { return base_.shape[1]; }
    Int n_patterns() const { return rates_.shape[1]; }
    // Tabulate the numbers again, as they have changed.
    void tabulate();

private:
    friend class RowReader;
    // Places of item i: those from edges[i] to edges[i + 1].
    struct Lists {
        std::vector<Int> edges, values;
    };
    // A place of a pattern whose item others have, too.
    struct Contested {
        std::int32_t place, slot;
    };
    Matrix<const double> base_, rates_, strengths_;
    Array<const Int> edges_, items_;
    Int n_words_;                    // of a set of patterns
    std::vector<Int> pattern_of_;    // (places,)
    Lists of_item_;                  // places of an item
    std::vector<Int> slots_;         // (places,): the number of an item that several patterns have, or -1
    Int n_slots_ = 0;
    Words overlaps_;                 // (classes, patterns, words): patterns that share an item of the class
    std::vector<Contested> contested_;
    std::vector<Int> contested_edges_;  // (classes * patterns + 1,): those of a pattern in a class
    Doubles all_zero_;               // (classes,): nats of a row without ones that uses nothing
    Doubles odds_;                   // (classes, items): of a one against a zero
    Doubles unused_, zeros_;         // (classes, patterns): nats of no use; of use, against none, of a row without ones
    Doubles zero_, one_;             // (classes, places): nats of a zero and a one that a pattern covers, against no pattern
    Doubles strength_;               // (classes, places + 1): none at the end

    const Contested* contested(Int a, Int s) const { return contested_.data() + contested_edges_[a * n_patterns() + s]; }
    const Contested* contested_end(Int a, Int s) const { return contested(a, s + 1); }
    const double* strength(Int a) const { return strength_.data() + a * (items_.size() + 1); }
    void list_places();
    void list_overlaps(Int a);
};

// What rows say of patterns, added up over rows of a class: how often they use them, and ones and cells that belong to
// a place, as its pattern is the strongest that the row uses.
struct UseSums {
    Doubles use, ones, cells;
};

// Reads rows, one after the other; one for each thread.
class RowReader {
public:
    // At most so many sets of patterns that share items are compared.
    RowReader(const RowModel& model, std::size_t most_sets);

    void read(const Int* begin, const Int* end);
    // Log-likelihood of the row in a class: exact where few patterns overlap, else nearly so.
    double score(Int a);
    // The row uses these patterns, (patterns,).
    void take(const bool* usage);
    // Posterior probabilities of use, as of the last score.
    void add_use(double* use) const;
    // Cells are counted where several patterns have the item: of others every row that uses the pattern has one.
    void add_to(UseSums& sums, Int a);

private:
    // A set of patterns that a row may use, and the strongest place of contested items.
    struct UsedSet {
        Words patterns;
        std::vector<std::int32_t> strongest;
    };
    // One of these sets, or what it would be with one more pattern.
    struct Choice {
        double nats;
        std::size_t set;
        bool larger;
    };
    // A set that the row uses with a probability, and patterns that it hardly uses beside it.
    struct FoundSet {
        double probability;
        Words patterns;
        std::size_t first_weak, last_weak;
    };
    struct Weak {
        Int pattern;
        double probability;
    };
    const RowModel& model_;
    std::size_t most_sets_;
    const Int *begin_ = nullptr, *end_ = nullptr;
    std::vector<Int> seen_;  // (items,): the last row that had an item
    Int row_ = 0;
    Doubles alone_, use_;    // (patterns,): nats of a pattern alone, and probability of use
    Doubles most_;           // (patterns,): nats that it gains at most beside others
    Doubles nats_;           // (places + 1,): of a contested cell that the place covers; none at the end
    Doubles covered_, parts_;  // (slots,): the strongest that covers a cell, none between calls, and how many are as strong
    std::vector<Int> candidates_, together_;
    std::vector<UsedSet> sets_;
    std::vector<Choice> choices_;
    std::vector<std::size_t> free_;  // of the sets, those that are none
    std::vector<FoundSet> found_;  // with room for more than there are
    std::size_t n_found_ = 0;
    std::vector<Weak> weak_;

    bool has(Int i) const { return seen_[i] == row_; }
    double sum_sets(Int a);
    double gain(Int a, Int s, const UsedSet& set) const;
    void enlarge(Int a, Int s);
    double find(Int a, std::size_t n_strong);
    void add_contested(UseSums& sums, Int a, const FoundSet& found);
    void add_weak(UseSums& sums, Int a, const FoundSet& found, const Weak& weak);
    Words& add_found(double probability);
};

// Rows with classes, patterns with (classes, places) whether an item belongs to its pattern in a class, and (rows,
// patterns) which rows use which.
struct RowData {
    RowItems rows;
    Array<const Int> labels, edges, items;
    Matrix<const bool> in_class, usage;
};

// Estimate a model of rows: base rates, rates of use and strengths as RowModel has them.
void estimate_rows(const RowData& data, Matrix<double> base, Matrix<double> rates, Matrix<double> strengths, int n_rounds,
                   Int n_threads);

}  // namespace saltmine::likelihood
