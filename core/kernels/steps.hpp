// The steps of the accelerated descent, for panels of items or rows.
//
// Formulas are those of saltmine/solver/relaxed/step_kernels.py, which has them for arrays of any library. A panel is
// gone through in blocks that stay in the cache.
#pragma once

#include "products.hpp"

namespace saltmine::SALTMINE_CPU {

using Entries = Lanes<float>;

// Move entries by reach towards 0 or 1, whichever is nearer, and into [0, 1].
static Entries prox(Entries point, Entries reach) {
    const Entries zero{}, one = zero + 1.0f;
    Entries moved = point > 0.5f ? point + reach : point - reach;
    moved = moved > zero ? moved : zero;
    return moved < one ? moved : one;
}

static Entries prox_step(Entries point, Entries gradient, Entries step, float weight) {
    return prox(point - step * gradient, 2.0f * weight * step);
}

static Entries extrapolated(Entries now, Entries before, float inertia) { return now + inertia * (now - before); }

// The steps in X and V for a block of items.
class ItemBlock {
public:
    ItemBlock(const RelaxedFactors& factors, const RelaxedCosts& costs, const ItemStep& step, Pace pace, float* scratch)
        : factors_(factors), costs_(costs), step_(step), pace_(pace), c_(factors.n_classes), n_(factors.n_items),
          r_(factors.n_patterns), X_point_(scratch), V_point_(X_point_ + STEP_BLOCK * r_),
          patterns_(V_point_ + c_ * STEP_BLOCK * r_), fitted_(patterns_ + c_ * STEP_BLOCK * r_),
          of_classes_(fitted_ + c_ * STEP_BLOCK * r_), hits_(of_classes_ + 16 * c_) {}

    void begin(Int first, Int size) {
        first_ = first;
        size_ = size;
    }

    // Take the step in X from where it would go on.
    void step_X() {
        for_entries([&](Int at, Int k, Int) {
            const Entries point = extrapolated(load(factors_.X + at), load(factors_.X_before + at), pace_.inertia);
            store(point, X_point_ + k);
            for (Int a = 0; a < c_; ++a) store(point + load(factors_.V + of_class(a) + at), patterns_ + in_block(a) + k);
        });
        fit();
        for_entries([&](Int at, Int k, Int s) {
            Entries error{};
            for (Int a = 0; a < c_; ++a) error += load(fitted_ + in_block(a) + k) - load(step_.P + of_class(a) + at);
            const Entries gradient = costs_.mu * error + 0.5f * costs_.u[at / r_];
            store(load(factors_.X + at), factors_.X_before + at);
            store(prox_step(load(X_point_ + k), gradient, load(step_.X_steps + s), pace_.weight), factors_.X + at);
        });
    }

    // Take the step in every V_a from where it would go on.
    void step_V() {
        for_entries([&](Int at, Int k, Int) {
            const Entries X = load(factors_.X + at);
            for (Int a = 0; a < c_; ++a) {
                const Int here = of_class(a) + at;
                const Entries point = extrapolated(load(factors_.V + here), load(factors_.V_before + here), pace_.inertia);
                store(point, V_point_ + in_block(a) + k);
                store(point + X, patterns_ + in_block(a) + k);
            }
        });
        fit();
        for_entries([&](Int at, Int k, Int s) {
            // All are read before any is changed.
            for (Int b = 0; b < c_; ++b) {
                const Entries V = load(factors_.V + of_class(b) + at);
                store(V, of_classes_ + 16 * b);
                store(load(step_.P + of_class(b) + at) * (1.0f - V), hits_ + 16 * b);
            }
            for (Int a = 0; a < c_; ++a) {
                Entries there{}, back{};
                for (Int b = 0; b < c_; ++b) {
                    there += costs_.cross[a * c_ + b] * load(hits_ + 16 * b);
                    back += costs_.cross[b * c_ + a] * load(of_classes_ + 16 * b);
                }
                const Entries P = load(step_.P + of_class(a) + at), error = load(fitted_ + in_block(a) + k) - P;
                const Entries gradient = costs_.mu * error + 0.5f * (there - back * P) + 0.5f * costs_.u[at / r_];
                const Entries point = load(V_point_ + in_block(a) + k), step = load(step_.V_steps + a * r_ + s);
                store(load(of_classes_ + 16 * a), factors_.V_before + of_class(a) + at);
                store(prox_step(point, gradient, step, pace_.weight), factors_.V + of_class(a) + at);
            }
        });
    }

