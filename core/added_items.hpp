// A test of all items that a class adds to a pattern; saltmine/mdl/added_items.py says what is what.
#pragma once

#include <numeric>

#include "bits.hpp"
#include "class_tests.hpp"

namespace saltmine {

// Items are looked at all together, and the most frequent half, quarter and so on of them: it takes no labels to know
// which are frequent, and only those that are looked at have to be paid for.
constexpr int SHARES = 6;
// So many times the share of rows with most of the added items in the class as in the others, and the p-value of that.
constexpr double MIN_RATIO = 1.2, CLEAR = 0.2;
// Shuffles of the labels; from this share of the largest scores on, the tail is taken to be exponential.
constexpr Int SHUFFLES = 64;
constexpr double TAIL = 0.2;
// With more rows, or cells, than this labels are not shuffled: with so many Simes' inequality is enough.
constexpr Int MAX_ROWS = 256, MAX_CELLS = 1 << 19;

using Cells = Matrix<const std::uint8_t>;  // (rows, n), 0 or 1

inline bool can_shuffle(Int n_rows, Int n_items) { return n_rows <= MAX_ROWS && n_rows * n_items <= MAX_CELLS; }

// The mask that takes all of a number or nothing of it.
inline Word all_or_nothing(std::uint8_t cell) { return Word{0} - cell; }

inline Int count_strata(Array<const Int> strata) {
    Int count = 1;
    for (Int stratum : strata) count = std::max(count, stratum + 1);
    return count;
}

// Count the rows of every group of rows and every class that have each item, (G, c, n).
inline std::vector<Int> hits_by_group(Cells cells, Array<const Int> classes, Array<const Int> strata, Int n_classes) {
    Int n = cells.shape[1];
    std::vector<Int> hits(count_strata(strata) * n_classes * n);
    for (Int j = 0; j < cells.shape[0]; ++j) {
        Int* of_group = hits.data() + (strata[j] * n_classes + classes[j]) * n;
        const std::uint8_t* row = &cells(j, 0);
        for (Int i = 0; i < n; ++i) of_group[i] += row[i];
    }
    return hits;
}

// ---------------------------------------------------------------------- items by themselves

// Test for every class and item that it adds, (c, n), that more of its rows have it than of others of their size; hits
// are (G, c, n), sizes (G, c). Zero for other items, and for those that most rows of the class lack.
inline void test_items(View<const Int, 3> hits, Matrix<const Int> sizes, Matrix<const bool> added,
                       Matrix<double> log_p) {
    auto [n_groups, c, n] = hits.shape;
    std::vector<Int> all_rows = sum_classes(sizes), own_rows(n_groups), own_hits(n_groups), all_hits(n_groups);
    for (Int a = 0; a < c; ++a) {
        Int n_rows = 0;
        for (Int g = 0; g < n_groups; ++g) n_rows += own_rows[g] = sizes(g, a);
        for (Int i = 0; i < n; ++i) {
            log_p(a, i) = 0.0;
            if (!added(a, i)) continue;
            Int n_hits = 0;
            for (Int g = 0; g < n_groups; ++g) n_hits += own_hits[g] = hits(g, a, i);
            if (2 * n_hits <= n_rows) continue;
            for (Int g = 0; g < n_groups; ++g) {
                all_hits[g] = 0;
                for (Int b = 0; b < c; ++b) all_hits[g] += hits(g, b, i);
            }
            log_p(a, i) = log_p_twice({own_hits.data(), all_hits.data(), own_rows.data(), all_rows.data(), n_groups});
        }
    }
}

// The logarithm of one p-value for several items out of n_items; weights count equal items. No logarithm of a p-value
// is above zero.
inline double simes(Array<const double> log_p, Array<const Int> weights, Int n_items) {
    std::vector<Int> order;
    Int total = 0;
    for (Int i = 0; i < log_p.size(); ++i) {
        total += weights[i];
        if (log_p[i] < 0.0) order.push_back(i);
    }
    if (log_p.size() == 0) return 0.0;
    std::sort(order.begin(), order.end(), [&](Int i, Int j) { return log_p[i] < log_p[j]; });
    double log_items = std::log(static_cast<double>(n_items)), best = 0.0;
    Int so_far = 0;
    for (Int i : order) {
        so_far += weights[i];
        best = std::min(best, log_p[i] + log_items - std::log(static_cast<double>(so_far)));
    }
    // All the others have a p-value of one.
    return std::min(best, log_items - std::log(static_cast<double>(total)));
}

// Simes' p-value for what every class adds, (c,).
inline std::vector<double> simes_log_p(View<const Int, 3> hits, Matrix<const Int> sizes, Array<const Int> weights,
                                       Matrix<const bool> added, Int n_items) {
    Int c = hits.shape[1], n = hits.shape[2];
    std::vector<double> each(c * n), log_p(c);
    Matrix<double> of_items{each.data(), {c, n}};
    test_items(hits, sizes, added, of_items);
    for (Int a = 0; a < c; ++a) {
        Array<const double> own = of_items.at(a);
        bool any = std::any_of(own.begin(), own.end(), [](double value) { return value < 0.0; });
        log_p[a] = any ? simes(own, weights, n_items) : 0.0;
    }
    return log_p;
}

// Whether many more rows of a class than of all others have most of the items that it adds.
inline bool is_clear(Cells cells, Array<const Int> classes, Int a, Array<const bool> items, Array<const Int> weights) {
    Int n = items.size(), total = 0, own_rows = 0, all_rows = classes.size(), own_hits = 0, all_hits = 0;
    std::vector<Word> own(n);
    for (Int i = 0; i < n; ++i) total += own[i] = items[i] ? weights[i] : 0;
    for (Int j = 0; j < all_rows; ++j) {
        const std::uint8_t* row = &cells(j, 0);
        Word count = 0;
        for (Int i = 0; i < n; ++i) count += all_or_nothing(row[i]) & own[i];
        bool has_most = 2 * static_cast<Int>(count) > total;
        own_rows += classes[j] == a;
        all_hits += has_most;
        own_hits += has_most && classes[j] == a;
    }
    if (own_rows == 0 || own_rows == all_rows) return false;
    double share = static_cast<double>(own_hits) / own_rows;
    if (share < MIN_RATIO * (all_hits - own_hits) / (all_rows - own_rows)) return false;
    return log_p_value({&own_hits, &all_hits, &own_rows, &all_rows, 1}) <= std::log(CLEAR);
}

// ---------------------------------------------------------------------- items together

// Lengths of ones and zeros by the code of their own rate, for few rows; made at the first call.
class RateLengths {
public:
    static const RateLengths& kept() {
        static const RateLengths lengths;
        return lengths;
    }
    double operator()(Int ones, Int size) const { return lengths_[size * (size + 1) / 2 + ones]; }

private:
    RateLengths() {
        for (Int size = 0; size <= MAX_ROWS; ++size) {
            for (Int ones = 0; ones <= size; ++ones) lengths_.push_back(rate_length(ones, size - ones));
        }
    }
    std::vector<double> lengths_;
};

// Least numbers of hits, and how many items have as many: all that any row has, the most frequent half, and so on.
struct Thresholds {
    std::vector<Int> least, n_items;
};

inline Thresholds make_thresholds(Array<const Int> hits, Array<const Int> weights) {
    Int highest = 1;
    for (Int count : hits) highest = std::max(highest, count);
    std::vector<Int> at_least(highest + 1);
    for (Int i = 0; i < hits.size(); ++i) at_least[hits[i]] += weights[i];
    for (Int count = highest; count > 0; --count) at_least[count - 1] += at_least[count];
    Thresholds made;
    double share = static_cast<double>(at_least[1]);
    for (int k = 0; k < SHARES; ++k, share /= 2) {
        // The first number of hits that no more items have.
        Int least = 1;
        while (least < highest && at_least[least] > share) ++least;
        if (!made.least.empty() && made.least.back() == least) continue;
        made.least.push_back(least);
        made.n_items.push_back(std::max(at_least[least], Int{1}));
    }
    return made;
}

// How clear it is, for a labelling of few rows, that a class has items more often. Items are in the order of how many
// rows have them, the most frequent first, without those that are too rare for most rows of any class to have them.
class Scoring {
public:
    Scoring(Cells cells, Array<const Int> frequency, Array<const Int> weights, const std::vector<Int>& sizes)
        : sizes_(sizes), n_words_((cells.shape[0] + 63) / 64) {
        Int smallest = MAX_ROWS;
        for (Int size : sizes_) smallest = size > 0 ? std::min(smallest, size) : smallest;
        thresholds_ = make_thresholds(frequency, weights);
        sort_items(frequency, weights, smallest / 2 + 1);
        for (Int least : thresholds_.least) ends_.push_back(count_frequent(least));
        for (Int size : sizes_) candidates_.push_back(size > 0 ? count_frequent(size / 2 + 1) : 0);
        pack(cells);
        hits_.resize(n_classes() * n_items());
        places_.resize(n_items() + 1);
        rows_of_.resize(n_classes() * n_words_);
    }

