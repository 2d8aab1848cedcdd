#include "starts.hpp"

#include <algorithm>
#include <numeric>

#include "../random.hpp"

namespace saltmine::likelihood {
namespace {

// Directions, and turns in which they are found.
constexpr Int WIDTH = 32;
constexpr int TURNS = 6;
// Items and rows whose neighbours are taken, and neighbours of an item.
constexpr Int MOST_ITEMS = 150, MOST_ROWS = 60, MOST_PAIRS = 300;
constexpr std::size_t NEAREST = 5;
// All pairs of items are counted up to this many items.
constexpr Int FEW_ITEMS = 1500;
// What is taken though chance may make as much: of the score of a pair, and as a share of the strength of a direction.
constexpr double SLACK = 0.5, EDGE = 0.95;
// Turns in which the direction is found that halves the rows of a pattern.
constexpr int HALVING_TURNS = 8;
// Share of the rows that begin a pattern.
constexpr double SHARES[] = {0.02, 0.08};

// What chance leaves over, (rows, items), as a linear map; rows are the places of all words.
class Residual {
public:
    Residual(const Store& store, const Chance& chance) : store_(store), chance_(chance), scale_(store.n_items) {
        for (Int i = 0; i < store.n_items; ++i) {
            const double rate = chance.rate(i);
            scale_[i] = 1 / (std::sqrt(rate * (1 - rate)) + 0.05);
        }
    }
    // Z^T U, (items, WIDTH), of U, (places, WIDTH).
    Doubles to_items(const Doubles& U) const {
        const Int n_strata = store_.n_strata();
        Doubles sums(n_strata * WIDTH, 0.0), out(store_.n_items * WIDTH, 0.0);
        for_rows([&](Int h, Int j) { add(&U[j * WIDTH], 1.0, &sums[h * WIDTH]); });
        for (Int i = 0; i < store_.n_items; ++i) {
            double* to = &out[i * WIDTH];
            for (Int h = 0; h < n_strata; ++h) {
                const double p = chance_.p(i)[h];
                const bool whole = chance_.counts(i)[h].cells == store_.sizes[h];
                add(&sums[h * WIDTH], -p, to);
                for (Int w = store_.edges[h]; w < store_.edges[h + 1]; ++w) {
                    const Word closed = whole ? 0 : store_.closed_cells(i)[w] & store_.mask[w];
                    for (Word left = store_.column(i)[w] & ~closed; left; left &= left - 1) {
                        add(&U[(64 * w + lowest_one(left)) * WIDTH], 1.0, to);
                    }
                    for (Word left = closed; left; left &= left - 1) {
                        add(&U[(64 * w + lowest_one(left)) * WIDTH], p, to);
                    }
                }
            }
            for (Int k = 0; k < WIDTH; ++k) to[k] *= scale_[i];
        }
        return out;
    }
    // Z V, (places, WIDTH), of V, (items, WIDTH).
    Doubles to_rows(const Doubles& V) const {
        const Int n_strata = store_.n_strata();
        Doubles sums(n_strata * WIDTH, 0.0), out(64 * store_.n_words * WIDTH, 0.0);
        for (Int i = 0; i < store_.n_items; ++i) {
            double from[WIDTH];
            for (Int k = 0; k < WIDTH; ++k) from[k] = V[i * WIDTH + k] * scale_[i];
            for (Int h = 0; h < n_strata; ++h) {
                const double p = chance_.p(i)[h];
                const bool whole = chance_.counts(i)[h].cells == store_.sizes[h];
                add(from, -p, &sums[h * WIDTH]);
                for (Int w = store_.edges[h]; w < store_.edges[h + 1]; ++w) {
                    const Word closed = whole ? 0 : store_.closed_cells(i)[w] & store_.mask[w];
                    for (Word left = store_.column(i)[w] & ~closed; left; left &= left - 1) {
                        add(from, 1.0, &out[(64 * w + lowest_one(left)) * WIDTH]);
                    }
                    for (Word left = closed; left; left &= left - 1) add(from, p, &out[(64 * w + lowest_one(left)) * WIDTH]);
                }
            }
        }
        for_rows([&](Int h, Int j) { add(&sums[h * WIDTH], 1.0, &out[j * WIDTH]); });
        return out;
    }
    // The largest strength that a direction has by chance, roughly.
    double edge(Int m) const {
        double variance = 0;
        for (Int i = 0; i < store_.n_items; ++i) {
            for (Int h = 0; h < store_.n_strata(); ++h) {
                const double p = chance_.p(i)[h];
                variance += static_cast<double>(chance_.counts(i)[h].cells) * p * (1 - p) * scale_[i] * scale_[i];
            }
        }
        variance /= static_cast<double>(m * store_.n_items);
        return std::sqrt(variance) * (std::sqrt(static_cast<double>(m)) + std::sqrt(static_cast<double>(store_.n_items)));
    }
    template <class Visit>
    void for_rows(Visit visit) const {
        for (Int h = 0; h < store_.n_strata(); ++h) {
            for (Int w = store_.edges[h]; w < store_.edges[h + 1]; ++w) {
                for (Word left = store_.mask[w]; left; left &= left - 1) visit(h, 64 * w + lowest_one(left));
            }
        }
    }

private:
    const Store& store_;
    const Chance& chance_;
    Doubles scale_;

