#include "rows.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace saltmine::likelihood {
namespace {

// Nats below the best at which a set of patterns is left out; fewer if there are many sets already.
constexpr double NEGLIGIBLE = 16.0, UNLIKELY = 8.0;
constexpr std::size_t MANY_SETS = 7;
// Once there are as many sets as are compared, patterns that gain less than this alone are not put together with others
// of this kind: they are summed out as if they shared no items with each other.
constexpr double WEAK = -1.0;
// Above these nats the odds of use are those at it; a product of this size is not multiplied further.
constexpr double MUCH = 30.0, LARGE = 1e200;

void set_bit(Word* set, Int place) { set[place / 64] |= Word{1} << place % 64; }

template <class Job>
void for_each(const Words& set, Job job) {
    for (std::size_t w = 0; w < set.size(); ++w) {
        for (Word left = set[w]; left; left &= left - 1) job(static_cast<Int>(64 * w) + lowest_one(left));
    }
}

}  // namespace

RowModel::RowModel(Matrix<const double> base, Matrix<const double> rates, Array<const Int> edges, Array<const Int> items,
                   Matrix<const double> strengths)
    : base_(base), rates_(rates), strengths_(strengths), edges_(edges), items_(items), n_words_((rates.shape[1] + 63) / 64),
      all_zero_(base.shape[0]), odds_(base.size()), unused_(rates.size()), zeros_(rates.size()), zero_(strengths.size()),
      one_(strengths.size()), strength_(base.shape[0] * (items.size() + 1), 0.0) {
    list_places();
    tabulate();
}

void RowModel::list_places() {
    pattern_of_.resize(items_.size());
    of_item_.edges.assign(n_items() + 1, 0);
    for (Int i : items_) ++of_item_.edges[i + 1];
    for (Int i = 0; i < n_items(); ++i) of_item_.edges[i + 1] += of_item_.edges[i];
    of_item_.values.resize(items_.size());
    std::vector<Int> next(of_item_.edges.begin(), of_item_.edges.end() - 1);
    for (Int s = 0; s < n_patterns(); ++s) {
        for (Int k = edges_[s]; k < edges_[s + 1]; ++k) {
            pattern_of_[k] = s;
            of_item_.values[next[items_[k]]++] = k;
        }
    }
    std::vector<Int> slot_of(n_items(), -1);
    for (Int i = 0; i < n_items(); ++i) {
        if (of_item_.edges[i + 1] - of_item_.edges[i] > 1) slot_of[i] = n_slots_++;
    }
    for (Int i : items_) slots_.push_back(slot_of[i]);
}

// Patterns that share an item in a class, and where.
void RowModel::list_overlaps(Int a) {
    for (Int s = 0; s < n_patterns(); ++s) {
        Word* linked = overlaps_.data() + (a * n_patterns() + s) * n_words_;
        for (Int k = edges_[s]; k < edges_[s + 1]; ++k) {
            if (slots_[k] < 0 || strengths_(a, k) == 0) continue;
            contested_.push_back({static_cast<std::int32_t>(k), static_cast<std::int32_t>(slots_[k])});
            for (Int o = of_item_.edges[items_[k]]; o < of_item_.edges[items_[k] + 1]; ++o) {
                const Int other = of_item_.values[o];
                if (other != k && strengths_(a, other) > 0) set_bit(linked, pattern_of_[other]);
            }
        }
        contested_edges_.push_back(static_cast<Int>(contested_.size()));
    }
}

void RowModel::tabulate() {
    const Int r = n_patterns(), n_places = items_.size();
    overlaps_.assign(n_classes() * r * n_words_, 0);
    contested_.clear();
    contested_edges_.assign(1, 0);
    for (Int a = 0; a < n_classes(); ++a) {
        list_overlaps(a);
        all_zero_[a] = 0;
        for (Int i = 0; i < n_items(); ++i) {
            const double log_zero = std::log1p(-base_(a, i));
            all_zero_[a] += log_zero;
            odds_[a * n_items() + i] = std::log(base_(a, i)) - log_zero;
        }
        for (Int s = 0; s < r; ++s) {
            unused_[a * r + s] = std::log1p(-rates_(a, s));
            double nats = std::log(rates_(a, s)) - unused_[a * r + s];
            for (Int k = edges_[s]; k < edges_[s + 1]; ++k) {
                const double p = base_(a, items_[k]), strength = strengths_(a, k);
                zero_[a * n_places + k] = std::log1p(-strength);
                one_[a * n_places + k] = std::log1p(strength * (1 - p) / p);
                nats += zero_[a * n_places + k];
                strength_[a * (n_places + 1) + k] = strength;
            }
            zeros_[a * r + s] = nats;
        }
    }
}

