#include "rows.hpp"

#include <algorithm>

namespace saltmine::likelihood {
namespace {

// Sets of patterns that a row may use, and nats below the best at which one is left out.
constexpr std::size_t MOST_SETS = 32;
constexpr double NEGLIGIBLE = 16.0;

struct UsedSet {
    double nats;
    std::vector<Int> patterns;  // rising
};

}  // namespace

RowModel::RowModel(Matrix<const double> base, Matrix<const double> rates, Array<const Int> edges, Array<const Int> items,
                   Matrix<const double> strengths)
    : base_(base), rates_(rates), strengths_(strengths), edges_(edges), items_(items), of_item_(base.shape[1]),
      all_zero_(base.shape[0], 0.0), zeros_(base.shape[0] * rates.shape[1], 0.0) {
    for (Int s = 0; s < n_patterns(); ++s) {
        for (Int k = edges[s]; k < edges[s + 1]; ++k) of_item_[items[k]].push_back({s, k});
    }
    for (Int a = 0; a < n_classes(); ++a) {
        for (Int i = 0; i < base.shape[1]; ++i) all_zero_[a] += std::log1p(-base(a, i));
        for (Int s = 0; s < n_patterns(); ++s) {
            all_zero_[a] += std::log1p(-rates(a, s));
            double nats = std::log(rates(a, s) / (1 - rates(a, s)));
            for (Int k = edges[s]; k < edges[s + 1]; ++k) nats += std::log1p(-strengths(a, k));
            zeros_[a * n_patterns() + s] = nats;
        }
    }
}

double RowModel::score(Int a, const Int* begin, const Int* end, double* use) const {
    const Int r = n_patterns();
    double nats = all_zero_[a];
    Doubles alone(zeros_.begin() + a * r, zeros_.begin() + (a + 1) * r);
    for (const Int* item = begin; item < end; ++item) {
        const double p = base_(a, *item);
        nats += std::log(p / (1 - p));
        for (const Member& member : of_item_[*item]) {
            const double miss = 1 - strengths_(a, member.place);
            if (miss < 1) alone[member.pattern] += std::log((1 - (1 - p) * miss) / (p * miss));
        }
    }
    std::vector<Int> candidates;
    for (Int s = 0; s < r; ++s) {
        if (alone[s] > -NEGLIGIBLE) candidates.push_back(s);
    }
    // Strong ones first, so that what they explain is not given to others for long.
    std::stable_sort(candidates.begin(), candidates.end(), [&](Int s, Int t) { return alone[s] > alone[t]; });
    std::vector<UsedSet> sets{{0.0, {}}};
    std::vector<char> has(base_.shape[1] && !candidates.empty() ? base_.shape[1] : 0, 0);
    if (!has.empty()) {
        for (const Int* item = begin; item < end; ++item) has[*item] = 1;
    }
    for (Int s : candidates) {
        const std::size_t before = sets.size();
        for (std::size_t k = 0; k < before; ++k) {
            double gain = alone[s];
            for (Int place = edges_[s]; place < edges_[s + 1] && !sets[k].patterns.empty(); ++place) {
                const Int i = items_[place];
                const double strength = strengths_(a, place);
                if (strength == 0 || of_item_[i].size() < 2) continue;
                double strongest = 0;
                for (const Member& other : of_item_[i]) {
                    if (other.pattern != s && std::binary_search(sets[k].patterns.begin(), sets[k].patterns.end(), other.pattern)) {
                        strongest = std::max(strongest, strengths_(a, other.place));
                    }
                }
                if (strongest == 0) continue;
                // Only what it is stronger by counts.
                const auto nats_at = [&](double of) {
                    const double miss = (1 - base_(a, i)) * (1 - of);
                    return std::log(has[i] ? 1 - miss : miss);
                };
                gain -= nats_at(strength) - nats_at(0);
                if (strength > strongest) gain += nats_at(strength) - nats_at(strongest);
            }
            UsedSet with{sets[k].nats + gain, sets[k].patterns};
            with.patterns.insert(std::upper_bound(with.patterns.begin(), with.patterns.end(), s), s);
            sets.push_back(std::move(with));
        }
        std::stable_sort(sets.begin(), sets.end(), [](const UsedSet& x, const UsedSet& y) { return x.nats > y.nats; });
        const double least = sets[0].nats - NEGLIGIBLE;
        std::size_t kept = 0;
        while (kept < sets.size() && kept < MOST_SETS && sets[kept].nats > least) ++kept;
        sets.resize(kept);
    }
    double sum = 0;
    for (const UsedSet& set : sets) sum += std::exp(set.nats - sets[0].nats);
    if (use != nullptr) {
        for (const UsedSet& set : sets) {
            for (Int s : set.patterns) use[s] += std::exp(set.nats - sets[0].nats) / sum;
        }
    }
    return nats + sets[0].nats + std::log(sum);
}

}  // namespace saltmine::likelihood
