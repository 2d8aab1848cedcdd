"""Columns as bit sets: every count is that of the boolean array, whatever rows and items stand for."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine import _core
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix, Layout, count_bits
from saltmine.data.folding import Weights, stored

BLOCKS = [slice(0, 70), slice(70, 70), slice(70, 71), slice(71, 150)]


@pytest.fixture
def data():
    """Return 150 x 9 cells in four classes, one of them empty, and weights of rows and items."""
    rng = np.random.default_rng(0)
    cells = rng.random((150, 9)) < 0.4
    return cells, Weights(rng.integers(1, 5, 9), rng.integers(1, 12, 150))


def weighted(cells, rows):
    """Count ones by what the rows stand for, per class."""
    return np.stack([rows[block] @ cells[block] for block in BLOCKS])


def test_bits_are_counted_along_the_last_axis():
    words = np.array([[0, 1, 3], [2**64 - 1, 0, 7]], dtype=np.uint64)
    assert count_bits(words).tolist() == [3, 67]
    assert count_bits(words, np.array([1, 10, 100])).tolist() == [210, 364]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), max_size=140), min_size=1, max_size=4), st.integers(0, 2**31))
def test_a_set_of_rows_counts_as_many_as_its_rows_stand_for(classes, seed):
    row_weights = np.array([weight for of in classes for weight in of], dtype=np.int64)
    edges = np.concatenate([[0], np.cumsum([len(of) for of in classes])]).tolist()
    layout = Layout([slice(*ends) for ends in pairwise(edges)], row_weights)
    sets = np.random.default_rng(seed).random((3, len(row_weights))) < 0.5
    words = layout.pack(sets)
    assert words.shape == (3, len(layout.weights))
    for a, of in enumerate(pairwise(edges)):
        own = layout.words(a)
        counted = count_bits(words[:, own], layout.weights[own])
        np.testing.assert_array_equal(counted, sets[:, slice(*of)] @ row_weights[slice(*of)])
    # Rows that stand for none have no place.
    np.testing.assert_array_equal(layout.unpack(words), sets & (row_weights > 0))
    assert count_bits(layout.row_mask, layout.weights) == row_weights.sum()


def test_words_belong_to_one_class_and_one_weight():
    layout = Layout([slice(0, 65), slice(65, 66)], np.array([1] * 65 + [6]))
    assert layout.edges.tolist() == [0, 2, 4]
    assert layout.weights.tolist() == [1, 1, 2, 4]
    assert layout.places.tolist() == [*range(65), 128, 192]
    assert layout.rows.tolist() == [*range(66), 65]
    assert layout.words(0) == slice(0, 2)
    assert layout.words(1) == slice(2, 4)
    merged = layout.merge_classes()
    assert merged.edges.tolist() == [0, 4]
    assert merged.weights is layout.weights
    assert layout.edges.tolist() == [0, 2, 4]


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array], ids=["dense", "by columns", "sparse"])
def test_counts_are_those_of_the_cells(data, form):
    cells, weights = data
    bits = BitMatrix(form(cells), BLOCKS, weights)
    assert bits.shape == (150, 9)
    assert bits.class_sizes == [int(weights.rows[block].sum()) for block in BLOCKS]
    np.testing.assert_array_equal(bits.class_counts, weighted(cells, weights.rows))
    np.testing.assert_array_equal(bits.item_counts, weights.rows @ cells)
    np.testing.assert_array_equal(bits.rows(), cells)
    assert bits.rows().flags.c_contiguous
    np.testing.assert_array_equal(bits.row_sizes, cells @ weights.items)


def test_items_of_rows_are_counted_and_weighed(data):
    cells, weights = data
    bits = BitMatrix(cells, BLOCKS, weights)
    items = np.array([True, False, True, True, False, False, False, True, False])
    worth = np.linspace(0.1, 2.0, 9)
    np.testing.assert_array_equal(bits.carried(items), cells[:, items] @ weights.items[items])
    signs = np.where(cells[:, items], 1, -1)
    np.testing.assert_allclose(bits.weigh(items, worth), signs @ worth[items])
    rows = np.random.default_rng(1).random(150) < 0.5
    chosen = np.array([8, 0, 3])
    hits = bits.hits(bits.layout.pack(rows[None])[0], chosen)
    np.testing.assert_array_equal(hits, weighted(cells[:, chosen] & rows[:, None], weights.rows))


def test_without_weights_all_count_once(data):
    cells, _ = data
    bits = BitMatrix(cells, BLOCKS)
    assert bits.weights.shape == (150, 9)
    assert bits.class_sizes == [70, 0, 1, 79]
    np.testing.assert_array_equal(bits.class_counts, [cells[block].sum(axis=0) for block in BLOCKS])


def test_merged_classes_are_the_same_data_in_one(data):
    cells, weights = data
    merged = BitMatrix(cells, BLOCKS, weights).merge_classes()
    assert merged.shape == (150, 9)
    assert merged.blocks == [slice(0, 150)]
    assert merged.class_sizes == [int(weights.rows.sum())]
    np.testing.assert_array_equal(merged.class_counts, (weights.rows @ cells)[None])
    np.testing.assert_array_equal(merged.rows(), cells)


@pytest.mark.parametrize("rank", [0, 1, 3, 70])
def test_noise_is_where_data_and_model_differ(data, rank):
    cells, weights = data
    rng = np.random.default_rng(rank)
    X, V = rng.random((9, rank)) < 0.3, rng.random((4, 9, rank)) < 0.1
    model = BinaryModel(X, V, rng.random((150, rank)) < 0.2)
    bits = BitMatrix(cells, BLOCKS, weights)
    counts = bits.noise_counts(model)
    for a, block in enumerate(BLOCKS):
        said = (model.Y[block].astype(int) @ (X | V[a]).T.astype(int)) > 0
        np.testing.assert_array_equal(counts[a], weights.rows[block] @ (cells[block] != said))
    np.testing.assert_array_equal(bits.used(model.Y), weighted(model.Y, weights.rows))
    if not rank:
        counts[:] = -1
        assert (bits.class_counts >= 0).all()


def placed(cells, layout):
    """Return the cells at the places of their rows, (64 W, n), a row of some weight at several."""
    at = np.zeros((64 * len(layout.weights), cells.shape[1]), dtype=bool)
    at[layout.places] = cells[layout.rows]
    return at


def test_numbers_of_items_and_of_places_are_added_where_there_are_ones(data):
    cells, weights = data
    bits = BitMatrix(cells, BLOCKS, weights)
    at = placed(cells, bits.layout).astype(np.uint64)
    rng = np.random.default_rng(2)
    of_items, of_places = (rng.integers(2**64, size=(size, 2), dtype=np.uint64) for size in (9, len(at)))
    # Sums wrap around, and add to what is there.
    keys, expected = of_places.copy(), of_places.copy()
    _core.add_bits_to_rows(bits.columns, of_items, keys)
    for i in range(9):
        expected += at[:, [i]] * of_items[i]
    np.testing.assert_array_equal(keys, expected)
    keys, expected = of_items.copy(), of_items.copy()
    _core.add_bits_to_columns(bits.columns, of_places, keys)
    for place in range(len(at)):
        expected += at[place][:, None] * of_places[place]
    np.testing.assert_array_equal(keys, expected)


def test_bits_are_moved_to_other_places(data):
    cells, weights = data
    bits = BitMatrix(cells, BLOCKS, weights)
    rng = np.random.default_rng(3)
    # Only places of rows that have something: every single one is missed.
    places = np.flatnonzero(placed(cells, bits.layout).any(axis=1))
    taken, put = rng.permutation(places)[:200], rng.permutation(320)[:200]
    moved = np.zeros((9, 5), dtype=np.uint64)
    _core.move_bits(bits.columns, taken, put, moved)
    expected = np.zeros((320, 9), dtype=bool)
    expected[put] = placed(cells, bits.layout)[taken]
    found = np.unpackbits(moved.view(np.uint8), axis=1, bitorder="little").T.astype(bool)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rows_may_be_in_any_order(data, form):
    """Places of rows need not follow each other, as those of rows that are folded do not."""
    cells, _ = data
    rng = np.random.default_rng(4)
    rows, places = rng.permutation(150)[:100], rng.permutation(256)[:100]
    columns = np.zeros((9, 4), dtype=np.uint64)
    if form is np.asarray:
        _core.set_bits(cells, rows, places, columns)
    else:
        _core.set_stored_bits(stored(sp.csr_array(cells)), rows, places, columns)
    expected = np.zeros((256, 9), dtype=bool)
    expected[places] = cells[rows]
    found = np.unpackbits(columns.view(np.uint8), axis=1, bitorder="little").T.astype(bool)
    np.testing.assert_array_equal(found, expected)
