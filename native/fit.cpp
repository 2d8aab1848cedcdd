#include "fit.hpp"

#include <algorithm>
#include <cmath>

#include "weigh.hpp"

namespace saltmine {

namespace {

// f must fall by more than this from turn to turn.
constexpr double LEAST_STEP = 1e-9;

double log_of(double value) { return std::log(value); }

// An item in the rows of one class: what a covered one saves there, and where it is counted.
struct Term {
    const Word* column;
    const Word* covered;  // null where the class does not carry the item: then all of its ones count
    double worth;
};

std::vector<Term> terms_of_class(const Model& model, const Items& items, const std::vector<double>& worth, Int a) {
    const Data& data = *model.data;
    std::vector<Term> terms;
    Int c = data.n_classes();
    for (std::size_t k = 0; k < items.size(); ++k) {
        Int i = items.numbers[k];
        if (model.carries(items, k, a)) {
            terms.push_back({data.column(i), model.covered.data() + i * data.n_words(), worth[k]});
            continue;
        }
        double cross = 0.0;
        for (Int b = 0; b < c; ++b) {
            if (model.carries(items, k, b)) cross += static_cast<double>(data.costs.weights[i]) * data.costs.cross(b, a);
        }
        terms.push_back({data.column(i), nullptr, -cross});
    }
    return terms;
}

}  // namespace

void choose_rows(const Model& model, const Items& items, const std::vector<Int>& errors, double total, double price,
                 std::vector<Word>& rows) {
    const Data& data = *model.data;
    std::vector<double> worth(items.size());
    for (std::size_t k = 0; k < items.size(); ++k) {
        double weight = static_cast<double>(data.costs.weights[items.numbers[k]]);
        worth[k] = weight * log_of(total / std::max(static_cast<double>(errors[k]), 0.5));
    }
    for (Int a = 0; a < data.n_classes(); ++a) {
        std::vector<Term> terms = terms_of_class(model, items, worth, a);
        for (Int w = data.edges[a]; w < data.edges[a + 1]; ++w) {
            RowSums64 sums;
            for (const Term& term : terms) {
                Word column = term.column[w];
                if (term.covered == nullptr) {
                    sums.add(column, 0, term.worth);
                } else {
                    Word open = data.row_mask[w] & ~term.covered[w];
                    sums.add(open & column, open & ~column, term.worth);
                }
            }
            rows[w] = sums.above(price) & data.row_mask[w];
        }
    }
}

PatternFit::PatternFit(const Model& model)
    : data_(model.data), carriers_(data_->n_classes()), some_(data_->n_classes()), may_alter_(data_->n_classes()) {}

// ---------------------------------------------------------------------- items

// Call take(number of the part, open ones, open cells) for every class with rows.
template <class Take>
void PatternFit::count_item(const Word* column, const Word* covered, Take take) const {
    const Int* weights = data_->row_weights.data;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
        const Segment& part = parts_[k];
        Int first = words_[part.begin], last = words_[part.end - 1], open = 0, ones = 0;
        auto add = [&](Int w) {
            Word cells = now_[w] & ~covered[w];
            open += weights[w] * count_ones(cells);
            ones += weights[w] * count_ones(cells & column[w]);
        };
        // Where most words have rows all are counted: that runs on several words at a time.
        if (last - first < 8 * (part.end - part.begin)) {
            for (Int w = first; w <= last; ++w) add(w);
        } else {
            for (Int j = part.begin; j < part.end; ++j) add(words_[j]);
        }
        take(k, ones, open);
    }
}

void PatternFit::find_candidates(const Model& model) {
    candidates_.clear();
    Int n_words = data_->n_words();
    std::size_t n_parts = parts_.size();
    std::vector<Int>&ones = candidates_.open_ones, &zeros = candidates_.open_zeros;
    std::size_t at = 0;
    for (Int i = 0; i < data_->n_items(); ++i) {
        if (ones.size() < at + n_parts) {
            ones.resize(2 * (at + n_parts));
            zeros.resize(2 * (at + n_parts));
        }
        bool pays = false;
        count_item(data_->column(i), model.covered.data() + i * n_words, [&](std::size_t k, Int open_ones, Int open) {
            ones[at + k] = open_ones;
            zeros[at + k] = open - open_ones;
            pays |= 2 * open_ones > open;
        });
        if (pays) {
            candidates_.numbers.push_back(static_cast<std::int32_t>(i));
            at += n_parts;
        }
    }
    candidates_.ones.assign(candidates_.numbers.size() * n_parts, -1);
}

