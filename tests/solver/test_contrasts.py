"""Sets of items that classes use differently, whether or not they go together."""

from itertools import combinations

import numpy as np
import pytest

from saltmine import _core
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.mdl.evidence import item_choices
from saltmine.mdl.item_choice import difference
from saltmine.solver.contrasts import find_contrasts
from saltmine.solver.kernels import make_data
from saltmine.solver.local_search import LocalSearch

LEAST = float(np.log(2) - np.log(0.01))


def triples(seed, n=24, m=1000, planted=((0, 1, 2), (3, 4, 5))):
    """Return independent items, and rows in which no two go together; the second class never has all of a triple."""
    rng = np.random.default_rng(seed)
    matrix, classes = rng.random((m, n)) < 0.5, np.repeat([0, 1], m // 2)
    for triple in planted:
        while (whole := matrix[:, triple].all(axis=1) & (classes == 1)).any():
            matrix[np.ix_(whole, triple)] = rng.random((int(whole.sum()), 3)) < 0.5
    return matrix, classes


def data_of(matrix, classes):
    order = np.argsort(classes, kind="stable")
    ends = np.cumsum(np.bincount(classes))
    blocks = [slice(int(begin), int(end)) for begin, end in zip([0, *ends], ends, strict=False)]
    return BitMatrix(matrix[order], blocks)


def contrasts(bits, least=LEAST):
    data = make_data(bits)
    return find_contrasts(data, data.columns, least)


@pytest.mark.parametrize("seed", range(3))
def test_planted_triples_among_independent_items_are_found(seed):
    matrix, classes = triples(seed)
    found = {tuple(np.flatnonzero(contrast.items)) for contrast in contrasts(data_of(matrix, classes))}
    assert {(0, 1, 2), (3, 4, 5)} <= found
    # Whatever else is found has to do with them.
    assert all(
        {0, 1, 2} <= set(items) or {3, 4, 5} <= set(items) or len(set(items) & set(range(6))) >= 2 for items in found
    )


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_labels_show_none(seed):
    matrix, classes = triples(seed)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        assert contrasts(data_of(matrix, rng.permutation(classes))) == []


def test_the_clearest_come_first_and_none_is_below_what_is_asked_for():
    bits = data_of(*triples(0))
    for least in (LEAST, 20.0):
        shown = [contrast.evidence for contrast in contrasts(bits, least)]
        assert shown
        assert shown == sorted(shown, reverse=True)
        assert min(shown) >= least
    assert contrasts(bits, 1e9) == []


def test_the_evidence_of_a_contrast_is_the_difference_less_the_choice():
    matrix, classes = triples(1)
    bits = data_of(matrix, classes)
    data = make_data(bits)
    for contrast in contrasts(bits):
        having = matrix[:, contrast.items].all(axis=1)
        counts = np.bincount(classes[having], minlength=2)
        codes = float(data.costs.codes[contrast.items].sum())
        clearest = max(_core.class_difference(counts, np.array([500, 500]), a) for a in (0, 1))
        expected = clearest - item_choices(24, int(contrast.items.sum()), codes)
        assert contrast.evidence == pytest.approx(expected)


def test_few_items_are_never_single():
    """A class that has one item more often is no combination of items."""
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1], 200)
    matrix = rng.random((400, 3)) < 0.4
    matrix[:, 0] = rng.random(400) < np.where(classes == 0, 0.95, 0.05)
    for contrast in contrasts(data_of(matrix, classes)):
        assert contrast.items.sum() >= 2


@pytest.mark.parametrize("seed", range(3))
def test_growing_ends_where_no_item_makes_the_difference_clearer(seed):
    matrix, classes = triples(seed, n=10)
    bits = data_of(matrix, classes)
    data = make_data(bits)

    def evidence(items, a):
        counts = np.bincount(classes[matrix[:, items].all(axis=1)], minlength=2)
        codes = float(data.costs.codes[items].sum())
        return _core.class_difference(counts, np.array([500, 500]), a) - item_choices(10, len(items), codes)

    for pair in combinations(range(5), 2):
        best, chosen = _core.grow_contrast(data, data.columns, *pair, 0)
        items = chosen.tolist()
        assert set(pair) <= set(items)
        assert best == pytest.approx(evidence(items, 0))
        assert best >= evidence(list(pair), 0) - 1e-9
        others = [evidence([*items, i], 0) for i in range(10) if i not in items]
        assert max(others) <= best + 1e-6


def test_the_difference_between_classes_is_that_of_two_rates():
    rng = np.random.default_rng(0)
    for _ in range(50):
        sizes = rng.integers(1, 40, 3)
        counts = rng.integers(0, sizes + 1)
        cells = np.stack([counts, sizes - counts, counts])[:, :, None]
        for a in range(3):
            expected = difference(cells, 0, np.arange(3) == a)
            assert _core.class_difference(counts, sizes, a) == pytest.approx(expected)


def test_contrasts_join_a_model_as_they_are():
    matrix, classes = triples(0)
    bits = data_of(matrix, classes)
    nothing = BinaryModel.empty(*bits.shape, 2)
    local = LocalSearch(bits, nothing)
    before = local.length
    added = local.add_contrasts()
    assert local.length <= before
    sets = {tuple(np.flatnonzero(items)) for items in local.model().X.T}
    assert added == bool(sets)
    assert {(0, 1, 2), (3, 4, 5)} & sets
    for s in local.patterns():
        assert local.pattern_evidence(s) >= -local.log_alpha
    # Their items stay as they are, and they pass the filter.
    local.refit()
    local.drop_until_significant()
    assert {tuple(np.flatnonzero(items)) for items in local.model().X.T} == sets
    assert not local.model().V.any()
    shuffled = LocalSearch(data_of(matrix, np.random.default_rng(0).permutation(classes)), nothing)
    assert not shuffled.add_contrasts()
    assert shuffled.length == pytest.approx(before)
    assert shuffled.patterns() == []


def test_no_more_contrasts_are_added_than_there_may_be():
    bits = data_of(*triples(0))
    local = LocalSearch(bits, BinaryModel.empty(*bits.shape, 2))
    assert local.add_contrasts(limit=1)
    assert len(local.patterns()) == 1
    assert not local.add_contrasts(limit=1)
    alike = LocalSearch(bits, BinaryModel.empty(*bits.shape, 2), alterations=False)
    assert not alike.add_contrasts()
