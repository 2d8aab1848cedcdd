// The tests of the local search: evidence for a pattern, and p-values of what is said about classes.
#include <algorithm>
#include <cmath>

#include "added_items.hpp"
#include "cell_evidence.hpp"
#include "class_tests.hpp"
#include "search.hpp"
#include "kernels/kernels.hpp"

namespace saltmine {

Problem::Problem(const Data& data, Array<const Int> item_counts, Matrix<const Word> strata, bool may_alter,
                 double log_alpha)
    : data(data), item_counts(item_counts), strata(strata), may_alter(may_alter), log_alpha(log_alpha),
      stratum_of(64 * data.n_words()), stratum_sizes(strata.shape[0] * data.n_classes()),
      n_items(data.costs.n_items), row_items(this->data) {
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
    for (double shift : data.row_shifts) {
        typical_shifts.push_back(std::max(shift, 0.0));
        typical_odds.push_back(std::exp(typical_shifts.back()));
    }
}

namespace {

// A pattern of the model, or a new one, and the cells that no other pattern covers.
class OpenCells {
public:
    OpenCells(const Model& model, const Rows& rows, const Items& items, const Pattern* there)
        : model_(model), data_(*model.data), rows_(rows), items_(items), there_(there), words_(model.words_of(rows)),
          parts_(model.segments(words_)) {}

    // The share of ones among them, as one of the densities that evidence is measured against.
    double density() const {
        Int ones = 0, size = 0;
        for (std::size_t k = 0; k < items_.size(); ++k) {
            Int weight = data_.costs.weights[items_.numbers[k]];
            each_word(k, [&](Word column, Word open, Int w) {
                ones += weight * data_.row_weights[w] * count_ones(open & column);
                size += weight * data_.row_weights[w] * count_ones(open);
            });
        }
        return rounded_density((ones + 0.5) / (size + 1.0));
    }

    // The share of ones of an item among all cells that would be open without the pattern.
    double background(std::size_t k) const {
        Int i = items_.numbers[k], more_ones = 0, more_cells = 0;
        if (there_ == nullptr) return model_.background(i);
        for (std::int32_t w : there_->words) {
            if (!model_.carries(items_, k, model_.class_of_word(w))) continue;
            Word alone = there_->rows[w] & ~model_.covered_twice[i * data_.n_words() + w];
            more_ones += data_.row_weights[w] * count_ones(alone & data_.column(i)[w]);
            more_cells += data_.row_weights[w] * count_ones(alone);
        }
        return model_.background(i, more_ones, more_cells);
    }

    // The evidence of an item in the classes that carry it.
    double evidence(std::size_t k, double density, const double* row_odds, const double* row_shifts) const {
        double chance = background(k), shown = 0.0;
        if (!(0.0 < chance && chance < 1.0)) return 0.0;
        CellEvidence of_cells(chance, density);
        each_word(k, [&](Word column, Word open, Int w) {
            if (open == 0) return;
            shown += data_.row_weights[w] * of_cells.of(column, open, row_odds + 64 * w, row_shifts + 64 * w);
        });
        return shown;
    }

private:
    const Model& model_;
    const Data& data_;
    const Rows& rows_;
    const Items& items_;
    const Pattern* there_;  // null: a new one
    std::vector<std::int32_t> words_;
    std::vector<Segment> parts_;

