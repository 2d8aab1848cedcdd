// Loops over the rows of one block, whose patterns Python keeps: saltmine/solver/kernels.py says what is what.
#include <cmath>

#include "bindings.hpp"
#include "cell_evidence.hpp"
#include "data.hpp"
#include "kernels/kernels.hpp"

namespace saltmine {

namespace {

// The patterns of a block: see State in kernels.py.
struct BlockState {
    Matrix<Word> usage;
    View<bool, 3> carry;
    View<Word, 3> masks;
    Matrix<Word> covered, covered_twice;
};

// The data as it looks without one pattern.
struct Without {
    Matrix<Word> open_cells;
    Array<Int> errors;
    Array<double> background;
};

}  // namespace

namespace {

std::vector<Int> items_of(Matrix<const bool> carry) {
    std::vector<Int> counts(carry.shape[1]), items;
    count_carriers(carry, view(counts));
    for (Int i = 0; i < carry.shape[1]; ++i) {
        if (counts[i] > 0) items.push_back(i);
    }
    return items;
}

// Look at these items without pattern s.
void leave_out(Data data, BlockState state, Int s, Array<const Int> items, Without without) {
    for (Int i : items) {
        Int errors = 0, size = 0, ones = 0;
        for (Int a = 0; a < data.n_classes(); ++a) {
            bool carried = state.carry(s, a, i);
            for (Int w = data.edges[a]; w < data.edges[a + 1]; ++w) {
                Word covered = state.covered(i, w), column = data.columns(i, w);
                if (carried) covered &= ~(state.usage(s, w) & ~state.covered_twice(i, w));
                Word open = data.row_mask[w] & ~covered;
                without.open_cells(i, w) = open;
                size += data.row_weights[w] * count_ones(open);
                ones += data.row_weights[w] * count_ones(open & column);
                errors += data.row_weights[w] * count_ones((open & column) | (covered & ~column));
            }
        }
        without.errors[i] = errors;
        without.background[i] = size > 0 ? static_cast<double>(ones) / size : 1.0;
    }
}

// Count open ones, open zeros and all ones among the rows in k ranges of words, (3, k, n), for these items; others stay
// as they are.
void count_cells(Data data, Matrix<const Word> open_cells, Array<const Word> rows, Array<const Int> items,
                 Matrix<const Int> ranges, View<Int, 3> cells) {
    // Range by range, in the order of the memory.
    for (Int k = 0; k < ranges.shape[0]; ++k) {
        Int begin = ranges(k, 0), end = ranges(k, 1);
        // A pattern of few rows has none in most words.
        while (begin < end && rows[begin] == 0) ++begin;
        while (begin < end && rows[end - 1] == 0) --end;
        for (Int i : items) {
            const Word *column = data.column(i), *open_of_item = open_cells.data + i * data.n_words();
            Int open = 0, open_ones = 0, ones = 0;
            for (Int w = begin; w < end; ++w) {
                Word having = column[w] & rows[w], open_here = open_of_item[w] & rows[w];
                open += data.row_weights[w] * count_ones(open_here);
                open_ones += data.row_weights[w] * count_ones(open_here & having);
                ones += data.row_weights[w] * count_ones(having);
            }
            cells(OPEN_ONES, k, i) = open_ones;
            cells(OPEN_ZEROS, k, i) = open - open_ones;
            cells(ONES, k, i) = ones;
        }
    }
}

// What covering a one of an item saves, where a class carries it; elsewhere what a one costs, as a negative number.
double worth_in_class(const Data& data, Matrix<const bool> carry, Int i, Int a, double worth) {
    if (carry(a, i)) return worth;
    double cross = 0.0;
    for (Int b = 0; b < data.n_classes(); ++b) {
        if (carry(b, i)) cross += data.costs.weights[i] * data.costs.cross(b, a);
    }
    return -cross;
}

// Sum up for every row, (64 W,), what a pattern saves there, less its share of S.
void weigh_rows(Data data, Matrix<const Word> open_cells, Matrix<const bool> carry, Array<const Int> errors,
                double total, Array<double> gains) {
    std::vector<Int> items = items_of(carry);
    std::vector<Term> terms(items.size());
    for (Int a = 0; a < data.n_classes(); ++a) {
        for (std::size_t k = 0; k < items.size(); ++k) {
            Int i = items[k];
            double errors_now = std::max(static_cast<double>(errors[i]), 0.5);
            double of_one = data.costs.weights[i] * std::log(total / errors_now);
            const Word* cells = carry(a, i) ? open_cells.data + i * data.n_words() : nullptr;
            terms[k] = {data.column(i), cells, 0, worth_in_class(data, carry, i, a, of_one)};
        }
        kernels->weigh_rows(terms.data(), static_cast<Int>(terms.size()), data.row_mask.data, data.edges[a],
                            data.edges[a + 1], gains.data);
    }
}

// Take the rows that save more than one more use of the pattern costs.
void choose_rows(Data data, Array<const double> gains, double price, Array<Word> rows) {
    for (Int w = 0; w < rows.size(); ++w) {
        Word word = 0;
        for (Int bit = 0; bit < data.word_sizes[w]; ++bit) word |= static_cast<Word>(gains[64 * w + bit] > price) << bit;
        rows[w] = word;
    }
}

// The evidence of cells of one item by the sizes of their rows, rounded: sums of it do not depend on the order of rows,
// nor on the blocks that these are in.
class EvidenceBySize {
public:
    EvidenceBySize(const Costs& costs, Array<const double> shifts)
        : costs_(costs), shifts_(shifts), known_(2 * shifts.size(), -1), values_(2 * shifts.size()) {}

