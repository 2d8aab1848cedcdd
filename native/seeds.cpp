// Where a pattern may still hide: groups of similar rows and items; saltmine/solver/seeds.py says what is what.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "bits.hpp"
#include "hash.hpp"
#include "team.hpp"

namespace saltmine {

namespace {

using Numbers = std::vector<std::int32_t>;
using Rows = std::vector<Word>;

// The ones that no pattern covers, by items and by rows. A row is known by its place: word and bit.
class Ones {
public:
    Ones(Matrix<const Word> columns, Array<const Int> word_weights, Array<const Int> item_weights)
        : n_items(columns.shape[0]), n_words(columns.shape[1]), columns_(columns), of_item_(n_items),
          of_place_(64 * n_words), place_weight_(64 * n_words), item_weight_(n_items) {
        for (Int place = 0; place < 64 * n_words; ++place) place_weight_[place] = word_weights[place / 64];
        for (Int i = 0; i < n_items; ++i) {
            item_weight_[i] = item_weights[i];
            for (Int w = 0; w < n_words; ++w) {
                for (Word left = columns(i, w); left != 0; left &= left - 1) {
                    auto place = static_cast<std::int32_t>(64 * w + lowest_one(left));
                    of_item_[i].push_back(place);
                    of_place_[place].push_back(static_cast<std::int32_t>(i));
                }
            }
        }
    }

    Int n_items, n_words;

    Rows column(Int i) const { return Rows(columns_.at(i).begin(), columns_.at(i).end()); }
    const Numbers& places_of(Int i) const { return of_item_[i]; }
    const Numbers& items_of(Int place) const { return of_place_[place]; }
    Int weight_of_place(Int place) const { return place_weight_[place]; }
    Int weight_of_item(Int i) const { return item_weight_[i]; }
    Int count_rows(Int i) const {
        Int count = 0;
        for (std::int32_t place : of_item_[i]) count += place_weight_[place];
        return count;
    }

private:
    Matrix<const Word> columns_;
    std::vector<Numbers> of_item_, of_place_;
    std::vector<Int> place_weight_, item_weight_;
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
    Seeds(const Ones& ones, Array<const Word> row_mask, Array<const Int> neighbours)
        : ones_(ones), neighbours_(neighbours.begin(), neighbours.end()), frequency_(ones.n_items),
          scale_(ones.n_items), base_(64 * ones.n_words) {
        double n_rows = 0.0;
        for (Int w = 0; w < ones.n_words; ++w) {
            for (Word left = row_mask[w]; left != 0; left &= left - 1) {
                places_.push_back(static_cast<std::int32_t>(64 * w + lowest_one(left)));
                n_rows += static_cast<double>(ones.weight_of_place(places_.back()));
            }
        }
        for (Int i = 0; i < ones.n_items; ++i) {
            items_.push_back(static_cast<std::int32_t>(i));
            double frequency = ones.count_rows(i) / n_rows;
            frequency_[i] = static_cast<float>(frequency);
            scale_[i] = static_cast<float>(1.0 / std::sqrt(std::max(frequency * (1.0 - frequency), 1.0 / n_rows)));
        }
        for (std::int32_t place : places_) {
            for (std::int32_t i : ones.items_of(place)) base_[place] += frequency_[i] * worth(i);
        }
    }

    // Rows that are most like one: correlated in items that are scaled to unit variance.
    void like_row(std::int32_t place, std::vector<Rows>& found) const {
        std::vector<float> similarity(64 * ones_.n_words);
        for (std::int32_t other : places_) similarity[other] = -base_[other];
        for (std::int32_t i : ones_.items_of(place)) {
            for (std::int32_t other : ones_.places_of(i)) similarity[other] += worth(i);
        }
        auto weight = [this](std::int32_t other) { return ones_.weight_of_place(other); };
        for (Int count : neighbours_) {
            Rows rows(ones_.n_words);
            for (std::int32_t other : nearest(similarity, places_, place, count, weight)) {
                rows[other / 64] |= Word{1} << (other % 64);
            }
            found.push_back(std::move(rows));
        }
    }

    // Rows that have most of the items that are most like one.
    void like_item(std::int32_t item, std::vector<Rows>& found) const {
        std::vector<float> similarity(ones_.n_items);
        for (std::int32_t place : ones_.places_of(item)) {
            for (std::int32_t i : ones_.items_of(place)) similarity[i] += static_cast<float>(ones_.weight_of_place(place));
        }
        for (Int i = 0; i < ones_.n_items; ++i) {
            similarity[i] = (similarity[i] - frequency_[item] * static_cast<float>(ones_.count_rows(i))) * scale_[i];
        }
        auto weight = [this](std::int32_t i) { return ones_.weight_of_item(i); };
        for (Int count : neighbours_) {
            std::vector<Int> having(64 * ones_.n_words);
            Int total = 0;
            for (std::int32_t i : nearest(similarity, items_, item, count, weight)) {
                total += weight(i);
                for (std::int32_t place : ones_.places_of(i)) having[place] += weight(i);
            }
            Rows rows(ones_.n_words);
            for (std::int32_t place : places_) {
                if (total < 2 * having[place]) rows[place / 64] |= Word{1} << (place % 64);
            }
            found.push_back(std::move(rows));
        }
    }

private:
    const Ones& ones_;
    std::vector<Int> neighbours_;
    std::vector<float> frequency_, scale_, base_;
    Numbers places_, items_;

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
std::vector<Word> find_seeds(Matrix<const Word> columns, Array<const Word> row_mask, Array<const Int> word_weights,
                             Array<const Int> item_weights, Array<const Int> places, Array<const Int> items,
                             Array<const Int> neighbours, Int n_identical, Int n_threads) {
    Ones ones(columns, word_weights, item_weights);
    std::vector<std::vector<Rows>> found(places.size() + items.size());
    if (!found.empty()) {
        Seeds seeds(ones, row_mask, neighbours);
        Team team(n_threads);
        std::atomic<Int> next{0};
        team.run([&](Int) {
            for (Int k = next++; k < static_cast<Int>(found.size()); k = next++) {
                if (k < places.size()) {
                    seeds.like_row(static_cast<std::int32_t>(places[k]), found[k]);
                } else {
                    seeds.like_item(static_cast<std::int32_t>(items[k - places.size()]), found[k]);
                }
            }
        });
    }
    Int n_rows = 0;
    for (Int w = 0; w < columns.shape[1]; ++w) n_rows += word_weights[w] * count_ones(row_mask[w]);
    found.push_back(identical_columns(ones, n_rows, n_identical));
    std::vector<Word> all;
    std::unordered_set<Key, KeyHash> known;
    for (const std::vector<Rows>& sets : found) {
        for (const Rows& rows : sets) {
            Int count = 0;
            for (Int w = 0; w < columns.shape[1]; ++w) count += word_weights[w] * count_ones(rows[w]);
            if (count >= 2 && known.insert(key_of(rows)).second) all.insert(all.end(), rows.begin(), rows.end());
        }
    }
    return all;
}

}  // namespace

}  // namespace saltmine

using namespace saltmine;

SALTMINE_EXPORT(find_seeds)
