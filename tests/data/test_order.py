"""Orders: everything that is moved can be moved back, and counts move with what they count."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.data.binary_model import BinaryModel, repair_alterations
from saltmine.data.bits import BitMatrix, Layout, count_bits
from saltmine.data.item_counts import ItemCounts, entries, entry_ranges
from saltmine.data.order import Order, inverse
from saltmine.data.stacking import Labels, StackedMatrix, class_blocks


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(7)))
def test_the_inverse_of_an_order_leads_back(order):
    order = np.array(order)
    assert order[inverse(order)].tolist() == inverse(order)[order].tolist() == list(range(7))


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array], ids=["dense", "by columns", "sparse"])
@pytest.mark.parametrize("axis", ["rows", "items", "both", "none"])
def test_data_is_sorted_by_rows_items_or_both(form, axis):
    rng = np.random.default_rng(0)
    cells = rng.random((6, 9)) < 0.5
    rows = rng.permutation(6) if axis in ("rows", "both") else None
    items = rng.permutation(9) if axis in ("items", "both") else None
    moved = Order(rows, items).sort(form(cells))
    assert sp.issparse(moved) == (form is sp.csr_array)
    if not sp.issparse(moved):
        assert moved.flags.c_contiguous
    found = moved.toarray() if sp.issparse(moved) else moved
    np.testing.assert_array_equal(
        found, cells[slice(None) if rows is None else rows][:, slice(None) if items is None else items]
    )
    assert found.shape == (6, 9)


def test_every_part_of_an_order_has_a_way_back():
    parts = {"rows": [2, 0, 1], "items": [1, 0], "classes": [1, 2, 0], "groups": [3, 1, 0, 2]}
    order = Order(**{name: np.array(part) for name, part in parts.items()})
    for name, part in parts.items():
        assert getattr(order.back, name)[part].tolist() == list(range(len(part)))
        assert getattr(order.back.back, name).tolist() == part
    assert Order().back == Order()


def test_figures_of_rows_classes_and_groups_are_sorted():
    figures = np.arange(6).reshape(3, 2)
    order = Order(rows=np.array([2, 0, 1]), classes=np.array([1, 2, 0]), groups=np.array([1, 0]))
    assert order.sort_rows(figures).tolist() == [[4, 5], [0, 1], [2, 3]]
    assert order.sort_classes(figures).tolist() == [[2, 3], [4, 5], [0, 1]]
    # Row 2 comes first; its group, 0, is number 1 now.
    assert order.sort_groups(np.array([1, 1, 0])).tolist() == [1, 0, 0]
    assert Order(rows=np.array([2, 0, 1])).sort_groups(np.array([1, 1, 0])).tolist() == [0, 1, 1]
    same = Order()
    for sort in (same.sort_rows, same.sort_classes, same.sort_groups):
        assert sort(figures) is figures


def test_labels_are_sorted_merged_and_counted():
    labels = Labels(np.array([2, 0, 1, 0]), 3)
    order = Order(rows=np.array([3, 2, 1, 0]), classes=np.array([2, 0, 1]))
    moved = labels.sort(order)
    # Class 2 is number 0 now, class 0 number 1, class 1 number 2.
    assert moved.numbers.tolist() == [1, 2, 1, 0]
    assert moved.n_classes == 3
    assert labels.sort(Order(rows=order.rows)).numbers.tolist() == [0, 1, 0, 2]
    assert labels.merged().numbers.tolist() == [0] * 4
    assert labels.merged().n_classes == 1
    assert labels.blocks() == [slice(0, 2), slice(2, 3), slice(3, 4)]
    usage = np.array([[True, False], [True, True], [False, True], [True, False]])
    assert labels.count(usage).tolist() == [[2, 1], [0, 1], [1, 0]]
    # A class without rows has a block of none.
    assert class_blocks(np.array([2, 0]), 4) == [slice(0, 1), slice(1, 1), slice(1, 2), slice(2, 2)]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=70), min_size=1, max_size=4), st.randoms())
def test_classes_of_a_layout_may_be_in_any_order(sizes, random):
    weights = np.array([weight for of in sizes for weight in of])
    edges = np.concatenate([[0], np.cumsum([len(of) for of in sizes])]).tolist()
    layout = Layout([slice(*edges[a : a + 2]) for a in range(len(sizes))], weights)
    assert layout.row_mask.shape == layout.weights.shape
    classes = np.array(random.sample(range(len(sizes)), len(sizes)))
    moved = layout.sort_classes(classes)
    sets = np.random.default_rng(0).random((2, len(weights))) < 0.5
    words = layout.pack(sets)
    np.testing.assert_array_equal(moved.pack(sets), words[:, layout.words_of(classes)])
    np.testing.assert_array_equal(moved.row_mask, layout.row_mask[layout.words_of(classes)])
    np.testing.assert_array_equal(moved.unpack(moved.pack(sets)), sets)
    for place, a in enumerate(classes):
        of, own = moved.words(place), slice(*edges[a : a + 2])
        counted = count_bits(moved.pack(sets)[:, of], moved.weights[of])
        np.testing.assert_array_equal(counted, sets[:, own] @ weights[own])


def counted(seed, classes=None, columns=None):
    """Return the counts of a model, with classes and columns in another order."""
    rng = np.random.default_rng(seed)
    cells, numbers = rng.random((40, 6)) < 0.5, np.arange(40) % 3
    X = rng.random((6, 3)) < 0.4
    V = repair_alterations(X, rng.random((3, 6, 3)) < 0.4)
    Y = rng.random((40, 3)) < 0.5
    if classes is not None:
        numbers, V = inverse(classes)[numbers], V[classes]
    data = StackedMatrix.from_rows(cells, numbers, 3, keep_absent=True)
    model = BinaryModel(X, V, Y[data.order])
    item_of = data.item_of if columns is None else data.item_of[columns]
    return ItemCounts.of(BitMatrix(data.matrix, data.blocks, data.weights), model, item_of)


@pytest.mark.parametrize("seed", range(4))
def test_counts_of_items_move_with_classes_and_columns(seed):
    classes, columns = np.array([2, 0, 1]), np.random.default_rng(seed).permutation(6)
    plain = counted(seed)
    cases = [
        (Order(classes=classes), counted(seed, classes)),
        (Order(items=columns), counted(seed, None, columns)),
        (Order(items=columns, classes=classes), counted(seed, classes, columns)),
        (Order(), plain),
    ]
    for order, expected in cases:
        moved = plain.in_order(order)
        for name in ("item_of", "components", "alterations", "item_counts", "noise_counts", "hits"):
            np.testing.assert_array_equal(getattr(moved, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1, 5), (3, 0, 4), (2, 2, 0)])
def test_ranges_of_entries_are_where_they_are_listed(shape):
    c, r, n = shape
    rng = np.random.default_rng(sum(shape))
    components, alterations = rng.random((r, n)) < 0.5, rng.random((c, r, n)) < 0.3
    pattern, item, owner = entries(components, alterations)
    ranges = entry_ranges(components, alterations)
    assert ranges.shape == (r, c + 1, 2)
    for s in range(r):
        for part, cells in enumerate([components[s], *alterations[:, s]]):
            own = slice(*ranges[s, part])
            assert item[own].tolist() == np.flatnonzero(cells).tolist()
            assert set(pattern[own]) <= {s}
            assert set(owner[own]) <= {part - 1}
    assert len(item) == components.sum() + alterations.sum()


@pytest.mark.parametrize("seed", range(3))
def test_the_first_column_of_an_item_stands_for_all(seed):
    rng = np.random.default_rng(seed)
    item_of = np.concatenate([rng.permutation(5), rng.integers(-1, 5, 12)])
    plain = counted(0)
    counts = ItemCounts(
        item_of,
        *(getattr(plain, name)[..., :5] for name in ("components", "alterations", "item_counts", "noise_counts")),
        plain.hits,
    )
    first, weights = counts.distinct
    assert first.tolist() == [item_of.tolist().index(i) for i in range(5)]
    assert weights.tolist() == [(item_of == i).sum() for i in range(5)]
