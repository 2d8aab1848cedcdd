// The tests of the local search: evidence for a pattern, and p-values of what is said about classes.
#include <algorithm>
#include <cmath>
#include <map>

#include "added_items.hpp"
#include "class_tests.hpp"
#include "search.hpp"
#include "weigh.hpp"

namespace saltmine {

Problem::Problem(const Data& data, Array<const Int> item_counts, Matrix<const Word> strata, bool may_alter,
                 double log_alpha)
    : data(data), item_counts(item_counts), strata(strata), may_alter(may_alter), log_alpha(log_alpha),
      stratum_of(64 * data.n_words()), stratum_sizes(strata.shape[0] * data.n_classes()),
      n_items(data.costs.n_items) {
    for (Int g = 0; g < strata.shape[0]; ++g) {
        for (Int a = 0; a < data.n_classes(); ++a) {
            for (Int w = data.edges[a]; w < data.edges[a + 1]; ++w) {
                stratum_sizes[g * data.n_classes() + a] += data.row_weights[w] * count_ones(strata(g, w));
                for (Word left = strata(g, w); left != 0; left &= left - 1) {
                    stratum_of[64 * w + lowest_one(left)] = static_cast<std::int32_t>(g);
                }
            }
        }
    }
    odds = number_odds(false);
    typical_odds = number_odds(true);
}

Problem::Odds Problem::number_odds(bool of_typical) const {
    Odds found;
    std::map<double, std::int32_t> numbers;
    for (Int place = 0; place < 64 * data.n_words(); ++place) {
        double shift = of_typical ? std::max(data.row_shifts[place], 0.0) : data.row_shifts[place];
        auto [known, is_new] = numbers.try_emplace(shift, static_cast<std::int32_t>(numbers.size()));
        if (is_new) {
            found.shift.push_back(shift);
            found.value.push_back(std::exp(shift));
        }
        found.number.push_back(known->second);
    }
    return found;
}

namespace {

// The evidence of cells of one item: chance gives a cell the odds of its item times those of its row. Cells in which it
// is as dense as the pattern show nothing.
class CellEvidence {
public:
    CellEvidence(const Problem::Odds& rows, double odds, double density)
        : rows_(rows), odds_(odds), highest_(density / (1.0 - density)), for_one_(std::log(density / odds)),
          for_zero_(std::log(1.0 - density)), known_(rows.value.size(), false), whole_(rows.value.size()) {}

    double of(Word column, Word cells, Int begin) {
        double shown = 0.0;
        for (Word left = cells; left != 0; left &= left - 1) {
            Int bit = lowest_one(left);
            std::int32_t row = rows_.number[begin + bit];
            if (!known_[row]) {
                // Many rows have the same odds.
                known_[row] = true;
                whole_[row] = std::log(1.0 + odds_ * rows_.value[row]);
            }
            if (odds_ * rows_.value[row] < highest_) {
                shown += whole_[row] + (has_bit(column, bit) ? for_one_ - rows_.shift[row] : for_zero_);
            }
        }
        return shown;
    }

private:
    const Problem::Odds& rows_;
    double odds_, highest_, for_one_, for_zero_;
    std::vector<std::uint8_t> known_;
    std::vector<double> whole_;
};

// The cells of a pattern that no other covers: one of the model, or a new one.
struct OpenCells {
    const Model& model;
    const Rows& rows;
    const Pattern* there;  // null: a new one

