#include "spectrum.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "../random.hpp"

namespace saltmine::likelihood {
namespace {

using Square = std::array<double, WIDTH * WIDTH>;

// Degrees of the polynomials of the map that enlarge strong directions.
constexpr int DEGREES[] = {3, 6};
// The share of the strength of noise from which on directions are enlarged: weak patterns are near its edge.
constexpr double CUT = 0.92;
// Directions are signals from this share of the strength that chance makes on; so many more are kept.
constexpr double EDGE = 0.99;
constexpr Int MORE = 8;
// What is weaker than this share of the strongest is none: strengths are roots of sums of squares.
constexpr double LEAST_STRENGTH = 1e-7;
// Steps of the rotation, and rows that it is found from.
constexpr int ROTATIONS = 40;
constexpr Int MOST_ROWS = 4000;
// Ones whose rows are kept in memory.
constexpr Int MOST_KEPT = 1 << 23;
// Jacobi's sweeps at most; the square of what is taken for zero beside the diagonal; a change that ends the rotation.
constexpr int SWEEPS = 12;
constexpr double NEGLIGIBLE = 1e-32, STILL = 1e-10;

// What chance leaves over in some strata, (rows, items), as a linear map, scaled to about the same variance everywhere.
class Residual {
public:
    Residual(const Store& store, const Chance& chance, const std::vector<Int>& strata)
        : store_(store), chance_(chance), strata_(strata), scale_(store.n_items) {
        for (Int i = 0; i < store.n_items; ++i) {
            const double rate = chance.rate(i);
            scale_[i] = 1 / (std::sqrt(rate * (1 - rate)) + 0.05);
        }
        for (Int h : strata) {
            first_row_.push_back(static_cast<Int>(place_of_.size()));
            for (Int k = 0; k < store.sizes[h]; ++k) place_of_.push_back(64 * store.edges[h] + k);
        }
        Int n_ones = 0;
        for (Int i = 0; i < store.n_items; ++i) {
            for (Int h : strata) n_ones += chance.counts(i)[h].ones;
        }
        if (n_ones > MOST_KEPT) return;
        kept_.reserve(n_ones);
        for (Int i = 0; i < store.n_items; ++i) {
            kept_edges_.push_back(static_cast<Int>(kept_.size()));
            list_ones(i, kept_);
        }
        kept_edges_.push_back(static_cast<Int>(kept_.size()));
    }
    const std::vector<Int>& places() const { return place_of_; }
    Int n_rows() const { return static_cast<Int>(place_of_.size()); }

    // Z^T U, (items, WIDTH), of U, (rows, WIDTH).
    Doubles to_items(const Doubles& U) const {
        Doubles sums(store_.n_strata() * WIDTH, 0.0), out(store_.n_items * WIDTH), expected(store_.n_items * WIDTH);
        for (std::size_t part = 0; part < strata_.size(); ++part) {
            double* to = &sums[strata_[part] * WIDTH];
            for (Int k = 0; k < store_.sizes[strata_[part]]; ++k) add(&U[(first_row_[part] + k) * WIDTH], 1.0, to);
        }
        const Int n_strata = store_.n_strata();
        kernels->multiply_narrow(chance_.p(0), n_strata, n_strata, sums.data(), store_.n_items, expected.data());
        std::vector<Index> rows;
        for (Int i = 0; i < store_.n_items; ++i) {
            double* to = &out[i * WIDTH];
            const auto [begin, end] = ones_of(i, rows);
            kernels->add_doubles(begin, end, U.data(), WIDTH, true, to);
            for (std::size_t part = 0; part < strata_.size(); ++part) {
                if (!list_closed(i, part, rows)) continue;
                double closed[WIDTH];
                kernels->add_doubles(rows.data(), rows.data() + rows.size(), U.data(), WIDTH, true, closed);
                add(closed, chance_.p(i)[strata_[part]], to);
            }
            for (Int k = 0; k < WIDTH; ++k) to[k] = (to[k] - expected[i * WIDTH + k]) * scale_[i];
        }
        return out;
    }
    // Z V, (rows, WIDTH), of V, (items, WIDTH).
    Doubles to_rows(const Doubles& V) const {
        Doubles scaled(V.size()), sums(store_.n_strata() * WIDTH, 0.0), out(n_rows() * WIDTH, 0.0);
        std::vector<Index> rows;
        for (Int i = 0; i < store_.n_items; ++i) {
            double* from = &scaled[i * WIDTH];
            for (Int k = 0; k < WIDTH; ++k) from[k] = V[i * WIDTH + k] * scale_[i];
            const auto [begin, end] = ones_of(i, rows);
            kernels->add_to_each(begin, end, from, out.data());
            for (std::size_t part = 0; part < strata_.size(); ++part) {
                if (!list_closed(i, part, rows)) continue;
                double of_closed[WIDTH] = {};
                add(from, chance_.p(i)[strata_[part]], of_closed);
                kernels->add_to_each(rows.data(), rows.data() + rows.size(), of_closed, out.data());
            }
        }
        const Int n_strata = store_.n_strata();
        kernels->add_narrow_products(chance_.p(0), n_strata, n_strata, scaled.data(), store_.n_items, sums.data());
        for (std::size_t part = 0; part < strata_.size(); ++part) {
            const double* from = &sums[strata_[part] * WIDTH];
            for (Int k = 0; k < store_.sizes[strata_[part]]; ++k) add(from, -1.0, &out[(first_row_[part] + k) * WIDTH]);
        }
        return out;
    }
    // The largest strength that a direction has by chance, roughly.
    double edge() const {
        double variance = 0;
        for (Int i = 0; i < store_.n_items; ++i) {
            for (Int h : strata_) {
                const double p = chance_.p(i)[h];
                variance += static_cast<double>(chance_.counts(i)[h].cells) * p * (1 - p) * scale_[i] * scale_[i];
            }
        }
        const double m = static_cast<double>(n_rows()), n = static_cast<double>(store_.n_items);
        return std::sqrt(variance / (m * n)) * (std::sqrt(m) + std::sqrt(n));
    }

private:
    const Store& store_;
    const Chance& chance_;
    const std::vector<Int>& strata_;
    Doubles scale_;
    std::vector<Int> place_of_, first_row_;  // (rows,), (strata,)
    std::vector<Index> kept_;                // rows with ones of every item, if they are not too many
    std::vector<Int> kept_edges_;            // (items + 1,), or nothing

