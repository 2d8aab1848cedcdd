#include "rows.hpp"

#include <algorithm>

namespace saltmine::likelihood {
namespace {

// Sets of patterns that a row may use, and nats below the best at which one is left out.
constexpr std::size_t MOST_SETS = 32;
constexpr double NEGLIGIBLE = 16.0;

void set_bit(Word* set, Int place) { set[place / 64] |= Word{1} << place % 64; }
bool has(const Words& set, Int place) { return has_bit(set[place / 64], place % 64); }

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
      one_(strengths.size()) {
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
    contested_.edges = {0};
    for (Int s = 0; s < n_patterns(); ++s) {
        for (Int k = edges_[s]; k < edges_[s + 1]; ++k) {
            const Int i = items_[k];
            is_contested_.push_back(of_item_.edges[i + 1] - of_item_.edges[i] > 1);
            if (is_contested_[k]) contested_.values.push_back(k);
        }
        contested_.edges.push_back(static_cast<Int>(contested_.values.size()));
    }
}

void RowModel::tabulate() {
    const Int r = n_patterns(), n_places = items_.size();
    overlaps_.assign(n_classes() * r * n_words_, 0);
    for (Int a = 0; a < n_classes(); ++a) {
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
                if (!is_contested_[k] || strength == 0) continue;
                for (Int o = of_item_.edges[items_[k]]; o < of_item_.edges[items_[k] + 1]; ++o) {
                    const Int other = of_item_.values[o];
                    if (other != k && strengths_(a, other) > 0) set_bit(&overlaps_[(a * r + s) * n_words_], pattern_of_[other]);
                }
            }
            zeros_[a * r + s] = nats;
        }
    }
}

RowReader::RowReader(const RowModel& model)
    : model_(model), seen_(model.n_items(), 0), alone_(model.n_patterns()), use_(model.n_patterns()) {}

RowReader::UsedSet& RowReader::add(std::vector<UsedSet>& sets, std::size_t& size) const {
    if (sets.size() == size) sets.push_back({0.0, Words(model_.n_words_)});
    return sets[size++];
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
double RowReader::gain(Int a, Int s, const Words& set) const {
    const Int n_places = model_.items_.size();
    const double* strengths = model_.strengths_.data + a * n_places;
    const RowModel::Lists &contested = model_.contested_, &of_item = model_.of_item_;
    double gain = alone_[s];
    for (Int c = contested.edges[s]; c < contested.edges[s + 1]; ++c) {
        const Int k = contested.values[c], i = model_.items_[k];
        Int strongest = k;
        for (Int o = of_item.edges[i]; o < of_item.edges[i + 1]; ++o) {
            const Int other = of_item.values[o];
            if (other == k || strengths[other] == 0 || !likelihood::has(set, model_.pattern_of_[other])) continue;
            if (strongest == k || strengths[other] > strengths[strongest]) strongest = other;
        }
        if (strongest == k) continue;
        const double* nats = (has(i) ? model_.one_ : model_.zero_).data() + a * n_places;
        gain -= strengths[k] > strengths[strongest] ? nats[strongest] : nats[k];
    }
    return gain;
}

// Nats, against no use, of the sets of patterns that belong together; sets that a row may use are found, with their
// probabilities.
double RowReader::sum_sets(Int a) {
    if (together_.size() == 1) {
        const double ratio = alone_[together_[0]], none = std::exp(-std::abs(ratio));
        UsedSet& found = add(found_, n_found_);
        found.nats = (ratio > 0 ? 1 : none) / (1 + none);
        std::fill(found.patterns.begin(), found.patterns.end(), Word{0});
        set_bit(found.patterns.data(), together_[0]);
        return std::max(ratio, 0.0) + std::log1p(none);
    }
    std::stable_sort(together_.begin(), together_.end(), [&](Int s, Int t) { return alone_[s] > alone_[t]; });
    n_sets_ = 0;
    UsedSet& none = add(sets_, n_sets_);
    none.nats = 0;
    std::fill(none.patterns.begin(), none.patterns.end(), Word{0});
    double best = 0;
    const auto is_better = [](const UsedSet& x, const UsedSet& y) { return x.nats > y.nats; };
    for (Int s : together_) {
        const std::size_t before = n_sets_;
        for (std::size_t k = 0; k < before; ++k) {
            const double nats = sets_[k].nats + gain(a, s, sets_[k].patterns);
            if (nats <= best - NEGLIGIBLE) continue;
            best = std::max(best, nats);
            UsedSet& with = add(sets_, n_sets_);
            with.nats = nats;
            with.patterns = sets_[k].patterns;
            set_bit(with.patterns.data(), s);
        }
        if (n_sets_ <= MOST_SETS) continue;
        std::stable_sort(sets_.begin(), sets_.begin() + static_cast<std::ptrdiff_t>(n_sets_), is_better);
        n_sets_ = MOST_SETS;
    }
    double sum = 0;
    for (std::size_t k = 0; k < n_sets_; ++k) sum += std::exp(sets_[k].nats - best);
    for (std::size_t k = 0; k < n_sets_; ++k) {
        UsedSet& found = add(found_, n_found_);
        found.nats = std::exp(sets_[k].nats - best) / sum;
        found.patterns = sets_[k].patterns;
    }
    return best + std::log(sum);
}

void RowReader::take(const bool* usage) {
    n_found_ = 0;
    UsedSet& found = add(found_, n_found_);
    found.nats = 1;
    std::fill(found.patterns.begin(), found.patterns.end(), Word{0});
    for (Int s = 0; s < model_.n_patterns(); ++s) {
        if (usage[s]) set_bit(found.patterns.data(), s);
    }
}

void RowReader::add_use(double* use) const {
    for (std::size_t k = 0; k < n_found_; ++k) {
        for_each(found_[k].patterns, [&](Int s) { use[s] += found_[k].nats; });
    }
}

void RowReader::add_to(UseSums& sums, Int a) {
    const RowModel::Lists &contested = model_.contested_, &of_item = model_.of_item_;
    std::fill(use_.begin(), use_.end(), 0.0);
    add_use(use_.data());
    for (std::size_t s = 0; s < use_.size(); ++s) sums.use[s] += use_[s];
    const double* strengths = model_.strengths_.data + a * model_.items_.size();
    for (const Int* item = begin_; item < end_; ++item) {
        for (Int o = of_item.edges[*item]; o < of_item.edges[*item + 1]; ++o) {
            const Int k = of_item.values[o];
            if (!model_.is_contested_[k] && strengths[k] > 0) sums.ones[k] += use_[model_.pattern_of_[k]];
        }
    }
    for (std::size_t f = 0; f < n_found_; ++f) {
        const Words& set = found_[f].patterns;
        for_each(set, [&](Int s) {
            for (Int c = contested.edges[s]; c < contested.edges[s + 1]; ++c) {
                const Int k = contested.values[c], i = model_.items_[k];
                Int stronger = 0, alike = 0;
                for (Int o = of_item.edges[i]; o < of_item.edges[i + 1]; ++o) {
                    const Int other = of_item.values[o];
                    if (!likelihood::has(set, model_.pattern_of_[other])) continue;
                    stronger += strengths[other] > strengths[k];
                    alike += strengths[other] == strengths[k];
                }
                if (stronger > 0 || strengths[k] == 0) continue;
                const double part = found_[f].nats / static_cast<double>(alike);
                sums.cells[k] += part;
                if (has(i)) sums.ones[k] += part;
            }
        });
    }
}

}  // namespace saltmine::likelihood
