#include "starts.hpp"

#include <algorithm>
#include <numeric>

#include "spectrum.hpp"

namespace saltmine::likelihood {
namespace {

// Items and rows whose neighbours are taken, and neighbours of an item.
constexpr Int MOST_ITEMS = 150, MOST_PAIRS = 300;
constexpr std::size_t NEAREST = 5;
constexpr std::size_t NEAR_ROWS = 16;
constexpr Int MOST_SEEDS = 60, MOST_NEAR_ROWS = 5000;
// All pairs of items are counted up to this many items.
constexpr Int FEW_ITEMS = 1500;
// What is taken though chance may make as much, of the score of a pair.
constexpr double SLACK = 0.5;
// Rows are near a direction from this share of the largest on; classes of fewer rows have no directions of their own.
constexpr double NEAR = 0.5;
constexpr std::size_t MOST_NEAR = 100;
constexpr Int FEWEST_IN_CLASS = 20;
// Turns in which the direction is found that halves the rows of a pattern.
constexpr int HALVING_TURNS = 8;

double dot(const double* one, const double* other) {
    double sum = 0;
    for (Int k = 0; k < WIDTH; ++k) sum += one[k] * other[k];
    return sum;
}

// The indices of the largest values; ties by index.
std::vector<Int> largest(const Doubles& values, std::size_t count) {
    const auto before = [&](Int a, Int b) { return values[a] != values[b] ? values[a] > values[b] : a < b; };
    count = std::min(count, values.size());
    std::vector<Int> order(values.size());
    std::iota(order.begin(), order.end(), Int{0});
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), before);
    order.resize(count);
    return order;
}

// The same of few values among many: most are compared with the least of them only.
std::vector<Int> largest_few(const Doubles& values, std::size_t count) {
    std::vector<Int> order;
    count = std::min(count, values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
        if (order.size() == count && !(values[k] > values[order.back()])) continue;
        if (order.size() == count) order.pop_back();
        auto at = order.end();
        while (at != order.begin() && values[k] > values[*(at - 1)]) --at;
        order.insert(at, static_cast<Int>(k));
    }
    return order;
}

// Sets as words of all of them together: word w of set k is at w * n + k.
Words transposed(const Words& sets, Int n, Int n_words) {
    Words out(sets.size());
    for (Int k = 0; k < n; ++k) {
        for (Int w = 0; w < n_words; ++w) out[w * n + k] = sets[k * n_words + w];
    }
    return out;
}

// Add the bits that a set has in common with each of the transposed ones, in some words.
void add_common(const Words& sets, const Word* one, Int n, Int begin, Int end, Int* counts) {
    for (Int w = begin; w < end; ++w) {
        if (one[w] != 0) kernels->add_counts(sets.data() + w * n, one[w], 1, n, counts);
    }
}

Pattern from_items(std::vector<Int> items) {
    Pattern start;
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    start.items = std::move(items);
    return start;
}

Pattern from_places(const Store& store, const std::vector<Int>& rows, const std::vector<Int>& places) {
    Pattern start;
    start.rows.assign(store.n_words, 0);
    for (Int j : rows) start.rows[places[j] / 64] |= Word{1} << places[j] % 64;
    return start;
}

// The open ones of items, and open cells, as words of all items together.
struct OpenItems {
    Words ones, ones_of_all, cells_of_all;
    Doubles p;  // (strata, n)

    OpenItems(const Store& store, const Chance& chance) : ones(store.columns), p(store.n_strata() * store.n_items) {
        const Int n = store.n_items, n_words = store.n_words;
        Words cells(n * n_words);
        for (Int k = 0; k < n; ++k) {
            for (Int w = 0; w < n_words; ++w) {
                cells[k * n_words + w] = ~store.closed_cells(k)[w];
                ones[k * n_words + w] &= cells[k * n_words + w];
            }
            for (Int h = 0; h < store.n_strata(); ++h) p[h * n + k] = chance.p(k)[h];
        }
        ones_of_all = transposed(ones, n, n_words);
        cells_of_all = transposed(cells, n, n_words);
    }
};

// How much more often items occur together with one of them than the sizes of strata explain; less for that one.
Doubles score_partners(const Store& store, const OpenItems& open, Int i) {
    const Int n = store.n_items;
    const Word* ones = open.ones.data() + i * store.n_words;
    std::vector<Int> met(n, 0), cells(n);
    Doubles expected(n, 0.0), scores(n);
    for (Int h = 0; h < store.n_strata(); ++h) {
        const Int begin = store.edges[h], end = store.edges[h + 1];
        if (store.count_rows(ones, h) == 0) continue;
        std::fill(cells.begin(), cells.end(), 0);
        add_common(open.cells_of_all, ones, n, begin, end, cells.data());
        add_common(open.ones_of_all, ones, n, begin, end, met.data());
        kernels->add_expected(cells.data(), open.p.data() + h * n, n, expected.data());
    }
    kernels->score_counts(met.data(), expected.data(), n, scores.data());
    scores[i] = 0;
    return scores;
}

