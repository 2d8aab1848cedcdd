// What Python calls of the scores.
#include "bindings.hpp"
#include "scores.hpp"

using namespace saltmine;

namespace {

// All patterns of a model from the counts of their cells, (3, c, n), and who carries which items, (c, n).
struct PatternItems {
    Costs costs;
    View<const Int, 3> cells;
    Matrix<const bool> carry;

    Int n_classes() const { return carry.shape[0]; }
    ItemCells of(Int i) const {
        return {&cells(OPEN_ONES, 0, i), &cells(OPEN_ZEROS, 0, i), &cells(ONES, 0, i), cells.shape[2]};
    }
    template <class Take>
    void each(Take take) const {
        if (cells.shape[0] != 3 || cells.shape[1] != n_classes() || cells.shape[2] != carry.shape[1]) {
            throw std::invalid_argument("cells of other classes or items");
        }
        for (Int i = 0; i < carry.shape[1]; ++i) {
            bool any = false;
            for (Int a = 0; a < n_classes(); ++a) any = any || carry(a, i);
            if (any) take(i, of(i), [this, i](Int a) { return carry(a, i); });
        }
    }
};

void sum_pattern(Costs costs, View<const Int, 3> cells, Matrix<const bool> carry, Array<const Int> used, Int s,
                 ModelSums sums) {
    PatternItems items{costs, cells, carry};
    items.each([&](Int i, const ItemCells& of_item, auto carries) {
        add_to_model(costs, i, of_item, items.n_classes(), carries, used.data, s, sums);
    });
}

void score_pattern(Costs costs, View<const Int, 3> cells, Matrix<const bool> carry, Array<const double> shown,
                   Array<const Int> errors, Array<const Int> without, Int s, ScoreSums sums) {
    PatternItems items{costs, cells, carry};
    Int n_items = 0;
    items.each([&](Int i, const ItemCells&, auto) { n_items += costs.weights[i]; });
    items.each([&](Int i, const ItemCells& of_item, auto carries) {
        ItemState item{errors[i], without[i], shown[i], min_item_evidence(costs.codes[i], n_items)};
        add_to_scores(costs, i, of_item, items.n_classes(), carries, item, s, sums);
    });
}

// f of patterns that so many rows use, and of errors with this code, (3,).
double length_of_model(Array<const double> counted, Array<const Int> used, Array<const double> extra,
                       Array<const double> errors) {
    Code code = patterns_code(counted, used, extra);
    return description_length({code.total + errors[0], code.weight + errors[1], code.length + errors[2]});
}

double length_without_patterns(Costs costs, Array<const Int> item_counts) {
    return description_length(errors_code(costs, item_counts, {}));
}

}  // namespace

SALTMINE_BIND(scores, saltmine, sum_pattern, score_pattern, length_of_model, length_without_patterns)
