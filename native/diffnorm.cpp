// The loops of DiffNorm: covers of rows by patterns, and the best partner of a pattern.
//
// Every pattern has a slot; the first n slots are those of the single items. Rows are covered 64 at a time, as the bits
// of a word, which holds rows of one class.
#include <algorithm>
#include <cmath>
#include <limits>

#include "bits.hpp"
#include "poll.hpp"

namespace saltmine {

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

template <>
struct From<Cover> {
    static Cover take(Arguments& from) {
        return {From<Matrix<const Word>>::take(from), From<Array<const Int>>::take(from),
                From<Matrix<const Word>>::take(from), From<Matrix<const Int>>::take(from),
                From<Matrix<const bool>>::take(from), From<Array<const Int>>::take(from),
                From<Array<const Int>>::take(from),   From<Array<const double>>::take(from),
                From<Array<const Int>>::take(from)};
    }
};

// The parts of the code lengths that estimates of gains need.
struct CodeCosts {
    Matrix<const bool> subsets;         // (J, c): classes of every pattern set
    Array<const double> log_gamma;      // (largest class + 1,): log of Gamma(k + 1/2) / Gamma(1/2)
    Array<const double> integers;       // (n + 1,): universal code of the integers
    Array<const double> totals;         // (c,): uses of all patterns, plus half the size of the coding set
    Array<const double> normalisation;  // (c,): change of the normalisation of the code by one more pattern
};

template <>
struct From<CodeCosts> {
    static CodeCosts take(Arguments& from) {
        return {From<Matrix<const bool>>::take(from), From<Array<const double>>::take(from),
                From<Array<const double>>::take(from), From<Array<const double>>::take(from),
                From<Array<const double>>::take(from)};
    }
};

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

// Return the uses of every class, and the sums of their logarithms in the prequential code.
std::tuple<std::vector<Int>, std::vector<double>> sum_usage(Matrix<const Int> counts, Array<const double> log_gamma) {
    std::vector<Int> totals(counts.shape[0]);
    std::vector<double> logs(counts.shape[0]);
    for (Int a = 0; a < counts.shape[0]; ++a) {
        for (Int count : counts.at(a)) {
            totals[a] += count;
            logs[a] += log_gamma[count];
        }
    }
    return {totals, logs};
}

// ---------------------------------------------------------------------- estimates

// Count the rows that use pattern x together with every other one, per class.
void count_shared(const Cover& cover, Int x, Matrix<Int> shared) {
    std::fill(shared.begin(), shared.end(), Int{0});
    for (Int w = 0; w < cover.usage.shape[0]; ++w) {
        const auto used = cover.usage.at(w);
        const Word rows = used[x];
        if (rows == 0) continue;
        const auto of_class = shared.at(cover.class_of[w]);
        for (Int y = 0; y < of_class.size(); ++y) of_class[y] += count_ones(rows & used[y]);
    }
}

// The gain of a class if the union of two patterns replaces them in k rows; u and v rows use them now.
double class_gain(const CodeCosts& costs, Int a, Int k, Int u, Int v) {
    const auto& log_gamma = costs.log_gamma;
    const double fewer = static_cast<double>(k) - 0.5;
    const double codes = log_gamma[k] + (log_gamma[u - k] + log_gamma[v - k]) - (log_gamma[u] + log_gamma[v]);
    // Gamma(a) / Gamma(b) is a power of a number between a and b.
    return codes + costs.normalisation[a] + fewer * std::log(std::max(costs.totals[a] - 0.5 * (fewer + 1), 0.5));
}

// The gain of the union of two patterns in the best pattern set, if it replaces both in all shared rows.
// Patterns of the same row have no items in common, as covers do not overlap.
double estimate_gain(const Cover& cover, const CodeCosts& costs, Int x, Int y, Matrix<const Int> shared) {
    const double cost = costs.integers[cover.sizes[x] + cover.sizes[y]] + (cover.costs[x] + cover.costs[y]);
    // A pattern that no row uses any longer is removed.
    auto removed = [&](Int s, Int left) {
        return left == 0 && cover.sizes[s] > 1 ? costs.integers[cover.sizes[s]] + cover.costs[s] : 0.0;
    };
    double best = -std::numeric_limits<double>::infinity();
    for (Int set = 0; set < costs.subsets.shape[0]; ++set) {
        double gain = -cost;
        Int left_x = 0, left_y = 0;
        for (Int a = 0; a < costs.subsets.shape[1]; ++a) {
            const Int u = cover.counts(a, x), v = cover.counts(a, y);
            const Int k = costs.subsets(set, a) ? shared(a, y) : 0;
            if (costs.subsets(set, a)) gain += class_gain(costs, a, k, u, v);
            left_x += u - k;
            left_y += v - k;
        }
        gain += removed(x, left_x);
        gain += removed(y, left_y);
        best = std::max(best, gain);
    }
    return best;
}

// Return the highest estimate above min_gains, (slots,), of a pattern with another one, and the other one.
std::tuple<double, Int> best_partner(Cover cover, CodeCosts costs, Int x, Array<const double> min_gains) {
    const Int n_classes = cover.counts.shape[0], n_slots = cover.counts.shape[1];
    std::vector<Int> memory(n_classes * n_slots);
    const Matrix<Int> shared{memory.data(), {n_classes, n_slots}};
    count_shared(cover, x, shared);
    double best = 0.0;
    Int partner = x;
    for (Int y = 0; y < n_slots; ++y) {
        Int together = 0;
        for (Int a = 0; a < n_classes; ++a) together += shared(a, y);
        // A pattern of one row costs more than it saves.
        if (together <= 1 || y == x) continue;
        const double gain = estimate_gain(cover, costs, x, y, shared);
        if (gain > best && gain > min_gains[y]) {
            best = gain;
            partner = y;
        }
    }
    return {best, partner};
}

}  // namespace
}  // namespace saltmine

using namespace saltmine;
SALTMINE_EXPORT(cover_words)
SALTMINE_EXPORT(sum_usage)
SALTMINE_EXPORT(best_partner)