RowReader::RowReader(const RowModel& model, std::size_t most_sets)
    : model_(model), most_sets_(most_sets), seen_(model.n_items(), 0), alone_(model.n_patterns()), use_(model.n_patterns()),
      most_(model.n_patterns()), nats_(model.items_.size() + 1, 0.0), covered_(model.n_slots_), parts_(model.n_slots_),
      sets_(2 * most_sets, {Words(model.n_words_), std::vector<std::int32_t>(model.n_slots_)}) {}

// A set without patterns, for some to be added.
Words& RowReader::add_found(double probability) {
    if (found_.size() == n_found_) found_.push_back({0.0, Words(model_.n_words_), 0, 0});
    FoundSet& found = found_[n_found_++];
    found.probability = probability;
    found.first_weak = found.last_weak = weak_.size();
    std::fill(found.patterns.begin(), found.patterns.end(), Word{0});
    return found.patterns;
}

void RowReader::read(const Int* begin, const Int* end) {
    begin_ = begin;
    end_ = end;
    ++row_;
    for (const Int* item = begin; item < end; ++item) seen_[*item] = row_;
}

double RowReader::score(Int a) {
    const Int r = model_.n_patterns(), n_places = model_.items_.size();
    const double *odds = model_.odds_.data() + a * model_.n_items(), *one = model_.one_.data() + a * n_places,
                 *zero = model_.zero_.data() + a * n_places;
    const RowModel::Lists& of_item = model_.of_item_;
    double nats = model_.all_zero_[a];
    std::copy_n(model_.zeros_.data() + a * r, r, alone_.data());
    for (const Int* item = begin_; item < end_; ++item) {
        nats += odds[*item];
        for (Int o = of_item.edges[*item]; o < of_item.edges[*item + 1]; ++o) {
            const Int k = of_item.values[o];
            alone_[model_.pattern_of_[k]] += one[k] - zero[k];
        }
    }
    candidates_.clear();
    weak_.clear();
    n_found_ = 0;
    for (Int s = 0; s < r; ++s) {
        nats += model_.unused_[a * r + s];
        if (alone_[s] > -NEGLIGIBLE) candidates_.push_back(s);
    }
    // Strong ones first, so that what they explain is not given to others for long.
    std::stable_sort(candidates_.begin(), candidates_.end(), [&](Int s, Int t) { return alone_[s] > alone_[t]; });
    // Patterns that share no item are used independently of each other: those that are linked are looked at together.
    while (!candidates_.empty()) {
        together_.assign(1, candidates_.front());
        candidates_.erase(candidates_.begin());
        for (std::size_t next = 0; next < together_.size() && !candidates_.empty(); ++next) {
            const Word* linked = model_.overlaps_.data() + (a * r + together_[next]) * model_.n_words_;
            const auto is_linked = [&](Int s) { return has_bit(linked[s / 64], s % 64); };
            std::copy_if(candidates_.begin(), candidates_.end(), std::back_inserter(together_), is_linked);
            candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), is_linked), candidates_.end());
        }
        nats += sum_sets(a);
    }
    return nats;
}

// What a pattern gains in a row beside others that it uses: where one of them covers a cell, only the stronger counts.
double RowReader::gain(Int a, Int s, const UsedSet& set) const {
    const double* strength = model_.strength(a);
    double gain = alone_[s];
    for (const RowModel::Contested* at = model_.contested(a, s); at < model_.contested_end(a, s); ++at) {
        const std::int32_t other = set.strongest[at->slot];
        gain -= nats_[strength[at->place] > strength[other] ? other : at->place];
    }
    return gain;
}

