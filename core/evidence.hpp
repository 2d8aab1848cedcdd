// Evidence that the items of a pattern go together; saltmine/mdl/evidence.py says what is what.
#pragma once

#include <limits>

#include "choices.hpp"
#include "code_length.hpp"

namespace saltmine {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr Int DENSITIES = 20;
constexpr double TYPICAL_SHARE = 0.4;
constexpr double LEAST_EVIDENCE = 1e-9;
// Rows that a pattern must have: one in so many of all, but no more than the second.
constexpr Int ONE_IN = 300, ENOUGH_ROWS = 5;

// The level of a test is shared: 99 % for all items, 1 % for the strong ones.
inline double price_of_test(bool strong) { return std::log(strong ? 1 / 0.01 : 1 / 0.99); }

struct Ratio {
    double for_one = 0.0, for_zero = 0.0;
};

inline Ratio log_likelihood_ratio(double background, double density) {
    if (0.0 < background && background < density) {
        return {std::log(density / background), std::log((1.0 - density) / (1.0 - background))};
    }
    return {};
}

inline double rounded_density(double density) {
    double nearest = std::nearbyint(DENSITIES * density);
    return std::min(std::max(nearest, 1.0), DENSITIES - 1.0) / DENSITIES;
}

inline Int min_rows(Int n_rows) { return std::min(std::max(n_rows / ONE_IN, Int{2}), ENOUGH_ROWS); }

inline bool is_typical(Int used, Int n_rows) { return used >= TYPICAL_SHARE * n_rows; }

inline double min_item_evidence(double code, Int n_items) {
    return n_items > 0 ? std::max(code - std::log(static_cast<double>(n_items)), LEAST_EVIDENCE) : -INF;
}

inline double row_choices(Array<const Int> class_sizes, Array<const Int> used) {
    Int c = class_sizes.size(), n_rows = 0, n_used = 0;
    for (Int a = 0; a < c; ++a) {
        n_rows += class_sizes[a];
        n_used += used[a];
    }
    // Rows are chosen from all; or it is chosen how many each class has, and then which.
    double by_class = log_choices(n_used + c - 1, c - 1);
    for (Int a = 0; a < c; ++a) by_class += log_choices(class_sizes[a], used[a]);
    return std::min(by_class, log_choices(n_rows, n_used));
}

// Sums over the items of every pattern: see EvidenceSums in evidence.py.
struct EvidenceSums {
    View<double, 3> evidence;  // (2, R, 2)
    View<Int, 3> items;        // (2, R, 1 + c)
    View<double, 3> codes;     // (2, R, 1 + c)
};

struct ItemEvidence {
    Int weight;
    double code, evidence, least;  // strong if the evidence reaches the least
};

template <class Carries>
void add_item_evidence(const EvidenceSums& sums, Int s, const ItemEvidence& item, Int c, Int n_carriers, Carries carries) {
    for (Int strong = 0; strong < 2; ++strong) {
        if (strong == 1 && !(item.evidence >= item.least)) continue;
        sums.evidence(strong, s, n_carriers < c) += item.weight * item.evidence;
        if (n_carriers == c) {
            sums.items(strong, s, 0) += item.weight;
            sums.codes(strong, s, 0) += item.weight * item.code;
            continue;
        }
        for (Int a = 0; a < c; ++a) {
            if (!carries(a)) continue;
            sums.items(strong, s, 1 + a) += item.weight;
            sums.codes(strong, s, 1 + a) += item.weight * item.code;
        }
    }
}

inline double evidence_from_sums(const EvidenceSums& sums, Int s, Int n_items, Array<const Int> class_sizes,
                                 Array<const Int> used, bool shared_only) {
    double best = -INF;
    Int parts = shared_only ? 1 : sums.items.shape[2];
    for (Int strong = 0; strong < 2; ++strong) {
        double evidence = sums.evidence(strong, s, 0);
        if (parts > 1) evidence += sums.evidence(strong, s, 1);
        for (Int a = 0; a < parts; ++a) {
            evidence -= item_choices(n_items, sums.items(strong, s, a), sums.codes(strong, s, a));
        }
        best = std::max(best, evidence - price_of_test(strong));
    }
    return best - row_choices(class_sizes, used) - std::log(DENSITIES - 1.0);
}

}  // namespace saltmine
