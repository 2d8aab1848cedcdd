#include "fit.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.hpp"

namespace saltmine {

namespace {

// f must fall by more than this from turn to turn.
constexpr double LEAST_STEP = 1e-9;

// Words of a column that are read at once, and what the rest of the work on an item is worth in items of rows.
constexpr Int WORDS_AT_ONCE = 8, WORK_OF_ITEM = 4;

double log_of(double value) { return std::log(value); }

std::vector<Term> terms_of_class(const Model& model, const Items& items, const std::vector<double>& worth, Int a) {
    const Data& data = *model.data;
    std::vector<Term> terms;
    Int c = data.n_classes();
    for (std::size_t k = 0; k < items.size(); ++k) {
        Int i = items.numbers[k];
        if (model.carries(items, k, a)) {
            terms.push_back({data.column(i), model.covered.data() + i * data.n_words(), ~Word{0}, worth[k]});
            continue;
        }
        double cross = 0.0;
        for (Int b = 0; b < c; ++b) {
            if (model.carries(items, k, b)) cross += static_cast<double>(data.costs.weights[i]) * data.costs.cross(b, a);
        }
        terms.push_back({data.column(i), nullptr, 0, -cross});
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
        kernels->choose_rows(terms.data(), static_cast<Int>(terms.size()), data.row_mask.data, data.edges[a],
                             data.edges[a + 1], price, rows.data());
    }
}

PatternFit::PatternFit(const Model& model, const LazyRowItems& row_items)
    : data_(model.data), row_items_(&row_items), carriers_(data_->n_classes()), some_(data_->n_classes()), may_alter_(data_->n_classes()) {}

// ---------------------------------------------------------------------- items

// Call take(number of the part, open ones, open cells) for every class with rows.
template <class Take>
void PatternFit::count_item(const Word* column, const Word* covered, Take take) const {
    const Int* weights = data_->row_weights.data;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
        const Segment& part = parts_[k];
        Int first = words_[part.begin], last = words_[part.end - 1], open = 0, ones = 0;
        // Where most words have rows all are counted: that runs on several words at a time.
        if (last - first < 8 * (part.end - part.begin)) {
            kernels->count_open(now_.data(), covered, column, weights, first, last + 1, &open, &ones);
        } else {
            for (Int j = part.begin; j < part.end; ++j) {
                Int w = words_[j];
                Word cells = now_[w] & ~covered[w];
                open += weights[w] * count_ones(cells);
                ones += weights[w] * count_ones(cells & column[w]);
            }
        }
        take(k, ones, open);
    }
}

void PatternFit::add_if_it_pays(const Model& model, Int i) {
    std::size_t n_parts = parts_.size(), at = candidates_.size;
    std::vector<Int>&ones = candidates_.open_ones, &zeros = candidates_.open_zeros;
    if (ones.size() < at + n_parts) {
        ones.resize(2 * (at + n_parts));
        zeros.resize(2 * (at + n_parts));
    }
    bool pays = false;
    const Word* covered = model.covered.data() + i * data_->n_words();
    count_item(data_->column(i), covered, [&](std::size_t k, Int open_ones, Int open) {
        ones[at + k] = open_ones;
        zeros[at + k] = open - open_ones;
        pays |= 2 * open_ones > open;
    });
    if (!pays) return;
    candidates_.numbers.push_back(static_cast<std::int32_t>(i));
    candidates_.size += n_parts;
}

// Whether it is less work to look at the items of these rows than to read the columns.
bool PatternFit::rows_are_short() const {
    const RowItems& row_items = row_items_->get();
    if (!row_items.are_there()) return false;
    Int n_words = static_cast<Int>(words_.size());
    Int left = data_->n_items() * (WORK_OF_ITEM + n_words / WORDS_AT_ONCE);
    if (has_one_word_per_class()) left = data_->columns.size() / WORDS_AT_ONCE;
    for (std::int32_t w : words_) {
        for (Word rows = now_[w]; rows != 0; rows &= rows - 1) left -= row_items.count(64 * w + lowest_one(rows));
        if (left < 0) return false;
    }
    return true;
}

// Look at the items that the rows have: enough of them, however many of their cells others cover.
void PatternFit::find_by_rows(const Model& model) {
    const RowItems& row_items = row_items_->get();
    likely_.clear();
    ones_.resize(data_->n_items());
    for (const Segment& part : parts_) {
        Int used = 0;
        for (Int j = part.begin; j < part.end; ++j) {
            Int w = words_[j];
            Int weight = data_->row_weights[w];
            used += weight * count_ones(now_[w]);
            for (Word rows = now_[w]; rows != 0; rows &= rows - 1) {
                Int place = 64 * w + lowest_one(rows);
                for (const std::int32_t* i = row_items.begin(place); i != row_items.end(place); ++i) {
                    if (ones_[*i] == 0) met_.push_back(*i);
                    ones_[*i] += weight;
                }
            }
        }
        for (std::int32_t i : met_) {
            if (2 * ones_[i] > used - (model.n_rows() - model.open_size[i])) likely_.push_back(i);
            ones_[i] = 0;
        }
        met_.clear();
    }
    std::sort(likely_.begin(), likely_.end());
    likely_.erase(std::unique(likely_.begin(), likely_.end()), likely_.end());
    for (std::int32_t i : likely_) add_if_it_pays(model, i);
}

// Look at the words of several items at a time, where no class has rows in more than one.
void PatternFit::find_by_words(const Model& model) {
    Int n_words = data_->n_words(), size = data_->columns.size(), last = -1, at = 0;
    repeated_.resize(WORDS_AT_ONCE * n_words);
    for (std::size_t j = 0; j < repeated_.size(); ++j) repeated_[j] = now_[j % n_words];
    for (; at + WORDS_AT_ONCE <= size; at += WORDS_AT_ONCE) {
        unsigned paying = kernels->paying_words(repeated_.data() + at % (WORDS_AT_ONCE * n_words), model.covered.data() + at,
                                                data_->columns.data + at);
        for (; paying != 0; paying &= paying - 1) {
            Int i = (at + lowest_one(paying)) / n_words;
            if (i > last) add_if_it_pays(model, i);
            last = i;
        }
    }
    for (Int i = std::max(last + 1, at / n_words); i < data_->n_items(); ++i) add_if_it_pays(model, i);
}

void PatternFit::find_candidates(const Model& model) {
    candidates_.clear();
    if (rows_are_short()) {
        find_by_rows(model);
    } else if (has_one_word_per_class()) {
        find_by_words(model);
    } else {
        for (Int i = 0; i < data_->n_items(); ++i) add_if_it_pays(model, i);
    }
    candidates_.ones.assign(candidates_.numbers.size() * parts_.size(), -1);
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
        ItemTerms terms{costs.counted, cross, costs.codes[i], log_total, model.errors[i], {}, 0.0};
        ItemCells cells = cells_of(candidate);
        // Logarithms are only taken where they matter.
        if (!may_pay(terms, cells, k)) continue;
        double background = model.background(i);
        if (density > 0.0) terms.ratio = log_likelihood_ratio(background, density);
        terms.least = evidence_to_join(costs.codes[i], background, n_items);
        if (!may_show(terms, cells, k)) continue;
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
