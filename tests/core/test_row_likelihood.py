"""The likelihood of rows: against all sets of patterns, whatever the order, and for data of every shape."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine import _core


def make_model(seed, n=6, c=2):
    rng = np.random.default_rng(seed)
    edges, items = np.array([0, 3, 5, 7]), np.array([0, 1, 2, 2, 3, 4, 5])
    return [
        rng.uniform(0.05, 0.5, (c, n)),
        rng.uniform(0.1, 0.6, (c, 3)),
        edges,
        items,
        rng.uniform(0.3, 0.95, (c, 7)) * (rng.random((c, 7)) < 0.9),
    ]


def score(model, rows, threads=1):
    rows, (c, r) = sp.csr_array(rows), model[1].shape
    nats, use = np.zeros((rows.shape[0], c)), np.zeros((rows.shape[0], c, r))
    _core.score_rows(*model, rows.indptr.astype(np.int64), rows.indices.astype(np.int64), nats, use, threads)
    return nats, use


def estimate(rows, labels, parts, in_class, usage, threads=1):
    c, n = len(in_class), rows.shape[1]
    sparse = sp.csr_array(rows)
    edges = np.cumsum([0, *map(len, parts)])
    items = np.array([i for part in parts for i in part], dtype=np.int64)
    made = [np.zeros((c, n)), np.zeros((c, len(parts))), np.zeros((c, len(items)))]
    given = (
        sparse.indptr.astype(np.int64),
        sparse.indices.astype(np.int64),
        labels,
        n,
        c,
        edges,
        items,
        in_class,
        usage,
    )
    _core.estimate_rows(*given, *made, threads, 3)
    return made


def every_row(n):
    return np.array(list(product([False, True], repeat=n)))


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_scored_by_all_sets_of_patterns(seed):
    base, rates, edges, items, strengths = model = make_model(seed)
    rows = every_row(6)
    total, used = np.zeros((64, 2)), np.zeros((64, 2, 3))
    for a, chosen in product(range(2), product([0, 1], repeat=3)):
        strongest = np.zeros(6)
        for s in np.flatnonzero(chosen):
            own = slice(edges[s], edges[s + 1])
            strongest[items[own]] = np.maximum(strongest[items[own]], strengths[a, own])
        missing = (1 - base[a]) * (1 - strongest)
        p = np.where(chosen, rates[a], 1 - rates[a]).prod() * np.where(rows, 1 - missing, missing).prod(axis=1)
        total[:, a] += p
        used[:, a] += p[:, None] * chosen
    nats, use = score(model, rows)
    np.testing.assert_allclose(nats, np.log(total), atol=1e-6)
    np.testing.assert_allclose(use, used / total[:, :, None], atol=1e-6)
    np.testing.assert_allclose(np.exp(nats).sum(axis=0), 1, atol=1e-6)


def planted(seed=0, m=300, n=12):
    rng = np.random.default_rng(seed)
    parts = [[0, 1, 2, 3], [3, 4, 5], [8, 9]]
    usage = rng.random((m, 3)) < 0.3
    rows = rng.random((m, n)) < 0.15
    for s, part in enumerate(parts):
        rows[:, part] |= usage[:, [s]] & (rng.random((m, len(part))) < 0.85)
    return rows, rng.integers(2, size=m), parts, np.ones((2, 9), dtype=bool), usage


def test_estimates_are_the_same_for_all_threads_and_orders():
    rows, labels, parts, in_class, usage = planted()
    made = estimate(rows, labels, parts, in_class, usage)
    for threads in (2, 3):
        assert all(map(np.array_equal, made, estimate(rows, labels, parts, in_class, usage, threads)))
    order = np.random.default_rng(1).permutation(300)
    others = estimate(rows[order], labels[order], parts[::-1], in_class, usage[order][:, ::-1].copy())
    np.testing.assert_allclose(others[0], made[0])
    np.testing.assert_allclose(others[1][:, ::-1], made[1])
    swapped = estimate(rows, 1 - labels, parts, in_class, usage)
    np.testing.assert_allclose(swapped[0][::-1], made[0])
    assert np.abs(made[1] - usage.mean(axis=0)).max() < 0.15


@pytest.mark.parametrize(
    "rows", [np.zeros((4, 3), bool), np.ones((4, 3), bool), np.ones((1, 1), bool), np.eye(3, dtype=bool)]
)
def test_tables_of_every_shape_have_a_model(rows):
    labels = np.zeros(len(rows), dtype=np.int64)
    labels[-1] = 1
    none, no_use = np.ones((2, 0), dtype=bool), np.zeros((len(rows), 0), dtype=bool)
    base, _, _ = estimate(rows, labels, [], none, no_use)
    assert ((base > 0) & (base < 1)).all()
    base, rates, strengths = estimate(
        rows, labels, [[0]], np.ones((2, 1), dtype=bool), np.ones((len(rows), 1), dtype=bool)
    )
    assert np.isfinite(score([base, rates, np.array([0, 1]), np.array([0]), strengths], rows)[0]).all()


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (0, np.ones((2, 6))),
        (1, np.full((2, 2), 0.5)),
        (2, np.array([0, 5, 3, 7])),
        (3, np.array([0, 1, -2, 2, 3, 4, 5])),
    ],
)
def test_models_that_do_not_fit_are_refused(place, wrong):
    model = make_model(0)
    model[place] = wrong
    with pytest.raises(ValueError, match=r"items that|sizes|rates that"):
        score(model, every_row(6))


def test_classes_that_are_not_there_are_refused():
    rows, labels, *rest = planted()
    with pytest.raises(ValueError, match="a class that is not there"):
        estimate(rows, labels - 1, *rest)
