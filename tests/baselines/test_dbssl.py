"""Dbssl and MdlDbssl: ranks, classes and weights as the model has them, and data without noise comes back."""

import sys

import numpy as np
import pytest

from saltmine.baselines.asso_search import item_layout
from saltmine.baselines.dbssl import SOURCES, Dbssl, MdlDbssl
from saltmine.baselines.dbssl_search import class_weights, default_constellations, itemset_patterns
from saltmine.data.bits import BitMatrix
from saltmine.datasets import make_planted
from saltmine.metrics import f_measure
from tests.helpers.baselines import check_progress, non_overlapping, same_sets


@pytest.fixture(scope="module")
def planted():
    return make_planted(100, [90, 50], rank=6, noise=0.05, random_state=3)


def classes_of(model):
    """Return which classes use every pattern, (r, c)."""
    return model.usage_counts_.T > 0


# ---------------------------------------------------------------- data that fits the model


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("sizes", [(60, 60), (90, 40), (50, 40, 60)])
@pytest.mark.parametrize("source", SOURCES)
def test_patterns_without_noise_come_back_whether_ranks_are_given_or_not(seed, sizes, source):
    X, y, items, usage = non_overlapping(np.random.default_rng(seed), sizes=sizes)
    for ranks in ((3, 2), None):
        model = Dbssl(ranks=ranks, candidates=source).fit(X, y)
        assert same_sets(np.hstack([model.components_, model.usage_.T]), np.hstack([items, usage.T]))
        assert (classes_of(model).sum(axis=1) == 1).sum() == 2 * len(sizes)


def test_the_constellation_that_fits_is_chosen():
    X, y, items, usage = non_overlapping(np.random.default_rng(1))
    model = MdlDbssl(constellations=[(1, 3), (3, 2), (5, 1, 1), 7, (0, 5)]).fit(X, y)
    assert same_sets(np.hstack([model.components_, model.usage_.T]), np.hstack([items, usage.T]))
    free = MdlDbssl().fit(X, y)
    assert same_sets(np.hstack([free.components_, free.usage_.T]), np.hstack([items, usage.T]))


def test_noise_leaves_most_of_it():
    X, y, items, usage = non_overlapping(np.random.default_rng(2), noise=0.05)
    model = Dbssl(ranks=(3, 2, 2)).fit(X, y)
    for pattern, rows in zip(items, usage.T, strict=True):
        both = (model.components_ & pattern).sum(axis=1) * (model.usage_.T & rows).sum(axis=1)
        either = model.components_.sum(axis=1) * model.usage_.sum(axis=0) + pattern.sum() * rows.sum() - both
        assert (both / either).max() > 0.8


# ---------------------------------------------------------------- what the model says


@pytest.mark.parametrize("ranks", [(2, 3, 1), (0, 4, 4), (3, 0, 2), 4, (1, 2)])
@pytest.mark.parametrize("source", SOURCES)
def test_ranks_are_kept_and_class_wise_patterns_stay_in_their_class(planted, ranks, source):
    model = Dbssl(ranks=ranks, tau=0.4, candidates=source).fit(planted.X, planted.y)
    r0, r1, r2 = {(1, 2): (1, 2, 2), 4: (4, 0, 0)}.get(ranks, ranks)
    assert model.n_components_ == r0 + r1 + r2
    used = classes_of(model)
    assert used.all(axis=1).sum() <= r0
    # A shared pattern may be used by one class only; it is no more than the shared rank that makes up for it.
    assert (used == [True, False]).all(axis=1).sum() <= r1 + r0
    assert (used == [False, True]).all(axis=1).sum() <= r2 + r0
    assert not model.alterations_.any()


def test_objective_is_the_weighted_error(planted):
    model = Dbssl(ranks=(2, 3, 3), tau=0.4).fit(planted.X, planted.y)
    wrong = (model.usage_.astype(int) @ model.components_ > 0) != planted.X
    errors, ones = (np.array([cells[planted.y == a].sum() for a in (0, 1)]) for cells in (wrong, planted.X))
    mu = 1 / ones[::-1]
    assert model.history_[-1] == pytest.approx(mu @ errors / mu.mean())
    assert (np.diff(model.history_) < 0).all()


