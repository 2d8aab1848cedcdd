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
// Steps of the rotation, and rows that it is found from.
constexpr int ROTATIONS = 40;
constexpr Int MOST_ROWS = 4000;
constexpr int SWEEPS = 12;

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
            for (Int w = store.edges[h]; w < store.edges[h + 1]; ++w) {
                for (Word left = store.mask[w]; left; left &= left - 1) {
                    place_of_.push_back(64 * w + lowest_one(left));
                }
            }
        }
        row_at_.assign(64 * store.n_words, 0);
        for (std::size_t j = 0; j < place_of_.size(); ++j) row_at_[place_of_[j]] = static_cast<Int>(j);
    }
    const std::vector<Int>& places() const { return place_of_; }
    Int n_rows() const { return static_cast<Int>(place_of_.size()); }

    // Z^T U, (items, WIDTH), of U, (rows, WIDTH).
    Doubles to_items(const Doubles& U) const {
        Doubles sums(store_.n_strata() * WIDTH, 0.0), out(store_.n_items * WIDTH, 0.0);
        for_strata([&](Int h, Int j) { add(&U[j * WIDTH], 1.0, &sums[h * WIDTH]); });
        for (Int i = 0; i < store_.n_items; ++i) {
            double* to = &out[i * WIDTH];
            for (Int h : strata_) {
                const double p = chance_.p(i)[h];
                add(&sums[h * WIDTH], -p, to);
                for_cells(i, h, [&](Int j) { add(&U[j * WIDTH], 1.0, to); }, [&](Int j) { add(&U[j * WIDTH], p, to); });
            }
            for (Int k = 0; k < WIDTH; ++k) to[k] *= scale_[i];
        }
        return out;
    }
    // Z V, (rows, WIDTH), of V, (items, WIDTH).
    Doubles to_rows(const Doubles& V) const {
        Doubles sums(store_.n_strata() * WIDTH, 0.0), out(n_rows() * WIDTH, 0.0);
        for (Int i = 0; i < store_.n_items; ++i) {
            double from[WIDTH];
            for (Int k = 0; k < WIDTH; ++k) from[k] = V[i * WIDTH + k] * scale_[i];
            for (Int h : strata_) {
                const double p = chance_.p(i)[h];
                add(from, -p, &sums[h * WIDTH]);
                for_cells(i, h, [&](Int j) { add(from, 1.0, &out[j * WIDTH]); },
                          [&](Int j) { add(from, p, &out[j * WIDTH]); });
            }
        }
        for_strata([&](Int h, Int j) { add(&sums[h * WIDTH], 1.0, &out[j * WIDTH]); });
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
    std::vector<Int> place_of_, row_at_;

    static void add(const double* from, double times, double* to) {
        for (Int k = 0; k < WIDTH; ++k) to[k] += times * from[k];
    }
    template <class Visit>
    void for_strata(Visit visit) const {
        Int j = 0;
        for (Int h : strata_) {
            for (Int k = 0; k < store_.sizes[h]; ++k) visit(h, j++);
        }
    }
    // The open ones and the closed cells of an item in a stratum.
    template <class One, class Closed>
    void for_cells(Int i, Int h, One one, Closed closed) const {
        const bool whole = chance_.counts(i)[h].cells == store_.sizes[h];
        for (Int w = store_.edges[h]; w < store_.edges[h + 1]; ++w) {
            const Word shut = whole ? 0 : store_.closed_cells(i)[w] & store_.mask[w];
            for (Word left = store_.column(i)[w] & ~shut; left; left &= left - 1) one(row_at_[64 * w + lowest_one(left)]);
            for (Word left = shut; left; left &= left - 1) closed(row_at_[64 * w + lowest_one(left)]);
        }
    }
};

Square gram(const Doubles& matrix) {
    Square sums{};
    for (std::size_t j = 0; j < matrix.size(); j += WIDTH) {
        for (Int k = 0; k < WIDTH; ++k) {
            const double factor = matrix[j + k];
            for (Int l = 0; l < WIDTH; ++l) sums[k * WIDTH + l] += factor * matrix[j + l];
        }
    }
    return sums;
}

