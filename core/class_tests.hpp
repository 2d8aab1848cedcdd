// Tests of what is said about classes; saltmine/mdl/class_tests.py says what is what.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "choices.hpp"

namespace saltmine {

// Fewer rows than this in a group are taken together with those of the next size.
constexpr Int MIN_ROWS_OF_STRATUM = 40;
// With more values than this a count is bounded rather than summed up, and in a single group as if rows were drawn with
// replacement.
constexpr Int MAX_VALUES = 512;
// Steps of Newton's method towards the best bound.
constexpr int MAX_STEPS = 40;
// No probability is told apart from a smaller one.
constexpr double LEAST_CHANCE = 1e-300;

// A hypergeometric count: so many of the rows belong to the class, and so many are successes.
struct Count {
    Int successes, trials, rows;

    Int least() const { return std::max(Int{0}, trials + successes - rows); }
    Int most() const { return std::min(trials, successes); }
    double expected() const { return static_cast<double>(successes * trials) / rows; }

    double log_chance(Int x) const {
        return log_choices(trials, x) + log_choices(rows - trials, successes - x) - log_choices(rows, successes);
    }
    // The chance of x + 1 over that of x. It falls with x.
    double ratio(Int x) const {
        double up = static_cast<double>(trials - x) * static_cast<double>(successes - x);
        return up / ((x + 1.0) * (rows - trials - successes + x + 1.0));
    }
    // The value that is most likely if chances are tilted by a factor for every hit.
    Int mode(double factor) const {
        Int low = least(), high = most();
        while (low < high) {
            Int middle = (low + high) / 2;
            if (ratio(middle) * factor > 1.0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
};

// The same four counts of every group of rows.
struct Groups {
    const Int* hits;
    const Int* successes;
    const Int* trials;
    const Int* rows;
    Int size;

    Count operator[](Int g) const { return {successes[g], trials[g], rows[g]}; }
};

// log E exp(shift x) of a count x, or a bound of it, and its first two derivatives.
struct Cumulant {
    double length, mean, variance;
};

inline Cumulant cumulant(double shift, const Count& count) {
    double factor = std::exp(shift);
    Int least = count.least(), most = count.most();
    if (most - least > MAX_VALUES) {
        // Hoeffding: no more than with replacement. The smaller of the two ways to see it.
        double draws = static_cast<double>(most);
        double chance = static_cast<double>(std::max(count.trials, count.successes)) / count.rows;
        double whole = 1.0 - chance + chance * factor, tilted = chance * factor / whole;
        return {draws * std::log(whole), draws * tilted, draws * tilted * (1.0 - tilted)};
    }
    // From the most likely value on both ways, until nothing is left.
    constexpr double NOTHING = 1e-20;
    Int mode = count.mode(factor);
    double total = 1.0, first = 0.0, second = 0.0;
    auto add = [&](double share, double from_mode) {
        total += share;
        first += share * from_mode;
        second += share * from_mode * from_mode;
    };
    double share = 1.0;
    for (Int x = mode; x < most && share > NOTHING; ++x) {
        share *= count.ratio(x) * factor;
        add(share, static_cast<double>(x + 1 - mode));
    }
    share = 1.0;
    for (Int x = mode - 1; x >= least && share > NOTHING; --x) {
        share /= count.ratio(x) * factor;
        add(share, static_cast<double>(x - mode));
    }
    first /= total;
    double length = count.log_chance(mode) + shift * mode + std::log(total);
    return {length, mode + first, second / total - first * first};
}

// Chances of every value from the least on.
inline void fill_chances(const Count& count, double* chance) {
    Int least = count.least(), values = count.most() - least + 1, mode = count.mode(1.0) - least;
    // Divisions first: they do not wait for each other.
    std::array<double, MAX_VALUES + 1> ratio;
    for (Int k = 0; k + 1 < values; ++k) ratio[k] = count.ratio(least + k);
    for (Int k = 0; k < mode; ++k) ratio[k] = 1.0 / ratio[k];
    chance[mode] = std::exp(count.log_chance(least + mode));
    for (Int k = mode; k + 1 < values; ++k) chance[k + 1] = chance[k] * ratio[k];
    for (Int k = mode; k > 0; --k) chance[k - 1] = chance[k] * ratio[k - 1];
}

// The chance of at least so many hits in one group, more than expected: chances fall from there on.
inline double tail_of_one(Int observed, const Count& count) {
    double chance = std::exp(count.log_chance(observed)), sum = chance;
    for (Int x = observed; x < count.most() && chance > 1e-18 * sum; ++x) {
        chance *= count.ratio(x);
        sum += chance;
    }
    return sum;
}

// The chance of at least so many hits in all groups, of which there can be no more than MAX_VALUES.
inline double tail_of_all(Int observed, const Groups& groups) {
    std::array<double, MAX_VALUES + 1> room, other_room, chance;
    // Chances of so many hits in the groups so far; those are left out that the other groups cannot lift to what is
    // observed. All hits are counted from the least that a group must have.
    double *so_far = room.data(), *with_group = other_room.data();
    Int needed = observed, left = 0, low = 0, high = 0;
    for (Int g = 0; g < groups.size; ++g) {
        needed -= groups[g].least();
        left += groups[g].most() - groups[g].least();
    }
    so_far[0] = 1.0;
    for (Int g = 0; g < groups.size; ++g) {
        Count count = groups[g];
        Int most = count.most() - count.least();
        if (most == 0) continue;
        left -= most;
        fill_chances(count, chance.data());
        Int lowest = std::max(Int{0}, needed - left);
        std::fill(with_group + lowest, with_group + high + most + 1, 0.0);
        for (Int k = low; k <= high; ++k) {
            for (Int x = std::max(Int{0}, lowest - k); x <= most; ++x) with_group[k + x] += so_far[k] * chance[x];
        }
        std::swap(so_far, with_group);
        low = lowest;
        high += most;
    }
    double sum = 0.0;
    for (Int k = std::max(low, needed); k <= high; ++k) sum += so_far[k];
    return sum;
}

// The logarithm of the probability of at least so many hits in all groups, more than expected.
inline double log_tail(Int observed, const Groups& groups) {
    Int varying = 0, one = 0, in_others = 0;
    for (Int g = 0; g < groups.size; ++g) {
        if (groups[g].most() > groups[g].least()) {
            ++varying;
            one = g;
        } else {
            in_others += groups[g].most();
        }
    }
    double chance = varying == 1 ? tail_of_one(observed - in_others, groups[one]) : tail_of_all(observed, groups);
    return std::min(std::log(std::max(chance, LEAST_CHANCE)), 0.0);
}

// Chernoff's bound of the same.
inline double log_bound(Int observed, const Groups& groups) {
    constexpr double INFINITE = std::numeric_limits<double>::infinity();
    double shift = 0.5, low = 0.0, high = INFINITE, best = 0.0;
    for (int step = 0; step < MAX_STEPS; ++step) {
        Cumulant all{0.0, 0.0, 0.0};
        for (Int g = 0; g < groups.size; ++g) {
            if (groups.rows[g] == 0 || groups.successes[g] == 0 || groups.trials[g] == 0) continue;
            Cumulant one = cumulant(shift, groups[g]);
            all = {all.length + one.length, all.mean + one.mean, all.variance + one.variance};
        }
        best = std::min(best, all.length - shift * observed);
        if (std::abs(all.mean - observed) < 1e-3) break;
        (all.mean < observed ? low : high) = shift;
        double newton = (observed - all.mean) / std::max(all.variance, 1e-9);
        shift += std::min(std::max(newton, -2.0), 2.0);
        if (shift <= low || shift >= high) shift = high < INFINITE ? (low + high) / 2 : low + 1.0;
        if (shift > 60.0) break;
    }
    return best;
}

// The logarithm of a bound on the probability of at least so many hits, summed over groups of rows.
inline double log_p_value(const Groups& groups) {
    Int observed = 0, most = 0;
    double expected = 0.0;
    for (Int g = 0; g < groups.size; ++g) {
        if (groups.rows[g] == 0) continue;
        observed += groups.hits[g];
        expected += groups[g].expected();
        most += groups[g].most();
    }
    if (observed <= expected) return 0.0;
    if (observed >= most) {
        double log_most = 0.0;
        for (Int g = 0; g < groups.size; ++g) log_most += groups[g].log_chance(groups[g].most());
        return log_most;
    }
    return most <= MAX_VALUES ? log_tail(observed, groups) : log_bound(observed, groups);
}

// The larger of two p-values, as a logarithm: among rows of the same size, and among all.
inline double log_p_twice(const Groups& groups) {
    double by_size = log_p_value(groups);
    if (groups.size == 1 || by_size == 0.0) return by_size;
    std::array<Int, 4> total{};
    for (Int g = 0; g < groups.size; ++g) {
        total[0] += groups.hits[g];
        total[1] += groups.successes[g];
        total[2] += groups.trials[g];
        total[3] += groups.rows[g];
    }
    return std::max(by_size, log_p_value({&total[0], &total[1], &total[2], &total[3], 1}));
}

// For every group of rows, in the order of their sizes, which it is taken together with.
inline std::vector<Int> join_strata(Array<const Int> counts) {
    std::vector<Int> joined(counts.size());
    Int number = 0, rows = 0, left = 0;
    for (Int count : counts) left += count;
    for (Int g = 0; g < counts.size(); ++g) {
        joined[g] = number;
        rows += counts[g];
        left -= counts[g];
        if (rows >= MIN_ROWS_OF_STRATUM && left >= MIN_ROWS_OF_STRATUM) {
            ++number;
            rows = 0;
        }
    }
    return joined;
}

// Add up the counts, (groups, c), of groups that are taken together.
inline std::vector<Int> join(Matrix<const Int> counts, Array<const Int> joined) {
    Int c = counts.shape[1], size = joined.size() ? joined[joined.size() - 1] + 1 : 0;
    std::vector<Int> sums(size * c);
    for (Int g = 0; g < counts.shape[0]; ++g) {
        for (Int a = 0; a < c; ++a) sums[joined[g] * c + a] += counts(g, a);
    }
    return sums;
}

// Add up the counts of all classes, (groups,).
inline std::vector<Int> sum_classes(Matrix<const Int> counts) {
    std::vector<Int> sums(counts.shape[0]);
    for (Int g = 0; g < counts.shape[0]; ++g) {
        for (Int a = 0; a < counts.shape[1]; ++a) sums[g] += counts(g, a);
    }
    return sums;
}

// One class after the other: what it has of every group, beside what all have.
class ClassByClass {
public:
    // Counts are (groups, c).
    ClassByClass(Matrix<const Int> hits, Matrix<const Int> rows)
        : hits_(hits), rows_(rows), all_hits_(sum_classes(hits)), all_rows_(sum_classes(rows)),
          own_hits_(all_hits_.size()), own_rows_(all_rows_.size()) {}

    Groups of(Int a) {
        Int size = static_cast<Int>(all_rows_.size());
        for (Int g = 0; g < size; ++g) {
            own_hits_[g] = hits_(g, a);
            own_rows_[g] = rows_(g, a);
        }
        return {own_hits_.data(), all_hits_.data(), own_rows_.data(), all_rows_.data(), size};
    }

private:
    Matrix<const Int> hits_, rows_;
    std::vector<Int> all_hits_, all_rows_, own_hits_, own_rows_;
};

// Test that each class has more hits than the others together: (c,); counts are (groups, c).
inline std::vector<double> log_p_values(Matrix<const Int> hits, Matrix<const Int> rows) {
    Int c = hits.shape[1];
    std::vector<Int> of_groups = sum_classes(rows), joined = join_strata(view(of_groups));
    std::vector<Int> own_hits = join(hits, view(joined)), own_rows = join(rows, view(joined));
    Int size = c > 0 ? static_cast<Int>(own_rows.size()) / c : 0;
    ClassByClass test({own_hits.data(), {size, c}}, {own_rows.data(), {size, c}});
    std::vector<double> log_p(c);
    for (Int a = 0; a < c; ++a) log_p[a] = log_p_twice(test.of(a));
    return log_p;
}

}  // namespace saltmine
