#include <algorithm>

#include "rows.hpp"

namespace saltmine::likelihood {
namespace {

// Sets of patterns that a row may use: fewer than for a score, since only sums over rows matter.
constexpr std::size_t MOST_SETS = 8;
// Rows of a class are read in so many parts, whatever the number of threads: sums are always added in the same order.
constexpr Int MOST_PARTS = 64, FEWEST_ROWS = 128;
// How many cells a rate that is common to groups counts for in each of them, one of these. No more: what groups differ
// by is seldom nothing at all.
constexpr double CONCENTRATIONS[] = {0.25, 0.5, 1, 2, 4, 8, 16, 32, 64};
constexpr int N_CONCENTRATIONS = 9, TURNS = 3;
constexpr double LEAST_RATE = 1e-6, WEAKEST = 1e-3, STRONGEST = 0.998;
using Weights = std::array<double, N_CONCENTRATIONS>;

// Ones and cells of groups, whose rates are drawn to the rate of all by a concentration, and nats of every one of these.
struct Family {
    Doubles ones, cells;
    double rate = 0.5;
    Weights nats{};

    void weigh() {
        double all_ones = 1, all_cells = 2;
        for (std::size_t g = 0; g < ones.size(); ++g) all_ones += ones[g], all_cells += cells[g];
        rate = all_ones / all_cells;
        for (int t = 0; t < N_CONCENTRATIONS; ++t) {
            const double total = CONCENTRATIONS[t], one = total * rate, zero = total * (1 - rate);
            const double constant = log_gamma(total) - log_gamma(one) - log_gamma(zero);
            nats[t] = 0;
            for (std::size_t g = 0; g < ones.size(); ++g) {
                if (cells[g] <= 0) continue;
                nats[t] += log_gamma(ones[g] + one) + log_gamma(cells[g] - ones[g] + zero) - log_gamma(cells[g] + total) + constant;
            }
        }
    }
    // Probabilities of the concentrations.
    Weights posterior(const Weights& prior) const {
        const double most = *std::max_element(nats.begin(), nats.end());
        Weights weights;
        double sum = 0;
        for (int t = 0; t < N_CONCENTRATIONS; ++t) sum += weights[t] = prior[t] * std::exp(nats[t] - most);
        for (double& weight : weights) weight /= sum;
        return weights;
    }
    // The rate of a group, averaged over concentrations.
    double drawn(std::size_t g, const Weights& weights) const {
        double mean = 0;
        for (int t = 0; t < N_CONCENTRATIONS; ++t) {
            mean += weights[t] * (ones[g] + CONCENTRATIONS[t] * rate) / (cells[g] + CONCENTRATIONS[t]);
        }
        return std::clamp(mean, LEAST_RATE, 1 - LEAST_RATE);
    }
};

// How often families have each of the concentrations: what many show is believed of the others as well.
Weights common_weights(const std::vector<Family>& families) {
    Weights prior;
    prior.fill(1.0 / N_CONCENTRATIONS);
    for (int turn = 0; turn < TURNS; ++turn) {
        Weights sums;
        sums.fill(1.0);
        for (const Family& family : families) {
            const Weights weights = family.posterior(prior);
            for (int t = 0; t < N_CONCENTRATIONS; ++t) sums[t] += weights[t];
        }
        for (int t = 0; t < N_CONCENTRATIONS; ++t) prior[t] = sums[t] / static_cast<double>(families.size() + N_CONCENTRATIONS);
    }
    return prior;
}

// Rows of one class that are read by one thread.
struct Part {
    Int label;
    std::vector<Int> rows;
};

std::vector<Part> make_parts(Array<const Int> labels, Int n_classes) {
    std::vector<std::vector<Int>> of_class(n_classes);
    for (Int j = 0; j < labels.size(); ++j) of_class[labels[j]].push_back(j);
    const std::size_t size = std::max(FEWEST_ROWS, (labels.size() + MOST_PARTS - 1) / MOST_PARTS);
    std::vector<Part> parts;
    for (Int a = 0; a < n_classes; ++a) {
        for (std::size_t begin = 0; begin < of_class[a].size(); begin += size) {
            const std::size_t end = std::min(begin + size, of_class[a].size());
            parts.push_back({a, {of_class[a].begin() + static_cast<std::ptrdiff_t>(begin),
                                 of_class[a].begin() + static_cast<std::ptrdiff_t>(end)}});
        }
    }
    return parts;
}

class Estimate {
public:
    Estimate(const RowData& data, Matrix<double> base, Matrix<double> rates, Matrix<double> strengths, Int n_threads)
        : data_(data), base_(base), rates_(rates), strengths_(strengths), team_(n_threads),
          parts_(make_parts(data.labels, base.shape[0])), sizes_(base.shape[0], 0.0), ones_(base.size(), 0.0),
          places_(base.shape[1]), of_items_(base.shape[1]), sums_(base.shape[0]) {
        for (Int j = 0; j < data.labels.size(); ++j) {
            const Int a = data.labels[j];
            sizes_[a] += 1;
            for (const Int* item = data.rows.begin(j); item < data.rows.end(j); ++item) ones_[a * n_items() + *item] += 1;
        }
        for (Int k = 0; k < data.items.size(); ++k) places_[data.items[k]].push_back(k);
    }

