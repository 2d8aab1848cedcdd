"""The likelihood in the core: probabilities of rows, evidence, and the search."""

from itertools import product

import numpy as np
import pytest

from saltmine import _core
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.mdl.row_model import RowModel

NO_WORDS = np.zeros((0, 0), dtype=np.uint64)


def words(X):
    return BitMatrix(np.ascontiguousarray(X), [slice(0, len(X))]).columns


def make_search(X, labels, observed=NO_WORDS, *, n_threads=1, least=4.6, seconds=-1.0):
    numbers = np.asarray(labels, dtype=np.int64)
    return _core.LikelihoodSearch(words(X), observed, numbers, True, 2.0, least, 100, n_threads, seconds)


def found_in(X, labels, observed=NO_WORDS, **options):
    search = make_search(X, labels, observed, **options)
    search.run()
    return [(part[0].tolist(), sorted(part[2].tolist())) for part in map(search.pattern, range(search.n_patterns()))]


def planted_table(seed, m=300, n=12):
    """Noise of five percent, and four items together in a fifth of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.random((m, n)) < 0.05
    X[rng.random(m) < 0.2, :4] = True
    return X, np.arange(m) % 2


def fitted_rows(seed, within=(True, True)):
    """A row model of five items, two classes, and two patterns that share an item."""
    rng = np.random.default_rng(seed)
    shared = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 0]], dtype=bool)
    altered = np.zeros((2, 2, 5), dtype=bool)
    altered[1, 0, 4] = True
    usage = rng.random((200, 2)) < 0.4
    labels = np.arange(200) % 2
    cells = usage.astype(int) @ shared > 0
    cells[labels == 1] |= (usage.astype(int) @ altered[1] > 0)[labels == 1]
    X = np.where(cells, rng.random(cells.shape) < 0.85, rng.random(cells.shape) < 0.2)
    model = RowModel.estimate(X, labels, BinaryModel(shared.T, altered.transpose(0, 2, 1), usage), np.array(within))
    return model, shared, altered


def test_probabilities_of_all_rows_sum_to_one():
    model, *patterns = fitted_rows(0)
    rows = np.array(list(product([False, True], repeat=5)))
    assert np.exp(model.nats(rows, *patterns)).sum(axis=0) == pytest.approx([1, 1], abs=1e-9)


def test_rows_are_scored_as_by_all_sets_of_patterns():
    model, shared, altered = fitted_rows(1)
    rows = np.array(list(product([False, True], repeat=5)))
    strengths = np.zeros((2, 2, 5))
    strengths[:, 0, :3], strengths[:, 1, 2:4] = model.strengths[:, :3], model.strengths[:, 4:6]
    strengths[1, 0, 4] = model.strengths[1, 3]
    for a in range(2):
        likelihood, use = np.zeros(len(rows)), np.zeros((len(rows), 2))
        for used in product([0, 1], repeat=2):
            of_use = np.prod(np.where(used, model.rates[a], 1 - model.rates[a]))
            strongest = (strengths[a] * np.array(used)[:, None]).max(axis=0)
            ones = 1 - (1 - model.base[a]) * (1 - strongest)
            here = of_use * np.where(rows, ones, 1 - ones).prod(axis=1)
            likelihood += here
            use += here[:, None] * np.array(used)
        assert model.nats(rows, shared, altered)[:, a] == pytest.approx(np.log(likelihood))
        given = np.tile(np.eye(2)[a], (len(rows), 1))
        assert model.use(rows, shared, altered, given) == pytest.approx(use / likelihood[:, None], abs=1e-6)


def test_evidence_is_an_e_value():
    # Of items that are independent; the price of three of eight items is what was subtracted.
    rng = np.random.default_rng(0)
    price = np.log(56) + np.log(2 * 3 * 4)
    values = []
    for _ in range(300):
        search = make_search(rng.random((60, 8)) < 0.3, np.arange(60) % 2)
        values.append(np.exp(search.evidence_of(np.arange(3)) + price))
    assert np.mean(values) < 1.3
    assert max(values) < 100


def test_a_set_of_items_is_found_with_its_rows():
    X, labels = planted_table(0)
    ((items, rows),) = found_in(X, labels)
    assert items == [0, 1, 2, 3]
    assert rows == np.flatnonzero(X[:, :4].all(axis=1)).tolist()


def test_nothing_is_found_in_noise():
    rng = np.random.default_rng(1)
    tables = [rng.random((100, 15)) < rng.beta(0.5, 2, 15) for _ in range(20)]
    assert [found_in(X, np.arange(100) % 2) for X in tables] == [[]] * 20


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_make_no_difference(n_threads):
    X, labels = planted_table(2)
    assert found_in(X, labels, n_threads=n_threads) == found_in(X, labels)


def test_cells_that_are_not_observed_have_no_influence():
    X, labels = planted_table(3)
    observed = np.random.default_rng(0).random(X.shape) < 0.9
    changed = np.where(observed, X, ~X)
    sets = found_in(X, labels, words(observed))
    assert [items for items, _ in sets] == [[0, 1, 2, 3]]
    assert found_in(changed, labels, words(observed)) == sets


@pytest.mark.parametrize(
    "X",
    [
        np.ones((1, 1), dtype=bool),
        np.zeros((5, 3), dtype=bool),
        np.ones((5, 3), dtype=bool),
        np.eye(70, dtype=bool),
        np.tile([True, False], (65, 3)),
    ],
    ids=["one cell", "no one", "ones only", "one of each", "constant columns"],
)
def test_there_is_nothing_in_trivial_data(X):
    assert found_in(X, np.zeros(len(X))) == []
    assert found_in(X, np.arange(len(X)) == 0) == []


def test_sizes_that_do_not_fit_are_refused():
    X, labels = planted_table(0)
    with pytest.raises(ValueError, match="different sizes"):
        make_search(X, np.zeros(10))
    with pytest.raises(ValueError, match="class that is not there"):
        make_search(X, labels - 1)


# ------------------------------------------------------------ time


@pytest.mark.parametrize("seconds", [0.0, 0.005])
def test_a_search_without_time_ends_with_patterns_that_are_valid(seconds):
    X, labels, _ = independent_sets(0)
    search = make_search(X, labels, seconds=seconds)
    search.run()
    parts = [search.pattern(s) for s in range(search.n_patterns())]
    assert search.was_short() or len(parts) == 6
    assert len(search.evidence()) == len(parts)
    for items, in_class, rows, *_ in parts:
        assert len(items) > 1
        assert len(in_class) == 2 * len(items)
        for places, n in ((items, X.shape[1]), (rows, len(X))):
            assert len(places) > 0
            assert set(places.tolist()) <= set(range(n))
    if seconds == 0:
        assert search.was_short()


@pytest.mark.parametrize("seconds", [-1.0, 1000.0])
def test_a_search_with_time_enough_is_not_short(seconds):
    X, labels = planted_table(0)
    search = make_search(X, labels, seconds=seconds)
    assert not search.was_short()
    search.run()
    assert not search.was_short()
    assert found_in(X, labels, seconds=seconds) == found_in(X, labels)


# ------------------------------------------------------------ kinds of patterns


def independent_sets(seed):
    """Six sets of six items, each used by 30 percent of the rows whatever else they use."""
    rng = np.random.default_rng(seed)
    usage = rng.random((600, 6)) < 0.3
    X = (rng.random((600, 36)) < 0.02) | np.repeat(usage, 6, axis=1)
    return X, np.arange(600) % 2, usage


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_items_are_found(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((2000, 20)) < 0.03
    X[np.ix_(rng.choice(2000, 40, replace=False), [3, 11])] = True
    ((items, rows),) = found_in(X, np.arange(2000) % 2)
    assert items == [3, 11]
    assert set(rows) >= set(np.flatnonzero(X[:, [3, 11]].all(axis=1)))


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_use_several_patterns_have_each_of_them(seed):
    X, labels, usage = independent_sets(seed)
    found = sorted(found_in(X, labels))
    assert [items for items, _ in found] == np.arange(36).reshape(6, 6).tolist()
    for (_, rows), used in zip(found, usage.T, strict=True):
        assert set(rows) == set(np.flatnonzero(used))


@pytest.mark.parametrize("seed", [1, 3])
def test_a_set_that_is_hard_to_see_is_found_from_its_rows(seed):
    """Fourteen of many dense rows have ten items together: no direction, pair or row is unlike those of chance."""
    rng = np.random.default_rng(seed)
    X, used = rng.random((600, 200)) < 0.25, np.sort(rng.choice(600, 14, replace=False))
    X[used, :10] |= rng.random((14, 10)) < 0.9
    search = make_search(X, np.arange(600) % 2)
    search.start_from(used)
    search.run()
    assert search.n_patterns() == 1
    items, _, rows, *_ = search.pattern(0)
    assert len(set(items) & set(range(10))) >= 9
    assert len(items) <= 12
    assert len(set(rows) & set(used)) >= 12


@pytest.mark.parametrize("row", [-1, 300, 10**12])
def test_starts_need_rows_that_are_there(row):
    with pytest.raises(ValueError, match="a row that is not there"):
        make_search(*planted_table(0)).start_from(np.array([0, row]))