    // Call visit(column, open cells, number of the word) in the classes that carry an item.
    template <class Visit>
    void each_word(std::size_t k, Visit visit) const {
        Int i = items_.numbers[k], at = i * data_.n_words();
        for (const Segment& part : parts_) {
            if (!model_.carries(items_, k, part.a)) continue;
            for (Int j = part.begin; j < part.end; ++j) {
                Int w = words_[j];
                Word open = ~model_.covered[at + w];
                if (there_ != nullptr) open |= there_->rows[w] & ~model_.covered_twice[at + w];
                visit(data_.column(i)[w], rows_[w] & open, w);
            }
        }
    }
};

}  // namespace

// The evidence that items go together in these rows: of pattern s, or of a new one where s is negative.
double Search::evidence_of(const Rows& rows, const Items& items, Int s, bool as_typical) const {
    const Data& data = problem_->data;
    OpenCells cells(model, rows, items, s >= 0 ? &model.slots[s] : nullptr);
    double density = cells.density();
    const double* odds = as_typical ? problem_->typical_odds.data() : data.row_odds.data;
    const double* shifts = as_typical ? problem_->typical_shifts.data() : data.row_shifts.data;
    Int c = data.n_classes(), n_items = model.count_items(items);
    std::vector<double> evidence(2 * 2), codes(2 * (1 + c));
    std::vector<Int> counts(2 * (1 + c)), used = model.rows_by_class(rows);
    EvidenceSums sums{{evidence.data(), {2, 1, 2}}, {counts.data(), {2, 1, 1 + c}}, {codes.data(), {2, 1, 1 + c}}};
    for (std::size_t k = 0; k < items.size(); ++k) {
        double code = data.costs.codes[items.numbers[k]];
        double shown = cells.evidence(k, density, odds, shifts);
        ItemEvidence item{data.costs.weights[items.numbers[k]], code, shown, min_item_evidence(code, n_items)};
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

double Search::evidence_with(const Rows& rows, const Items& items) const {
    double together = evidence_of(rows, items, -1, false);
    return together >= -problem_->log_alpha ? together : std::max(together, use_evidence(items, model.count_rows(rows)));
}

// Whether a class has items in a pattern that not all have.
bool Search::adds(Int s, Int a) const {
    const Items& items = model.slots[s].items;
    for (std::size_t k = 0; k < items.size(); ++k) {
        if (model.carries(items, k, a) && !model.all_carry(items, k)) return true;
    }
    return false;
}

Int Search::count_found() const {
    Int count = 0;
    for (Int s : model.patterns()) count += !is_typical_row(s);
    return count;
}

// Patterns that are only shown given each other explain nothing: every one makes its items look rare in the cells that
// it leaves to the others. So does the typical row, which is no evidence for anything and comes back last: rows that do
// not use it have more of everything else.
bool Search::drop_unsupported(Team& team) {
    struct Kept {
        Int s;
        Rows rows;
        Items items;
        Word version;
        double shown;
    };
    std::vector<Kept> waiting, typical;
    for (Int s : model.patterns()) {
        const Pattern& pattern = model.slots[s];
        (is_typical_row(s) ? typical : waiting).push_back({s, pattern.rows, pattern.items, pattern.version, 0.0});
    }
    for (Int s : model.patterns()) model.take_out(s);
    auto put_back = [&](const Kept& kept) {
        model.put(kept.s, kept.rows, kept.items);
        // What was tried on it in vain is not tried again.
        model.slots[kept.s].version = kept.version;
    };
    share_out(team, waiting.size(), [&](std::size_t k) {
        waiting[k].shown = evidence_with(waiting[k].rows, waiting[k].items);
    });
    std::stable_sort(waiting.begin(), waiting.end(),
                     [](const Kept& one, const Kept& other) { return one.shown > other.shown; });
    for (std::size_t asked = waiting.size() + 1; !waiting.empty() && asked != waiting.size();) {
        asked = waiting.size();
        std::vector<Kept> left;
        for (Kept& kept : waiting) {
            if (evidence_with(kept.rows, kept.items) >= -problem_->log_alpha) {
                put_back(kept);
            } else {
                left.push_back(std::move(kept));
            }
        }
        waiting = std::move(left);
    }
    for (const Kept& kept : typical) put_back(kept);
    update();
    return !waiting.empty();
}

// The rows that a pattern would shorten if there were no other, by the items that all classes carry.
Rows Search::carriers(const Items& items, Int used) const {
    const Data& data = problem_->data;
    Items shared = shared_items(items);
    Rows rows(data.row_mask.begin(), data.row_mask.end());
    if (model.count_items(shared) < 2) return rows;
    double total = static_cast<double>(model.total_usage() + model.errors_code.total);
    double price = std::log(total / std::max(used, Int{1}));
    std::vector<Term> terms;
    for (std::int32_t i : shared.numbers) {
        double weight = static_cast<double>(data.costs.weights[i]);
        double worth = weight * std::log(total / std::max(static_cast<double>(model.errors[i]), 0.5));
        terms.push_back({data.column(i), data.row_mask.data, 0, worth});
    }
    kernels->choose_rows(terms.data(), static_cast<Int>(terms.size()), data.row_mask.data, 0, data.n_words(), price,
                         rows.data());
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

namespace {

// The rows that carry a pattern, one by one: equal rows of the input are as many.
struct CarrierList {
    std::vector<Int> places, classes, strata;

    CarrierList(const Problem& problem, const Model& model, const Rows& rows) {
        const Data& data = problem.data;
        std::vector<Int> sizes(problem.strata.shape[0]);
        for (Int w = 0; w < data.n_words(); ++w) {
            for (Word left = rows[w]; left != 0; left &= left - 1) {
                Int place = 64 * w + lowest_one(left), stratum = problem.stratum_of[place], count = data.row_weights[w];
                places.insert(places.end(), count, place);
                classes.insert(classes.end(), count, model.class_of_word(w));
                strata.insert(strata.end(), count, stratum);
                sizes[stratum] += count;
            }
        }
        std::vector<Int> joined = join_strata(view(std::as_const(sizes)));
        for (Int& stratum : strata) stratum = joined[stratum];
    }
};

}  // namespace

// Test what every class adds to a pattern, all items together.
std::vector<double> Search::added_log_p(Int s) const {
    const Data& data = problem_->data;
    const Items& items = model.slots[s].items;
    CarrierList rows(*problem_, model, carriers(items, model.slots[s].used));
    // Where every item is among those of the pattern; shared ones are nobody's own.
    constexpr std::int32_t NOT_THERE = -1, SHARED = -2;
    std::vector<std::int32_t> place_in(data.n_items(), NOT_THERE), numbers;
    for (std::size_t k = 0; k < items.size(); ++k) {
        place_in[items.numbers[k]] = model.all_carry(items, k) ? SHARED : static_cast<std::int32_t>(k);
    }
    // A class might add any item that not all carry; of too many, only those are looked at that some class adds.
    Int m = static_cast<Int>(rows.places.size()), c = data.n_classes(), n_others = 0, n_items = 0;
    for (Int i = 0; i < data.n_items(); ++i) {
        if (place_in[i] == SHARED) continue;
        ++n_others;
        n_items += data.costs.weights[i];
    }
    bool all_others = can_shuffle(m, n_others);
    for (Int i = 0; i < data.n_items(); ++i) {
        if (place_in[i] >= 0 || (all_others && place_in[i] == NOT_THERE)) numbers.push_back(static_cast<std::int32_t>(i));
    }
    Int n = static_cast<Int>(numbers.size());
    std::vector<std::uint8_t> cells(m * n), added(c * n);
    std::vector<Int> weights(n);
    for (Int k = 0; k < n; ++k) {
        const Word* column = data.column(numbers[k]);
        std::int32_t place = place_in[numbers[k]];
        weights[k] = data.costs.weights[numbers[k]];
        for (Int j = 0; j < m; ++j) cells[j * n + k] = has_bit(column[rows.places[j] / 64], rows.places[j] % 64);
        for (Int a = 0; a < c && place >= 0; ++a) added[a * n + k] = model.carries(items, place, a);
    }
    return test_added({cells.data(), {m, n}}, view(std::as_const(rows.classes)),
                      {reinterpret_cast<const bool*>(added.data()), {c, n}}, view(std::as_const(rows.strata)),
                      view(std::as_const(weights)), problem_->log_alpha, all_others ? -1 : n_items);
}

}  // namespace saltmine
