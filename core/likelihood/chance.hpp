// What chance makes of a cell: logit p = item + bin of the row's size (+ offset of the item in a class), fitted to the open cells.
#pragma once

#include "store.hpp"

namespace saltmine::likelihood {

class Chance {
public:
    // Rows that the rate of an item in all classes counts for beside those of one; none: classes are alike.
    Chance(const Store& store, double class_prior);

    // Begin anew, as the strata have changed; items keep their rates.
    void restart();

    // Count the open cells of an item again.
    void recount(Int i);
    // Ones and cells that are closed but perhaps not explained, (strata,): they count for the rates.
    void add_doubtful(Int i, Int h, double ones, double cells);
    // Fit everything, or what belongs to one item, and tabulate it.
    void fit(int sweeps);
    void fit_item(Int i);

    // Of an item, for every stratum.
    const double* p(Int i) const { return p_.data() + i * n_strata_; }
    const double* log_p(Int i) const { return log_p_.data() + i * n_strata_; }
    const double* log_q(Int i) const { return log_q_.data() + i * n_strata_; }
    const Count* counts(Int i) const { return counts_.data() + i * n_strata_; }
    double rate(Int i) const { return rates_[i]; }
    // By how much rows of a stratum differ from others in the logits of all items.
    double shift(Int h) const { return shifts_[store_.bin_of[h]]; }

private:
    const Store& store_;
    Int n_strata_;
    double class_prior_;
    std::vector<Count> counts_;                  // (n, strata)
    Doubles doubtful_ones_, doubtful_cells_;     // (n, strata)
    Doubles items_, offsets_, shifts_, rates_;   // (n,), (n, classes), (bins,), (n,)
    Doubles p_, log_p_, log_q_;                  // (n, strata)

    double fitted_ones(Int i, Int h) const { return static_cast<double>(counts(i)[h].ones) + doubtful_ones_[i * n_strata_ + h]; }
    double fitted_cells(Int i, Int h) const { return static_cast<double>(counts(i)[h].cells) + doubtful_cells_[i * n_strata_ + h]; }
    double at(Int i, Int h) const { return items_[i] + offsets_[i * store_.n_classes + store_.class_of[h]] + shifts_[store_.bin_of[h]]; }
    void step_item(Int i);
    void step_shifts();
    void tabulate(Int i);
};

}  // namespace saltmine::likelihood
