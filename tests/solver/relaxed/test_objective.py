"""F, its gradients and its moduli against a plain evaluation and finite differences."""

import numpy as np
import pytest

from saltmine.data.threads import ThreadTeam
from saltmine.solver.relaxed.objective import Factors, RelaxedObjective
from tests.helpers.folded_data import dense, folded_data, random_factors, sparse

RANK = 3


def plain_value(matrix, blocks, X, V, Y, weight):
    """F as docs/method/objective.md states it, entry by entry, with the residual."""
    D = matrix.astype(float)
    _m, n = D.shape
    r = X.shape[1]
    u = [-np.log(D[:, i].sum() / D.sum()) for i in range(n)]
    error = code = S = 0.0
    for a, rows in enumerate(blocks):
        for j in range(rows.start, rows.stop):
            for i in range(n):
                error += (D[j, i] - sum(Y[j, s] * (X[i, s] + V[a, i, s]) for s in range(r))) ** 2
        for s in range(r):
            S += Y[rows, s].sum() * V[a, :, s].sum() - Y[rows, s] @ D[rows] @ V[a, :, s]
            S += sum(Y[other, s] @ D[other] @ V[a, :, s] for b, other in enumerate(blocks) if b != a)
    for s in range(r):
        code -= (Y[:, s].sum() + 1) * np.log((Y[:, s].sum() + 1) / (Y.sum() + r))
        code += sum(u[i] * (X[i, s] + V[:, i, s].sum()) for i in range(n))
    return 0.5 * ((1 + np.log(n)) * error + code + Y.sum() + weight * S)


@pytest.fixture
def factors(small_data):
    matrix, blocks = small_data
    rng = np.random.default_rng(2)
    m, n = matrix.shape
    return Factors(rng.random((n, RANK)), rng.random((len(blocks), n, RANK)), rng.random((m, RANK)))


@pytest.fixture(params=[1.0, 2.0], ids=["halved S", "unhalved S"])
def objective(request, operator_kind, small_data):
    with ThreadTeam(1) as team:
        yield RelaxedObjective(operator_kind(*small_data, team), specificity=request.param)


def value(objective, X, V, Y):
    return objective.value(Factors(X, V, Y), objective.project(Y))


def differences(function, point, h=1e-5):
    """Central differences of a function of one array."""
    gradient = np.zeros_like(point)
    for k in np.ndindex(point.shape):
        up, down = point.copy(), point.copy()
        up[k] += h
        down[k] -= h
        gradient[k] = (function(up) - function(down)) / (2 * h)
    return gradient


def test_value_is_that_of_the_printed_formula(objective, factors, small_data):
    expected = plain_value(*small_data, factors.X, factors.V, factors.Y, objective.specificity)
    assert value(objective, factors.X, factors.V, factors.Y) == pytest.approx(expected, rel=1e-12)


def test_gradient_in_patterns(objective, factors):
    X, V, Y = factors.X, factors.V, factors.Y
    found = objective.gradient_X(X, V, objective.project(Y))
    np.testing.assert_allclose(found, differences(lambda x: value(objective, x, V, Y), X), rtol=1e-6, atol=1e-6)


def test_gradient_in_alterations(objective, factors):
    X, V, Y = factors.X, factors.V, factors.Y
    found = objective.gradient_V(X, V, Y, objective.project(Y))
    np.testing.assert_allclose(found, differences(lambda v: value(objective, X, v, Y), V), rtol=1e-6, atol=1e-6)


def test_gradient_in_usage(objective, factors):
    X, V, Y = factors.X, factors.V, factors.Y
    found = objective.gradient_Y(X, V, Y, objective.gram(X + V))
    np.testing.assert_allclose(found, differences(lambda y: value(objective, X, V, y), Y), rtol=1e-6, atol=1e-6)


def test_moduli_bound_the_change_of_the_gradients(objective, factors):
    rng = np.random.default_rng(3)
    X, V, Y = factors.X, factors.V, factors.Y
    projection = objective.project(Y)
    gram = objective.gram(X + V)
    for _ in range(20):
        dX, dV, dY = (rng.standard_normal(f.shape) * 1e-3 for f in (X, V, Y))
        change = objective.gradient_X(X + dX, V, projection) - objective.gradient_X(X, V, projection)
        assert np.linalg.norm(change) <= objective.modulus_X(projection) * np.linalg.norm(dX)
        change = objective.gradient_V(X, V + dV, Y, projection) - objective.gradient_V(X, V, Y, projection)
        for a, modulus in enumerate(objective.modulus_V(projection)):
            assert np.linalg.norm(change[a]) <= modulus * np.linalg.norm(dV[a])
        change = objective.gradient_Y(X, V, Y + dY, gram) - objective.gradient_Y(X, V, Y, gram)
        assert np.linalg.norm(change) <= objective.modulus_Y(gram) * np.linalg.norm(dY)


def test_moduli_stay_positive_where_nothing_is_used(objective, factors):
    projection = objective.project(np.zeros_like(factors.Y))
    assert objective.modulus_X(projection) > 0
    assert (objective.modulus_V(projection) > 0).all()


# ---------------------------------------------------------------- folded data


@pytest.fixture(params=[dense, sparse])
def folded(request):
    """Return folded data, its objective, and that of the same data unfolded."""
    data = folded_data()
    with ThreadTeam(1) as team:
        one = request.param(data.matrix, data.blocks, team, np.float64, data.weights)
        other = request.param(data.whole, data.whole_blocks, team, np.float64)
        yield data, RelaxedObjective(one, specificity=1.3), RelaxedObjective(other, specificity=1.3)


def test_folded_data_has_the_value_and_the_code_lengths_of_the_unfolded(folded):
    data, objective, unfolded = folded
    factors = random_factors(data.matrix, data.blocks, RANK)
    whole = data.unfold(factors)
    found, expected = value(objective, factors.X, factors.V, factors.Y), value(unfolded, whole.X, whole.V, whole.Y)
    assert found == pytest.approx(expected, rel=1e-12)
    assert objective.mu == unfolded.mu
    np.testing.assert_allclose(objective.u[data.item_of], unfolded.u, rtol=1e-14)


def test_folded_gradients_and_moduli_are_those_of_one_copy(folded):
    data, objective, unfolded = folded
    factors = random_factors(data.matrix, data.blocks, RANK)

    def look(objective, X, V, Y):
        projection, gram = objective.project(Y), objective.gram(X + V)
        gradients = objective.gradient_X(X, V, projection), objective.gradient_V(X, V, Y, projection)
        moduli = objective.modulus_X(projection), *objective.modulus_V(projection), objective.modulus_Y(gram)
        return Factors(*gradients, objective.gradient_Y(X, V, Y, gram)), moduli

    found, moduli = look(objective, factors.X, factors.V, factors.Y)
    whole = data.unfold(factors)
    expected, expected_moduli = look(unfolded, whole.X, whole.V, whole.Y)
    found = data.unfold(found)
    for name in ("X", "V", "Y"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(moduli, expected_moduli, rtol=1e-12)
