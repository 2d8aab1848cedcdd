#include "store.hpp"

#include <algorithm>
#include <numeric>

namespace saltmine::likelihood {
namespace {

// Bins of rows by size, rows of each of them as a rule, and bins of all classes together as a rule.
constexpr Int MOST_BINS = 8, FEWEST_ROWS = 20, MOST_STRATA = 64;
// Bins that rows much larger than others have beside.
constexpr int MOST_TAILS = 2;
// What is known of the shift of a row beforehand, as information.
constexpr double SHIFT_INFORMATION = 4.0;

// Where sorted sizes from a place on fall into two groups that differ most.
std::size_t widest_step(const Doubles& sorted, std::size_t begin) {
    const double n = static_cast<double>(sorted.size() - begin);
    const double all = std::accumulate(sorted.begin() + static_cast<std::ptrdiff_t>(begin), sorted.end(), 0.0);
    double below = 0, most = -1;
    std::size_t best = begin + 1;
    for (std::size_t k = begin + 1; k < sorted.size(); ++k) {
        below += sorted[k - 1];
        const double few = static_cast<double>(k - begin), step = (all - below) / (n - few) - below / few;
        const double between = few * (n - few) * step * step;
        if (sorted[k] > sorted[k - 1] && between > most) most = between, best = k;
    }
    return best;
}

// A few rows may be much larger than all others: the last bin is cut as long as it is wider than those in the middle.
void cut_tail(const Doubles& sorted, Doubles& cuts) {
    if (cuts.size() < 2) return;
    const double span = cuts.back() - cuts.front();
    for (int more = 0; more < MOST_TAILS && sorted.back() - cuts.back() > span; ++more) {
        const std::size_t begin = std::lower_bound(sorted.begin(), sorted.end(), cuts.back()) - sorted.begin();
        cuts.push_back(sorted[widest_step(sorted, begin)]);
    }
}

// The bin of rows by their sizes, from 0 on: quantiles, or one for every size if there are few.
std::vector<Int> by_size(const Doubles& sizes, Int n_classes) {
    const Int m = static_cast<Int>(sizes.size());
    const Int most = std::min(std::clamp<Int>(m / FEWEST_ROWS, 1, MOST_BINS), std::max<Int>(2, MOST_STRATA / n_classes));
    Doubles sorted = sizes, cuts;
    std::sort(sorted.begin(), sorted.end());
    Doubles distinct = sorted;
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (static_cast<Int>(distinct.size()) <= most) {
        cuts.assign(distinct.begin() + (distinct.empty() ? 0 : 1), distinct.end());
    } else {
        for (Int k = 1; k < most; ++k) cuts.push_back(sorted[k * m / most]);
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        if (!cuts.empty() && cuts.front() == sorted.front()) cuts.erase(cuts.begin());
        cut_tail(sorted, cuts);
    }
    std::vector<Int> strata;
    for (double size : sizes) strata.push_back(std::upper_bound(cuts.begin(), cuts.end(), size) - cuts.begin());
    return strata;
}

// Move the bits of a set to other places.
void move_bits(Word* set, Int n_words, const std::vector<Int>& to, Words& scratch, Int new_words, Word* out) {
    scratch.assign(new_words, 0);
    for (Int w = 0; w < n_words; ++w) {
        for (Word left = set[w]; left; left &= left - 1) {
            const Int place = to[64 * w + lowest_one(left)];
            scratch[place / 64] |= Word{1} << place % 64;
        }
    }
    std::copy(scratch.begin(), scratch.end(), out);
}

void move_all(Words& sets, Int n, Int n_words, const std::vector<Int>& to, Int new_words) {
    Words moved(n * new_words), scratch;
    for (Int i = 0; i < n; ++i) {
        move_bits(sets.data() + i * n_words, n_words, to, scratch, new_words, moved.data() + i * new_words);
    }
    sets = std::move(moved);
}

}  // namespace

Store::Store(Matrix<const Word> given, Matrix<const Word> observed, Array<const Int> of_rows)
    : n_items(given.shape[0]), n_words(given.shape[1]), n_rows(of_rows.size()), columns(given.begin(), given.end()),
      mask(n_words, 0), closed(columns.size(), 0), places(n_rows), labels(of_rows.begin(), of_rows.end()) {
    for (Int label : labels) n_classes = std::max(n_classes, label + 1);
    std::iota(places.begin(), places.end(), Int{0});
    for (Int j = 0; j < n_rows; ++j) mask[j / 64] |= Word{1} << j % 64;
    if (observed.size() > 0) {
        for (Int k = 0; k < observed.size(); ++k) closed[k] = ~observed.data[k] & mask[k % n_words];
        unobserved = closed;
    }
    Doubles ones(n_items, 0.0);
    double all = 0;
    for (Int i = 0; i < n_items; ++i) {
        for (Int w = 0; w < n_words; ++w) ones[i] += static_cast<double>(count_ones(column(i)[w] & ~closed_cells(i)[w]));
        all += ones[i] + 0.5;
    }
    for (double count : ones) codes.push_back(-std::log((count + 0.5) / all));
    has_sizes = varies_in_size();
    stratify({});
}

// Whether rows differ more in size than items that are independent make them: in a table of categories they differ less,
// and sizes say nothing about other items.
bool Store::varies_in_size() const {
    Doubles more(64 * n_words, 0.0);
    double variance = 0, expected = 0;
    for (Int i = 0; i < n_items; ++i) {
        Int ones = 0, cells = 0;
        for (Int w = 0; w < n_words; ++w) {
            ones += count_ones(column(i)[w] & ~closed_cells(i)[w]);
            cells += count_ones(mask[w] & ~closed_cells(i)[w]);
        }
        const double p = static_cast<double>(ones) / static_cast<double>(std::max<Int>(cells, 1));
        expected += static_cast<double>(cells) * p * (1 - p);
        for (Int w = 0; w < n_words; ++w) {
            for (Word left = mask[w] & ~closed_cells(i)[w]; left; left &= left - 1) {
                const Int j = lowest_one(left);
                more[64 * w + j] += has_bit(column(i)[w], j) - p;
            }
        }
    }
    for (double surplus : more) variance += surplus * surplus;
    return variance > expected;
}

// How many more ones a row has among its open cells than rows have in general, as a shift of its logits; of all places.
Doubles Store::surplus() const {
    Doubles more(64 * n_words, 0.0), information(64 * n_words, 0.0);
    double expected = 0, variance = 0;
    for (Int i = 0; i < n_items; ++i) {
        Int ones = 0, cells = 0;
        for (Int w = 0; w < n_words; ++w) {
            ones += count_ones(column(i)[w] & ~closed_cells(i)[w]);
            cells += count_ones(mask[w] & ~closed_cells(i)[w]);
        }
        const double p = (static_cast<double>(ones) + 0.5) / (static_cast<double>(cells) + 1);
        expected += p;
        variance += p * (1 - p);
        for (Int w = 0; w < n_words; ++w) {
            for (Word left = column(i)[w] & ~closed_cells(i)[w]; left; left &= left - 1) more[64 * w + lowest_one(left)] += 1;
            for (Word left = mask[w] & closed_cells(i)[w]; left; left &= left - 1) {
                more[64 * w + lowest_one(left)] += p;
                information[64 * w + lowest_one(left)] -= p * (1 - p);
            }
        }
    }
    for (std::size_t j = 0; j < more.size(); ++j) {
        // Rounded, so that rows of the same size are the same.
        more[j] = std::round(1e6 * (more[j] - expected) / (information[j] + variance + SHIFT_INFORMATION)) / 1e6;
    }
    return more;
}

void Store::stratify(const std::vector<Words*>& sets) {
    const Doubles sizes_of_rows = surplus();
    std::vector<Int> to(64 * n_words, 0);
    Doubles of_rows(n_rows);
    for (Int j = 0; j < n_rows; ++j) of_rows[j] = sizes_of_rows[places[j]];
    const std::vector<Int> bins = has_sizes ? by_size(of_rows, n_classes) : std::vector<Int>(n_rows, 0);
    n_bins = *std::max_element(bins.begin(), bins.end()) + 1;
    std::vector<std::vector<Int>> members(n_classes * n_bins);
    for (Int j = 0; j < n_rows; ++j) members[labels[j] * n_bins + bins[j]].push_back(places[j]);
    edges = {0};
    class_of.clear();
    bin_of.clear();
    sizes.clear();
    for (Int h = 0; h < n_classes * n_bins; ++h) {
        const Int size = static_cast<Int>(members[h].size());
        if (size == 0) continue;
        for (Int k = 0; k < size; ++k) to[members[h][k]] = 64 * edges.back() + k;
        edges.push_back(edges.back() + (size + 63) / 64);
        class_of.push_back(h / n_bins);
        bin_of.push_back(h % n_bins);
        sizes.push_back(size);
    }
    const Int new_words = edges.back();
    move_all(columns, n_items, n_words, to, new_words);
    move_all(closed, n_items, n_words, to, new_words);
    if (!unobserved.empty()) move_all(unobserved, n_items, n_words, to, new_words);
    move_all(mask, 1, n_words, to, new_words);
    for (Words* set : sets) {
        if (!set->empty()) move_all(*set, 1, n_words, to, new_words);
    }
    for (Int& place : places) place = to[place];
    n_words = new_words;
    weights.assign(n_words, 1);
}

}  // namespace saltmine::likelihood
