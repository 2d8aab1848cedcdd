#include "bindings.hpp"
#include "contrasts.hpp"

#include <map>
#include <numeric>

#include "kernels/kernels.hpp"

namespace saltmine {
namespace {

// Pairs are made of all items if they are few, otherwise of those that differ most between classes, with all.
constexpr Int MAX_FIRST = 128;
// Pairs with every first item, pairs that are grown, and sets that are kept.
constexpr std::size_t PARTNERS = 16, MAX_PAIRS = 300, MAX_SETS = 200;
constexpr Int MAX_ITEMS = 12;

// A pair of items, and what it shows for a class; sorted by the first that differs.
struct Pair {
    double shown;
    Int first, second, a;

    bool operator<(const Pair& other) const {
        if (shown != other.shown) return shown > other.shown;
        return std::tie(first, second, a) < std::tie(other.first, other.second, other.a);
    }
};

// Count the rows of every class that have an item, (c,); return all of them.
Int count_common(const Data& data, const Word* rows, const Word* column, Int* counts) {
    Int all = 0;
    for (Int a = 0; a < data.n_classes(); ++a) {
        all += counts[a] =
            kernels->count_common(rows, column, data.row_weights.data, data.edges[a], data.edges[a + 1]);
    }
    return all;
}

// The pairs with one item that show most beyond the codes of both, at most PARTNERS.
std::vector<Pair> best_pairs(const Data& data, const ClassDifferences& differences, Matrix<const Word> columns,
                             Int first) {
    Int n = columns.shape[0], c = data.n_classes();
    std::vector<Int> counts(c);
    std::vector<Pair> best;
    for (Int i = 0; i < n; ++i) {
        if (i == first) continue;
        Int all = count_common(data, &columns(first, 0), &columns(i, 0), counts.data());
        double codes = data.costs.codes[first] + data.costs.codes[i];
        for (Int a = 0; a < c; ++a) {
            Pair pair{differences.of(counts.data(), all, a) - codes, first, i, a};
            if (best.size() == PARTNERS && !(pair < best.back())) continue;
            if (best.size() == PARTNERS) best.pop_back();
            best.insert(std::upper_bound(best.begin(), best.end(), pair), pair);
        }
    }
    return best;
}

// The items that pairs are made of, in rising order.
std::vector<Int> first_items(const Data& data, const ClassDifferences& differences, Matrix<const Word> columns) {
    Int n = columns.shape[0], c = data.n_classes();
    std::vector<Int> items(n), counts(c);
    std::iota(items.begin(), items.end(), Int{0});
    if (n <= MAX_FIRST) return items;
    std::vector<double> shown(n);
    for (Int i = 0; i < n; ++i) {
        Int all = count_common(data, data.row_mask.data, &columns(i, 0), counts.data());
        for (Int a = 0; a < c; ++a) shown[i] = std::max(shown[i], differences.of(counts.data(), all, a));
    }
    std::stable_sort(items.begin(), items.end(), [&](Int i, Int j) { return shown[i] > shown[j]; });
    items.resize(MAX_FIRST);
    std::sort(items.begin(), items.end());
    return items;
}

}  // namespace

Contrast grow_contrast(const Data& data, const ClassDifferences& differences, Matrix<const Word> columns, Int first,
                       Int second, Int a) {
    Int n = columns.shape[0], n_words = columns.shape[1], n_items = data.costs.n_items;
    Array<const double> codes = data.costs.codes;
    std::vector<Int> counts(data.n_classes());
    std::vector<Word> rows(n_words);
    for (Int w = 0; w < n_words; ++w) rows[w] = columns(first, w) & columns(second, w);
    Contrast grown{{std::min(first, second), std::max(first, second)}, 0.0};
    double of_codes = codes[first] + codes[second];
    Int all = count_common(data, rows.data(), rows.data(), counts.data());
    grown.evidence = differences.of(counts.data(), all, a) - item_choices(n_items, 2, of_codes);
    for (Int size = 3; size <= MAX_ITEMS; ++size) {
        Int joining = -1;
        // As item_choices has it; only the codes depend on the item.
        double orders = log_factorial(size), sets = log_choices(n_items, size);
        double of_size = std::log(2.0 * size * (size + 1.0));
        for (Int i = 0; i < n; ++i) {
            if (std::binary_search(grown.items.begin(), grown.items.end(), i)) continue;
            all = count_common(data, rows.data(), &columns(i, 0), counts.data());
            double choice = std::min(of_codes + codes[i] - orders, sets) + of_size;
            double now = differences.of(counts.data(), all, a) - choice;
            if (now > grown.evidence + 1e-9) {
                grown.evidence = now;
                joining = i;
            }
        }
        if (joining < 0) break;
        grown.items.insert(std::upper_bound(grown.items.begin(), grown.items.end(), joining), joining);
        of_codes += codes[joining];
        for (Int w = 0; w < n_words; ++w) rows[w] &= columns(joining, w);
    }
    return grown;
}

std::vector<Contrast> find_contrasts(const Data& data, Matrix<const Word> columns, double least, Team& team) {
    ClassDifferences differences(data.class_sizes);
    std::vector<Int> firsts = first_items(data, differences, columns);
    std::vector<std::vector<Pair>> with_first(firsts.size());
    share_out(team, firsts.size(),
              [&](std::size_t k) { with_first[k] = best_pairs(data, differences, columns, firsts[k]); });
    std::vector<Pair> pairs;
    for (const std::vector<Pair>& some : with_first) pairs.insert(pairs.end(), some.begin(), some.end());
    std::sort(pairs.begin(), pairs.end());
    pairs.resize(std::min(pairs.size(), MAX_PAIRS));
    std::vector<Contrast> grown(pairs.size()), found;
    share_out(team, pairs.size(), [&](std::size_t k) {
        grown[k] = grow_contrast(data, differences, columns, pairs[k].first, pairs[k].second, pairs[k].a);
    });
    std::map<std::vector<Int>, std::size_t> place;
    for (const Contrast& contrast : grown) {
        if (contrast.evidence < least) continue;
        auto [at, is_new] = place.emplace(contrast.items, found.size());
        if (is_new) found.push_back(contrast);
        found[at->second].evidence = contrast.evidence;
    }
    std::stable_sort(found.begin(), found.end(), [](const Contrast& one, const Contrast& other) {
        return one.evidence > other.evidence;
    });
    found.resize(std::min(found.size(), MAX_SETS));
    return found;
}

}  // namespace saltmine

