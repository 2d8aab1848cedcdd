// Sums over the items of patterns that f and the scores need; saltmine/mdl/scores.py says what is what.
#pragma once

#include "evidence.hpp"

namespace saltmine {

// See ModelSums in scores.py.
struct ModelSums {
    Array<double> code;       // (3,)
    Array<double> extra;      // (R,)
    Matrix<double> table;     // (R, 1 + c)
    Array<Int> items, shared; // (R,)
    Matrix<Int> carried;      // (R, c)
    Matrix<Int> alone;        // (R, c)
    Array<Int> open_ones;     // (R,)
    Array<Int> open_zeros;    // (R,)
};

// See ScoreSums in scores.py.
struct ScoreSums {
    View<double, 3> evidence;  // (2, R, 2): see EvidenceSums
    View<Int, 3> items;        // (2, R, 1 + c)
    View<double, 3> codes;     // (2, R, 1 + c)
    Matrix<double> without;         // (R, 3)
    View<double, 3> without_added;  // (R, c, 3)
};

// Add item i, which some of the c classes carry in pattern s, to the sums; used, (c,), counts the rows of the pattern.
template <class Carries>
void add_to_model(const Costs& costs, Int i, const ItemCells& cells, Int c, Carries carries, const Int* used, Int s,
                  const ModelSums& sums) {
    Int weight = costs.weights[i], n_carriers = 0, met = 0;
    double code = costs.codes[i];
    for (Int a = 0; a < c; ++a) {
        n_carriers += carries(a);
        met += cells.ones[a * cells.step];
    }
    sums.items[s] += weight;
    if (n_carriers == c) {
        sums.shared[s] += weight;
        sums.table(s, 0) += weight * code;
        sums.extra[s] += weight * code;
    } else {
        sums.extra[s] += weight * (n_carriers * code + specificity(costs.cross, cells, c, carries));
    }
    for (Int a = 0; a < c; ++a) {
        if (!carries(a)) continue;
        sums.carried(s, a) += weight;
        sums.alone(s, a) += n_carriers == 1 ? weight : 0;
        sums.open_ones[s] += weight * cells.open_ones[a * cells.step];
        sums.open_zeros[s] += weight * cells.open_zeros[a * cells.step];
        if (n_carriers < c) {
            // S as the paper prints it: zeros under the alteration in its class, and ones elsewhere.
            Int printed = used[a] + met - 2 * cells.ones[a * cells.step];
            sums.table(s, 1 + a) += weight * (code + printed);
        }
    }
}

// An item in a pattern: its errors with and without it, its evidence, and from what evidence on it is strong.
struct ItemState {
    Int errors, without;
    double evidence, least;
};

// Add item i, which some of the c classes carry in pattern s, to the sums.
template <class Carries>
void add_to_scores(const Costs& costs, Int i, const ItemCells& cells, Int c, Carries carries, const ItemState& item,
                   Int s, const ScoreSums& sums) {
    Int weight = costs.weights[i], n_carriers = 0;
    for (Int a = 0; a < c; ++a) n_carriers += carries(a);
    add_item_evidence({sums.evidence, sums.items, sums.codes}, s, {weight, costs.codes[i], item.evidence, item.least}, c, n_carriers, carries);
    add_errors(costs, i, item.without, weight, &sums.without(s, 0));
    add_errors(costs, i, item.errors, -weight, &sums.without(s, 0));
    if (n_carriers == c) return;
    for (Int a = 0; a < c; ++a) {
        if (!carries(a)) continue;
        add_errors(costs, i, item.errors + cells.gain(a), weight, &sums.without_added(s, a, 0));
        add_errors(costs, i, item.errors, -weight, &sums.without_added(s, a, 0));
    }
}

}  // namespace saltmine
