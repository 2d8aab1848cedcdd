// Items whose combination classes use differently; saltmine/solver/contrasts.py says what is what.
#pragma once

#include "choices.hpp"
#include "data.hpp"
#include "team.hpp"

namespace saltmine {

// A set of items, in rising order, and the evidence that a class uses it more than the others.
struct Contrast {
    std::vector<Int> items;
    double evidence;
};

// Log-likelihood ratios of two rates, in one class and in the others, against one.
class ClassDifferences {
public:
    // Lengths are kept for no more rows than this, all classes together.
    static constexpr Int MAX_KEPT = 1 << 20;

    explicit ClassDifferences(Array<const Int> sizes) : sizes_(sizes) {
        for (Int size : sizes) n_rows_ += size;
        if ((2 * sizes.size() + 1) * n_rows_ > MAX_KEPT) return;
        together_ = lengths(n_rows_);
        for (Int size : sizes) {
            own_.push_back(lengths(size));
            others_.push_back(lengths(n_rows_ - size));
        }
    }

    // Zero if class a has no higher rate. Counts are (c,), and these are all of them.
    double of(const Int* counts, Int all, Int a) const {
        Int others = all - counts[a], rest = n_rows_ - sizes_[a];
        if (counts[a] * rest <= others * sizes_[a]) return 0.0;
        if (together_.empty()) {
            return rate_length(all, n_rows_ - all) - rate_length(counts[a], sizes_[a] - counts[a]) -
                   rate_length(others, rest - others);
        }
        return together_[all] - own_[a][counts[a]] - others_[a][others];
    }

private:
    static std::vector<double> lengths(Int size) {
        std::vector<double> values(size + 1);
        for (Int ones = 0; ones <= size; ++ones) values[ones] = rate_length(ones, size - ones);
        return values;
    }

    Array<const Int> sizes_;
    Int n_rows_ = 0;
    std::vector<double> together_;
    std::vector<std::vector<double>> own_, others_;
};

// Grow a pair of items to the set that shows most for class a, less what the choice of it costs.
Contrast grow_contrast(const Data& data, const ClassDifferences& differences, Matrix<const Word> columns, Int first,
                       Int second, Int a);

// Sets of items that a class uses more than the others, the clearest first. Columns, (n, W), are the cells to look at;
// a set must show the least evidence.
std::vector<Contrast> find_contrasts(const Data& data, Matrix<const Word> columns, double least, Team& team);

}  // namespace saltmine