    // Let rows have these classes.
    void label(const std::vector<Int>& labels) {
        Int c = n_classes(), n = n_items();
        std::fill(rows_of_.begin(), rows_of_.end(), 0);
        for (std::size_t j = 0; j < labels.size(); ++j) rows_of_[labels[j] * n_words_ + j / 64] |= Word{1} << (j % 64);
        // The last class has what the others leave.
        Int* last = hits_.data() + (c - 1) * n;
        std::copy(frequency_.begin(), frequency_.end(), last);
        for (Int a = 0; a + 1 < c; ++a) {
            Int* own = hits_.data() + a * n;
            std::fill(own, own + n, 0);
            for (Int w = 0; w < n_words_; ++w) {
                Word rows = rows_of_[a * n_words_ + w];
                const Word* column = columns_.data() + w * n;
                for (Int k = 0; rows != 0 && k < n; ++k) own[k] += count_ones(column[k] & rows);
            }
            for (Int k = 0; k < n; ++k) last[k] -= own[k];
        }
    }

    // The score of a class; only these items count, (n,), or all.
    double score(Int a, const bool* items) {
        find_clear(a, items);
        drop_common();
        std::sort(clear_.begin(), clear_.end(), [](const Clear& one, const Clear& other) {
            return one.evidence > other.evidence;
        });
        std::size_t n_levels = ends_.size();
        std::array<Int, SHARES> found{}, next_level;
        next_level.fill(1);
        double best = 0.0;
        for (std::size_t k = 0; k < clear_.size(); ++k) {
            for (std::size_t t = 0; t < n_levels && clear_[k].place < ends_[t]; ++t) {
                found[t] += weight_[clear_[k].place];
            }
            // Items that are equally clear count together, whatever their order.
            if (k + 1 < clear_.size() && clear_[k + 1].evidence == clear_[k].evidence) continue;
            for (std::size_t t = 0; t < n_levels; ++t) {
                // At the first item, the second, the fourth and so on.
                if (found[t] < next_level[t]) continue;
                next_level[t] = 2 * found[t];
                double expected = thresholds_.n_items[t] * std::exp(-clear_[k].evidence);
                if (found[t] > expected) {
                    best = std::max(best, found[t] * std::log(found[t] / expected) - found[t] + expected);
                }
            }
        }
        return best;
    }

private:
    Int n_classes() const { return static_cast<Int>(sizes_.size()); }
    Int n_items() const { return static_cast<Int>(item_.size()); }