    double of(const CellEvidence& of_cells, Int item, Int size, bool one) {
        const Int place = 2 * size + one;
        if (known_[place] != item) {
            known_[place] = item;
            values_[place] = costs_.rounded(of_cells.of(one, std::exp(shifts_[size]), shifts_[size]));
        }
        return values_[place];
    }

private:
    const Costs& costs_;
    Array<const double> shifts_;
    std::vector<Int> known_;  // the item that a value is of
    std::vector<double> values_;
};

// Fill in the evidence of every item, (n,): its cells in these rows against chance, which knows both margins. Rows of
// size k have the shift shifts[k]; sizes, (64 W,), are those of the rows.
void item_evidence(Data data, Matrix<const Word> open_cells, Array<const double> background, Array<const Word> rows,
                   Matrix<const bool> carry, double density, Array<const Int> sizes, Array<const double> shifts,
                   Array<double> shown) {
    for (double& of_item : shown) of_item = 0.0;
    EvidenceBySize evidence(data.costs, shifts);
    for (Int i : items_of(carry)) {
        if (!(0.0 < background[i] && background[i] < 1.0)) continue;
        CellEvidence of_cells(background[i], density);
        for (Int a = 0; a < data.n_classes(); ++a) {
            if (!carry(a, i)) continue;
            for (Int w = data.edges[a]; w < data.edges[a + 1]; ++w) {
                Word cells = rows[w] & open_cells(i, w);
                double of_word = 0.0;
                for (Word left = cells; left != 0; left &= left - 1) {
                    const Int bit = lowest_one(left);
                    of_word += evidence.of(of_cells, i, sizes[64 * w + bit], has_bit(data.columns(i, w), bit));
                }
                shown[i] += data.row_weights[w] * of_word;
            }
        }
    }
}

// The rows that a pattern would shorten if there were no other, by items that all classes carry.
void find_carriers(Data data, Array<const bool> items, Array<const double> worth, double price, Array<Word> rows) {
    std::vector<Term> terms;
    for (Int i = 0; i < items.size(); ++i) {
        if (items[i]) terms.push_back({data.column(i), data.row_mask.data, 0, worth[i]});
    }
    kernels->choose_rows(terms.data(), static_cast<Int>(terms.size()), data.row_mask.data, 0, rows.size(), price,
                         rows.data);
}

// Count the rows of the input in every group of rows of a size and every class, (G, c).
void count_by_stratum(Data data, Matrix<const Word> strata, Array<const Word> rows, Matrix<Int> counts) {
    for (Int g = 0; g < strata.shape[0]; ++g) {
        for (Int a = 0; a < data.n_classes(); ++a) {
            counts(g, a) = 0;
            for (Int w = data.edges[a]; w < data.edges[a + 1]; ++w) {
                counts(g, a) += data.row_weights[w] * count_ones(rows[w] & strata(g, w));
            }
        }
    }
}

// Mark these words of an item as covered by a pattern.
void cover(const BlockState& state, Int s, Int i, Int begin, Int end) {
    for (Int w = begin; w < end; ++w) {
        state.covered_twice(i, w) |= state.covered(i, w) & state.usage(s, w);
        state.covered(i, w) |= state.usage(s, w);
    }
}

// Give pattern s other rows and items.
void exchange(Data data, BlockState state, Int s, Array<const Word> rows, Matrix<const bool> carry) {
    Word bit = Word{1} << (s % 64);
    View<bool, 2> own = state.carry.at(s);
    for (Int i : items_of(own)) {
        for (Int a = 0; a < data.n_classes(); ++a) {
            if (!own(a, i)) continue;
            Int begin = data.edges[a], end = data.edges[a + 1];
            state.masks(a, i, s / 64) &= ~bit;
            for (Int w = begin; w < end; ++w) state.covered(i, w) = state.covered_twice(i, w) = 0;
            for (Int k = 0; k < state.masks.shape[2]; ++k) {
                for (Word left = state.masks(a, i, k); left != 0; left &= left - 1) {
                    cover(state, 64 * k + lowest_one(left), i, begin, end);
                }
            }
        }
    }
    for (Int w = 0; w < rows.size(); ++w) state.usage(s, w) = rows[w];
    for (Int a = 0; a < data.n_classes(); ++a) {
        for (Int i = 0; i < carry.shape[1]; ++i) {
            own(a, i) = carry(a, i);
            if (!carry(a, i)) continue;
            state.masks(a, i, s / 64) |= bit;
            cover(state, s, i, data.edges[a], data.edges[a + 1]);
        }
    }
}

}  // namespace

}  // namespace saltmine

SALTMINE_BIND(row_blocks, saltmine, leave_out, count_cells, weigh_rows, choose_rows, item_evidence, find_carriers,
              count_by_stratum, exchange)
