// The loops of DiffNorm: covers of rows by patterns, and the best partner of a pattern.
//
// Every pattern has a slot; the first n slots are those of the single items. Rows are covered 64 at a time, as the bits
// of a word, which holds rows of one class.
#include <algorithm>
#include <cmath>
#include <limits>

#include "bindings.hpp"
#include "bits.hpp"
#include "poll.hpp"

namespace saltmine {
namespace {

// The data, the patterns, and which rows use which of them.
struct Cover {
    Matrix<const Word> data;     // (W, n): rows that have an item
    Array<const Int> class_of;   // (W,): class of a word
    Matrix<const Word> usage;    // (W, slots): rows that use a pattern
    Matrix<const Int> counts;    // (c, slots): number of rows that use a pattern
    Matrix<const bool> members;  // (c, slots): patterns of a class's coding set, without single items
    Array<const Int> begins;     // (slots,): where the items of a pattern begin in `items`
    Array<const Int> sizes;      // (slots,): number of items
    Array<const double> costs;   // (slots,): code lengths of the items, summed up
    Array<const Int> items;
};

// The parts of the code lengths that estimates of gains need.
struct CodeCosts {
    Matrix<const bool> subsets;         // (J, c): classes of every pattern set
    Array<const double> log_gamma;      // (largest class + 1,): log of Gamma(k + 1/2) / Gamma(1/2)
    Array<const double> integers;       // (n + 1,): universal code of the integers
    Array<const double> totals;         // (c,): uses of all patterns, plus half the size of the coding set
    Array<const double> normalisation;  // (c,): change of the normalisation of the code by one more pattern
};

}  // namespace

namespace {

constexpr Word ALL_ROWS = ~Word{0};

// The rows of a word that still have all items of a pattern.
Word rows_having(const Int* items, const Int* end, const std::vector<Word>& left) {
    Word rows = ALL_ROWS;
    for (; items != end && rows != 0; ++items) rows &= left[*items];
    return rows;
}

// Cover the rows of word w; `used`, (slots,), gets the rows of every pattern. `left`, (n,), is memory.
void cover_word(const Cover& cover, Array<const Int> order, Int w, std::vector<Word>& left, Array<Word> used) {
    const auto data = cover.data.at(w);
    const auto members = cover.members.at(cover.class_of[w]);
    left.assign(data.begin(), data.end());
    std::fill(used.begin(), used.end(), Word{0});
    for (Int s : order) {
        if (!members[s]) continue;
        const Int *begin = &cover.items[cover.begins[s]], *end = begin + cover.sizes[s];
        const Word rows = rows_having(begin, end, left);
        if (rows == 0) continue;
        used[s] = rows;
        for (const Int* item = begin; item != end; ++item) left[*item] &= ~rows;
    }
    std::copy(left.begin(), left.end(), used.begin());
}

// Cover the rows of some words again: write their usage, and update `counts`, those of the present cover.
void cover_words(Cover cover, Array<const Int> order, Array<const Int> words, Matrix<Word> usage, Matrix<Int> counts) {
    std::vector<Word> left;
    Watch watch;
    for (Int j = 0; j < words.size(); ++j) {
        watch.look();
        const auto before = cover.usage.at(words[j]);
        const auto now = usage.at(j);
        const auto of_class = counts.at(cover.class_of[words[j]]);
        cover_word(cover, order, words[j], left, now);
        for (Int s = 0; s < of_class.size(); ++s) of_class[s] += count_ones(now[s]) - count_ones(before[s]);
    }
}

// Add the uses of every class to totals, (c,), and their logarithms in the prequential code to logs, (c,).
void sum_usage(Matrix<const Int> counts, Array<const double> log_gamma, Array<Int> totals, Array<double> logs) {
    for (Int a = 0; a < counts.shape[0]; ++a) {
        for (Int count : counts.at(a)) {
            totals[a] += count;
            logs[a] += log_gamma[count];
        }
    }
}

// ---------------------------------------------------------------------- estimates

// What the unions of a pattern with other ones would gain.
class Unions {
public:
    Unions(const Cover& cover, const CodeCosts& costs)
        : cover_(cover),
          costs_(costs),
          memory_(cover.counts.size()),
          shared_{memory_.data(), cover.counts.shape},
          gain_of_class_(cover.counts.shape[0]) {
        for (Int a = 0; a < cover.counts.shape[0]; ++a) gain_if_none_shared_.push_back(class_gain(a, 0, 0, 0));
    }

