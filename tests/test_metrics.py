from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from saltmine.datasets import make_planted
from saltmine.metrics import alteration_precision, alteration_recall, class_rank, f_measure, residual


def as_model(components, alterations, usage, y):
    return SimpleNamespace(components=components, alterations=alterations, usage=usage, y=y)


def altered(planted, **changes):
    parts = {name: getattr(planted, name) for name in ("components", "alterations", "usage", "y")}
    return SimpleNamespace(**(parts | changes))


def test_a_pattern_with_its_alteration_recalls_it_but_does_not_tell_it_apart():
    components = np.array([[1, 1, 1, 1, 0, 0]], dtype=bool)
    alterations = np.array([[[0, 0, 0, 0, 1, 1]], [[0, 0, 0, 0, 0, 0]]], dtype=bool)
    usage, y = np.ones((6, 1), dtype=bool), np.repeat([0, 1], 3)
    truth = as_model(components, alterations, usage, y)
    assert (alteration_recall(truth, truth), alteration_precision(truth, truth)) == (1.0, 1.0)
    own = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]], dtype=bool)
    by_class = as_model(own, np.zeros((2, 2, 6), dtype=bool), np.array([y == 0, y == 1]).T, y)
    assert f_measure(truth, by_class) == 1.0
    assert alteration_recall(truth, by_class) == 1.0
    assert alteration_precision(truth, by_class) == pytest.approx(2 / 6)
    nothing = as_model(own[:0], np.zeros((2, 0, 6), dtype=bool), np.zeros((6, 0), dtype=bool), y)
    assert alteration_recall(truth, nothing) == 0.0
    assert np.isnan(alteration_precision(truth, nothing))
    assert np.isnan(alteration_precision(altered(truth, alterations=0 * alterations), truth))


def plain_f_measure(truth, model):
    """Section "Measuring the Quality of Factorizations", with cells listed and all matchings tried."""
    scores = []
    for a in range(len(truth.alterations)):
        rows = np.flatnonzero(truth.y == a)

        def tiles(model, a=a, rows=rows):
            return [
                {(j, i) for j in rows for i in np.flatnonzero(x | v) if y[j]}
                for x, v, y in zip(model.components, model.alterations[a], model.usage.T, strict=True)
            ]

        planted, found = tiles(truth), tiles(model)
        size = max(len(planted), len(found))
        planted += [set()] * (size - len(planted))
        found += [set()] * (size - len(found))

        def single(p, q):
            return 2 * len(p & q) / (len(p) + len(q)) if p or q else 0.0

        best = max(
            permutations(range(size)), key=lambda s: sum(single(p, found[t]) for p, t in zip(planted, s, strict=True))
        )
        hits = sum(len(p & found[t]) for p, t in zip(planted, best, strict=True))
        precision, recall = hits / sum(map(len, found)), hits / sum(map(len, planted))
        scores.append(2 * precision * recall / (precision + recall))
    return np.mean(scores)


@pytest.mark.parametrize("seed", range(5))
def test_f_measure_is_that_of_the_paper(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [6, 5])

    def random_model(r):
        return as_model(rng.random((r, 8)) < 0.4, rng.random((2, r, 8)) < 0.2, rng.random((11, r)) < 0.5, y)

    truth, model = random_model(3), random_model(2 + seed % 3)
    assert f_measure(truth, model) == pytest.approx(plain_f_measure(truth, model))


@pytest.fixture
def truth():
    return make_planted(200, [100, 100], rank=6, random_state=0)


def test_the_truth_scores_one_in_any_order(truth):
    order = np.random.default_rng(0).permutation(6)
    moved = altered(
        truth,
        components=truth.components[order],
        alterations=truth.alterations[:, order],
        usage=truth.usage[:, order],
    )
    assert f_measure(truth, moved) == 1
    assert alteration_recall(truth, moved) == 1


def test_superfluous_patterns_cost_precision_and_missing_ones_recall(truth):
    half = altered(
        truth, components=truth.components[:3], alterations=truth.alterations[:, :3], usage=truth.usage[:, :3]
    )
    assert 0 < f_measure(truth, half) < 1
    assert 0 < f_measure(half, truth) < 1


def test_an_alteration_found_in_the_shared_part_counts_as_found(truth):
    everything = truth.components | truth.alterations.any(axis=0)
    model = altered(truth, components=everything, alterations=np.zeros_like(truth.alterations))
    assert alteration_recall(truth, model) == 1
    forgotten = altered(truth, alterations=np.zeros_like(truth.alterations))
    assert alteration_recall(truth, forgotten) < 0.5


def test_recall_of_alterations_is_undefined_where_none_was_planted(truth):
    plain = altered(truth, alterations=np.zeros_like(truth.alterations))
    assert np.isnan(alteration_recall(plain, truth))


def test_two_empty_models_agree(truth):
    empty = altered(
        truth, components=truth.components[:0], alterations=truth.alterations[:, :0], usage=truth.usage[:, :0]
    )
    assert f_measure(empty, empty) == 1
    assert f_measure(truth, empty) == 0
    assert alteration_recall(truth, empty) == 0
    np.testing.assert_array_equal(class_rank(empty), [0, 0])


def test_class_rank_counts_what_has_two_items_and_two_rows_in_the_class():
    components = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1]], dtype=bool)
    alterations = np.zeros((2, 3, 3), dtype=bool)
    alterations[1, 1, 2] = True
    usage = np.array([[1, 1, 1], [1, 1, 0], [1, 1, 0], [0, 1, 0]], dtype=bool)
    ranks = class_rank(as_model(components, alterations, usage, np.array(["a", "a", "b", "b"])))
    np.testing.assert_array_equal(ranks, [1, 1])


def test_a_model_without_classes_is_compared_with_every_class(truth):
    one_class = altered(truth, alterations=np.zeros((1, *truth.components.shape), bool), y=None)
    two_classes = altered(truth, alterations=np.zeros_like(truth.alterations))
    assert f_measure(truth, one_class) == f_measure(truth, two_classes)


def test_residual_takes_models_of_one_class_and_data_that_a_model_made_binary(truth):
    from saltmine import Primp

    counts = truth.X * 3
    model = Primp(binarize=0, max_iter=100, random_state=0).fit(counts)
    cover = (model.usage_.astype(int) @ model.components_) > 0
    assert residual(model, counts, truth.y) == (cover != truth.X).sum()
    assert residual(model, counts, np.zeros(200)) == (cover != truth.X).sum()


def test_what_cannot_be_compared_is_refused(truth):
    with pytest.raises(TypeError, match="int has no components, alterations and usage"):
        f_measure(truth, 3)
    other = make_planted(190, [100, 100], rank=6, random_state=0)
    with pytest.raises(ValueError, match="200 rows and 200 columns, the model 200 and 190"):
        f_measure(truth, other)
    with pytest.raises(ValueError, match="2 classes and the model 3"):
        f_measure(truth, make_planted(200, [100, 50, 50], rank=6, random_state=0))
    nameless = altered(truth, y=None)
    for metric in (lambda: f_measure(nameless, truth), lambda: class_rank(nameless)):
        with pytest.raises(TypeError, match="does not say which class its rows belong to"):
            metric()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        residual(truth, truth.X[:-1], truth.y[:-1])