    // So many rounds after the first, in which rows use what the posterior says.
    void run(int n_rounds) {
        // At first the rows use what they are said to use, and patterns are alike where they meet.
        std::fill(base_.begin(), base_.end(), 0.5);
        std::fill(rates_.begin(), rates_.end(), 0.5);
        std::copy(data_.in_class.begin(), data_.in_class.end(), strengths_.begin());
        for (double& strength : strengths_) strength *= 0.5;
        RowModel model(base_, rates_, data_.edges, data_.items, strengths_);
        for (int round = 0; round <= n_rounds; ++round) {
            if (round > 0 && n_patterns() == 0) break;
            read(model, round == 0);
            estimate_base(round == 0);
            estimate_use();
            estimate_strengths();
            model.tabulate();
        }
    }

private:
    const RowData& data_;
    Matrix<double> base_, rates_, strengths_;
    Team team_;
    std::vector<Part> parts_;
    Doubles sizes_, ones_;                   // (classes,), (classes, items)
    std::vector<std::vector<Int>> places_;   // (items,)
    std::vector<Family> of_items_;           // (items,): classes
    std::vector<UseSums> sums_;              // (classes,)

    Int n_classes() const { return base_.shape[0]; }
    Int n_items() const { return base_.shape[1]; }
    Int n_patterns() const { return rates_.shape[1]; }
    UseSums no_sums() const {
        return {Doubles(n_patterns(), 0.0), Doubles(data_.items.size(), 0.0), Doubles(data_.items.size(), 0.0)};
    }

    // Add up what rows use, as they are said to, or by the model.
    void read(const RowModel& model, bool as_said) {
        std::vector<UseSums> of_parts(parts_.size());
        share_out(team_, parts_.size(), [&](std::size_t k) {
            RowReader reader(model, MOST_SETS);
            of_parts[k] = no_sums();
            for (Int j : parts_[k].rows) {
                reader.read(data_.rows.begin(j), data_.rows.end(j));
                if (as_said) reader.take(data_.usage.data + j * n_patterns());
                else reader.score(parts_[k].label);
                reader.add_to(of_parts[k], parts_[k].label);
            }
        });
        std::fill(sums_.begin(), sums_.end(), no_sums());
        const auto add = [](Doubles& sum, const Doubles& part) {
            std::transform(sum.begin(), sum.end(), part.begin(), sum.begin(), std::plus<>());
        };
        for (std::size_t k = 0; k < parts_.size(); ++k) {
            UseSums& sums = sums_[parts_[k].label];
            add(sums.use, of_parts[k].use);
            add(sums.ones, of_parts[k].ones);
            add(sums.cells, of_parts[k].cells);
        }
        for (Int s = 0; s < n_patterns(); ++s) {
            for (Int k = data_.edges[s]; k < data_.edges[s + 1]; ++k) {
                if (places_[data_.items[k]].size() > 1) continue;
                for (Int a = 0; a < n_classes(); ++a) sums_[a].cells[k] = data_.in_class(a, k) ? sums_[a].use[s] : 0.0;
            }
        }
    }