    static void add(const double* from, double times, double* to) {
        for (Int k = 0; k < WIDTH; ++k) to[k] += times * from[k];
    }
    static void list(Word set, Int first, std::vector<Index>& rows) {
        for (; set; set &= set - 1) rows.push_back(static_cast<Index>(first + lowest_one(set)));
    }
    // Rows with an open one of an item; where they are not kept, they are listed.
    std::pair<const Index*, const Index*> ones_of(Int i, std::vector<Index>& rows) const {
        if (!kept_edges_.empty()) return {kept_.data() + kept_edges_[i], kept_.data() + kept_edges_[i + 1]};
        rows.clear();
        list_ones(i, rows);
        return {rows.data(), rows.data() + rows.size()};
    }
    void list_ones(Int i, std::vector<Index>& rows) const {
        for (std::size_t part = 0; part < strata_.size(); ++part) {
            const Int begin = store_.edges[strata_[part]], end = store_.edges[strata_[part] + 1];
            for (Int w = begin; w < end; ++w) {
                list(store_.column(i)[w] & ~store_.closed_cells(i)[w], first_row_[part] + 64 * (w - begin), rows);
            }
        }
    }
    // Rows of a stratum whose cell of an item is closed; whether there are any.
    bool list_closed(Int i, std::size_t part, std::vector<Index>& rows) const {
        const Int h = strata_[part], begin = store_.edges[h];
        if (chance_.counts(i)[h].cells == store_.sizes[h]) return false;
        rows.clear();
        for (Int w = begin; w < store_.edges[h + 1]; ++w) {
            list(store_.closed_cells(i)[w] & store_.mask[w], first_row_[part] + 64 * (w - begin), rows);
        }
        return true;
    }
};

// One^T other, of the first columns of one.
Square product(const double* one, Int n_columns, const double* other, Int n_rows) {
    Square sums{};
    kernels->add_narrow_products(one, n_columns, WIDTH, other, n_rows, sums.data());
    return sums;
}

Square gram(const Doubles& matrix) {
    return product(matrix.data(), WIDTH, matrix.data(), static_cast<Int>(matrix.size()) / WIDTH);
}

// The first columns of the matrix, (rows, WIDTH), times a square one.
Doubles times(const Doubles& matrix, const Square& square, Int n_columns = WIDTH) {
    Doubles out(matrix.size());
    const Int n_rows = static_cast<Int>(matrix.size()) / WIDTH;
    kernels->multiply_narrow(matrix.data(), n_columns, WIDTH, square.data(), n_rows, out.data());
    return out;
}

Square times(const Square& one, const Square& other) {
    Square out;
    kernels->multiply_narrow(one.data(), WIDTH, WIDTH, other.data(), WIDTH, out.data());
    return out;
}

Square identity() {
    Square out{};
    for (Int k = 0; k < WIDTH; ++k) out[k * WIDTH + k] = 1;
    return out;
}

Square transposed(const Square& matrix) {
    Square out;
    for (Int k = 0; k < WIDTH; ++k) {
        for (Int l = 0; l < WIDTH; ++l) out[l * WIDTH + k] = matrix[k * WIDTH + l];
    }
    return out;
}

// Make what is beside the diagonal of a symmetric matrix zero, at rows k and l, and turn the vectors, which are rows.
bool turn_pair(Square& matrix, Square& vectors, Int k, Int l) {
    const double off = matrix[k * WIDTH + l], at_k = matrix[k * WIDTH + k], at_l = matrix[l * WIDTH + l];
    if (off == 0 || off * off <= NEGLIGIBLE * std::abs(at_k * at_l)) return false;
    const double theta = (at_l - at_k) / (2 * off), sign = theta < 0 ? -1.0 : 1.0;
    const double t = sign / (std::abs(theta) + std::sqrt(theta * theta + 1));
    const double cosine = 1 / std::sqrt(t * t + 1), sine = t * cosine;
    double *row_k = &matrix[k * WIDTH], *row_l = &matrix[l * WIDTH];
    kernels->rotate(row_k, row_l, cosine, sine);
    kernels->rotate(&vectors[k * WIDTH], &vectors[l * WIDTH], cosine, sine);
    row_k[k] = at_k - t * off;
    row_l[l] = at_l + t * off;
    row_k[l] = row_l[k] = 0;
    for (Int q = 0; q < WIDTH; ++q) {
        matrix[q * WIDTH + k] = row_k[q];
        matrix[q * WIDTH + l] = row_l[q];
    }
    return true;
}

// Eigenvalues, the largest first, and eigenvectors as rows, of a symmetric matrix; by Jacobi's rotations.
std::pair<std::array<double, WIDTH>, Square> eigen(Square matrix) {
    Square vectors = identity();
    bool changed = true;
    for (int sweep = 0; sweep < SWEEPS && changed; ++sweep) {
        changed = false;
        for (Int k = 0; k < WIDTH; ++k) {
            for (Int l = k + 1; l < WIDTH; ++l) changed |= turn_pair(matrix, vectors, k, l);
        }
    }
    std::array<Int, WIDTH> order;
    std::iota(order.begin(), order.end(), Int{0});
    std::stable_sort(order.begin(), order.end(), [&](Int k, Int l) { return matrix[k * WIDTH + k] > matrix[l * WIDTH + l]; });
    std::array<double, WIDTH> values;
    Square sorted;
    for (Int k = 0; k < WIDTH; ++k) {
        values[k] = matrix[order[k] * WIDTH + order[k]];
        std::copy_n(&vectors[order[k] * WIDTH], WIDTH, &sorted[k * WIDTH]);
    }
    return {values, sorted};
}

// One by the square root of a symmetric matrix; what is nearly zero stays zero. Vectors, as rows, are near its
// eigenvectors, or those of a matrix before it; they become its own.
Square inverse_root(const Square& matrix, Square& vectors) {
    const auto [values, turned] = eigen(times(times(vectors, matrix), transposed(vectors)));
    vectors = times(turned, vectors);
    Square scaled{};
    for (Int k = 0; k < WIDTH; ++k) {
        if (values[k] <= 1e-13 * values[0] || values[k] <= 1e-200) continue;
        const double factor = 1 / std::sqrt(values[k]);
        for (Int q = 0; q < WIDTH; ++q) scaled[k * WIDTH + q] = factor * vectors[k * WIDTH + q];
    }
    return product(scaled.data(), WIDTH, vectors.data(), WIDTH);
}

void orthonormalise(Doubles& matrix) {
    Square vectors = identity();
    for (int again = 0; again < 2; ++again) matrix = times(matrix, inverse_root(gram(matrix), vectors));
}

// Chebyshev's polynomial of Z^T Z, which stays small up to the edge and grows fast beyond it.
Doubles filter(const Residual& residual, Doubles V, int degree, double edge) {
    Doubles before;
    for (int k = 0; k < degree; ++k) {
        Doubles next = residual.to_items(residual.to_rows(V));
        const double factor = k == 0 ? 1.0 : 2.0;
        const double scale = 2 / (edge * edge);
        for (std::size_t j = 0; j < V.size(); ++j) next[j] = factor * (scale * next[j] - V[j]) - (k == 0 ? 0.0 : before[j]);
        before = std::move(V);
        V = std::move(next);
    }
    return V;
}

// Turn directions so that the fourth powers of their entries become large (varimax): then few rows are near each of them.
// The first columns are turned; the others become zero.
Doubles turn(const Doubles& rows, Int n_kept) {
    const Int m = static_cast<Int>(rows.size()) / WIDTH, step = std::max<Int>(1, m / MOST_ROWS);
    Doubles some;
    for (Int j = 0; j < m; j += step) {
        for (Int k = 0; k < WIDTH; ++k) some.push_back(k < n_kept ? rows[j * WIDTH + k] : 0.0);
    }
    const Int n_rows = static_cast<Int>(some.size()) / WIDTH;
    Square rotation{}, vectors = identity();
    for (Int k = 0; k < n_kept; ++k) rotation[k * WIDTH + k] = 1;
    for (int again = 0; again < ROTATIONS; ++again) {
        Doubles turned = times(some, rotation, n_kept);
        std::array<double, WIDTH> squares{};
        for (Int j = 0; j < n_rows; ++j) {
            for (Int k = 0; k < WIDTH; ++k) squares[k] += turned[j * WIDTH + k] * turned[j * WIDTH + k];
        }
        for (double& square : squares) square /= static_cast<double>(n_rows);
        for (Int j = 0; j < n_rows; ++j) {
            double* row = &turned[j * WIDTH];
            for (Int k = 0; k < WIDTH; ++k) row[k] *= row[k] * row[k] - squares[k];
        }
        // The rotation that is nearest: wanted (wanted^T wanted)^(-1/2).
        const Square wanted = product(some.data(), n_kept, turned.data(), n_rows);
        const Square next = times(wanted, inverse_root(product(wanted.data(), WIDTH, wanted.data(), WIDTH), vectors));
        double change = 0;
        for (std::size_t k = 0; k < next.size(); ++k) change = std::max(change, std::abs(next[k] - rotation[k]));
        rotation = next;
        if (change < STILL) break;
    }
    Doubles turned = times(rows, rotation, n_kept);
    // Rows that are near a direction are on its positive side.
    std::array<double, WIDTH> skew{};
    for (Int j = 0; j < m; ++j) {
        for (Int k = 0; k < WIDTH; ++k) skew[k] += turned[j * WIDTH + k] * turned[j * WIDTH + k] * turned[j * WIDTH + k];
    }
    for (double& sign : skew) sign = sign < 0 ? -1.0 : 1.0;
    for (Int j = 0; j < m; ++j) {
        for (Int k = 0; k < WIDTH; ++k) turned[j * WIDTH + k] *= skew[k];
    }
    return turned;
}

}  // namespace

Directions find_directions(const Store& store, const Chance& chance, const std::vector<Int>& strata) {
    const Residual residual(store, chance, strata);
    const double edge = residual.edge();
    Directions found;
    found.places = residual.places();
    if (!(edge > 0)) return found;
    Random random(1);
    Doubles V(store.n_items * WIDTH);
    for (double& value : V) value = static_cast<double>(random.next() >> 11) / 9007199254740992.0 - 0.5;
    for (int degree : DEGREES) {
        orthonormalise(V);
        V = filter(residual, std::move(V), degree, CUT * edge);
    }
    orthonormalise(V);
    const Doubles along = residual.to_rows(V);
    const auto [values, as_rows] = eigen(gram(along));
    const Square vectors = transposed(as_rows);
    found.items = times(V, vectors);
    found.rows = times(along, vectors);
    const Int most = std::min({WIDTH, residual.n_rows() / 2, store.n_items});
    std::array<double, WIDTH> strengths{};
    for (Int k = 0; k < WIDTH; ++k) {
        strengths[k] = std::sqrt(std::max(values[k], 0.0));
        if (k < most && strengths[k] > EDGE * edge) found.n_signals = k + 1;
    }
    found.n_kept = std::min(found.n_signals + MORE, most);
    // Of few items or rows there are fewer directions; the others are zero.
    Int n_directions = 0;
    std::array<double, WIDTH> scale{};
    for (Int k = 0; k < WIDTH; ++k) {
        if (strengths[k] > LEAST_STRENGTH * strengths[0]) scale[k] = 1 / strengths[k], n_directions = k + 1;
    }
    for (Int j = 0; j < residual.n_rows(); ++j) {
        for (Int k = 0; k < WIDTH; ++k) found.rows[j * WIDTH + k] *= scale[k];
    }
    found.turned_rows = turn(found.rows, std::min(found.n_kept, n_directions));
    found.turned_items = turn(found.items, std::min(found.n_kept, n_directions));
    for (std::size_t j = 0; j < found.items.size(); ++j) found.items[j] *= strengths[j % WIDTH];
    return found;
}

}  // namespace saltmine::likelihood
