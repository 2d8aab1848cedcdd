// The steps of the accelerated descent, as Python calls them.
#include <algorithm>

#include "bindings.hpp"
#include "kernels/kernels.hpp"

namespace saltmine {
namespace {

using Factor = Matrix<float>;
using ClassFactor = View<float, 3>;

struct State {
    Factor X, X_before;
    ClassFactor V, V_before;
    Factor Y, Y_before;
    ClassFactor weights;

    RelaxedFactors factors() const {
        if (X.shape[1] % 8 != 0) throw std::invalid_argument("a number of patterns that is no multiple of eight");
        return {X.data, X_before.data, V.data, V_before.data, Y.data, Y_before.data, weights.data,
                V.shape[0], X.shape[0], X.shape[1]};
    }
};

struct StepCosts {
    Array<const float> u;
    float mu;
    Matrix<const float> cross;
    Array<const float> items;

    operator RelaxedCosts() const { return {u.data, mu, cross.data, items.data}; }
};

// Take the steps in X and, if there are alterations, in V for a panel of items; write the Gram matrices of its patterns.
void step_items(State state, StepCosts costs, View<const float, 3> P, View<const float, 3> G, Pace pace,
                Array<const float> X_steps, Matrix<const float> V_steps, bool alterations, Int begin, Int end,
                ClassFactor grams) {
    const RelaxedFactors factors = state.factors();
    std::vector<float> scratch(step_scratch(factors.n_classes, factors.n_patterns));
    std::fill(grams.begin(), grams.end(), 0.0f);
    kernels->step_items(factors, costs, {P.data, G.data, X_steps.data, V_steps.data, alterations}, pace, begin, end,
                        scratch.data(), grams.data);
    for (Int a = 0; a < grams.shape[0]; ++a) {
        for (Int s = 0; s < grams.shape[1]; ++s) {
            for (Int t = 0; t < s; ++t) grams(a, s, t) = grams(a, t, s);
        }
    }
}

// Take the step in Y for a panel of rows of one class.
void step_rows(State state, StepCosts costs, Matrix<const float> product, Matrix<const float> gram,
               Array<const float> codes, Pace pace, Array<const float> steps, Int begin, Int end) {
    const RelaxedFactors factors = state.factors();
    std::vector<float> scratch(2 * STEP_BLOCK * factors.n_patterns);
    kernels->step_rows(factors, costs, {product.data, gram.data, codes.data, steps.data}, pace, begin, end, scratch.data());
}

}  // namespace
}  // namespace saltmine

SALTMINE_BIND(step_kernels, saltmine, step_items, step_rows)
