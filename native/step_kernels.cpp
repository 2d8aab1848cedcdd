// The steps of the accelerated descent, for panels of items or rows.
//
// Formulas are those of saltmine/solver/relaxed/step_kernels.py, which has them for arrays of any library. A panel is
// gone through in blocks that stay in the cache. The number of patterns is a multiple of eight; those that are too many
// are zeros.
#include <algorithm>
#include <cmath>

#include "products.hpp"

namespace saltmine {
namespace {

using Entries = Lanes<float>;
using Factor = Matrix<float>;
using ClassFactor = View<float, 3>;

constexpr Int BLOCK = 32;

// Move entries by reach towards 0 or 1, whichever is nearer, and into [0, 1].
Entries prox(Entries point, Entries reach) {
    const Entries zero{}, one = zero + 1.0f;
    Entries moved = point > 0.5f ? point + reach : point - reach;
    moved = moved > zero ? moved : zero;
    return moved < one ? moved : one;
}

Entries prox_step(Entries point, Entries gradient, Entries step, float weight) {
    return prox(point - step * gradient, 2.0f * weight * step);
}

Entries extrapolated(Entries now, Entries before, float inertia) { return now + inertia * (now - before); }

}  // namespace

// The factors, those before the last step, and what the data is multiplied with in the step in Y.
struct State {
    Factor X, X_before;
    ClassFactor V, V_before;
    Factor Y, Y_before;
    ClassFactor weights;
};

// The constants of the objective.
struct Costs {
    Array<const float> u;
    float mu;
    Matrix<const float> cross;
    Array<const float> items;
};

// How far a step goes.
struct Pace {
    float inertia, weight;
};

template <>
struct From<State> {
    static State take(Arguments& from) {
        using F = From<Factor>;
        using C = From<ClassFactor>;
        // Braces: arguments are taken from left to right.
        State state{F::take(from), F::take(from), C::take(from), C::take(from),
                    F::take(from), F::take(from), C::take(from)};
        if (state.X.shape[1] % 8 != 0) from.refuse("has a number of patterns that is no multiple of eight");
        return state;
    }
};

template <>
struct From<Costs> {
    static Costs take(Arguments& from) {
        return {From<Array<const float>>::take(from), static_cast<float>(From<double>::take(from)),
                From<Matrix<const float>>::take(from), From<Array<const float>>::take(from)};
    }
};

template <>
struct From<Pace> {
    static Pace take(Arguments& from) {
        return {static_cast<float>(From<double>::take(from)), static_cast<float>(From<double>::take(from))};
    }
};

namespace {

// The steps in X and V for a block of items.
class ItemBlock {
public:
    ItemBlock(const State& state, const Costs& costs, View<const float, 3> P, View<const float, 3> G, Pace pace)
        : state_(state),
          costs_(costs),
          P_(P),
          G_(G),
          pace_(pace),
          c_(state.V.shape[0]),
          r_(state.X.shape[1]),
          X_point_(BLOCK * r_),
          V_point_(c_ * BLOCK * r_),
          patterns_(c_ * BLOCK * r_),
          fitted_(c_ * BLOCK * r_),
          of_classes_(c_),
          hits_(c_) {}

    void begin(Int first, Int size) {
        first_ = first;
        size_ = size;
    }

    // Take the step in X from where it would go on.
    void step_X(Array<const float> steps) {
        for_entries([&](Int i, Int k, Int s) {
            const Entries point = extrapolated(load(&state_.X(i, s)), load(&state_.X_before(i, s)), pace_.inertia);
            store(point, &X_point_[k]);
            for (Int a = 0; a < c_; ++a) store(point + load(&state_.V(a, i, s)), &patterns_[of(a) + k]);
        });
        fit();
        for_entries([&](Int i, Int k, Int s) {
            Entries error{};
            for (Int a = 0; a < c_; ++a) error += load(&fitted_[of(a) + k]) - load(&P_(a, i, s));
            const Entries gradient = costs_.mu * error + 0.5f * costs_.u[i];
            store(load(&state_.X(i, s)), &state_.X_before(i, s));
            store(prox_step(load(&X_point_[k]), gradient, load(&steps[s]), pace_.weight), &state_.X(i, s));
        });
    }

    // Take the step in every V_a from where it would go on.
    void step_V(Matrix<const float> steps) {
        for_entries([&](Int i, Int k, Int s) {
            const Entries X = load(&state_.X(i, s));
            for (Int a = 0; a < c_; ++a) {
                const Entries V = load(&state_.V(a, i, s)), before = load(&state_.V_before(a, i, s));
                const Entries point = extrapolated(V, before, pace_.inertia);
                store(point, &V_point_[of(a) + k]);
                store(point + X, &patterns_[of(a) + k]);
            }
        });
        fit();
        for_entries([&](Int i, Int k, Int s) {
            // All are read before any is changed.
            for (Int b = 0; b < c_; ++b) {
                of_classes_[b] = load(&state_.V(b, i, s));
                hits_[b] = load(&P_(b, i, s)) * (1.0f - of_classes_[b]);
            }
            for (Int a = 0; a < c_; ++a) {
                Entries there{}, back{};
                for (Int b = 0; b < c_; ++b) {
                    there += costs_.cross(a, b) * hits_[b];
                    back += costs_.cross(b, a) * of_classes_[b];
                }
                const Entries P = load(&P_(a, i, s)), error = load(&fitted_[of(a) + k]) - P;
                const Entries gradient = costs_.mu * error + 0.5f * (there - back * P) + 0.5f * costs_.u[i];
                const Entries moved = prox_step(load(&V_point_[of(a) + k]), gradient, load(&steps(a, s)), pace_.weight);
                store(of_classes_[a], &state_.V_before(a, i, s));
                store(moved, &state_.V(a, i, s));
            }
        });
    }

