#include "store.hpp"

#include <algorithm>
#include <numeric>

namespace saltmine::likelihood {
namespace {

// Strata of a class, and rows that each of them has as a rule.
constexpr Int MOST_STRATA = 8, FEWEST_ROWS = 20;

// The stratum of rows of a class by their sizes, from 0 on: quantiles, or one for every size if there are few.
std::vector<Int> by_size(const std::vector<Int>& sizes) {
    const Int m = static_cast<Int>(sizes.size()), most = std::clamp<Int>(m / FEWEST_ROWS, 1, MOST_STRATA);
    std::vector<Int> sorted = sizes, cuts;
    std::sort(sorted.begin(), sorted.end());
    std::vector<Int> distinct = sorted;
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (static_cast<Int>(distinct.size()) <= most) {
        cuts.assign(distinct.begin() + (distinct.empty() ? 0 : 1), distinct.end());
    } else {
        for (Int k = 1; k < most; ++k) cuts.push_back(sorted[k * m / most]);
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        if (!cuts.empty() && cuts.front() == sorted.front()) cuts.erase(cuts.begin());
    }
    std::vector<Int> strata;
    for (Int size : sizes) strata.push_back(std::upper_bound(cuts.begin(), cuts.end(), size) - cuts.begin());
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
    stratify({});
}

void Store::stratify(const std::vector<Words*>& sets) {
    std::vector<Int> ones(64 * n_words, 0), to(64 * n_words, 0);
    for (Int i = 0; i < n_items; ++i) {
        for (Int w = 0; w < n_words; ++w) {
            for (Word left = column(i)[w] & ~closed_cells(i)[w]; left; left &= left - 1) ++ones[64 * w + lowest_one(left)];
        }
    }
    edges = {0};
    class_of.clear();
    sizes.clear();
    for (Int a = 0; a < n_classes; ++a) {
        std::vector<Int> rows, of_rows;
        for (Int j = 0; j < n_rows; ++j) {
            if (labels[j] != a) continue;
            rows.push_back(places[j]);
            of_rows.push_back(ones[places[j]]);
        }
        const std::vector<Int> strata = by_size(of_rows);
        const Int count = rows.empty() ? 0 : *std::max_element(strata.begin(), strata.end()) + 1;
        for (Int h = 0; h < count; ++h) {
            Int place = 64 * edges.back(), size = 0;
            for (std::size_t j = 0; j < rows.size(); ++j) {
                if (strata[j] == h) to[rows[j]] = place + size++;
            }
            if (size == 0) continue;
            edges.push_back(edges.back() + (size + 63) / 64);
            class_of.push_back(a);
            sizes.push_back(size);
        }
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
