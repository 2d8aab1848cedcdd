// Which items a pattern has, and in which classes; saltmine/mdl/item_choice.py says what is what.
#pragma once

#include "evidence.hpp"

namespace saltmine {

// An item that half of the open cells or more have joins by f alone.
constexpr double FREQUENT = 0.5;
// Lengths that differ by less are equal but for their last digits. An item that saves what it costs joins: in data of
// nothing but ones that is what all items do.
constexpr double EVEN = 1e-6;
// Nats by which an item must differ between the classes that carry it and the others.
constexpr double DIFFERENCE = 1.0;

inline double evidence_to_join(double code, double background, Int n_items) {
    return min_item_evidence(code, background >= FREQUENT ? 0 : n_items);
}

// What the choice of the classes of one item depends on, besides the counts of its cells.
struct ItemTerms {
    Array<const double> counted;
    Matrix<const double> cross;
    double code, log_total;
    Int errors;  // without the pattern
    Ratio ratio;
    double least;  // evidence that is asked for
};

inline double difference(const ItemCells& cells, Int c, const bool* some) {
    Int ones = 0, zeros = 0, other_ones = 0, other_zeros = 0;
    for (Int a = 0; a < c; ++a) {
        (some[a] ? ones : other_ones) += cells.open_ones[a * cells.step];
        (some[a] ? zeros : other_zeros) += cells.open_zeros[a * cells.step];
    }
    if (ones * other_zeros <= other_ones * zeros) return 0.0;
    double together = rate_length(ones + other_ones, zeros + other_zeros);
    return together - rate_length(ones, zeros) - rate_length(other_ones, other_zeros);
}

// Whether any choice of classes may pay for an item: few get further.
inline bool may_pay(const ItemTerms& item, const ItemCells& cells, Int c) {
    Int most = 0;
    for (Int a = 0; a < c; ++a) most += std::max(cells.gain(a), Int{0});
    if (most <= 0) return false;
    double saved = item_length(item.counted, item.code, item.errors, item.log_total) -
                   item_length(item.counted, item.code, item.errors - most, item.log_total);
    return saved > item.code - EVEN;
}

// Whether any choice of classes may show enough.
inline bool may_show(const ItemTerms& item, const ItemCells& cells, Int c) {
    double at_most = 0.0;
    for (Int a = 0; a < c; ++a) {
        double shown = cells.open_ones[a * cells.step] * item.ratio.for_one +
                       cells.open_zeros[a * cells.step] * item.ratio.for_zero;
        at_most += std::max(shown, 0.0);
    }
    return at_most >= item.least;
}

// Choose the classes that carry an item, (c,), by what shortens f most; return the errors with the pattern. ``some`` is
// scratch.
inline Int choose_carriers(const ItemTerms& item, const ItemCells& cells, Int c, const bool* may_alter, bool* carriers,
                           bool* some) {
    Int left = item.errors, saved = 0;
    double evidence = 0.0;
    auto shown = [&](Int a) {
        return cells.open_ones[a * cells.step] * item.ratio.for_one +
               cells.open_zeros[a * cells.step] * item.ratio.for_zero;
    };
    for (Int a = 0; a < c; ++a) {
        carriers[a] = some[a] = false;
        saved += cells.gain(a);
        evidence += shown(a);
    }
    if (!may_pay(item, cells, c) || !may_show(item, cells, c)) return left;
    auto length_with = [&](Int errors) { return item_length(item.counted, item.code, errors, item.log_total); };
    double best = length_with(item.errors);
    double length = length_with(item.errors - saved) + item.code;
    if (length < best + EVEN && evidence >= item.least) {
        best = length;
        left = item.errors - saved;
        for (Int a = 0; a < c; ++a) carriers[a] = true;
    }
    // The best proper subset: classes join in the order of what they gain.
    saved = 0;
    evidence = 0.0;
    for (Int k = 1; k < c; ++k) {
        Int joining = -1, most = 0;
        for (Int a = 0; a < c; ++a) {
            if (may_alter[a] && !some[a] && cells.gain(a) > most) {
                joining = a;
                most = cells.gain(a);
            }
        }
        if (joining < 0) break;
        some[joining] = true;
        saved += most;
        evidence += shown(joining);
        length = length_with(item.errors - saved) + k * item.code;
        // What takes longest comes last, and S only adds to the length.
        if (length >= best || evidence < item.least) continue;
        length += specificity(item.cross, cells, c, [&](Int a) { return some[a]; });
        if (length < best && difference(cells, c, some) >= DIFFERENCE) {
            best = length;
            left = item.errors - saved;
            std::copy(some, some + c, carriers);
        }
    }
    return left;
}

}  // namespace saltmine