// Choose among sets with and without one more pattern, and make those that there are not yet.
void RowReader::enlarge(Int a, Int s) {
    const double* strength = model_.strength(a);
    const std::size_t before = choices_.size();
    double best = 0;
    for (const Choice& choice : choices_) best = std::max(best, choice.nats);
    const double least = best - (before > MANY_SETS ? UNLIKELY : NEGLIGIBLE);
    for (std::size_t k = 0; k < before; ++k) {
        if (choices_[k].nats + most_[s] <= least) continue;
        const double nats = choices_[k].nats + gain(a, s, sets_[choices_[k].set]);
        if (nats > least) choices_.push_back({nats, choices_[k].set, true});
    }
    const std::size_t kept = std::min(choices_.size(), most_sets_);
    std::nth_element(choices_.begin(), choices_.begin() + static_cast<std::ptrdiff_t>(kept), choices_.end(),
                     [](const Choice& x, const Choice& y) { return x.nats > y.nats; });
    for (std::size_t k = 0; k < kept; ++k) {
        if (!choices_[k].larger) continue;
        const UsedSet& set = sets_[choices_[k].set];
        UsedSet& larger = sets_[free_.back()];
        choices_[k] = {choices_[k].nats, free_.back(), false};
        free_.pop_back();
        larger.patterns = set.patterns;
        set_bit(larger.patterns.data(), s);
        larger.strongest = set.strongest;
        for (const RowModel::Contested* at = model_.contested(a, s); at < model_.contested_end(a, s); ++at) {
            std::int32_t& strongest = larger.strongest[at->slot];
            if (strength[at->place] > strength[strongest]) strongest = at->place;
        }
    }
    for (; choices_.size() > kept; choices_.pop_back()) {
        if (!choices_.back().larger) free_.push_back(choices_.back().set);
    }
}

// Nats, against no use, of the sets of patterns that belong together; sets that a row may use are found, with their
// probabilities.
double RowReader::sum_sets(Int a) {
    if (together_.size() == 1) {
        const double ratio = alone_[together_[0]], none = std::exp(-std::abs(ratio));
        set_bit(add_found((ratio > 0 ? 1 : none) / (1 + none)).data(), together_[0]);
        return std::max(ratio, 0.0) + std::log1p(none);
    }
    std::stable_sort(together_.begin(), together_.end(), [&](Int s, Int t) { return alone_[s] > alone_[t]; });
    const Int n_places = model_.items_.size();
    for (Int s : together_) {
        most_[s] = alone_[s];
        for (const RowModel::Contested* at = model_.contested(a, s); at < model_.contested_end(a, s); ++at) {
            nats_[at->place] = (has(model_.items_[at->place]) ? model_.one_ : model_.zero_)[a * n_places + at->place];
            most_[s] -= std::min(nats_[at->place], 0.0);
        }
    }
    free_.resize(sets_.size() - 1);
    std::iota(free_.begin(), free_.end(), std::size_t{1});
    choices_.assign(1, {0.0, 0, false});
    std::fill(sets_[0].patterns.begin(), sets_[0].patterns.end(), Word{0});
    std::fill(sets_[0].strongest.begin(), sets_[0].strongest.end(), n_places);
    std::size_t n_strong = 0;
    while (n_strong < together_.size() && (2 * choices_.size() <= most_sets_ || alone_[together_[n_strong]] > WEAK)) {
        enlarge(a, together_[n_strong++]);
    }
    return find(a, n_strong);
}

// Sum the chosen sets, each with the patterns that are left.
double RowReader::find(Int a, std::size_t n_strong) {
    const std::size_t first = n_found_;
    double best = -std::numeric_limits<double>::infinity(), sum = 0;
    for (const Choice& choice : choices_) {
        Words& patterns = add_found(choice.nats);
        patterns = sets_[choice.set].patterns;
        FoundSet& found = found_[n_found_ - 1];
        double factor = 1;
        for (std::size_t k = n_strong; k < together_.size(); ++k) {
            const Int s = together_[k];
            if (most_[s] <= -UNLIKELY) continue;
            const double ratio = gain(a, s, sets_[choice.set]);
            if (ratio <= -UNLIKELY) continue;
            const double odds = std::exp(std::min(ratio, MUCH));
            factor *= 1 + odds;
            weak_.push_back({s, odds / (1 + odds)});
            if (factor < LARGE) continue;
            found.probability += std::log(factor);
            factor = 1;
        }
        found.probability += std::log(factor);
        found.last_weak = weak_.size();
        best = std::max(best, found.probability);
    }
    for (std::size_t k = first; k < n_found_; ++k) sum += std::exp(found_[k].probability - best);
    for (std::size_t k = first; k < n_found_; ++k) {
        FoundSet& found = found_[k];
        found.probability = std::exp(found.probability - best) / sum;
        for (std::size_t w = found.first_weak; w < found.last_weak; ++w) weak_[w].probability *= found.probability;
    }
    return best + std::log(sum);
}