// Pairs of items that occur together more often than the sizes of strata explain, the best of every item.
void add_pairs(const Store& store, const Chance& chance, Team& team, std::vector<Pattern>& starts) {
    const Int n = store.n_items;
    if (n > FEW_ITEMS) return;
    Doubles scores(n, 0.0);
    std::vector<std::vector<Int>> partners(n);
    const OpenItems open(store, chance);
    share_out(team, static_cast<std::size_t>(n), [&](std::size_t i) {
        const Doubles row = score_partners(store, open, static_cast<Int>(i));
        partners[i] = largest_few(row, NEAREST);
        scores[i] = partners[i].empty() ? 0.0 : row[partners[i][0]];
    });
    // Less is the largest of as many numbers by chance.
    const double least = std::sqrt(2 * std::log(std::max(n * (n - 1) / 2, Int{2}))) - SLACK;
    for (Int i : largest(scores, MOST_PAIRS)) {
        if (scores[i] < least) break;
        starts.push_back(from_items({i, partners[i][0]}));
        std::vector<Int> near = partners[i];
        near.push_back(i);
        if (near.size() > 2) starts.push_back(from_items(near));
    }
}

// What is near a turned direction: from a share of the largest on, of which some may be larger than usual.
std::vector<Int> near_direction(const Doubles& turned, Int k, std::size_t high) {
    const std::size_t m = turned.size() / WIDTH;
    Doubles along(m);
    for (std::size_t j = 0; j < m; ++j) along[j] = turned[j * WIDTH + k];
    const double least = NEAR * along[largest(along, std::max<std::size_t>(3, high)).back()];
    std::vector<Int> near;
    for (std::size_t j = 0; j < m; ++j) {
        if (along[j] > least) near.push_back(static_cast<Int>(j));
    }
    return near;
}

// Rows that are near one of the turned directions.
void add_rows_along(const Store& store, const Directions& found, std::vector<Pattern>& starts) {
    for (Int k = 0; k < found.n_kept; ++k) {
        const std::vector<Int> rows = near_direction(found.turned_rows, k, found.places.size() / 100);
        starts.push_back(from_places(store, rows, found.places));
    }
}

// Items that are near one of the turned directions: where many rows use several patterns, rows are near none of them.
void add_items_along(const Directions& found, std::vector<Pattern>& starts) {
    for (Int k = 0; k < found.n_kept; ++k) {
        const std::vector<Int> items = near_direction(found.turned_items, k, 0);
        if (items.size() >= 2 && items.size() <= MOST_NEAR) starts.push_back(from_items(items));
    }
}

// Items and those that are nearest to them in the signals.
void add_near_items(const Directions& found, Int n, std::vector<Pattern>& starts) {
    Doubles norms(n), V = found.items;
    for (Int i = 0; i < n; ++i) {
        for (Int k = found.n_signals; k < WIDTH; ++k) V[i * WIDTH + k] = 0;
        norms[i] = dot(&V[i * WIDTH], &V[i * WIDTH]);
    }
    for (Int i : largest(norms, MOST_ITEMS)) {
        Doubles near(n);
        for (Int k = 0; k < n; ++k) near[k] = k == i ? 1e300 : dot(&V[i * WIDTH], &V[k * WIDTH]);
        starts.push_back(from_items(largest_few(near, NEAREST + 1)));
    }
}

// Rows and those that have more open ones in common with them than chance makes; the rows that are nearest to others first.
void add_near_rows(const Store& store, const Chance& chance, Team& team, std::vector<Pattern>& starts) {
    const Int n = store.n_items, n_words = (n + 63) / 64;
    std::vector<Int> places;
    for (Int w = 0; w < store.n_words; ++w) {
        for (Word left = store.mask[w]; left; left &= left - 1) places.push_back(64 * w + lowest_one(left));
    }
    // Items that most rows have say little.
    const Int m = static_cast<Int>(places.size());
    if (m > MOST_NEAR_ROWS) return;
    Words rows(m * n_words, 0);
    std::vector<Int> row_at(64 * store.n_words, 0);
    for (Int j = 0; j < m; ++j) row_at[places[j]] = j;
    double squares = 0, mean = 0;
    for (Int i = 0; i < n; ++i) {
        if (chance.rate(i) > 0.5) continue;
        squares += chance.rate(i) * chance.rate(i);
        mean += chance.rate(i);
        for (Int w = 0; w < store.n_words; ++w) {
            for (Word left = store.column(i)[w] & ~store.closed_cells(i)[w]; left; left &= left - 1) {
                const Int j = row_at[64 * w + lowest_one(left)];
                rows[j * n_words + i / 64] |= Word{1} << i % 64;
            }
        }
    }
    if (!(mean > 0)) return;
    Doubles sizes(m, 0.0);
    for (Int j = 0; j < m; ++j) {
        for (Int w = 0; w < n_words; ++w) sizes[j] += static_cast<double>(count_ones(rows[j * n_words + w]));
    }
    const Words of_all = transposed(rows, m, n_words);
    Doubles scores(m, 0.0);
    std::vector<std::vector<Int>> near(m);
    share_out(team, static_cast<std::size_t>(m), [&](std::size_t j) {
        std::vector<Int> both(m, 0);
        Doubles expected(m), all(m);
        for (Int k = 0; k < m; ++k) expected[k] = squares * sizes[j] * sizes[k] / (mean * mean);
        add_common(of_all, rows.data() + static_cast<Int>(j) * n_words, m, 0, n_words, both.data());
        kernels->score_counts(both.data(), expected.data(), m, all.data());
        all[j] = 1e300;
        near[j] = largest_few(all, NEAR_ROWS);
        for (std::size_t k = 1; k < near[j].size(); ++k) scores[j] += all[near[j][k]];
    });
    std::vector<char> taken(m, 0);
    Int n_taken = 0;
    for (Int j : largest(scores, static_cast<std::size_t>(m))) {
        if (taken[j]) continue;
        for (Int k : near[j]) taken[k] = 1;
        starts.push_back(from_places(store, near[j], places));
        if (++n_taken == MOST_SEEDS) break;
    }
}

}  // namespace