ItemCells PatternFit::cells_of(std::size_t candidate) const {
    std::size_t at = candidate * parts_.size();
    return {candidates_.open_ones.data() + at, candidates_.open_zeros.data() + at, candidates_.ones.data() + at, 1};
}

// All ones of a candidate in the rows, which few need.
void PatternFit::count_ones_of(std::size_t candidate) {
    const Word* column = data_->column(candidates_.numbers[candidate]);
    for (std::size_t k = 0; k < parts_.size(); ++k) {
        Int ones = 0;
        for (Int j = parts_[k].begin; j < parts_[k].end; ++j) {
            Int w = words_[j];
            ones += data_->row_weights[w] * count_ones(now_[w] & column[w]);
        }
        candidates_.ones[candidate * parts_.size() + k] = ones;
    }
}

void PatternFit::choose_items(const Model& model, double log_total, double density, Int n_items) {
    const Costs& costs = data_->costs;
    Int k = static_cast<Int>(parts_.size());
    Matrix<const double> cross{cross_.data(), {k, k}};
    chosen_.clear();
    carry_.clear();
    for (std::size_t candidate = 0; candidate < candidates_.numbers.size(); ++candidate) {
        Int i = candidates_.numbers[candidate];
        double background = model.background(i);
        Ratio ratio = density > 0.0 ? log_likelihood_ratio(background, density) : Ratio{};
        double least = evidence_to_join(costs.codes[i], background, n_items);
        ItemTerms terms{costs.counted, cross, costs.codes[i], log_total, model.errors[i], ratio, least};
        ItemCells cells = cells_of(candidate);
        if (!may_join(terms, cells, k)) continue;
        if (k > 1) count_ones_of(candidate);
        auto* carriers = reinterpret_cast<bool*>(carriers_.data());
        auto* may_alter = reinterpret_cast<const bool*>(may_alter_.data());
        Int left = choose_carriers(terms, cells, k, may_alter, carriers, reinterpret_cast<bool*>(some_.data()));
        if (std::none_of(carriers, carriers + k, [](bool carried) { return carried; })) continue;
        chosen_.push_back({static_cast<std::int32_t>(candidate), left});
        carry_.insert(carry_.end(), carriers_.begin(), carriers_.begin() + k);
    }
}

// Code table and specificity among the classes with rows.
double PatternFit::extra() const {
    const Costs& costs = data_->costs;
    Int k = static_cast<Int>(parts_.size());
    Matrix<const double> cross{cross_.data(), {k, k}};
    double sum = 0.0;
    for (std::size_t j = 0; j < chosen_.size(); ++j) {
        Int i = candidates_.numbers[chosen_[j].candidate];
        const std::uint8_t* carry = carry_.data() + j * k;
        Int n_carriers = std::count(carry, carry + k, std::uint8_t{1});
        if (n_carriers == k) {
            sum += costs.weights[i] * costs.codes[i];
        } else {
            double own = specificity(cross, cells_of(chosen_[j].candidate), k, [&](Int a) { return carry[a] != 0; });
            sum += costs.weights[i] * (n_carriers * costs.codes[i] + own);
        }
    }
    return sum;
}

double PatternFit::density() const {
    Int ones = 0, zeros = 0, k = static_cast<Int>(parts_.size());
    for (std::size_t j = 0; j < chosen_.size(); ++j) {
        ItemCells cells = cells_of(chosen_[j].candidate);
        Int weight = data_->costs.weights[candidates_.numbers[chosen_[j].candidate]];
        for (Int a = 0; a < k; ++a) {
            if (!carry_[j * k + a]) continue;
            ones += weight * cells.open_ones[a];
            zeros += weight * cells.open_zeros[a];
        }
    }
    return (ones + 0.5) / (ones + zeros + 1.0);
}