    Word of(Int i, Int w) const {
        Int at = i * model.data->n_words() + w;
        Word open = ~model.covered[at];
        if (there != nullptr) open |= there->rows[w] & ~model.covered_twice[at];
        return rows[w] & open;
    }
};

}  // namespace

double Search::evidence_of(const Rows& rows, const Items& items, Int s, bool as_typical) const {
    const Data& data = problem_->data;
    const Pattern* there = s >= 0 ? &model.slots[s] : nullptr;
    OpenCells open{model, rows, there};
    std::vector<std::int32_t> words = model.words_of(rows);
    std::vector<Segment> parts = model.segments(words);
    auto each_word = [&](std::size_t k, auto visit) {
        for (const Segment& part : parts) {
            if (!model.carries(items, k, part.a)) continue;
            for (Int j = part.begin; j < part.end; ++j) visit(static_cast<Int>(words[j]));
        }
    };
    Int ones = 0, size = 0;
    for (std::size_t k = 0; k < items.size(); ++k) {
        Int i = items.numbers[k], weight = data.costs.weights[i];
        each_word(k, [&](Int w) {
            Word cells = open.of(i, w);
            ones += weight * data.row_weights[w] * count_ones(cells & data.column(i)[w]);
            size += weight * data.row_weights[w] * count_ones(cells);
        });
    }
    double density = rounded_density((ones + 0.5) / (size + 1.0));
    Int c = data.n_classes(), n_items = model.count_items(items);
    std::vector<double> evidence(2 * 2), codes(2 * (1 + c));
    std::vector<Int> counts(2 * (1 + c)), used = model.rows_by_class(rows);
    EvidenceSums sums{{evidence.data(), {2, 1, 2}}, {counts.data(), {2, 1, 1 + c}}, {codes.data(), {2, 1, 1 + c}}};
    for (std::size_t k = 0; k < items.size(); ++k) {
        Int i = items.numbers[k], more_ones = 0, more_cells = 0;
        // What the pattern alone covers is open without it.
        if (there != nullptr) {
            for (std::int32_t w : there->words) {
                if (!model.carries(items, k, model.class_of_word(w))) continue;
                Word alone = there->rows[w] & ~model.covered_twice[i * data.n_words() + w];
                more_ones += data.row_weights[w] * count_ones(alone & data.column(i)[w]);
                more_cells += data.row_weights[w] * count_ones(alone);
            }
        }
        double background = model.background(i, more_ones, more_cells), shown = 0.0;
        if (0.0 < background && background < 1.0) {
            CellEvidence of_cells(as_typical ? problem_->typical_odds : problem_->odds, background / (1.0 - background),
                                  density);
            each_word(k, [&](Int w) {
                Word cells = open.of(i, w);
                if (cells != 0) shown += data.row_weights[w] * of_cells.of(data.column(i)[w], cells, 64 * w);
            });
        }
        double least = min_item_evidence(data.costs.codes[i], n_items);
        ItemEvidence item{data.costs.weights[i], data.costs.codes[i], shown, least};
        add_item_evidence(sums, 0, item, c, model.count_carriers(items, k),
                          [&](Int a) { return model.carries(items, k, a); });
    }
    return evidence_from_sums(sums, 0, problem_->n_items, data.class_sizes, view(used), false);
}

bool Search::is_typical_row(Int s) const {
    return model.slots[s].sort == TYPICAL && is_typical(model.slots[s].used, model.n_rows());
}

Items Search::shared_items(const Items& items) const {
    Items shared;
    for (std::size_t k = 0; k < items.size(); ++k) {
        if (!model.all_carry(items, k)) continue;
        shared.numbers.push_back(items.numbers[k]);
        shared.carriers.insert(shared.carriers.end(), model.every_class().begin(), model.every_class().end());
    }
    return shared;
}

double Search::together(Int s, const Rows& among) const {
    const Items& items = model.slots[s].items;
    // What classes add to the typical row is no evidence that its own items go together.
    if (is_typical_row(s)) return evidence_of(among, shared_items(items), s, true);
    return evidence_of(among, items, s, false);
}

double Search::item_choice(const Items& items) const {
    const Costs& costs = problem_->data.costs;
    double codes = 0.0;
    Int count = 0;
    for (std::size_t k = 0; k < items.size(); ++k) {
        if (!model.all_carry(items, k)) continue;
        codes += costs.weights[items.numbers[k]] * costs.codes[items.numbers[k]];
        count += costs.weights[items.numbers[k]];
    }
    return item_choices(costs.n_items, count, codes);
}

// The evidence that classes differ in the use of any items, which those of a pattern are chosen of.
double Search::use_evidence(const Items& items, Int used) const {
    if (!problem_->may_alter) return -INF;
    std::vector<double> log_p = use_log_p(items, used);
    return -*std::min_element(log_p.begin(), log_p.end()) - item_choice(items) -
           std::log(static_cast<double>(log_p.size()));
}

double Search::pattern_evidence(Int s) const {
    if (is_typical_row(s)) return INF;
    const Pattern& pattern = model.slots[s];
    double shown = together(s, pattern.rows);
    return shown >= -problem_->log_alpha ? shown : std::max(shown, use_evidence(pattern.items, pattern.used));
}

// The rows that a pattern would shorten if there were no other, by the items that all classes carry.
Rows Search::carriers(const Items& items, Int used) const {
    const Data& data = problem_->data;
    Items shared = shared_items(items);
    Rows rows(data.row_mask.begin(), data.row_mask.end());
    if (model.count_items(shared) < 2) return rows;
    double total = static_cast<double>(model.total_usage() + model.errors_code.total);
    double price = std::log(total / std::max(used, Int{1}));
    std::vector<double> worth;
    for (std::int32_t i : shared.numbers) {
        double weight = static_cast<double>(data.costs.weights[i]);
        worth.push_back(weight * std::log(total / std::max(static_cast<double>(model.errors[i]), 0.5)));
    }
    for (Int w = 0; w < data.n_words(); ++w) {
        RowSums64 sums;
        for (std::size_t k = 0; k < shared.size(); ++k) {
            Word column = data.column(shared.numbers[k])[w];
            sums.add(column, data.row_mask[w] & ~column, worth[k]);
        }
        rows[w] = sums.above(price) & data.row_mask[w];
    }
    return rows;
}

std::vector<double> Search::use_log_p(const Items& items, Int used) const {
    const Data& data = problem_->data;
    Rows rows = carriers(items, used);
    Int groups = problem_->strata.shape[0], c = data.n_classes();
    std::vector<Int> hits(groups * c);
    for (Int g = 0; g < groups; ++g) {
        for (Int w = 0; w < data.n_words(); ++w) {
            hits[g * c + model.class_of_word(w)] += data.row_weights[w] * count_ones(rows[w] & problem_->strata(g, w));
        }
    }
    return log_p_values({hits.data(), {groups, c}}, {problem_->stratum_sizes.data(), {groups, c}});
}

// Test what every class adds to a pattern, all items together.
std::vector<double> Search::added_log_p(Int s) const {
    const Data& data = problem_->data;
    const Items& items = model.slots[s].items;
    Rows rows = carriers(items, model.slots[s].used);
    std::vector<Int> places, classes, strata, sizes(problem_->strata.shape[0]);
    for (Int w = 0; w < data.n_words(); ++w) {
        for (Word left = rows[w]; left != 0; left &= left - 1) {
            Int place = 64 * w + lowest_one(left);
            for (Int k = 0; k < data.row_weights[w]; ++k) {
                places.push_back(place);
                classes.push_back(model.class_of_word(w));
                strata.push_back(problem_->stratum_of[place]);
                ++sizes[strata.back()];
            }
        }
    }
    std::vector<Int> joined = join_strata(view(std::as_const(sizes)));
    for (Int& stratum : strata) stratum = joined[stratum];
    // Items that a class might add: all but those that every class carries; or, of too many, those that some add.
    std::vector<std::uint8_t> shared(data.n_items());
    std::vector<std::int32_t> place_in(data.n_items(), -1), numbers;
    for (std::size_t k = 0; k < items.size(); ++k) {
        place_in[items.numbers[k]] = static_cast<std::int32_t>(k);
        shared[items.numbers[k]] = model.all_carry(items, k);
    }
    Int n_shared = std::count(shared.begin(), shared.end(), std::uint8_t{1});
    Int n_items = -1;
    bool only_added = !can_shuffle(static_cast<Int>(places.size()), data.n_items() - n_shared);
    if (only_added) n_items = 0;
    for (Int i = 0; i < data.n_items(); ++i) {
        if (shared[i]) continue;
        if (only_added) n_items += data.costs.weights[i];
        if (!only_added || place_in[i] >= 0) numbers.push_back(static_cast<std::int32_t>(i));
    }
    Int n = static_cast<Int>(numbers.size()), m = static_cast<Int>(places.size()), c = data.n_classes();
    std::vector<std::uint8_t> cells(m * n), added(c * n);
    std::vector<Int> weights(n);
    for (Int k = 0; k < n; ++k) {
        const Word* column = data.column(numbers[k]);
        weights[k] = data.costs.weights[numbers[k]];
        for (Int j = 0; j < m; ++j) cells[j * n + k] = has_bit(column[places[j] / 64], places[j] % 64);
        for (Int a = 0; a < c && place_in[numbers[k]] >= 0; ++a) {
            added[a * n + k] = model.carries(items, place_in[numbers[k]], a);
        }
    }
    return test_added({cells.data(), {m, n}}, view(std::as_const(classes)),
                      {reinterpret_cast<const bool*>(added.data()), {c, n}}, view(std::as_const(strata)),
                      view(std::as_const(weights)), problem_->log_alpha, n_items);
}

}  // namespace saltmine
