// Description length, evidence and the choice of items, for Python: blocks of rows add up counts and decide there.
#include "bindings.hpp"
#include "item_choice.hpp"

namespace saltmine {

namespace {

using Counts = View<const Int, 3>;  // (3, c, n): see code_length.hpp

ItemCells cells_of(Counts cells, Int i) {
    Int n = cells.shape[2], c = cells.shape[1];
    const Int* first = cells.data + i;
    return {first + OPEN_ONES * c * n, first + OPEN_ZEROS * c * n, first + ONES * c * n, n};
}

Code code_of(double total, double weight, double length) { return {total, weight, length}; }

double length_of_code(double total, double weight, double length) {
    return description_length(code_of(total, weight, length));
}

std::tuple<double, double, double> code_of_patterns(Array<const double> counted, Array<const Int> used,
                                                    Array<const double> extra) {
    Code code = patterns_code(counted, used, extra);
    return {code.total, code.weight, code.length};
}

std::tuple<double, double, double> code_of_errors(Costs costs, Array<const Int> errors, double total, double weight,
                                                  double length) {
    Code code = errors_code(costs, errors, code_of(total, weight, length));
    return {code.total, code.weight, code.length};
}

double length_of_item(Array<const double> counted, double code, Int errors, double log_total) {
    return item_length(counted, code, errors, log_total);
}

double specificity_of_item(Matrix<const double> cross, Counts cells, Int i, Array<const bool> carriers) {
    return specificity(cross, cells_of(cells, i), carriers.size(), [&](Int a) { return carriers[a]; });
}

double extra_of_pattern(Costs costs, Counts cells, Matrix<const bool> carry) {
    double extra = 0.0;
    Int c = carry.shape[0], n = carry.shape[1];
    std::vector<Int> carriers(n);
    count_carriers(carry, view(carriers));
    for (Int i = 0; i < n; ++i) {
        if (carriers[i] == 0) continue;
        if (carriers[i] == c) {
            extra += costs.weights[i] * costs.codes[i];
        } else {
            double own = specificity(costs.cross, cells_of(cells, i), c, [&](Int a) { return carry(a, i); });
            extra += costs.weights[i] * (carriers[i] * costs.codes[i] + own);
        }
    }
    return extra;
}

// ---------------------------------------------------------------------- evidence

std::tuple<double, double> ratio_of_item(double background, double density) {
    Ratio ratio = log_likelihood_ratio(background, density);
    return {ratio.for_one, ratio.for_zero};
}

double choices_of_rows(Array<const Int> class_sizes, Array<const Int> used) { return row_choices(class_sizes, used); }

double density_of_pattern(Costs costs, Counts cells, Matrix<const bool> carry) {
    Int ones = 0, zeros = 0;
    for (Int a = 0; a < carry.shape[0]; ++a) {
        for (Int i = 0; i < carry.shape[1]; ++i) {
            if (!carry(a, i)) continue;
            ones += costs.weights[i] * cells(OPEN_ONES, a, i);
            zeros += costs.weights[i] * cells(OPEN_ZEROS, a, i);
        }
    }
    return (ones + 0.5) / (ones + zeros + 1.0);
}

double sum_up_evidence(EvidenceSums sums, Int s, Int n_items, Array<const Int> class_sizes, Array<const Int> used,
                       bool shared_only) {
    return evidence_from_sums(sums, s, n_items, class_sizes, used, shared_only);
}

double evidence_of_pattern(Costs costs, Matrix<const bool> carry, Array<const double> shown,
                           Array<const Int> class_sizes, Array<const Int> used) {
    Int c = carry.shape[0], n = carry.shape[1], n_items = 0;
    std::vector<Int> carriers(n), items(2 * (1 + c));
    std::vector<double> evidence(2 * 2), codes(2 * (1 + c));
    count_carriers(carry, view(carriers));
    for (Int i = 0; i < n; ++i) n_items += carriers[i] > 0 ? costs.weights[i] : 0;
    EvidenceSums sums{{evidence.data(), {2, 1, 2}}, {items.data(), {2, 1, 1 + c}}, {codes.data(), {2, 1, 1 + c}}};
    for (Int i = 0; i < n; ++i) {
        if (carriers[i] == 0) continue;
        double least = min_item_evidence(costs.codes[i], n_items);
        ItemEvidence item{costs.weights[i], costs.codes[i], shown[i], least};
        add_item_evidence(sums, 0, item, c, carriers[i], [&](Int a) { return carry(a, i); });
    }
    return evidence_from_sums(sums, 0, costs.n_items, class_sizes, used, false);
}

// ---------------------------------------------------------------------- items

double difference_of_classes(Counts cells, Int i, Array<const bool> some) {
    return difference(cells_of(cells, i), some.size(), some.data);
}

Int carriers_of_item(Array<const double> counted, Matrix<const double> cross, double code, double log_total,
                     Counts cells, Int i, Int errors, Array<const bool> may_alter, double for_one, double for_zero,
                     double least, Array<bool> carriers) {
    ItemTerms item{counted, cross, code, log_total, errors, {for_one, for_zero}, least};
    std::vector<std::uint8_t> some(carriers.size());
    return choose_carriers(item, cells_of(cells, i), carriers.size(), may_alter.data, carriers.data,
                           reinterpret_cast<bool*>(some.data()));
}

// Choose for every item what shortens f most. Most items have more zeros than ones in every class.
void items_of_pattern(Costs costs, Counts cells, Array<const double> background, Array<const Int> errors,
                      double log_total, Array<const bool> may_alter, Array<const double> for_one,
                      Array<const double> for_zero, Int n_items, Matrix<bool> carry, Array<Int> left) {
    Int c = carry.shape[0], n = carry.shape[1];
    std::vector<std::uint8_t> pays(n), carriers(c), some(c);
    // Class by class, in the order of memory, that is soon seen.
    for (Int a = 0; a < c; ++a) {
        for (Int i = 0; i < n; ++i) {
            pays[i] |= cells(OPEN_ONES, a, i) > cells(OPEN_ZEROS, a, i);
            carry(a, i) = false;
        }
    }
    for (Int i = 0; i < n; ++i) {
        left[i] = errors[i];
        if (!pays[i]) continue;
        double least = evidence_to_join(costs.codes[i], background[i], n_items);
        ItemTerms item{costs.counted, costs.cross, costs.codes[i], log_total, errors[i], {for_one[i], for_zero[i]}, least};
        left[i] = choose_carriers(item, cells_of(cells, i), c, may_alter.data, reinterpret_cast<bool*>(carriers.data()),
                                  reinterpret_cast<bool*>(some.data()));
        for (Int a = 0; a < c; ++a) carry(a, i) = carriers[a] != 0;
    }
}

}  // namespace

}  // namespace saltmine

SALTMINE_BIND(mdl, saltmine, length_of_code, code_of_patterns, code_of_errors, length_of_item, specificity_of_item,
              extra_of_pattern, ratio_of_item, log_choices, item_choices, rounded_density, min_rows,
              min_item_evidence, choices_of_rows, density_of_pattern, sum_up_evidence, evidence_of_pattern,
              evidence_to_join, rate_length, difference_of_classes, carriers_of_item, items_of_pattern)