// What all classes with rows carry, all classes do.
void PatternFit::carry_in_all(const Model& model) {
    items_.clear();
    Int k = static_cast<Int>(parts_.size()), size = model.class_words();
    for (std::size_t j = 0; j < chosen_.size(); ++j) {
        items_.numbers.push_back(candidates_.numbers[chosen_[j].candidate]);
        const std::uint8_t* carry = carry_.data() + j * k;
        if (std::count(carry, carry + k, std::uint8_t{1}) == k) {
            items_.carriers.insert(items_.carriers.end(), model.every_class().begin(), model.every_class().end());
            continue;
        }
        items_.carriers.resize(items_.carriers.size() + size);
        Word* classes = items_.carriers.data() + j * size;
        for (Int a = 0; a < k; ++a) {
            if (carry[a]) classes[parts_[a].a / 64] |= Word{1} << (parts_[a].a % 64);
        }
    }
}

// ---------------------------------------------------------------------- turns

double PatternFit::fit(const Model& model, Int s, const std::vector<Word>& start, const FitRule& rule) {
    Int others = model.total_usage() - model.slots[s].used, n_items = 0;
    Int least = min_rows(model.n_rows()), errors = model.errors_code.total;
    double length = INF, of_pattern = 0.0;
    std::vector<Int> left;
    now_ = start;
    // The first choice of items only starts the walk: the evidence asked of an item depends on size and density of the
    // pattern.
    for (Int turn = 0; turn < rule.rounds; ++turn) {
        words_ = model.words_of(now_);
        parts_ = model.segments(words_);
        Int used = model.count_rows(now_), k = static_cast<Int>(parts_.size());
        cross_.resize(k * k);
        for (Int a = 0; a < k; ++a) {
            may_alter_[a] = rule.may_alter[parts_[a].a];
            for (Int b = 0; b < k; ++b) cross_[a * k + b] = data_->costs.cross(parts_[a].a, parts_[b].a);
        }
        find_candidates(model);
        bool is_typical_row = rule.typical && is_typical(used, model.n_rows());
        choose_items(model, log_of(static_cast<double>(others + used + errors)), of_pattern, is_typical_row ? 0 : n_items);
        ErrorsCode code = model.errors_code;
        n_items = 0;
        left.clear();
        for (const Chosen& item : chosen_) {
            Int i = candidates_.numbers[item.candidate];
            n_items += data_->costs.weights[i];
            model.change(code, i, model.errors[i], item.errors);
            left.push_back(item.errors);
        }
        errors = code.total;
        if (n_items < 2 || used < least) break;
        carry_in_all(model);
        if (turn > 0) {
            double now = model.length_with(code, s, used, extra());
            if (now >= length - LEAST_STEP) break;
            length = now;
            rows = now_;
            items = items_;
        }
        of_pattern = density();
        double total = static_cast<double>(others + used + errors);
        choose_rows(model, items_, left, total, log_of(total / used), now_);
    }
    return length;
}

void PatternFit::fit_rows(const Model& model, Int s, const Items& of, Int rounds, std::vector<Word>& chosen) {
    Int others = model.total_usage() - model.slots[s].used;
    Pattern pattern;
    pattern.items = of;
    CellCounts cells(data_->n_classes());
    std::vector<Int> errors(of.size());
    for (Int turn = 0; turn < rounds; ++turn) {
        pattern.rows = chosen;
        pattern.words = model.words_of(chosen);
        pattern.used = model.count_rows(chosen);
        if (pattern.used < min_rows(model.n_rows())) {
            std::fill(chosen.begin(), chosen.end(), 0);
            break;
        }
        std::vector<Segment> parts = model.segments(pattern.words);
        ErrorsCode code = model.errors_code;
        for (std::size_t k = 0; k < of.size(); ++k) {
            Int i = of.numbers[k];
            model.count_cells(pattern, false, k, parts, cells);
            errors[k] = model.errors[i];
            for (const Segment& part : parts) {
                if (model.carries(of, k, part.a)) errors[k] += cells.open_zeros[part.a] - cells.open_ones[part.a];
            }
            model.change(code, i, model.errors[i], errors[k]);
        }
        double total = static_cast<double>(others + pattern.used + code.total);
        choose_rows(model, of, errors, total, log_of(total / pattern.used), chosen);
        if (chosen == pattern.rows) break;
    }
}

}  // namespace saltmine