    struct Clear {
        double evidence;
        Int place;
    };

    // How many items at least so many rows have: these come first.
    Int count_frequent(Int least) const {
        auto end = std::partition_point(frequency_.begin(), frequency_.end(), [=](Int rows) { return rows >= least; });
        return end - frequency_.begin();
    }

    void sort_items(Array<const Int> frequency, Array<const Int> weights, Int least) {
        std::vector<std::vector<Int>> having(MAX_ROWS + 1);
        for (Int i = 0; i < frequency.size(); ++i) having[frequency[i]].push_back(i);
        for (Int rows = MAX_ROWS; rows >= least; --rows) {
            for (Int i : having[rows]) {
                item_.push_back(i);
                weight_.push_back(weights[i]);
                frequency_.push_back(rows);
            }
        }
    }

    void pack(Cells cells) {
        auto [m, n] = cells.shape;
        std::vector<Word> words(n);
        columns_.resize(n_words_ * n_items());
        for (Int w = 0; w < n_words_; ++w) {
            std::fill(words.begin(), words.end(), 0);
            for (Int j = 64 * w; j < std::min(m, 64 * w + 64); ++j) {
                const std::uint8_t* row = &cells(j, 0);
                for (Int i = 0; i < n; ++i) words[i] |= Word{row[i]} << (j % 64);
            }
            for (Int k = 0; k < n_items(); ++k) columns_[w * n_items() + k] = words[item_[k]];
        }
    }