def candidates_by_hand(X, y, tau):
    for rows in (y >= 0, y == 0, y == 1):
        part = X[rows].astype(int)
        together = part.T @ part
        yield from (together / np.maximum(np.diag(together), 1)[:, None] >= tau)[np.diag(together) > 0]


@pytest.mark.parametrize(("ranks", "classes"), [((1, 0, 0), [0, 1]), ((0, 1, 0), [0]), ((0, 0, 1), [1])])
def test_the_first_pattern_is_the_best_of_all_candidates_for_its_rows(planted, ranks, classes):
    X, y = planted.X, planted.y
    ones = np.array([X[y == a].sum() for a in (0, 1)])
    mu = ones / ones.mean()
    rows = np.isin(y, classes)
    best = 0.0
    for items in candidates_by_hand(X, y, 0.4):
        if items.sum() > 1:
            gains = ((items & X).sum(axis=1) - (items & ~X).sum(axis=1)).clip(0) * rows
            best = max(best, mu[y] @ gains)
    model = Dbssl(ranks=ranks, tau=0.4, candidates="associations").fit(X, y)
    assert model.history_.tolist() == [pytest.approx(mu @ ones - best)]


def test_weights_of_two_classes_are_those_of_the_paper(planted):
    bits = BitMatrix(planted.X, [slice(0, 90), slice(90, 140)])
    weights = class_weights(bits)
    ones = [planted.X[:90].sum(), planted.X[90:].sum()]
    assert weights[0] / weights[1] == pytest.approx((1 / ones[1]) / (1 / ones[0]))
    assert weights.mean() == pytest.approx(1)


@pytest.mark.slow
def test_none_of_the_given_ranks_describes_the_data_shorter_than_the_chosen_ones(planted):
    constellations = [(0, 3), (2, 2, 2), (6, 0, 0), (3, 4, 1)]
    chosen = MdlDbssl(constellations=constellations, tau=0.4).fit(planted.X, planted.y)
    lengths = [Dbssl(ranks=r, tau=0.4).fit(planted.X, planted.y).description_length_ for r in constellations]
    assert chosen.description_length_ == pytest.approx(min(lengths))
    free = MdlDbssl(tau=0.4).fit(planted.X, planted.y)
    assert free.description_length_ <= Dbssl(tau=0.4).fit(planted.X, planted.y).description_length_


def test_constellations_surround_a_third_of_the_patterns():
    assert {ranks[0] for ranks in default_constellations(24, 2)} == {3, 8, 13}
    assert {ranks[1:] for ranks in default_constellations(24, 3)} == {(8,) * 3, (16,) * 3, (32,) * 3}
    assert max(default_constellations(1000, 2)) == (25, 80, 80)
    assert default_constellations(0, 2) == [
        (0, 1, 1),
        (0, 2, 2),
        (0, 4, 4),
        *((k, f, f) for k in (1, 6) for f in (1, 2, 4)),
    ]


@pytest.mark.parametrize(
    "estimator", [Dbssl(), Dbssl(ranks=(1, 2), tau=0.4), MdlDbssl(), MdlDbssl(constellations=[3, 4])]
)
def test_progress_moves_on(planted, estimator):
    seen = []
    estimator.set_params(callback=seen.append).fit(planted.X, planted.y)
    done = [now.done for now in seen]
    assert done == sorted(done)
    assert 0 <= done[0] < 0.1
    assert 0.8 < done[-1] <= 1


def test_one_class_and_many_small_ones(planted):
    with pytest.warns(UserWarning, match="only one class"):
        assert Dbssl(tau=0.4).fit(planted.X, np.zeros(140)).n_components_ > 0
    assert Dbssl(ranks=(2, 1), tau=0.4).fit(planted.X, np.arange(140) % 9).usage_counts_.shape[0] == 9


