// The loops of Asso and Dbssl: candidates from associations, and what rows gain by them.
//
// Candidates and rows are bit sets over the items. A cell is open while no pattern covers it.
#include <algorithm>

#include "bindings.hpp"
#include "bits.hpp"
#include "poll.hpp"

namespace saltmine {
namespace {

// The cells that no pattern covers yet, and what covering them is worth.
struct OpenCells {
    Matrix<const Word> ones, zeros;  // (m, W)
    Array<const Int> class_of;       // (m,)
    double w_plus, w_minus;          // gain of a covered one, and cost of a covered zero
};

}  // namespace

namespace {

// A loop over a list of words takes about this many times as long per word as a loop over all words.
constexpr Int SPARSE_WORD_COST = 3;

struct Covered {
    Int ones = 0, zeros = 0;
};

double worth(const OpenCells& cells, Covered covered) {
    return cells.w_plus * static_cast<double>(covered.ones) - cells.w_minus * static_cast<double>(covered.zeros);
}

// A set of items, and its words that are not empty.
class ItemSet {
public:
    // Make it the items that two sets have in common.
    void assign(Array<const Word> first, Array<const Word> second) {
        items_.resize(first.size());
        words_.clear();
        for (Int w = 0; w < first.size(); ++w) {
            items_[w] = first[w] & second[w];
            if (items_[w] != 0) words_.push_back(w);
        }
        // Candidates of data with many items, such as texts, have mostly empty words.
        sparse_ = SPARSE_WORD_COST * words_.size() < items_.size();
    }
    bool empty() const { return words_.empty(); }

    // Count the open cells of a row that these items cover.
    Covered count(const OpenCells& cells, Int row) const {
        const Word *ones = &cells.ones(row, 0), *zeros = &cells.zeros(row, 0);
        Covered covered;
        auto add = [&](std::size_t w) {
            covered.ones += count_ones(items_[w] & ones[w]);
            covered.zeros += count_ones(items_[w] & zeros[w]);
        };
        if (sparse_) {
            for (std::size_t w : words_) add(w);
        } else {
            for (std::size_t w = 0; w < items_.size(); ++w) add(w);
        }
        return covered;
    }

private:
    std::vector<Word> items_;
    std::vector<std::size_t> words_;
    bool sparse_ = false;
};

// Write what each of these rows gains by using a candidate.
void gains_of_rows(Array<const Word> candidate, Array<const Int> rows, OpenCells cells, Array<double> gains) {
    ItemSet items;
    items.assign(candidate, candidate);
    for (Int k = 0; k < rows.size(); ++k) gains[k] = worth(cells, items.count(cells, rows[k]));
}

// Add to gains, (K, c), what changes for the candidates `first` to `last` when rows use a pattern of these items, and
// the cells are as they were before. A pattern without items stands for the beginning: what the rows gain by every
// candidate is added. Rows that lose by a candidate do not use it.
void add_gains(Matrix<const Word> candidates, Int first, Int last, Array<const Word> pattern, Array<const Int> rows,
               OpenCells cells, Matrix<double> gains) {
    const bool beginning = std::all_of(pattern.begin(), pattern.end(), [](Word word) { return word == 0; });
    ItemSet candidate, common;
    Watch watch;
    for (Int k = first; k < last; ++k) {
        watch.look();
        common.assign(candidates.at(k), pattern);
        if (!beginning && common.empty()) continue;
        candidate.assign(candidates.at(k), candidates.at(k));
        for (Int row : rows) {
            const Covered now = candidate.count(cells, row);
            double change = std::max(worth(cells, now), 0.0);
            if (!beginning) {
                const Covered lost = common.count(cells, row);
                change = std::max(worth(cells, {now.ones - lost.ones, now.zeros - lost.zeros}), 0.0) - change;
            }
            gains(k, cells.class_of[row]) += change;
        }
    }
}

// Set bit j of candidate i where item j is in a share of at least tau of the rows that item i is in.
// The rows are words `begin` to `end` of the columns, the candidates those from `first` to `last`.
void associate(Matrix<const Word> columns, Int begin, Int end, double tau, Int first, Int last,
               Matrix<Word> candidates) {
    auto count_both = [&](const Word* one, const Word* other) {
        Int both = 0;
        for (Int w = begin; w < end; ++w) both += count_ones(one[w] & other[w]);
        return both;
    };
    Watch watch;
    for (Int i = first; i < last; ++i) {
        watch.look();
        const Word* column = &columns(i, 0);
        const Int rows = count_both(column, column);
        if (rows == 0) continue;
        for (Int j = 0; j < columns.shape[0]; ++j) {
            const Int both = count_both(column, &columns(j, 0));
            // A quotient rounds as the tau that a user writes does: 3 of 10 rows are 0.3, but 10 times 0.3 may not be
            // 3.
            const bool associated = static_cast<double>(both) / static_cast<double>(rows) >= tau;
            candidates(i, j / 64) |= static_cast<Word>(associated) << j % 64;
        }
    }
}

}  // namespace
}  // namespace saltmine

SALTMINE_BIND(asso, saltmine, gains_of_rows, add_gains, associate)
