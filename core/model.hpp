// A binary model and what f needs of it, kept up to date while patterns come and go.
//
// A pattern is its rows and, for every item, the classes that carry it there. An item that every class carries is in X,
// one that only some carry is in their V_a. A cell is open for a pattern where no other pattern covers it: only there
// does the pattern change anything, and only there can it show evidence.
#pragma once

#include <vector>

#include "data.hpp"
#include "evidence.hpp"

namespace saltmine {

// Sorts of patterns: fitted by f and evidence; with items that stay; and the typical row, which needs no evidence.
enum Sort : int { FREE = 0, FIXED = 1, TYPICAL = 2 };

// The items of a pattern in rising order, and for each a set of classes.
struct Items {
    std::vector<std::int32_t> numbers;
    std::vector<Word> carriers;  // as many words for each item as there are 64 classes

    std::size_t size() const { return numbers.size(); }
    void clear() {
        numbers.clear();
        carriers.clear();
    }
};

struct Pattern {
    std::vector<Word> rows;
    std::vector<std::int32_t> words;  // those with rows
    Items items;
    Int used = 0;        // rows of the input; none: there is no pattern
    double extra = 0.0;  // code table and specificity
    Word version = 0;    // tells patterns of different rows or items apart, and of another time
    std::vector<Word> alike;  // classes that may not add items
    Sort sort = FREE;
};

// Words of one class: the place of the first and behind the last in a list of words.
struct Segment {
    Int a, begin, end;
};

// Counts of the cells of one item in the rows of a pattern, by class.
struct CellCounts {
    std::vector<Int> open_ones, open_zeros, ones;
    explicit CellCounts(Int c = 0) : open_ones(c), open_zeros(c), ones(c) {}
};

// The code of all errors; lengths are whole numbers of 2^-32 nats, so that the order of changes leaves no trace.
struct ErrorsCode {
    Int total = 0, weight = 0, length = 0;
};

// Patterns, and the items that they touch as they were.
struct Backup {
    std::vector<Int> slots;
    std::vector<Pattern> patterns;
    std::vector<std::int32_t> items;
    std::vector<Word> words;  // covered cells of these items, all planes
    std::vector<Int> counts;  // errors, open cells and ones among them
    std::size_t n_planes;
    ErrorsCode code;
};

class Model {
public:
    Model(const Data& data, Array<const Int> item_counts, Int n_slots);

    const Data* data;
    std::vector<Pattern> slots;
    std::vector<Word> covered, covered_twice;  // (n, W)
    std::vector<Int> errors;                   // (n,)
    std::vector<Int> open_size, open_ones;     // (n,): open cells of all rows, and ones among them
    ErrorsCode errors_code;
    Word n_changes = 0;  // changes that stayed, so far

    // ---- sets of classes
    Int class_words() const { return class_words_; }
    bool carries(const Items& items, std::size_t k, Int a) const {
        return has_bit(items.carriers[k * class_words_ + a / 64], a % 64);
    }
    Int count_carriers(const Items& items, std::size_t k) const {
        Int count = 0;
        for (Int j = 0; j < class_words_; ++j) count += count_ones(items.carriers[k * class_words_ + j]);
        return count;
    }
    bool all_carry(const Items& items, std::size_t k) const { return count_carriers(items, k) == n_classes_; }
    const std::vector<Word>& every_class() const { return every_class_; }

    // ---- rows
    Int class_of_word(Int w) const { return class_of_word_[w]; }
    Int count_rows(const std::vector<Word>& rows) const;
    std::vector<Int> rows_by_class(const std::vector<Word>& rows) const;
    std::vector<std::int32_t> words_of(const std::vector<Word>& rows) const;
    std::vector<Segment> segments(const std::vector<std::int32_t>& words) const;
    Int n_rows() const { return n_rows_; }

    // ---- f
    double length() const { return length_with(errors_code, -1, 0, 0.0); }
    // f with other errors, and with pattern s as if so many rows used it.
    double length_with(const ErrorsCode& code, Int s, Int used, double extra) const;
    double length_without(Int s);
    // The change of the code of errors where an item has other errors.
    void change(ErrorsCode& code, Int i, Int before, Int after) const;
    Int total_usage() const;
    Int count_items(const Items& items) const;

    // ---- patterns come and go
    void make_room(Int count);  // for so many more patterns
    void grow(Int n_slots);
    Int first_empty() const;
    std::vector<Int> patterns() const;
    void put(Int s, std::vector<Word> rows, Items items);
    void take_out(Int s);
    // Keep these patterns and what they touch; put everything back once they and whatever came in their place are out.
    Backup keep(const std::vector<Int>& patterns) const;
    void restore(const Backup& kept);

    // The open cells of item number k of a pattern in the rows of some class; of pattern s of the model or a new one.
    Word open_cells(const Pattern& pattern, bool is_there, bool carried, Int i, Int w) const {
        const std::vector<Word>& of_others = is_there && carried ? covered_twice : covered;
        return pattern.rows[w] & ~of_others[i * n_words_ + w];
    }
    // Count open cells, and all ones, of one item in the rows of a pattern.
    void count_cells(const Pattern& pattern, bool is_there, std::size_t k, const std::vector<Segment>& parts,
                     CellCounts& cells) const;
    // The share of ones among the open cells of an item, once these are open as well.
    double background(Int i, Int more_ones = 0, Int more_cells = 0) const {
        Int size = open_size[i] + more_cells;
        return size > 0 ? static_cast<double>(open_ones[i] + more_ones) / size : 1.0;
    }

private:
    Int n_classes_, n_words_, class_words_, n_rows_;
    std::vector<Int> class_of_word_;
    std::vector<Word> every_class_;
    // How many patterns cover every cell, as binary numbers: plane k has bit k of all of them, (n, W).
    std::vector<std::vector<Word>> planes_;
    std::vector<Word> carried_;  // scratch of `cover` and `uncover`
    CellCounts scratch_;

    void cover(const Pattern& pattern, Int i, const Segment& part);
    void uncover(const Pattern& pattern, Int i, const Segment& part);
    double item_extra(const Items& items, std::size_t k, const std::vector<Segment>& parts, const CellCounts& cells) const;
};

}  // namespace saltmine