    // The highest estimate of pattern x with another one, and the other one. Estimates count where they are above
    // `min_gains`, (slots,).
    std::pair<double, Int> best_partner(Int x, const std::vector<double>& min_gains) {
        count_shared(x);
        double best = 0.0;
        Int partner = x;
        for (Int y = 0; y < shared_.shape[1]; ++y) {
            Int together = 0;
            for (Int a = 0; a < shared_.shape[0]; ++a) together += shared_(a, y);
            // A pattern of one row costs more than it saves.
            if (together <= 1 || y == x) continue;
            const double gain = estimate_gain(x, y);
            if (gain > best && gain > min_gains[y]) {
                best = gain;
                partner = y;
            }
        }
        return {best, partner};
    }

private:
    // Count the rows that use pattern x together with every other one, per class.
    void count_shared(Int x) {
        std::fill(memory_.begin(), memory_.end(), Int{0});
        for (Int w = 0; w < cover_.usage.shape[0]; ++w) {
            const auto used = cover_.usage.at(w);
            const Word rows = used[x];
            if (rows == 0) continue;
            const auto of_class = shared_.at(cover_.class_of[w]);
            for (Int y = 0; y < of_class.size(); ++y) of_class[y] += count_ones(rows & used[y]);
        }
    }

    // The gain of the union of two patterns in the best pattern set, if it replaces both in all shared rows.
    // Patterns of the same row have no items in common, as covers do not overlap.
    double estimate_gain(Int x, Int y) {
        const auto& sizes = cover_.sizes;
        const auto& counts = cover_.counts;
        const auto& subsets = costs_.subsets;
        for (Int a = 0; a < counts.shape[0]; ++a) {
            const Int k = shared_(a, y);
            // Logarithms take most of the time.
            gain_of_class_[a] = k == 0 ? gain_if_none_shared_[a] : class_gain(a, k, counts(a, x), counts(a, y));
        }
        const double cost = costs_.integers[sizes[x] + sizes[y]] + (cover_.costs[x] + cover_.costs[y]);
        double best = -std::numeric_limits<double>::infinity();
        for (Int set = 0; set < subsets.shape[0]; ++set) {
            double gain = -cost;
            Int left_x = 0, left_y = 0;
            for (Int a = 0; a < subsets.shape[1]; ++a) {
                const Int k = subsets(set, a) ? shared_(a, y) : 0;
                if (subsets(set, a)) gain += gain_of_class_[a];
                left_x += counts(a, x) - k;
                left_y += counts(a, y) - k;
            }
            // A pattern that no row uses any longer is removed.
            if (left_x == 0) gain += cost_of_pattern(x);
            if (left_y == 0) gain += cost_of_pattern(y);
            best = std::max(best, gain);
        }
        return best;
    }

    // The gain of a class if the union of two patterns replaces them in k rows; u and v rows use them now.
    double class_gain(Int a, Int k, Int u, Int v) const {
        const auto& log_gamma = costs_.log_gamma;
        const double fewer = static_cast<double>(k) - 0.5;
        const double codes = log_gamma[k] + (log_gamma[u - k] + log_gamma[v - k]) - (log_gamma[u] + log_gamma[v]);
        // Gamma(a) / Gamma(b) is a power of a number between a and b.
        const double base = std::max(costs_.totals[a] - 0.5 * (fewer + 1), 0.5);
        return codes + costs_.normalisation[a] + fewer * std::log(base);
    }

    // Single items cost nothing.
    double cost_of_pattern(Int s) const {
        return cover_.sizes[s] > 1 ? costs_.integers[cover_.sizes[s]] + cover_.costs[s] : 0.0;
    }

    const Cover& cover_;
    const CodeCosts& costs_;
    std::vector<Int> memory_;
    Matrix<Int> shared_;  // (c, slots)
    std::vector<double> gain_of_class_, gain_if_none_shared_;
};

// Write the best partner of some slots, and its estimate. Pairs that were rejected count only where their estimate has
// grown: those of the k-th slot are the entries from starts[k] to starts[k + 1].
void find_partners(Cover cover, CodeCosts costs, Array<const Int> slots, Array<const Int> starts,
                   Array<const Int> rejected, Array<const double> rejected_gains, Array<double> gains,
                   Array<Int> partners) {
    Unions unions(cover, costs);
    std::vector<double> min_gains(cover.sizes.size());
    Watch watch;
    for (Int k = 0; k < slots.size(); ++k) {
        watch.look();
        std::fill(min_gains.begin(), min_gains.end(), 0.0);
        for (Int i = starts[k]; i < starts[k + 1]; ++i) min_gains[rejected[i]] = rejected_gains[i];
        std::tie(gains[slots[k]], partners[slots[k]]) = unions.best_partner(slots[k], min_gains);
    }
}

}  // namespace
}  // namespace saltmine

SALTMINE_BIND(diffnorm, saltmine, cover_words, sum_usage, find_partners)