// The matrix, (rows, WIDTH), times a square one.
Doubles times(const Doubles& matrix, const Square& square) {
    Doubles out(matrix.size(), 0.0);
    for (std::size_t j = 0; j < matrix.size(); j += WIDTH) {
        for (Int k = 0; k < WIDTH; ++k) {
            const double factor = matrix[j + k];
            for (Int l = 0; l < WIDTH; ++l) out[j + l] += factor * square[k * WIDTH + l];
        }
    }
    return out;
}

// Eigenvalues, the largest first, and eigenvectors as columns, of a symmetric matrix; by Jacobi's rotations.
std::pair<std::array<double, WIDTH>, Square> eigen(Square matrix) {
    Square vectors{};
    for (Int k = 0; k < WIDTH; ++k) vectors[k * WIDTH + k] = 1;
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        for (Int k = 0; k < WIDTH; ++k) {
            for (Int l = k + 1; l < WIDTH; ++l) {
                const double off = matrix[k * WIDTH + l], gap = matrix[l * WIDTH + l] - matrix[k * WIDTH + k];
                if (off == 0) continue;
                const double theta = gap / (2 * off), sign = theta < 0 ? -1.0 : 1.0;
                const double t = sign / (std::abs(theta) + std::sqrt(theta * theta + 1));
                const double cosine = 1 / std::sqrt(t * t + 1), sine = t * cosine;
                for (Int q = 0; q < WIDTH; ++q) {
                    const double x = matrix[q * WIDTH + k], y = matrix[q * WIDTH + l];
                    matrix[q * WIDTH + k] = cosine * x - sine * y;
                    matrix[q * WIDTH + l] = sine * x + cosine * y;
                }
                for (Int q = 0; q < WIDTH; ++q) {
                    const double x = matrix[k * WIDTH + q], y = matrix[l * WIDTH + q];
                    matrix[k * WIDTH + q] = cosine * x - sine * y;
                    matrix[l * WIDTH + q] = sine * x + cosine * y;
                    const double u = vectors[q * WIDTH + k], v = vectors[q * WIDTH + l];
                    vectors[q * WIDTH + k] = cosine * u - sine * v;
                    vectors[q * WIDTH + l] = sine * u + cosine * v;
                }
            }
        }
    }
    std::array<Int, WIDTH> order;
    std::iota(order.begin(), order.end(), Int{0});
    std::stable_sort(order.begin(), order.end(), [&](Int k, Int l) { return matrix[k * WIDTH + k] > matrix[l * WIDTH + l]; });
    std::array<double, WIDTH> values;
    Square sorted{};
    for (Int k = 0; k < WIDTH; ++k) {
        values[k] = matrix[order[k] * WIDTH + order[k]];
        for (Int q = 0; q < WIDTH; ++q) sorted[q * WIDTH + k] = vectors[q * WIDTH + order[k]];
    }
    return {values, sorted};
}

// The symmetric matrix to a power; what is nearly zero stays zero.
Square power(const Square& matrix, double exponent) {
    const auto [values, vectors] = eigen(matrix);
    Square out{};
    for (Int k = 0; k < WIDTH; ++k) {
        if (values[k] <= 1e-13 * values[0] || values[k] <= 1e-200) continue;
        const double factor = std::pow(values[k], exponent);
        for (Int q = 0; q < WIDTH; ++q) {
            for (Int l = 0; l < WIDTH; ++l) out[q * WIDTH + l] += vectors[q * WIDTH + k] * factor * vectors[l * WIDTH + k];
        }
    }
    return out;
}

void orthonormalise(Doubles& matrix) {
    for (int again = 0; again < 2; ++again) matrix = times(matrix, power(gram(matrix), -0.5));
}