    static void add(const double* from, double times, double* to) {
        for (Int k = 0; k < WIDTH; ++k) to[k] += times * from[k];
    }
};

// Make the columns of a matrix, (rows, WIDTH), orthonormal, from the first on; what is left of none is zero.
void orthonormalise(Doubles& matrix) {
    const Int rows = static_cast<Int>(matrix.size()) / WIDTH;
    for (Int k = 0; k < WIDTH; ++k) {
        double before = 0, norm = 0;
        for (Int j = 0; j < rows; ++j) before += matrix[j * WIDTH + k] * matrix[j * WIDTH + k];
        for (int again = 0; again < 2; ++again) {
            double dots[WIDTH] = {};
            for (Int j = 0; j < rows; ++j) {
                for (Int l = 0; l < k; ++l) dots[l] += matrix[j * WIDTH + l] * matrix[j * WIDTH + k];
            }
            for (Int j = 0; j < rows; ++j) {
                for (Int l = 0; l < k; ++l) matrix[j * WIDTH + k] -= dots[l] * matrix[j * WIDTH + l];
            }
        }
        for (Int j = 0; j < rows; ++j) norm += matrix[j * WIDTH + k] * matrix[j * WIDTH + k];
        const double scale = norm > 1e-16 * before && norm > 1e-200 ? 1 / std::sqrt(norm) : 0.0;
        for (Int j = 0; j < rows; ++j) matrix[j * WIDTH + k] *= scale;
    }
}

double dot(const double* one, const double* other) {
    double sum = 0;
    for (Int k = 0; k < WIDTH; ++k) sum += one[k] * other[k];
    return sum;
}

// The indices of the largest values; ties by index.
std::vector<Int> largest(const Doubles& values, std::size_t count) {
    std::vector<Int> order(values.size());
    std::iota(order.begin(), order.end(), Int{0});
    count = std::min(count, order.size());
    const auto before = [&](Int a, Int b) { return values[a] != values[b] ? values[a] > values[b] : a < b; };
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), before);
    order.resize(count);
    return order;
}

Pattern from_items(std::vector<Int> items) {
    Pattern start;
    std::sort(items.begin(), items.end());
    start.items = std::move(items);
    return start;
}

Pattern from_places(const Store& store, const std::vector<Int>& rows, const std::vector<Int>& places) {
    Pattern start;
    start.rows.assign(store.n_words, 0);
    for (Int j : rows) start.rows[places[j] / 64] |= Word{1} << places[j] % 64;
    return start;
}