    // Items that most rows of a class have, compared with the classes most of whose rows do not have them.
    void find_clear(Int a, const bool* items) {
        const RateLengths& length = RateLengths::kept();
        Int c = n_classes(), n = n_items(), size = sizes_[a];
        const Int* own = hits_.data() + a * n;
        // First which items, without a branch: it would be foreseen half of the time.
        Int count = 0;
        for (Int k = 0; k < candidates_[a]; ++k) {
            places_[count] = k;
            count += 2 * own[k] > size;
        }
        clear_.clear();
        for (Int j = 0; j < count; ++j) {
            Int k = places_[j], other_hits = 0, other_rows = 0;
            if (items != nullptr && !items[item_[k]]) continue;
            for (Int b = 0; b < c; ++b) {
                Int of_class = hits_[b * n + k];
                bool rare = 2 * of_class <= sizes_[b];
                other_hits += rare ? of_class : 0;
                other_rows += rare ? sizes_[b] : 0;
            }
            double together = length(own[k] + other_hits, size + other_rows);
            clear_.push_back({together - length(own[k], size) - length(other_hits, other_rows), k});
        }
    }

    // Leave out what cannot score: even if all came to it, there would be no more than expected.
    void drop_common() {
        std::array<Int, SHARES> all{};
        for (const Clear& item : clear_) {
            for (std::size_t t = 0; t < ends_.size() && item.place < ends_[t]; ++t) all[t] += weight_[item.place];
        }
        double share = 0.0;
        for (std::size_t t = 0; t < ends_.size(); ++t) {
            share = std::max(share, static_cast<double>(all[t]) / thresholds_.n_items[t]);
        }
        if (share == 0.0) return;
        double least = -std::log(share) - 1e-9;
        auto too_common = [=](const Clear& item) { return item.evidence < least; };
        clear_.erase(std::remove_if(clear_.begin(), clear_.end(), too_common), clear_.end());
    }