    // Compute what the step in Y needs: weights, and the Gram matrices of the patterns. Of these the upper half is added
    // to what is there.
    void prepare_rows(ClassFactor grams) {
        for_entries([&](Int i, Int k, Int s) {
            const float multiplicity = costs_.items[i], root = std::sqrt(multiplicity);
            const Entries X = load(&state_.X(i, s));
            for (Int a = 0; a < c_; ++a) of_classes_[a] = load(&state_.V(a, i, s));
            for (Int b = 0; b < c_; ++b) {
                Entries others{};
                for (Int a = 0; a < c_; ++a) others += costs_.cross(a, b) * of_classes_[a];
                const Entries pattern = X + of_classes_[b], cross = 0.5f * others * (1.0f - of_classes_[b]);
                store(multiplicity * (cross - costs_.mu * pattern), &state_.weights(b, i, s));
                store(root * pattern, &patterns_[of(b) + k]);
            }
        });
        for (Int a = 0; a < c_; ++a) {
            const float* patterns = &patterns_[of(a)];
            multiply({patterns, 1, r_}, patterns, r_, r_, size_, grams.at(a).data, true, true);
        }
    }

private:
    const State& state_;
    const Costs& costs_;
    View<const float, 3> P_, G_;
    Pace pace_;
    Int c_, r_, first_ = 0, size_ = 0;
    std::vector<float> X_point_, V_point_, patterns_, fitted_;
    std::vector<Entries> of_classes_, hits_;

    // Where a class begins in the memory of the block.
    Int of(Int a) const { return a * BLOCK * r_; }

    // Call a function with the item, the place in the block, and the first pattern of every group of entries.
    template <class F>
    void for_entries(F function) {
        for (Int i = 0; i < size_; ++i) {
            for (Int s = 0; s < r_; s += LANES<float>) function(first_ + i, i * r_ + s, s);
        }
    }

    // Multiply the patterns of every class with the Gram matrix of its usage.
    void fit() {
        for (Int a = 0; a < c_; ++a) {
            multiply({&patterns_[of(a)], r_, 1}, G_.at(a).data, r_, size_, r_, &fitted_[of(a)], false);
        }
    }
};

}  // namespace

// Take the steps in X and, if there are alterations, in V for a panel of items; write the Gram matrices of its patterns.
//
// P is D_a^T Y_a, G is Y_a^T Y_a.
void step_items(
    const State& state, const Costs& costs, View<const float, 3> P, View<const float, 3> G, Pace pace,
    Array<const float> X_steps, Matrix<const float> V_steps, bool alterations, Int begin, Int end, ClassFactor grams
) {
    std::fill(grams.begin(), grams.end(), 0.0f);
    ItemBlock block(state, costs, P, G, pace);
    for (Int i = begin; i < end; i += BLOCK) {
        block.begin(i, std::min(BLOCK, end - i));
        block.step_X(X_steps);
        if (alterations) block.step_V(V_steps);
        block.prepare_rows(grams);
    }
    for (Int a = 0; a < grams.shape[0]; ++a) {
        for (Int s = 0; s < grams.shape[1]; ++s) {
            for (Int t = 0; t < s; ++t) grams(a, s, t) = grams(a, t, s);
        }
    }
}

// Take the step in Y for a panel of rows of one class.
//
// product is D_a W_a, gram (X + V_a)^T (X + V_a).
void step_rows(
    const State& state, const Costs& costs, Matrix<const float> product, Matrix<const float> gram,
    Array<const float> codes, Pace pace, Array<const float> steps, Int begin, Int end
) {
    const Int r = state.Y.shape[1];
    std::vector<float> point(BLOCK * r), fitted(BLOCK * r);
    for (Int first = begin; first < end; first += BLOCK) {
        const Int size = std::min(BLOCK, end - first) * r;
        float *Y = &state.Y(first, 0), *before = &state.Y_before(first, 0);
        const float* of_data = &product(first, 0);
        for (Int k = 0; k < size; k += LANES<float>) {
            store(extrapolated(load(Y + k), load(before + k), pace.inertia), &point[k]);
        }
        multiply({point.data(), r, 1}, gram.data, r, size / r, r, fitted.data(), false);
        for (Int k = 0; k < size; k += LANES<float>) {
            const Int s = k % r;
            const Entries gradient = load(of_data + k) + costs.mu * load(&fitted[k]) + load(&codes[s]);
            store(load(Y + k), before + k);
            store(prox_step(load(&point[k]), gradient, load(&steps[s]), pace.weight), Y + k);
        }
    }
}

}  // namespace saltmine

using namespace saltmine;

SALTMINE_EXPORT(step_items)
SALTMINE_EXPORT(step_rows)
