"""Counts of the items of a model, kept for distinct items: as if all columns were counted one by one."""

import copy
import pickle

import numpy as np
import pytest

from saltmine.data.binary_model import BinaryModel, drop_idle_parts, repair_alterations
from saltmine.data.bits import BitMatrix
from saltmine.data.item_counts import ItemCounts, count_hits, entries
from saltmine.data.stacking import StackedMatrix

N_CLASSES, RANK = 3, 4


class Setting:
    """Data whose columns and rows occur several times, a model of it, and its counts."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        distinct = rng.random((60, 8)) < 0.4
        distinct[0] = True
        self.cells = distinct[:, rng.integers(-1, 8, 15)]
        self.cells[:, [3, 7]] = False
        self.numbers = np.arange(60) % N_CLASSES
        self.data = StackedMatrix.from_rows(self.cells, self.numbers, N_CLASSES, fold=True)
        m, n = self.data.matrix.shape
        X = rng.random((n, RANK)) < 0.4
        V = repair_alterations(X, rng.random((N_CLASSES, n, RANK)) < 0.3)
        self.model = drop_idle_parts(BinaryModel(X, V, rng.random((m, RANK)) < 0.4), self.data.blocks)
        self.bits = BitMatrix(self.data.matrix, self.data.blocks, self.data.weights)
        self.counts = ItemCounts.of(self.bits, self.model, self.data.item_of)

    @property
    def usage(self):
        """Patterns that the rows of the input use, (60, r)."""
        return self.model.Y[self.data.row_of]

    def of_columns(self, part):
        """Return a part of the patterns, (..., items), over all columns of the input; absent ones have none."""
        present = self.data.item_of >= 0
        unfolded = np.zeros((*part.shape[:-1], 15), dtype=part.dtype)
        unfolded[..., present] = part[..., self.data.item_of[present]]
        return unfolded


@pytest.fixture(params=range(3))
def given(request):
    return Setting(request.param)


def test_entries_are_listed_by_pattern_owner_and_item():
    components = np.array([[True, False, True], [False, False, True]])
    alterations = np.zeros((2, 2, 3), dtype=bool)
    alterations[1, 0, 1] = alterations[0, 1, 0] = alterations[0, 1, 1] = True
    pattern, item, owner = entries(components, alterations)
    assert pattern.tolist() == [0, 0, 0, 1, 1, 1]
    assert owner.tolist() == [-1, -1, 1, -1, 0, 0]
    assert item.tolist() == [0, 2, 1, 2, 0, 1]


def test_patterns_and_counts_are_those_of_all_columns(given):
    counts, model = given.counts, given.model
    np.testing.assert_array_equal(counts.components, model.X.T)
    np.testing.assert_array_equal(counts.alterations, model.V.transpose(0, 2, 1))
    np.testing.assert_array_equal(counts.all_components, given.of_columns(model.X.T))
    np.testing.assert_array_equal(counts.all_alterations, given.of_columns(model.V.transpose(0, 2, 1)))
    said = np.zeros((60, 15), dtype=bool)
    for a in range(N_CLASSES):
        own = given.numbers == a
        np.testing.assert_array_equal(counts.all_item_counts[a], given.cells[own].sum(axis=0))
        carried = counts.all_components | counts.all_alterations[a]
        said[own] = given.usage[own].astype(int) @ carried.astype(int) > 0
        np.testing.assert_array_equal(counts.all_noise_counts[a], (given.cells != said)[own].sum(axis=0))
        np.testing.assert_array_equal(counts.carried()[a], carried.sum(axis=1))
    assert counts.all_item_counts.dtype == counts.all_noise_counts.dtype == counts.carried().dtype == np.int64
    assert counts.item_of.dtype == np.int32
    # 60 rows, which may all be wrong, fit in a byte.
    assert counts.item_counts.dtype == counts.noise_counts.dtype == counts.hits.dtype == np.int8


def test_hits_are_ones_of_the_rows_that_use_the_pattern(given):
    pattern, column, owner = entries(given.counts.all_components, given.counts.all_alterations)
    hits = given.counts.hits_of(pattern, column, owner)
    assert hits.dtype == np.int64
    for k, (s, i) in enumerate(zip(pattern, column, strict=True)):
        for a in range(N_CLASSES):
            rows = (given.numbers == a) & given.usage[:, s]
            assert hits[a, k] == given.cells[rows, i].sum()


def test_hits_of_any_rows(given):
    rng = np.random.default_rng(9)
    rows = rng.random((given.data.matrix.shape[0], 2)) < 0.5
    pattern, item = np.array([1, 0, 1]), np.array([0, 2, 1])
    found = count_hits(given.bits, rows, pattern, item)
    chosen, columns = rows[given.data.row_of], given.cells[:, given.data.items]
    for k in range(3):
        for a in range(N_CLASSES):
            own = (given.numbers == a) & chosen[:, pattern[k]]
            assert found[a, k] == columns[own, item[k]].sum()


def test_patterns_are_kept_in_the_order_that_is_asked_for(given):
    kept = given.counts.keep(np.array([2, 0]))
    expected = ItemCounts.of(given.bits, given.model.keep(np.array([2, 0])), given.data.item_of)
    for name in ("item_of", "components", "alterations", "item_counts", "hits"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(expected, name), err_msg=name)
    # The cells that the whole model gets wrong are as they were.
    np.testing.assert_array_equal(kept.noise_counts, given.counts.noise_counts)


def test_blocks_of_columns_are_put_one_after_the_other(given):
    parts, whole = [], given.data
    for columns in (slice(0, 6), slice(6, 15)):
        data = StackedMatrix.from_rows(given.cells[:, columns], given.numbers, N_CLASSES, fold=True, fold_rows=False)
        # The same model for all columns of a block, whose first columns stand for the others.
        of = whole.item_of[columns][data.items]
        rows = whole.row_of[data.order]
        model = BinaryModel(given.model.X[of], given.model.V[:, of], given.model.Y[rows])
        parts.append(ItemCounts.of(BitMatrix(data.matrix, data.blocks, data.weights), model, data.item_of))
    joined = ItemCounts.joined(parts)
    for name in ("all_components", "all_alterations", "all_item_counts", "all_noise_counts"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(given.counts, name), err_msg=name)
    listed = entries(given.counts.all_components, given.counts.all_alterations)
    np.testing.assert_array_equal(joined.hits_of(*listed), given.counts.hits_of(*listed))
    np.testing.assert_array_equal(joined.carried(), given.counts.carried())


def test_figures_are_unfolded_to_columns(given):
    n_items = given.counts.components.shape[1]
    figures = np.arange(1.0, n_items + 1)
    np.testing.assert_array_equal(given.counts.unfold(figures), given.of_columns(figures))
    plain = ItemCounts(np.arange(n_items), *(getattr(given.counts, name) for name in (
        "components", "alterations", "item_counts", "noise_counts", "hits"
    )))  # fmt: skip
    assert plain.unfold(figures) is figures


@pytest.mark.parametrize("rank", [0, RANK])
def test_a_part_as_a_sparse_matrix(given, rank):
    part = given.counts.components[:rank]
    sparse = given.counts.sparse(part)
    assert sparse.shape == (rank, 15)
    assert sparse.dtype == bool
    assert sparse.indices.dtype == sparse.indptr.dtype == np.int32
    np.testing.assert_array_equal(sparse.toarray(), given.of_columns(part))


def test_copies_leave_out_what_was_unfolded(given):
    assert given.counts.all_components.shape == (RANK, 15)
    for again in (pickle.loads(pickle.dumps(given.counts)), copy.copy(given.counts)):
        assert "all_components" not in vars(again)
        np.testing.assert_array_equal(again.hits, given.counts.hits)
        np.testing.assert_array_equal(again.all_components, given.counts.all_components)