    // Compute what the step in Y needs: weights, and the Gram matrices of the patterns. Of these the upper half is added
    // to what is there.
    void prepare_rows(float* grams) {
        for_entries([&](Int at, Int k, Int) {
            const float multiplicity = costs_.items[at / r_], root = __builtin_sqrtf(multiplicity);
            const Entries X = load(factors_.X + at);
            for (Int a = 0; a < c_; ++a) store(load(factors_.V + of_class(a) + at), of_classes_ + 16 * a);
            for (Int b = 0; b < c_; ++b) {
                Entries others{};
                for (Int a = 0; a < c_; ++a) others += costs_.cross[a * c_ + b] * load(of_classes_ + 16 * a);
                const Entries V = load(of_classes_ + 16 * b), pattern = X + V, cross = 0.5f * others * (1.0f - V);
                store(multiplicity * (cross - costs_.mu * pattern), factors_.weights + of_class(b) + at);
                store(root * pattern, patterns_ + in_block(b) + k);
            }
        });
        for (Int a = 0; a < c_; ++a) {
            const float* patterns = patterns_ + in_block(a);
            multiply({patterns, 1, r_}, patterns, r_, r_, size_, grams + a * r_ * r_, true, true);
        }
    }

private:
    const RelaxedFactors& factors_;
    const RelaxedCosts& costs_;
    const ItemStep& step_;
    Pace pace_;
    Int c_, n_, r_, first_ = 0, size_ = 0;
    float *X_point_, *V_point_, *patterns_, *fitted_;
    float *of_classes_, *hits_;  // one vector for each class

    // Where a class begins in the factors, and in the memory of the block.
    Int of_class(Int a) const { return a * n_ * r_; }
    Int in_block(Int a) const { return a * STEP_BLOCK * r_; }

    // Call a function with the place in a factor, the place in the block, and the first pattern of every group of entries.
    template <class F>
    void for_entries(F function) {
        for (Int i = 0; i < size_; ++i) {
            for (Int s = 0; s < r_; s += LANES<float>) function((first_ + i) * r_ + s, i * r_ + s, s);
        }
    }

    // Multiply the patterns of every class with the Gram matrix of its usage.
    void fit() {
        for (Int a = 0; a < c_; ++a) {
            multiply({patterns_ + in_block(a), r_, 1}, step_.G + a * r_ * r_, r_, size_, r_, fitted_ + in_block(a), false);
        }
    }
};

static void step_items(const RelaxedFactors& factors, const RelaxedCosts& costs, const ItemStep& step, Pace pace, Int begin,
                       Int end, float* scratch, float* grams) {
    ItemBlock block(factors, costs, step, pace, scratch);
    for (Int i = begin; i < end; i += STEP_BLOCK) {
        block.begin(i, end - i < STEP_BLOCK ? end - i : STEP_BLOCK);
        block.step_X();
        if (step.alterations) block.step_V();
        block.prepare_rows(grams);
    }
}

static void step_rows(const RelaxedFactors& factors, const RelaxedCosts& costs, const RowStep& step, Pace pace, Int begin,
                      Int end, float* scratch) {
    const Int r = factors.n_patterns;
    float *point = scratch, *fitted = scratch + STEP_BLOCK * r;
    for (Int first = begin; first < end; first += STEP_BLOCK) {
        const Int size = (end - first < STEP_BLOCK ? end - first : STEP_BLOCK) * r;
        float *Y = factors.Y + first * r, *before = factors.Y_before + first * r;
        const float* product = step.product + first * r;
        for (Int k = 0; k < size; k += LANES<float>) {
            store(extrapolated(load(Y + k), load(before + k), pace.inertia), point + k);
        }
        multiply({point, r, 1}, step.gram, r, size / r, r, fitted, false);
        for (Int k = 0; k < size; k += LANES<float>) {
            const Int s = k % r;
            const Entries gradient = load(product + k) + costs.mu * load(fitted + k) + load(step.codes + s);
            store(load(Y + k), before + k);
            store(prox_step(load(point + k), gradient, load(step.steps + s), pace.weight), Y + k);
        }
    }
}

}  // namespace saltmine::SALTMINE_CPU
