// Fitting one pattern against the others: items for its rows, rows for its items, while f falls.
#pragma once

#include "item_choice.hpp"
#include "model.hpp"
#include "row_items.hpp"

namespace saltmine {

// What decides how a pattern is fitted.
struct FitRule {
    const bool* may_alter;  // (c,): classes that may add items
    bool typical;           // asked for no evidence as long as two in five rows use it
    Int rounds;
};

class PatternFit {
public:
    PatternFit(const Model& model, const LazyRowItems& row_items);

    // f with the pattern in the empty slot s; infinite where nothing is left. Rows and items are in the members then.
    double fit(const Model& model, Int s, const std::vector<Word>& start, const FitRule& rule);

    // Choose rows for items that stay as they are, from the rows that are given, while they change.
    void fit_rows(const Model& model, Int s, const Items& items, Int rounds, std::vector<Word>& rows);

    std::vector<Word> rows;
    Items items;

private:
    // Items that have more open ones than open zeros in some class; counts are those of classes with rows.
    struct Candidates {
        std::vector<std::int32_t> numbers;
        std::vector<Int> open_ones, open_zeros, ones;
        std::size_t size = 0;  // of the counts
        void clear() {
            // The counts keep their memory and are written over.
            numbers.clear();
            ones.clear();
            size = 0;
        }
    };
    // An item that was chosen: its place among the candidates, and its errors.
    struct Chosen {
        std::int32_t candidate;
        Int errors;
    };

    const Data* data_;
    const LazyRowItems* row_items_;
    std::vector<Word> now_;               // rows of this turn
    std::vector<std::int32_t> words_;     // those with rows
    std::vector<Segment> parts_;          // of the classes with rows
    std::vector<double> cross_;           // (k, k): costs of these classes
    Candidates candidates_;
    std::vector<Chosen> chosen_;
    std::vector<std::uint8_t> carry_;     // (chosen, k)
    Items items_;                         // the chosen ones, in all classes
    std::vector<std::uint8_t> carriers_, some_, may_alter_;
    // Scratch of the search for candidates: ones of every item, (n,), all zero in between, and items that have any.
    std::vector<Int> ones_;
    std::vector<std::int32_t> met_, likely_;
    std::vector<Word> repeated_;

    void find_candidates(const Model& model);
    void add_if_it_pays(const Model& model, Int i);
    bool has_one_word_per_class() const { return words_.size() == parts_.size(); }
    bool rows_are_short() const;
    void find_by_rows(const Model& model);
    void find_by_words(const Model& model);
    template <class Take>
    void count_item(const Word* column, const Word* covered, Take take) const;
    void choose_items(const Model& model, double log_total, double density, Int n_items);
    void count_ones_of(std::size_t candidate);
    ItemCells cells_of(std::size_t candidate) const;
    double extra() const;
    double density() const;
    void carry_in_all(const Model& model);
};

// Take the rows that save more than one more use of the pattern costs. ``items`` are in all classes, with their errors.
void choose_rows(const Model& model, const Items& items, const std::vector<Int>& errors, double total, double price,
                 std::vector<Word>& rows);

}  // namespace saltmine