// As Python calls them: what does not belong together is refused.
namespace saltmine::checked {

void check(const Data& data, Matrix<const Word> columns) {
    if (columns.shape[1] != data.n_words() || columns.shape[0] != data.costs.codes.size()) {
        throw std::invalid_argument("columns that do not belong to the data");
    }
}

// Evidence, number of items, and items, of one set after the other.
using FlatContrasts = std::tuple<std::vector<double>, std::vector<Int>, std::vector<Int>>;

FlatContrasts find_contrasts(Data data, Matrix<const Word> columns, double least, Int n_threads) {
    check(data, columns);
    saltmine::Team team(n_threads);
    std::vector<double> evidence;
    std::vector<Int> sizes, items;
    for (const Contrast& contrast : saltmine::find_contrasts(data, columns, least, team)) {
        evidence.push_back(contrast.evidence);
        sizes.push_back(static_cast<Int>(contrast.items.size()));
        items.insert(items.end(), contrast.items.begin(), contrast.items.end());
    }
    return {evidence, sizes, items};
}

std::tuple<double, std::vector<Int>> grow_contrast(Data data, Matrix<const Word> columns, Int first, Int second,
                                                   Int a) {
    check(data, columns);
    Int n = columns.shape[0];
    if (first < 0 || first >= n || second < 0 || second >= n || a < 0 || a >= data.n_classes()) {
        throw std::invalid_argument("an item or a class that is not there");
    }
    saltmine::ClassDifferences differences(data.class_sizes);
    Contrast grown = saltmine::grow_contrast(data, differences, columns, first, second, a);
    return {grown.evidence, grown.items};
}

double class_difference(Array<const Int> counts, Array<const Int> sizes, Int a) {
    Int all = 0;
    for (Int count : counts) all += count;
    return saltmine::ClassDifferences(sizes).of(counts.data, all, a);
}

}  // namespace saltmine::checked

SALTMINE_BIND(contrasts, saltmine::checked, find_contrasts, grow_contrast, class_difference)