    const std::vector<Int>& sizes_;
    Int n_words_;
    Thresholds thresholds_;
    std::vector<Int> item_, weight_, frequency_;  // (n,)
    std::vector<Int> ends_;                       // of the items that reach each threshold
    std::vector<Int> candidates_;                 // (c,): items that most rows of a class may have
    std::vector<Word> columns_;                   // (words, n)
    std::vector<Word> rows_of_;                   // (c, words)
    std::vector<Int> hits_;                       // (c, n)
    std::vector<Int> places_;                     // (n,): scratch
    std::vector<Clear> clear_;
};

// ---------------------------------------------------------------------- shuffling

// Tells numbers apart whose sums are compared.
inline Word stir(Word key) {
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9u;
    return (key ^ (key >> 27)) * 0x94D049BB133111EBu;
}

// A number of 64 bits that looks like chance.
inline Word random_word(Word number) {
    Word key = stir(number + 0x9E3779B97F4A7C15u);
    return key ^ (key >> 31);
}

inline double random_share(Word number) { return (random_word(number) >> 11) * 0x1p-53; }

// Shuffle labels within groups of rows; strata are sorted. Shuffle k of so many rows is always the same.
inline void shuffle(Array<const Int> strata, Int k, std::vector<Int>& labels) {
    Int n_rows = strata.size();
    Word seed = random_word(random_word(n_rows) + k);
    for (Int first = 0, last; first < n_rows; first = last) {
        last = first + 1;
        while (last < n_rows && strata[last] == strata[first]) ++last;
        for (Int j = last - 1; j > first; --j) {
            Int other = first + static_cast<Int>(random_share(seed + j) * (j + 1 - first));
            std::swap(labels[j], labels[other]);
        }
    }
}

// An order of the rows, group by group and by what they have: the same shuffles in whatever order rows and items are
// given. Items are known by who has them, rows by the items they have, and both once more by each other; sums of
// numbers of 64 bits do not depend on an order.
inline std::vector<Int> order_rows(Cells cells, Array<const Int> classes, Array<const Int> strata,
                                   Array<const Int> weights, View<const Int, 3> by_group) {
    Int m = cells.shape[0], n = cells.shape[1], c = by_group.shape[1];
    std::vector<Word> item_keys(n), row_keys(m);
    for (Int g = 0; g < by_group.shape[0]; ++g) {
        for (Int a = 0; a < c; ++a) {
            Word code = random_word(g * c + a);
            for (Int i = 0; i < n; ++i) item_keys[i] += code * by_group(g, a, i);
        }
    }
    auto weigh_rows = [&] {
        for (Int i = 0; i < n; ++i) item_keys[i] = stir(item_keys[i]) * weights[i];
        for (Int j = 0; j < m; ++j) {
            const std::uint8_t* row = &cells(j, 0);
            Word sum = random_word(strata[j] * c + classes[j]);
            for (Int i = 0; i < n; ++i) sum += all_or_nothing(row[i]) & item_keys[i];
            row_keys[j] = stir(sum);
        }
    };
    weigh_rows();
    std::fill(item_keys.begin(), item_keys.end(), 0);
    for (Int j = 0; j < m; ++j) {
        const std::uint8_t* row = &cells(j, 0);
        for (Int i = 0; i < n; ++i) item_keys[i] += all_or_nothing(row[i]) & row_keys[j];
    }
    weigh_rows();
    std::vector<Int> order(m);
    std::iota(order.begin(), order.end(), Int{0});
    std::stable_sort(order.begin(), order.end(), [&](Int j, Int k) {
        return strata[j] != strata[k] ? strata[j] < strata[k] : row_keys[j] < row_keys[k];
    });
    return order;
}

// The logarithm of the chance of such a score, from those of shuffled labels.
inline double log_tail_of_score(double score, std::vector<double> shuffled) {
    std::sort(shuffled.begin(), shuffled.end());
    Int size = static_cast<Int>(shuffled.size());
    double place = (1.0 - TAIL) * (size - 1);
    Int below = static_cast<Int>(place);
    double step = below + 1 < size ? shuffled[below + 1] - shuffled[below] : 0.0;
    double start = shuffled[below] + step * (place - below);
    if (score <= start) {
        Int as_large = shuffled.end() - std::lower_bound(shuffled.begin(), shuffled.end(), score);
        return std::log((1.0 + as_large) / (1.0 + size));
    }
    double beyond = 0.0;
    Int count = 0;
    for (double value : shuffled) {
        if (value > start) {
            beyond += value - start;
            ++count;
        }
    }
    // Of independent items the tail falls by one nat per nat.
    double scale = std::max(count > 0 ? beyond / count : 1.0, 1.0);
    return std::log(TAIL) - (score - start) / scale;
}

// ---------------------------------------------------------------------- the test

// What is tested, and counts of it.
struct Added {
    Cells cells;
    Array<const Int> classes;
    Matrix<const bool> items;  // (c, n): those that every class adds
    Array<const Int> strata;
    Array<const Int> weights;
    View<const Int, 3> hits;  // (G, c, n)
    Matrix<const Int> rows;   // (G, c)
};

// Compare the scores of classes that are open with those of shuffled labels, where they may come down to the goal.
inline void test_by_shuffling(const Added& added, double goal, std::vector<char> open, std::vector<double>& log_p) {
    auto [n_groups, c, n] = added.hits.shape;
    Int m = added.classes.size();
    std::vector<Int> frequency(n), sizes(c), labels(added.classes.begin(), added.classes.end());
    for (Int g = 0; g < n_groups; ++g) {
        for (Int a = 0; a < c; ++a) {
            sizes[a] += added.rows(g, a);
            for (Int i = 0; i < n; ++i) frequency[i] += added.hits(g, a, i);
        }
    }
    Scoring scoring(added.cells, view(frequency), added.weights, sizes);
    scoring.label(labels);
    std::vector<double> score(c);
    bool any = false;
    for (Int a = 0; a < c; ++a) {
        if (open[a]) score[a] = scoring.score(a, &added.items(a, 0));
        open[a] = open[a] && score[a] >= -goal;
        any = any || open[a];
    }
    if (!any) return;
    std::vector<Int> order = order_rows(added.cells, added.classes, added.strata, added.weights, added.hits);
    std::vector<Int> ordered(m), strata(m);
    for (Int j = 0; j < m; ++j) {
        ordered[j] = added.classes[order[j]];
        strata[j] = added.strata[order[j]];
    }
    std::vector<std::vector<double>> again(c, std::vector<double>(SHUFFLES));
    for (Int k = 0; k < SHUFFLES; ++k) {
        shuffle(view(strata), k, ordered);
        for (Int j = 0; j < m; ++j) labels[order[j]] = ordered[j];
        scoring.label(labels);
        for (Int a = 0; a < c; ++a) {
            if (open[a]) again[a][k] = scoring.score(a, nullptr);
        }
    }
    for (Int a = 0; a < c; ++a) {
        if (open[a]) log_p[a] = std::min(log_p[a], std::log(2.0) + log_tail_of_score(score[a], again[a]));
    }
}

// The logarithm of a p-value for what every class adds, (c,); 0 where it adds nothing. See `test_added` in Python;
// n_items is -1 if all items that a class might add are here.
inline std::vector<double> test_added(Cells cells, Array<const Int> classes, Matrix<const bool> items,
                                      Array<const Int> strata, Array<const Int> weights, double goal, Int n_items) {
    auto [c, n] = items.shape;
    std::vector<char> adding(c);
    std::vector<std::uint8_t> tested(c * n);
    for (Int a = 0; a < c; ++a) {
        bool any = std::any_of(&items(a, 0), &items(a, 0) + n, [](bool item) { return item; });
        adding[a] = any && is_clear(cells, classes, a, items.at(a), weights);
        if (adding[a]) std::copy_n(&items(a, 0), n, tested.data() + a * n);
    }
    std::vector<double> log_p(c);
    if (std::none_of(adding.begin(), adding.end(), [](char adds) { return adds; })) return log_p;
    Int n_groups = count_strata(strata);
    std::vector<Int> hits = hits_by_group(cells, classes, strata, c), rows(n_groups * c);
    for (Int j = 0; j < classes.size(); ++j) ++rows[strata[j] * c + classes[j]];
    Added added{cells, classes, items, strata, weights, {hits.data(), {n_groups, c, n}}, {rows.data(), {n_groups, c}}};
    Int all_items = n_items >= 0 ? n_items : std::accumulate(weights.begin(), weights.end(), Int{0});
    Matrix<const bool> of_adding{reinterpret_cast<const bool*>(tested.data()), {c, n}};
    log_p = simes_log_p(added.hits, added.rows, weights, of_adding, all_items);
    std::vector<char> open(c);
    bool any_open = false;
    for (Int a = 0; a < c; ++a) {
        log_p[a] += std::log(2.0);
        open[a] = adding[a] && log_p[a] > 3 * goal;
        any_open = any_open || open[a];
    }
    if (any_open && n_items < 0 && can_shuffle(cells.shape[0], n)) test_by_shuffling(added, goal, open, log_p);
    for (Int a = 0; a < c; ++a) {
        // However clear the items are, there are only so many ways to draw the rows of a class.
        double ways = 0.0;
        for (Int g = 0; g < n_groups; ++g) {
            Int of_group = std::accumulate(&rows[g * c], &rows[g * c] + c, Int{0});
            ways += log_choices(of_group, rows[g * c + a]);
        }
        log_p[a] = adding[a] ? std::min(std::max(log_p[a], -ways), 0.0) : 0.0;
    }
    return log_p;
}

}  // namespace saltmine
