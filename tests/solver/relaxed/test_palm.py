import numpy as np
import pytest

from benchmarks import plain
from saltmine.data.stacking import StackedMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import make_planted
from saltmine.solver.paper import WINDOW, palm
from saltmine.solver.relaxed.objective import Factors, RelaxedObjective
from tests.helpers.folded_data import dense, folded_data, random_factors, sparse


@pytest.fixture(params=[2, 3])
def problem(request, operator_kind):
    c = request.param
    planted = make_planted(60, [40] * c, rank=4, noise=0.05, random_state=c)
    data = StackedMatrix.from_rows(planted.X, planted.y, c)
    m, n = data.matrix.shape
    rng = np.random.default_rng(0)
    start = Factors(rng.random((n, 6)), rng.random((c, n, 6)), rng.random((m, 6)))
    with ThreadTeam(1) as team:
        yield RelaxedObjective(operator_kind(data.matrix, data.blocks, team)), start


@pytest.mark.slow
def test_the_relaxed_objective_never_increases(problem):
    objective, start = problem
    history = np.array(palm(objective, start, check_every=1, max_iter=3000).history)
    assert len(history) > WINDOW
    assert (np.diff(history) <= 1e-12 * np.abs(history[1:])).all()


def test_factors_stay_in_the_unit_interval_and_the_start_is_left_alone(problem):
    objective, start = problem
    before = [factor.copy() for factor in (start.X, start.V, start.Y)]
    found = palm(objective, start, max_iter=50).factors
    for factor in (found.X, found.V, found.Y):
        assert factor.min() >= 0
        assert factor.max() <= 1
    for factor, copy in zip((start.X, start.V, start.Y), before, strict=True):
        np.testing.assert_array_equal(factor, copy)


@pytest.mark.slow
def test_it_stops_when_the_mean_decrease_over_the_window_is_small_and_not_before(problem):
    objective, start = problem
    descent = palm(objective, start, check_every=1, tol=0.5)
    history = np.array(descent.history)
    decrease = (history[:-WINDOW] - history[WINDOW:]) / WINDOW
    assert decrease[-1] < 0.5
    assert (decrease[:-1] >= 0.5).all()
    assert descent.n_iter == len(history) - 1


def test_checking_seldom_changes_the_checks_not_the_steps(problem):
    objective, start = problem
    often = palm(objective, start, check_every=1, max_iter=40)
    seldom = palm(objective, start, check_every=10, max_iter=40)
    np.testing.assert_array_equal(often.factors.Y, seldom.factors.Y)
    assert seldom.history == often.history[::10]


def test_without_alterations_they_stay_what_they_were(problem):
    objective, start = problem
    nothing = Factors(start.X, np.zeros_like(start.V), start.Y)
    assert not palm(objective, nothing, alterations=False, max_iter=20).factors.V.any()


def test_every_check_is_reported(problem):
    objective, start = problem
    seen = []
    descent = palm(objective, start, max_iter=25, on_check=lambda k, value: seen.append((k, value)))
    assert [k for k, _ in seen] == [10, 20, 25]
    assert [value for _, value in seen] == descent.history[1:]


def test_it_takes_the_steps_of_the_plain_transcription():
    """The printed algorithm, with residuals, kept in benchmarks/."""
    # compare() raises where the two part company.
    times = plain.compare(n=70, m=60, rank=5, n_iter=30, rounds=1)
    assert len(times) == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", [dense, sparse])
@pytest.mark.parametrize("alterations", [True, False])
def test_folded_data_is_descended_like_the_unfolded(kind, alterations):
    data = folded_data()
    start = random_factors(data.matrix, data.blocks, 4)
    with ThreadTeam(1) as team:
        one = RelaxedObjective(kind(data.matrix, data.blocks, team, np.float64, data.weights))
        other = RelaxedObjective(kind(data.whole, data.whole_blocks, team, np.float64))
        found = palm(one, start, max_iter=200, alterations=alterations)
        expected = palm(other, data.unfold(start), max_iter=200, alterations=alterations)
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-10)
    unfolded = data.unfold(found.factors)
    for name in ("X", "V", "Y"):
        np.testing.assert_allclose(getattr(unfolded, name), getattr(expected.factors, name), atol=1e-8)