# ---------------------------------------------------------------- frequent sets


@pytest.mark.parametrize("max_candidates", [1, 7, 60, 10_000])
@pytest.mark.parametrize("min_support", [2, 8])
def test_frequent_sets_are_bounded_and_frequent(planted, max_candidates, min_support):
    blocks = [slice(0, 90), slice(90, 140)]
    bits = BitMatrix(planted.X, blocks)
    found = item_layout(100).unpack(itemset_patterns(bits, min_support, max_candidates, check_progress))
    assert len(found) <= max_candidates
    assert len(found) > 0 or max_candidates == 1
    for items in found:
        # Some class has enough rows with the same two of the items.
        assert max(_rows_of_a_pair(planted.X[rows][:, items].astype(int)) for rows in blocks) >= min_support


def _rows_of_a_pair(cells):
    return np.triu(cells.T @ cells, 1).max()


def test_no_set_is_as_frequent_as_asked_for():
    bits = BitMatrix(np.eye(6, dtype=bool), [slice(0, 6)])
    assert itemset_patterns(bits, 2, 100, check_progress).shape == (0, 1)
    model = Dbssl(candidates="itemsets", min_support=7).fit(np.eye(6), [0, 0, 0, 1, 1, 1])
    assert model.n_components_ == 0


@pytest.mark.slow
def test_frequent_sets_help_where_associations_are_weak():
    planted = make_planted(150, [150, 150], rank=6, noise=0.1, random_state=2)
    ranks = (2, 4, 4)
    found = {source: Dbssl(ranks=ranks, candidates=source).fit(planted.X, planted.y) for source in SOURCES[:2]}
    assert found["both"].history_[-1] < found["associations"].history_[-1]
    assert f_measure(planted, found["both"]) > 0.8


def test_a_missing_miner_is_named_with_the_way_out(planted, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend.frequent_patterns.fpmax", None)
    with pytest.raises(ImportError, match=r"need mlxtend; pip install 'saltmine\[itemsets\]', or take candidates="):
        Dbssl(tau=0.4).fit(planted.X, planted.y)
    assert Dbssl(tau=0.4, candidates="associations").fit(planted.X, planted.y).n_components_ > 0


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize("kind", [Dbssl, MdlDbssl])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tau": 2}, "tau must be above 0 and at most 1, or None, not 2"),
        ({"candidates": "rows"}, "candidates must be 'both' or 'associations' or 'itemsets', not 'rows'"),
        ({"min_support": 0}, "min_support must be a whole number of at least 1, not 0"),
        ({"max_candidates": 0.5}, "max_candidates must be a whole number of at least 1, not 0.5"),
    ],
)
def test_wrong_parameters_are_named(kind, parameters, message):
    with pytest.raises(ValueError, match=message):
        kind(**parameters).fit(np.eye(4), [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (Dbssl(ranks=-1), "ranks must be the number of shared patterns"),
        (Dbssl(ranks=(1, 2, 3, 4)), "ranks has 4 entries, but 2 classes need 3"),
        (MdlDbssl(constellations=[]), "constellations must be a list of ranks to choose from"),
        (MdlDbssl(constellations=3), "constellations must be a list of ranks to choose from"),
        (MdlDbssl(constellations=[(1, -2)]), "every entry of constellations must be the number of shared patterns"),
        (MdlDbssl(constellations=[None]), "every entry of constellations must be the number of shared patterns"),
        (MdlDbssl(constellations=[(1, 2, 3, 4)]), "an entry of constellations has 4 entries, but 2 classes need 3"),
    ],
)
def test_wrong_ranks_are_named(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(np.eye(4), [0, 0, 1, 1])


def test_data_that_is_too_wide_is_refused():
    with pytest.raises(ValueError, match="Dbssl compares all pairs of items"):
        Dbssl().fit(np.ones((2, 50_001), dtype=bool), [0, 1])
