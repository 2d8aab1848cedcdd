"""Evidence by groups: what near copies share is no pattern, whatever the sizes of their groups."""

import numpy as np
import pytest
from sklearn.base import clone

from saltmine import CSalt, Primp
from saltmine.baselines import Asso
from saltmine.solver.group_tests import choose_rows


def near_copies(seed, counts, n_items=40):
    """Return rows of groups: each group has independent items, and its rows are nearly the same."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(counts)), counts)
    rows = (rng.random((len(counts), n_items)) < 0.2)[groups] ^ (rng.random((len(groups), n_items)) < 0.02)
    return rows.astype(int), groups, rng.integers(2, size=len(counts))[groups]


@pytest.mark.slow
@pytest.mark.parametrize("counts", [[10] * 60, [4] * 60 + [300], [1, 2, 3, 20] * 15], ids=["equal", "one", "unequal"])
def test_near_copies_are_no_patterns_of_many(counts):
    shared = 0
    for seed in range(5000, 5002):
        X, groups, y = near_copies(seed, counts)
        model = CSalt(random_state=0).fit(X, y, groups=groups)
        assert model.n_components_ > 0
        shared += len(set(model.patterns()["kind"]) - {"group", "typical"})
    assert shared == 0


def test_one_group_of_many_rows_is_no_typical_row():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(41), [100] + [3] * 40)
    X = rng.random((len(groups), 40)) < 0.05
    X[groups == 0, :10] |= rng.random((100, 10)) < 0.9
    model = CSalt(random_state=0).fit(X.astype(int), np.arange(len(groups)) % 2, groups=groups)
    used = [s for s in range(model.n_components_) if model.usage_[groups == 0, s].mean() > 0.5]
    assert used
    for s in used:
        assert model.of_few_groups_[s]
        assert not model.typical_[s]
        assert model.summary().patterns[s].groups == ["0"]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [Primp(random_state=0), Asso()])
def test_labels_change_nothing_for_methods_without_classes(estimator):
    X, groups, y = near_copies(1, [5] * 40)
    without, with_labels = (clone(estimator).fit(X, labels, groups=groups) for labels in (None, y))
    np.testing.assert_allclose(without.pattern_evidence_, with_labels.pattern_evidence_)
    np.testing.assert_array_equal(without.of_few_groups_, with_labels.of_few_groups_)


def test_an_item_is_told_of_the_class_whose_groups_have_it():
    # One large group of class a has the item, but none of its others; half of the groups of class b do.
    counts = [400] + [4] * 39 + [4] * 40
    groups, y = np.repeat(np.arange(80), counts), np.repeat(np.repeat(["a", "b"], 40), counts)
    has = np.isin(groups, [0, *range(40, 60)])
    X = np.stack([has, *(np.random.default_rng(0).random((5, len(y))) < 0.2)], axis=1).astype(int)
    differences = CSalt(random_state=0).fit(X, y, groups=groups).differences()
    assert 0 not in differences["item"].tolist()


def test_rows_of_groups_are_chosen_without_looking():
    groups = np.array([1, 0, 1, 0, 0, 0, 2])
    chosen = choose_rows(groups)
    assert len(chosen) == 4
    for rows in chosen:
        assert groups[rows].tolist() == [0, 1, 2]
    assert set(np.concatenate(chosen).tolist()) == set(range(7))
