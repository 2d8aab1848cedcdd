// Where a pattern may still hide: groups of similar rows and items; saltmine/solver/seeds.py says what is what.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "bindings.hpp"
#include "bits.hpp"
#include "hash.hpp"
#include "poll.hpp"
#include "team.hpp"

namespace saltmine {

namespace {

using Numbers = std::vector<std::int32_t>;
using Rows = std::vector<Word>;

// Where rows stand in words. One that counts for several of the input stands in several places.
struct Places {
    Places(Array<const Int> rows, Array<const Int> places, Int n_words, Int n_rows)
        : n_words(n_words), of_row(n_rows), first_row(64 * n_words, -1) {
        for (Int k = 0; k < rows.size(); ++k) {
            if (of_row[rows[k]].empty()) first_row[places[k]] = static_cast<std::int32_t>(rows[k]);
            of_row[rows[k]].push_back(static_cast<std::int32_t>(places[k]));
        }
    }

    Int n_words;
    std::vector<Numbers> of_row;
    Numbers first_row;  // (64 W,): the row that has its first place there, or -1

    void add(Rows& words, std::int32_t row) const {
        for (std::int32_t place : of_row[row]) words[place / 64] |= Word{1} << (place % 64);
    }
    Int count(const Rows& words, Array<const Int> row_weights) const {
        Int count = 0;
        for (Int w = 0; w < n_words; ++w) {
            for (Word left = words[w]; left != 0; left &= left - 1) {
                std::int32_t row = first_row[64 * w + lowest_one(left)];
                if (row >= 0) count += row_weights[row];
            }
        }
        return count;
    }
};

// The ones that no pattern covers, by items and by rows.
class Ones {
public:
    Ones(Matrix<const Word> columns, const Places& places, Array<const Int> row_weights, Array<const Int> item_weights)
        : n_items(columns.shape[0]), n_rows(row_weights.size()), columns_(columns), row_weights_(row_weights),
          item_weights_(item_weights), of_item_(n_items), of_row_(n_rows), counts_(n_items) {
        for (Int i = 0; i < n_items; ++i) {
            for (Int w = 0; w < columns.shape[1]; ++w) {
                for (Word left = columns(i, w); left != 0; left &= left - 1) {
                    std::int32_t row = places.first_row[64 * w + lowest_one(left)];
                    if (row < 0) continue;
                    of_item_[i].push_back(row);
                    of_row_[row].push_back(static_cast<std::int32_t>(i));
                    counts_[i] += row_weights[row];
                }
            }
        }
    }

    Int n_items, n_rows;

    Rows column(Int i) const { return Rows(columns_.at(i).begin(), columns_.at(i).end()); }
    const Numbers& rows_of(Int i) const { return of_item_[i]; }
    const Numbers& items_of(Int row) const { return of_row_[row]; }
    Int weight_of_row(Int row) const { return row_weights_[row]; }
    Int weight_of_item(Int i) const { return item_weights_[i]; }
    Int count_rows(Int i) const { return counts_[i]; }

private:
    Matrix<const Word> columns_;
    Array<const Int> row_weights_, item_weights_;
    std::vector<Numbers> of_item_, of_row_;
    std::vector<Int> counts_;
};

// The most similar ones, itself first, until there are so many others; equally similar ones in the order of numbers.
template <class Weight>
Numbers nearest(const std::vector<float>& similarity, const Numbers& among, std::int32_t own, Int count, Weight weight) {
    auto more = [&](std::int32_t one, std::int32_t other) {
        if (one == own || other == own) return one == own && other != own;
        return similarity[one] != similarity[other] ? similarity[one] > similarity[other] : one < other;
    };
    Numbers best;
    std::size_t take = std::min(static_cast<std::size_t>(count + 1), among.size());
    // A heap with the least similar of the best on top: hardly any other comes in.
    for (std::int32_t number : among) {
        if (best.size() < take) {
            best.push_back(number);
            std::push_heap(best.begin(), best.end(), more);
        } else if (more(number, best.front())) {
            std::pop_heap(best.begin(), best.end(), more);
            best.back() = number;
            std::push_heap(best.begin(), best.end(), more);
        }
    }
    std::sort_heap(best.begin(), best.end(), more);
    Numbers chosen;
    Int before = 0;
    for (std::int32_t number : best) {
        if (before > count) break;
        chosen.push_back(number);
        before += weight(number);
    }
    return chosen;
}

class Seeds {
public:
    Seeds(const Ones& ones, const Places& places, Int n_of_input, Array<const Int> neighbours)
        : ones_(ones), words_(places), neighbours_(neighbours.begin(), neighbours.end()), frequency_(ones.n_items),
          scale_(ones.n_items), base_(ones.n_rows), rows_(ones.n_rows), items_(ones.n_items) {
        std::iota(rows_.begin(), rows_.end(), 0);
        std::iota(items_.begin(), items_.end(), 0);
        double n_rows = static_cast<double>(n_of_input);
        for (Int i = 0; i < ones.n_items; ++i) {
            double frequency = ones.count_rows(i) / n_rows;
            frequency_[i] = static_cast<float>(frequency);
            scale_[i] = static_cast<float>(1.0 / std::sqrt(std::max(frequency * (1.0 - frequency), 1.0 / n_rows)));
        }
        for (std::int32_t row : rows_) {
            for (std::int32_t i : ones.items_of(row)) base_[row] += frequency_[i] * worth(i);
        }
    }

