import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltmine.solver.relaxed.objective import binary_penalty, prox_binary


@pytest.mark.slow
@given(x=st.floats(-3, 4), step=st.floats(1e-6, 2))
def test_prox_is_the_minimiser_on_a_grid(x, step):
    grid = np.linspace(0, 1, 2001)

    def cost(z):
        return 0.5 * (x - z) ** 2 + step * (1 - abs(1 - 2 * z))

    found = float(prox_binary(np.array([x]), step)[0])
    assert 0 <= found <= 1
    assert cost(found) <= min(cost(z) for z in grid) + 1e-9


@given(st.lists(st.floats(0, 1), max_size=8))
def test_penalty_is_the_distance_to_binary_entry_by_entry(values):
    expected = sum(1 - abs(1 - 2 * v) for v in values)
    assert binary_penalty(np.array([values]), np.array([1])) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("outside", [-0.01, 1.01])
def test_penalty_is_infinite_outside_the_unit_interval(outside):
    assert binary_penalty(np.array([[0.5, outside]]), np.array([1])) == np.inf


def test_prox_leaves_its_argument_alone():
    point = np.array([0.2, 0.8])
    prox_binary(point, 0.1)
    np.testing.assert_array_equal(point, [0.2, 0.8])