void RowReader::take(const bool* usage) {
    n_found_ = 0;
    weak_.clear();
    Words& found = add_found(1.0);
    for (Int s = 0; s < model_.n_patterns(); ++s) {
        if (usage[s]) set_bit(found.data(), s);
    }
}

void RowReader::add_use(double* use) const {
    for (std::size_t k = 0; k < n_found_; ++k) {
        for_each(found_[k].patterns, [&](Int s) { use[s] += found_[k].probability; });
    }
    for (const Weak& weak : weak_) use[weak.pattern] += weak.probability;
}

void RowReader::add_to(UseSums& sums, Int a) {
    const RowModel::Lists& of_item = model_.of_item_;
    std::fill(use_.begin(), use_.end(), 0.0);
    add_use(use_.data());
    for (std::size_t s = 0; s < use_.size(); ++s) sums.use[s] += use_[s];
    const double* strength = model_.strength(a);
    for (const Int* item = begin_; item < end_; ++item) {
        for (Int o = of_item.edges[*item]; o < of_item.edges[*item + 1]; ++o) {
            const Int k = of_item.values[o];
            if (model_.slots_[k] < 0 && strength[k] > 0) sums.ones[k] += use_[model_.pattern_of_[k]];
        }
    }
    for (std::size_t k = 0; k < n_found_; ++k) add_contested(sums, a, found_[k]);
}

// A cell that several patterns cover belongs to the strongest of them, in equal parts if there are several.
void RowReader::add_contested(UseSums& sums, Int a, const FoundSet& found) {
    const double* strength = model_.strength(a);
    const auto for_places = [&](auto job) {
        for_each(found.patterns, [&](Int s) { std::for_each(model_.contested(a, s), model_.contested_end(a, s), job); });
    };
    for_places([&](RowModel::Contested at) {
        if (strength[at.place] > covered_[at.slot]) covered_[at.slot] = strength[at.place], parts_[at.slot] = 0;
        parts_[at.slot] += strength[at.place] == covered_[at.slot];
    });
    for_places([&](RowModel::Contested at) {
        if (strength[at.place] < covered_[at.slot]) return;
        const double part = found.probability / parts_[at.slot];
        sums.cells[at.place] += part;
        if (has(model_.items_[at.place])) sums.ones[at.place] += part;
    });
    for (std::size_t w = found.first_weak; w < found.last_weak; ++w) add_weak(sums, a, found, weak_[w]);
    for_places([&](RowModel::Contested at) { covered_[at.slot] = 0; });
}

// A pattern that the row may use beside the set takes the cells where it is stronger.
void RowReader::add_weak(UseSums& sums, Int a, const FoundSet& found, const Weak& weak) {
    const double* strength = model_.strength(a);
    const auto give = [&](Int place, double cells) {
        sums.cells[place] += cells;
        if (has(model_.items_[place])) sums.ones[place] += cells;
    };
    for (const RowModel::Contested* at = model_.contested(a, weak.pattern); at < model_.contested_end(a, weak.pattern); ++at) {
        const double covered = covered_[at->slot];
        if (strength[at->place] <= covered) continue;
        give(at->place, weak.probability);
        const Int i = model_.items_[at->place];
        for (Int o = model_.of_item_.edges[i]; covered > 0 && o < model_.of_item_.edges[i + 1]; ++o) {
            const Int k = model_.of_item_.values[o], s = model_.pattern_of_[k];
            if (strength[k] == covered && has_bit(found.patterns[s / 64], s % 64)) give(k, -weak.probability / parts_[at->slot]);
        }
    }
}

}  // namespace saltmine::likelihood