    // Rates of cells that no pattern covers. Where no pattern has an item they are counted in the first round.
    void estimate_base(bool all) {
        constexpr std::size_t SOME = 16;
        share_out(team_, (of_items_.size() + SOME - 1) / SOME, [&](std::size_t block) {
            for (std::size_t i = SOME * block; i < std::min(of_items_.size(), SOME * (block + 1)); ++i) {
                if (all || !places_[i].empty()) count_uncovered(static_cast<Int>(i), of_items_[i]);
            }
        });
        const Weights prior = common_weights(of_items_);
        for (Int i = 0; i < n_items(); ++i) {
            const Weights weights = of_items_[i].posterior(prior);
            for (Int a = 0; a < n_classes(); ++a) base_(a, i) = of_items_[i].drawn(a, weights);
        }
    }

    void count_uncovered(Int i, Family& family) const {
        family.ones.resize(n_classes());
        family.cells.resize(n_classes());
        for (Int a = 0; a < n_classes(); ++a) {
            double ones = ones_[a * n_items() + i], cells = sizes_[a];
            for (Int k : places_[i]) ones -= sums_[a].ones[k], cells -= sums_[a].cells[k];
            // Sums of probabilities may be off by a rounding error.
            family.cells[a] = std::max(cells, 0.0);
            family.ones[a] = std::clamp(ones, 0.0, family.cells[a]);
        }
        family.weigh();
    }

    void estimate_use() {
        std::vector<Family> of_patterns(n_patterns());
        for (Int s = 0; s < n_patterns(); ++s) {
            for (Int a = 0; a < n_classes(); ++a) of_patterns[s].ones.push_back(std::clamp(sums_[a].use[s], 0.0, sizes_[a]));
            of_patterns[s].cells = sizes_;
            of_patterns[s].weigh();
        }
        const Weights prior = common_weights(of_patterns);
        for (Int s = 0; s < n_patterns(); ++s) {
            const Weights weights = of_patterns[s].posterior(prior);
            for (Int a = 0; a < n_classes(); ++a) rates_(a, s) = of_patterns[s].drawn(a, weights);
        }
    }

    // How often items of a pattern are there if it is used, which classes share.
    void estimate_strengths() {
        std::vector<Family> of_patterns(n_patterns());
        for (Int s = 0; s < n_patterns(); ++s) {
            for (Int k = data_.edges[s]; k < data_.edges[s + 1]; ++k) {
                double ones = 0, cells = 0;
                for (Int a = 0; a < n_classes(); ++a) ones += sums_[a].ones[k], cells += sums_[a].cells[k];
                of_patterns[s].cells.push_back(std::max(cells, 0.0));
                of_patterns[s].ones.push_back(std::clamp(ones, 0.0, of_patterns[s].cells.back()));
            }
            of_patterns[s].weigh();
        }
        const Weights prior = common_weights(of_patterns);
        for (Int s = 0; s < n_patterns(); ++s) {
            const Weights weights = of_patterns[s].posterior(prior);
            for (Int k = data_.edges[s]; k < data_.edges[s + 1]; ++k) {
                const double rate = of_patterns[s].drawn(k - data_.edges[s], weights);
                for (Int a = 0; a < n_classes(); ++a) {
                    const double p = base_(a, data_.items[k]);
                    strengths_(a, k) = data_.in_class(a, k) ? std::clamp((rate - p) / (1 - p), WEAKEST, STRONGEST) : 0.0;
                }
            }
        }
    }
};

}  // namespace

void estimate_rows(const RowData& data, Matrix<double> base, Matrix<double> rates, Matrix<double> strengths, int n_rounds,
                   Int n_threads) {
    Estimate(data, base, rates, strengths, n_threads).run(n_rounds);
}

}  // namespace saltmine::likelihood