std::vector<Pattern> find_starts(const Store& store, const Chance& chance, Team& team) {
    std::vector<std::vector<Int>> parts(1);
    for (Int h = 0; h < store.n_strata(); ++h) parts[0].push_back(h);
    for (Int a = 0; a < store.n_classes && store.n_classes > 1; ++a) {
        std::vector<Int> of_class;
        Int size = 0;
        for (Int h = 0; h < store.n_strata(); ++h) {
            if (store.class_of[h] == a) of_class.push_back(h), size += store.sizes[h];
        }
        if (size >= FEWEST_IN_CLASS) parts.push_back(of_class);
    }
    std::vector<Directions> found(parts.size());
    share_out(team, parts.size(), [&](std::size_t k) { found[k] = find_directions(store, chance, parts[k]); });
    std::vector<Pattern> starts;
    for (const Directions& directions : found) add_rows_along(store, directions, starts);
    for (const Directions& directions : found) add_items_along(directions, starts);
    add_pairs(store, chance, team, starts);
    add_near_rows(store, chance, team, starts);
    if (found[0].n_signals > 0) add_near_items(found[0], store.n_items, starts);
    return starts;
}

Halves halve(const Store& store, const Pattern& pattern) {
    std::vector<Int> rows;
    for (Int w = 0; w < store.n_words; ++w) {
        for (Word left = pattern.rows[w]; left; left &= left - 1) rows.push_back(64 * w + lowest_one(left));
    }
    const Int m = static_cast<Int>(rows.size()), k = pattern.size();
    // What the items of a row are above the mean of the rows, and zero where a cell takes no part.
    Doubles over(m * k, 0.0), items(k), along(m, 0.0);
    Int widest = 0;
    double most = -1;
    for (Int s = 0; s < k; ++s) {
        const Word *column = store.column(pattern.items[s]), *closed = store.closed_cells(pattern.items[s]);
        const auto bit = [](const Word* set, Int j) { return static_cast<Int>(set[j / 64] >> j % 64 & 1); };
        Int ones = 0, cells = 0;
        for (Int j : rows) cells += 1 - bit(closed, j), ones += bit(column, j) & ~bit(closed, j);
        const double mean = cells == 0 ? 0.0 : static_cast<double>(ones) / static_cast<double>(cells);
        for (Int t = 0; t < m; ++t) {
            if (!bit(closed, rows[t])) over[t * k + s] = static_cast<double>(bit(column, rows[t])) - mean;
        }
        if (mean * (1 - mean) > most) most = mean * (1 - mean), widest = s;
    }
    for (Int t = 0; t < m; ++t) along[t] = over[t * k + widest];
    for (int turn = 0; turn < HALVING_TURNS; ++turn) {
        std::fill(items.begin(), items.end(), 0.0);
        for (Int t = 0; t < m; ++t) {
            for (Int s = 0; s < k; ++s) items[s] += along[t] * over[t * k + s];
        }
        double norm = 1e-300;
        for (double value : items) norm += value * value;
        for (double& value : items) value /= std::sqrt(norm);
        for (Int t = 0; t < m; ++t) {
            along[t] = 0;
            for (Int s = 0; s < k; ++s) along[t] += items[s] * over[t * k + s];
        }
    }
    Halves halves;
    halves.rows.assign(store.n_words, 0);
    for (Int t = 0; t < m; ++t) {
        if (along[t] > 0) halves.rows[rows[t] / 64] |= Word{1} << rows[t] % 64;
    }
    for (Int s = 0; s < k; ++s) halves.items[items[s] > 0 ? 0 : 1].push_back(pattern.items[s]);
    return halves;
}

}  // namespace saltmine::likelihood