// Chebyshev's polynomial of Z^T Z, which stays small up to the edge and grows fast beyond it.
Doubles filter(const Residual& residual, Doubles V, int degree, double edge) {
    Doubles before;
    for (int k = 0; k < degree; ++k) {
        Doubles next = residual.to_items(residual.to_rows(V));
        const double factor = k == 0 ? 1.0 : 2.0;
        for (std::size_t j = 0; j < V.size(); ++j) {
            next[j] = factor * (2 * next[j] / (edge * edge) - V[j]) - (k == 0 ? 0.0 : before[j]);
        }
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
    const double n_rows = static_cast<double>(some.size() / WIDTH);
    Square rotation{};
    for (Int k = 0; k < n_kept; ++k) rotation[k * WIDTH + k] = 1;
    for (int again = 0; again < ROTATIONS; ++again) {
        const Doubles turned = times(some, rotation);
        std::array<double, WIDTH> squares{};
        for (std::size_t j = 0; j < turned.size(); ++j) squares[j % WIDTH] += turned[j] * turned[j] / n_rows;
        Square wanted{}, product{};
        for (std::size_t j = 0; j < some.size(); j += WIDTH) {
            double cubes[WIDTH];
            for (Int k = 0; k < WIDTH; ++k) cubes[k] = turned[j + k] * (turned[j + k] * turned[j + k] - squares[k]);
            for (Int q = 0; q < n_kept; ++q) {
                for (Int k = 0; k < WIDTH; ++k) wanted[q * WIDTH + k] += some[j + q] * cubes[k];
            }
        }
        // The rotation that is nearest: wanted (wanted^T wanted)^(-1/2).
        for (Int q = 0; q < WIDTH; ++q) {
            for (Int k = 0; k < WIDTH; ++k) {
                for (Int l = 0; l < WIDTH; ++l) product[k * WIDTH + l] += wanted[q * WIDTH + k] * wanted[q * WIDTH + l];
            }
        }
        const Square root = power(product, -0.5);
        rotation = {};
        for (Int q = 0; q < n_kept; ++q) {
            for (Int k = 0; k < n_kept; ++k) {
                for (Int l = 0; l < n_kept; ++l) rotation[q * WIDTH + l] += wanted[q * WIDTH + k] * root[k * WIDTH + l];
            }
        }
    }
    Doubles kept = rows;
    for (std::size_t j = 0; j < kept.size(); ++j) {
        if (static_cast<Int>(j % WIDTH) >= n_kept) kept[j] = 0;
    }
    Doubles turned = times(kept, rotation);
    // Rows that are near a direction are on its positive side.
    std::array<double, WIDTH> skew{};
    for (std::size_t j = 0; j < turned.size(); ++j) skew[j % WIDTH] += turned[j] * turned[j] * turned[j];
    for (std::size_t j = 0; j < turned.size(); ++j) turned[j] *= skew[j % WIDTH] < 0 ? -1.0 : 1.0;
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
    const auto [values, vectors] = eigen(gram(along));
    found.items = times(V, vectors);
    found.rows = times(along, vectors);
    const Int most = std::min({WIDTH, residual.n_rows() / 2, store.n_items});
    std::array<double, WIDTH> strengths{};
    for (Int k = 0; k < WIDTH; ++k) {
        strengths[k] = std::sqrt(std::max(values[k], 0.0));
        if (k < most && strengths[k] > EDGE * edge) found.n_signals = k + 1;
    }
    found.n_kept = std::min(found.n_signals + MORE, most);
    for (std::size_t j = 0; j < found.rows.size(); ++j) {
        const double strength = strengths[j % WIDTH];
        found.rows[j] = strength > 1e-9 * strengths[0] ? found.rows[j] / strength : 0.0;
    }
    for (std::size_t j = 0; j < found.items.size(); ++j) found.items[j] *= strengths[j % WIDTH];
    found.turned = turn(found.rows, found.n_kept);
    return found;
}

}  // namespace saltmine::likelihood
