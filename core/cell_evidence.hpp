// The evidence of single cells: chance gives a cell the odds of its item times those of its row.
#pragma once

#include <cmath>

#include "bits.hpp"

namespace saltmine {

// What the cells of one item in a pattern of some density show.
class CellEvidence {
public:
    CellEvidence(double background, double density)
        : odds_(background / (1.0 - background)), highest_(density / (1.0 - density)),
          for_one_(std::log(density / odds_)), for_zero_(std::log(1.0 - density)) {}

    // Of some cells in a word of rows, whose odds and their logarithms are given. Cells in which chance is as dense as
    // the pattern show nothing.
    double of(Word column, Word cells, const double* row_odds, const double* row_shifts) const {
        // One logarithm for all: 64 factors of at most 20 are no more than a number can hold.
        double product = 1.0, shown = 0.0;
        for (Word left = cells; left != 0; left &= left - 1) {
            Int bit = lowest_one(left);
            double of_cell = odds_ * row_odds[bit];
            if (of_cell >= highest_) continue;
            product *= 1.0 + of_cell;
            shown += has_bit(column, bit) ? for_one_ - row_shifts[bit] : for_zero_;
        }
        return shown + std::log(product);
    }

    // Of one cell in a row of these odds, as likely to be a one as that.
    double of(bool one, double row_odds, double row_shift) const {
        double of_cell = odds_ * row_odds;
        if (of_cell >= highest_) return 0.0;
        return std::log(1.0 + of_cell) + (one ? for_one_ - row_shift : for_zero_);
    }

private:
    double odds_, highest_, for_one_, for_zero_;
};

}  // namespace saltmine