    // Rows that are most like one: correlated in items that are scaled to unit variance.
    void like_row(std::int32_t row, std::vector<Rows>& found) const {
        std::vector<float> similarity(ones_.n_rows);
        for (std::int32_t other : rows_) similarity[other] = -base_[other];
        for (std::int32_t i : ones_.items_of(row)) {
            for (std::int32_t other : ones_.rows_of(i)) similarity[other] += worth(i);
        }
        auto weight = [this](std::int32_t other) { return ones_.weight_of_row(other); };
        for (Int count : neighbours_) {
            found.emplace_back(words_.n_words);
            for (std::int32_t other : nearest(similarity, rows_, row, count, weight)) words_.add(found.back(), other);
        }
    }

    // Rows that have most of the items that are most like one.
    void like_item(std::int32_t item, std::vector<Rows>& found) const {
        std::vector<float> similarity(ones_.n_items);
        for (std::int32_t row : ones_.rows_of(item)) {
            for (std::int32_t i : ones_.items_of(row)) similarity[i] += static_cast<float>(ones_.weight_of_row(row));
        }
        for (Int i = 0; i < ones_.n_items; ++i) {
            similarity[i] = (similarity[i] - frequency_[item] * static_cast<float>(ones_.count_rows(i))) * scale_[i];
        }
        auto weight = [this](std::int32_t i) { return ones_.weight_of_item(i); };
        for (Int count : neighbours_) {
            std::vector<Int> having(ones_.n_rows);
            Int total = 0;
            for (std::int32_t i : nearest(similarity, items_, item, count, weight)) {
                total += weight(i);
                for (std::int32_t row : ones_.rows_of(i)) having[row] += weight(i);
            }
            found.emplace_back(words_.n_words);
            for (std::int32_t row : rows_) {
                if (total < 2 * having[row]) words_.add(found.back(), row);
            }
        }
    }

private:
    const Ones& ones_;
    const Places& words_;
    std::vector<Int> neighbours_;
    std::vector<float> frequency_, scale_, base_;
    Numbers rows_, items_;  // all of them

    float worth(Int i) const { return scale_[i] * scale_[i] * static_cast<float>(ones_.weight_of_item(i)); }
};

// The rows of those columns that most items have in common, where several do.
std::vector<Rows> identical_columns(const Ones& ones, Int n_rows, Int most) {
    struct Group {
        Int first, items, rows;
        double shown;
    };
    std::vector<Group> groups;
    std::unordered_map<Key, std::size_t, KeyHash> known;
    for (Int i = 0; i < ones.n_items; ++i) {
        Rows column = ones.column(i);
        auto [at, is_new] = known.try_emplace(key_of(column), groups.size());
        if (is_new) groups.push_back({i, 0, ones.count_rows(i), 0.0});
        groups[at->second].items += ones.weight_of_item(i);
    }
    std::vector<Rows> found;
    for (Group& group : groups) {
        if (group.items < 2 || group.rows < 2) continue;
        group.shown = static_cast<double>(group.items * group.rows) * std::log(static_cast<double>(n_rows) / group.rows);
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Group& one, const Group& other) { return one.shown > other.shown; });
    for (const Group& group : groups) {
        if (!(group.shown > 0.0) || static_cast<Int>(found.size()) == most) break;
        found.push_back(ones.column(group.first));
    }
    return found;
}

// Sets of rows to start a pattern from, each once, (k, W) in one array: first those of rows, then those of items.
// `rows_at` and `places` say where rows stand in words. After so many seconds no further rows and items are looked at;
// a negative number is no limit.
std::vector<Word> find_seeds(Matrix<const Word> columns, Array<const Int> rows_at, Array<const Int> places,
                             Array<const Int> row_weights, Array<const Int> item_weights, Array<const Int> rows,
                             Array<const Int> items, Array<const Int> neighbours, Int n_identical, Int n_threads,
                             double seconds) {
    Deadline deadline;
    deadline.set(seconds, -1);
    Places words(rows_at, places, columns.shape[1], row_weights.size());
    Ones ones(columns, words, row_weights, item_weights);
    Int n_rows = std::accumulate(row_weights.begin(), row_weights.end(), Int{0});
    std::vector<std::vector<Rows>> found(rows.size() + items.size());
    if (!found.empty()) {
        Seeds seeds(ones, words, n_rows, neighbours);
        Team team(n_threads);
        std::atomic<Int> next{0};
        team.run([&](Int) {
            for (Int k = next++; k < static_cast<Int>(found.size()) && !deadline.is_past(); k = next++) {
                if (k < rows.size()) {
                    seeds.like_row(static_cast<std::int32_t>(rows[k]), found[k]);
                } else {
                    seeds.like_item(static_cast<std::int32_t>(items[k - rows.size()]), found[k]);
                }
            }
        });
    }
    found.push_back(identical_columns(ones, n_rows, n_identical));
    std::vector<Word> all;
    std::unordered_set<Key, KeyHash> known;
    for (const std::vector<Rows>& sets : found) {
        for (const Rows& seed : sets) {
            if (words.count(seed, row_weights) < 2 || !known.insert(key_of(seed)).second) continue;
            all.insert(all.end(), seed.begin(), seed.end());
        }
    }
    return all;
}

}  // namespace

}  // namespace saltmine

SALTMINE_BIND(seeds, saltmine, find_seeds)
