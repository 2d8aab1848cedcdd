"""The steps of the accelerated descent in plain numpy, to compare the compiled loops with.

Every function takes the arguments of its namesake in `saltmine.solver.relaxed.step_kernels`.
"""

import numpy as np

from saltmine.solver.relaxed.objective import prox_binary


def prox_step(point, gradient, steps, weight):
    return prox_binary(point - steps * gradient, weight * steps)


def step_items(state, costs, P, G, pace, steps, alterations, part):
    P, multiplicities, V = P[:, part], costs.items[part, None], state.V[:, part].copy()
    # (c, c, n, 1), for all pairs of classes: the weights of the ones of class b in what class a adds.
    cross = costs.cross[:, :, None, None] / 2
    half = costs.u[part, None] / 2
    point = state.X[part] + pace.inertia * (state.X[part] - state.X_before[part])
    gradient = half + costs.mu * ((point + V) @ G - P).sum(axis=0)
    state.X_before[part] = state.X[part]
    state.X[part] = prox_step(point, gradient, steps[0], pace.weight)
    if alterations:
        points = V + pace.inertia * (V - state.V_before[:, part])
        gradient = half + costs.mu * ((state.X[part] + points) @ G - P)
        gradient += (cross * (P * (1 - V))[None]).sum(axis=1) - P * (cross * V[:, None]).sum(axis=0)
        state.V_before[:, part] = V
        state.V[:, part] = V = prox_step(points, gradient, steps[1][:, None], pace.weight)
    patterns = state.X[part] + V
    others = (cross * V[:, None]).sum(axis=0) * (1 - V)
    state.weights[:, part] = multiplicities * (others - costs.mu * patterns)
    return np.matrix_transpose(patterns) @ (multiplicities * patterns)


def step_rows(state, costs, product, gram, codes, pace, steps, part):
    point = state.Y[part] + pace.inertia * (state.Y[part] - state.Y_before[part])
    gradient = product[part] + costs.mu * (point @ gram) + codes
    state.Y_before[part] = state.Y[part]
    state.Y[part] = prox_step(point, gradient, steps, pace.weight)