// Pairs of items that occur together more often than the sizes of strata explain, the best of every item.
void add_pairs(const Store& store, const Chance& chance, std::vector<Pattern>& starts) {
    const Int n = store.n_items, n_strata = store.n_strata();
    if (n > FEW_ITEMS) return;
    Doubles scores(n, 0.0);
    std::vector<std::vector<Int>> partners(n);
    Doubles row(n);
    Words open(store.n_words);
    for (Int i = 0; i < n; ++i) {
        for (Int w = 0; w < store.n_words; ++w) open[w] = store.column(i)[w] & ~store.closed_cells(i)[w];
        for (Int k = 0; k < n; ++k) {
            row[k] = 0;
            if (k == i) continue;
            Int met = 0;
            double expected = 0;
            for (Int h = 0; h < n_strata; ++h) {
                Int open_cells, ones;
                kernels->count_open(open.data(), store.closed_cells(k), store.column(k), store.weights.data(), store.edges[h],
                                    store.edges[h + 1], &open_cells, &ones);
                met += ones;
                expected += static_cast<double>(open_cells) * chance.p(k)[h];
            }
            row[k] = (static_cast<double>(met) - expected) / std::sqrt(expected + 0.3);
        }
        partners[i] = largest(row, NEAREST);
        scores[i] = partners[i].empty() ? 0.0 : row[partners[i][0]];
    }
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

}  // namespace

std::vector<Pattern> find_starts(const Store& store, const Chance& chance) {
    std::vector<Pattern> starts;
    add_pairs(store, chance, starts);
    const Residual residual(store, chance);
    std::vector<Int> places;
    residual.for_rows([&](Int, Int j) { places.push_back(j); });
    const Int m = static_cast<Int>(places.size()), n = store.n_items;
    Random random(1);
    Doubles V(n * WIDTH);
    for (double& value : V) value = static_cast<double>(random.next() >> 11) / 9007199254740992.0 - 0.5;
    Doubles U;
    for (int turn = 0; turn < TURNS; ++turn) {
        orthonormalise(V);
        U = residual.to_rows(V);
        orthonormalise(U);
        V = residual.to_items(U);
    }
    // V has the items in the directions of the rows, R the rows in those of the items; directions that chance makes
    // as well are left out.
    std::vector<Int> leading;
    for (Int k = 0; k < WIDTH; ++k) {
        double strength = 0;
        for (Int i = 0; i < n; ++i) strength += V[i * WIDTH + k] * V[i * WIDTH + k];
        if (std::sqrt(strength) > EDGE * residual.edge(m)) {
            leading.push_back(k);
            continue;
        }
        for (Int i = 0; i < n; ++i) V[i * WIDTH + k] = 0;
    }
    if (leading.empty()) return starts;
    Doubles directions = V, norms(n);
    orthonormalise(directions);
    const Doubles R = residual.to_rows(directions);
    Doubles row_norms(m);
    for (Int j = 0; j < m; ++j) row_norms[j] = dot(&R[places[j] * WIDTH], &R[places[j] * WIDTH]);
    const std::vector<Int> by_norm = largest(row_norms, (m + 1) / 2);
    const Int step = std::max<Int>(1, static_cast<Int>(by_norm.size()) / MOST_ROWS);
    for (std::size_t t = 0; t < by_norm.size(); t += step) {
        Doubles near(m);
        for (Int j = 0; j < m; ++j) near[j] = dot(&R[places[by_norm[t]] * WIDTH], &R[places[j] * WIDTH]);
        for (double share : SHARES) {
            const std::size_t count = std::max<std::size_t>(5, static_cast<std::size_t>(share * m));
            starts.push_back(from_places(store, largest(near, count), places));
        }
    }
    for (Int i = 0; i < n; ++i) norms[i] = dot(&V[i * WIDTH], &V[i * WIDTH]);
    for (Int i : largest(norms, MOST_ITEMS)) {
        Doubles near(n);
        for (Int k = 0; k < n; ++k) near[k] = k == i ? 1e300 : dot(&V[i * WIDTH], &V[k * WIDTH]);
        starts.push_back(from_items(largest(near, NEAREST + 1)));
    }
    for (Int k : leading) {
        for (double sign : {1.0, -1.0}) {
            Doubles along(m);
            for (Int j = 0; j < m; ++j) along[j] = sign * U[places[j] * WIDTH + k];
            starts.push_back(from_places(store, largest(along, std::max<std::size_t>(5, m / 12)), places));
        }
    }
    return starts;
}

Words halve(const Store& store, const Pattern& pattern) {
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
    Words half(store.n_words, 0);
    for (Int t = 0; t < m; ++t) {
        if (along[t] > 0) half[rows[t] / 64] |= Word{1} << rows[t] % 64;
    }
    return half;
}

}  // namespace saltmine::likelihood
