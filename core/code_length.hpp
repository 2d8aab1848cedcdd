// The description length f as a function of counts; saltmine/mdl/code_length.py says what is what.
#pragma once

#include <cmath>

#include "views.hpp"

namespace saltmine {

// Rows in cells, (3, c, n): see code_length.py.
constexpr Int OPEN_ONES = 0, OPEN_ZEROS = 1, ONES = 2;

// The constants of f.
struct Costs {
    Array<const Int> weights;
    Array<const double> codes;
    Matrix<const double> cross;
    Array<const double> counted;
    Int n_items;
    double unit;  // what all lengths are multiples of, a power of two

    // The nearest multiple. Sums of them are exact, in any order.
    double rounded(double length) const { return std::nearbyint(length / unit) * unit; }
};

// Three sums over patterns and items: uses and errors, the same and one for each that is, and lengths.
struct Code {
    double total = 0.0, weight = 0.0, length = 0.0;
};

inline double description_length(const Code& code) {
    return code.length + code.weight * std::log(std::max(code.total, 1.0));
}

inline Code patterns_code(Array<const double> counted, Array<const Int> used, Array<const double> extra) {
    Int total = 0, weight = 0;
    double length = 0.0;
    for (Int s = 0; s < used.size(); ++s) {
        if (used[s] > 0) {
            total += used[s];
            weight += used[s] + 1;
            length += counted[used[s]] + extra[s];
        }
    }
    return {static_cast<double>(total), static_cast<double>(weight), length};
}

inline void add_errors(const Costs& costs, Int i, Int errors, Int weight, double* code) {
    if (errors > 0) {
        code[0] += weight * errors;
        code[1] += weight * (errors + 1);
        code[2] += weight * (costs.counted[errors] + costs.codes[i]);
    }
}

inline Code errors_code(const Costs& costs, Array<const Int> errors, Code onto) {
    for (Int i = 0; i < errors.size(); ++i) {
        if (errors[i] > 0) {
            onto.total += costs.weights[i] * errors[i];
            onto.weight += costs.weights[i] * (errors[i] + 1);
            onto.length += costs.weights[i] * (costs.counted[errors[i]] + costs.codes[i]);
        }
    }
    return onto;
}

inline Int count_errors(const Costs& costs, Array<const Int> errors) {
    Int count = 0;
    for (Int i = 0; i < errors.size(); ++i) count += costs.weights[i] * errors[i];
    return count;
}

// The length of the errors of one item at the present size of the description.
inline double item_length(Array<const double> counted, double code, Int errors, double log_total) {
    if (errors == 0) return 0.0;
    return counted[errors] + code + (errors + 1) * log_total;
}

// Counts of one item in every class: open ones, open zeros and all ones of the rows of a pattern.
struct ItemCells {
    const Int* open_ones;
    const Int* open_zeros;
    const Int* ones;
    Int step;  // from class to class
    Int gain(Int a) const { return open_ones[a * step] - open_zeros[a * step]; }
};

// S of an item as the search weighs it: ones in the classes that do not carry the item.
template <class Carries>
double specificity(Matrix<const double> cross, const ItemCells& cells, Int c, Carries carries) {
    double term = 0.0;
    for (Int a = 0; a < c; ++a) {
        if (!carries(a)) continue;
        for (Int b = 0; b < c; ++b) {
            if (!carries(b)) term += cross(a, b) * cells.ones[b * cells.step];
        }
    }
    return term;
}

inline void count_carriers(Matrix<const bool> carry, Array<Int> counts) {
    for (Int& count : counts) count = 0;
    // Class by class, in the order of the memory.
    for (Int a = 0; a < carry.shape[0]; ++a) {
        for (Int i = 0; i < carry.shape[1]; ++i) counts[i] += carry(a, i);
    }
}

}  // namespace saltmine
