#include "chance.hpp"

#include <algorithm>

namespace saltmine::likelihood {
namespace {

// Logits stay within these; a step is at most this long.
constexpr double LARGEST = 12.0, LONGEST = 1.0;
// A shift of a stratum is drawn towards zero as by this much information, an item's rate towards one half.
constexpr double SHIFT_PRIOR = 0.1, ITEM_PRIOR = 0.5;

double bounded(double value, double bound) { return std::clamp(value, -bound, bound); }
double expit(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

Chance::Chance(const Store& store, double class_prior) : store_(store), class_prior_(class_prior) {
    restart();
}

void Chance::restart() {
    n_strata_ = store_.n_strata();
    const std::size_t n = store_.n_items, cells = n * n_strata_;
    counts_.resize(cells);
    items_.resize(n);
    rates_.resize(n);
    offsets_.resize(n * store_.n_classes);
    shifts_.assign(store_.n_bins, 0.0);
    doubtful_ones_.assign(cells, 0.0);
    doubtful_cells_.assign(cells, 0.0);
    p_.resize(cells);
    log_p_.resize(cells);
    log_q_.resize(cells);
    for (Int i = 0; i < store_.n_items; ++i) {
        recount(i);
        Int ones = 0, all = 0;
        for (Int h = 0; h < n_strata_; ++h) ones += counts(i)[h].ones, all += counts(i)[h].cells;
        items_[i] = logit((ones + ITEM_PRIOR) / (all + 2 * ITEM_PRIOR));
    }
}

void Chance::recount(Int i) {
    store_.count(i, store_.mask.data(), counts_.data() + i * n_strata_);
    std::fill_n(doubtful_ones_.begin() + i * n_strata_, n_strata_, 0.0);
    std::fill_n(doubtful_cells_.begin() + i * n_strata_, n_strata_, 0.0);
}

void Chance::add_doubtful(Int i, Int h, double ones, double cells) {
    doubtful_ones_[i * n_strata_ + h] += ones;
    doubtful_cells_[i * n_strata_ + h] += cells;
}

void Chance::step_item(Int i) {
    const Int c = store_.n_classes;
    Doubles slope(c, 0.0), bend(c, 0.0);
    double all_slope = 0, all_bend = 0, cells = 0;
    for (Int h = 0; h < n_strata_; ++h) {
        const double p = expit(at(i, h)), n_cells = fitted_cells(i, h);
        const double a_slope = fitted_ones(i, h) - n_cells * p, a_bend = n_cells * p * (1 - p);
        slope[store_.class_of[h]] += a_slope;
        bend[store_.class_of[h]] += a_bend;
        all_slope += a_slope;
        all_bend += a_bend;
        cells += n_cells;
    }
    // A prior of half a one and half a zero.
    const double p = expit(items_[i]);
    all_slope += ITEM_PRIOR * (1 - 2 * p);
    all_bend += 2 * ITEM_PRIOR * p * (1 - p);
    const double step = bounded(all_slope / (all_bend + 1e-9), LONGEST);
    items_[i] = bounded(items_[i] + step, LARGEST);
    if (class_prior_ <= 0 || c < 2) return;
    const double drawn = class_prior_ * std::max(all_bend / std::max(cells, 1.0), 1e-4);
    double* offsets = offsets_.data() + i * c;
    for (Int a = 0; a < c; ++a) {
        const double a_slope = slope[a] - step * bend[a] - drawn * offsets[a];
        offsets[a] = bounded(offsets[a] + bounded(a_slope / (bend[a] + drawn), LONGEST), LARGEST);
    }
}

void Chance::step_shifts() {
    if (store_.n_bins == 1) return;
    Doubles slope(store_.n_bins, 0.0), bend(store_.n_bins, SHIFT_PRIOR);
    for (Int i = 0; i < store_.n_items; ++i) {
        for (Int h = 0; h < n_strata_; ++h) {
            const double p = expit(at(i, h)), cells = fitted_cells(i, h);
            slope[store_.bin_of[h]] += fitted_ones(i, h) - cells * p;
            bend[store_.bin_of[h]] += cells * p * (1 - p);
        }
    }
    for (Int g = 0; g < store_.n_bins; ++g) {
        shifts_[g] = bounded(shifts_[g] + bounded((slope[g] - SHIFT_PRIOR * shifts_[g]) / bend[g], LONGEST), LARGEST);
    }
}

void Chance::tabulate(Int i) {
    double ones = 0, cells = 0;
    for (Int h = 0; h < n_strata_; ++h) {
        const Int k = i * n_strata_ + h;
        const double odds = std::exp(bounded(at(i, h), LARGEST));
        p_[k] = odds / (1 + odds);
        log_q_[k] = -std::log1p(odds);
        log_p_[k] = bounded(at(i, h), LARGEST) + log_q_[k];
        ones += fitted_ones(i, h);
        cells += fitted_cells(i, h);
    }
    rates_[i] = (ones + ITEM_PRIOR) / (cells + 2 * ITEM_PRIOR);
}

void Chance::fit(int sweeps) {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        step_shifts();
        for (Int i = 0; i < store_.n_items; ++i) step_item(i);
    }
    for (Int i = 0; i < store_.n_items; ++i) tabulate(i);
}

void Chance::fit_item(Int i) {
    for (int turn = 0; turn < 4; ++turn) step_item(i);
    tabulate(i);
}

}  // namespace saltmine::likelihood
