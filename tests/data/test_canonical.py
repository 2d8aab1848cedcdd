from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.data import content_colours
from saltmine.data.canonical import Table, canonical_order
from saltmine.data.content_colours import OnePart, sort_by_content
from saltmine.data.order import Order, inverse

# ---------------------------------------------------------------------- data


def cycle(size):
    """Return rows of two items each that go round in a circle."""
    return np.eye(size, dtype=bool) | np.roll(np.eye(size, dtype=bool), 1, axis=1)


def beside(*parts):
    """Return data whose parts have no row and no item in common."""
    return sp.block_diag([part.astype(np.int8) for part in parts]).toarray().astype(bool)


def latin_square(square):
    """Return a row for every cell, which has its row, its column and its symbol."""
    size = len(square)
    cells = [(i, size + j, 2 * size + int(square[i][j])) for i, j in product(range(size), repeat=2)]
    rows = np.zeros((len(cells), 3 * size), dtype=bool)
    rows[np.arange(len(cells))[:, None], cells] = True
    return rows


RANDOM = np.random.default_rng(0).random((6, 5)) < 0.4
SYMMETRIC = {
    "identity": np.eye(9, dtype=bool),
    "large identity": np.eye(300, dtype=bool),
    "nothing": np.zeros((3, 4), dtype=bool),
    "everything": np.ones((3, 4), dtype=bool),
    "cycle": cycle(8),
    "cycles of several lengths": beside(*(cycle(size) for size in (3, 5, 4, 3, 7, 5))),
    "cyclic shifts": np.array([np.roll(np.arange(13) < 3, shift) for shift in range(13)]),
    "shifts of a difference set": np.array([np.roll(np.isin(np.arange(7), [0, 1, 3]), shift) for shift in range(7)]),
    "all combinations": np.array(list(product([0, 1], repeat=5)), dtype=bool),
    "all pairs": np.array([np.isin(np.arange(7), [a, b]) for a in range(7) for b in range(a)]),
    "the same twice": beside(RANDOM, RANDOM),
    "the same many times": beside(*[RANDOM] * 30),
    "linked twins": np.hstack([beside(RANDOM, RANDOM), np.ones((12, 1), dtype=bool)]),
    "identical rows that a column numbers": np.hstack([np.repeat(RANDOM, 3, axis=0), np.eye(18, dtype=bool)]),
    "Latin square of order 3": latin_square([[0, 1, 2], [1, 2, 0], [2, 0, 1]]),
}
# Regular, but not symmetric: which of the tied ones is singled out makes a difference.
LATIN_SQUARE = latin_square(
    [
        [0, 1, 2, 3, 4, 5],
        [1, 0, 3, 2, 5, 4],
        [2, 4, 0, 5, 1, 3],
        [3, 5, 4, 0, 2, 1],
        [4, 2, 5, 1, 3, 0],
        [5, 3, 1, 4, 0, 2],
    ]
)


def shuffled(matrix, numbers, rng):
    rows, items, classes = (rng.permutation(size) for size in (*matrix.shape, int(numbers.max()) + 1))
    return matrix[rows][:, items], classes[numbers[rows]], items


def sorted_data(matrix, numbers, **more):
    """Return the data in its canonical order, and the classes of the rows."""
    order = canonical_order(matrix, numbers, int(numbers.max()) + 1, **more)
    for places, size in ((order.rows, matrix.shape[0]), (order.items, matrix.shape[1])):
        np.testing.assert_array_equal(np.sort(places), np.arange(size))
    of_class = inverse(order.classes)[numbers[order.rows]]
    assert (np.diff(of_class) >= 0).all()
    return order.sort(matrix), of_class


# ---------------------------------------------------------------------- the same in any order


@st.composite
def tables(draw):
    """Draw a table with few different rows and columns, classes, groups, and another order of it all."""
    m, n, c = draw(st.integers(1, 9)), draw(st.integers(1, 6)), draw(st.integers(1, 3))
    cells = st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=m, max_size=m)
    numbers = np.array(draw(st.lists(st.integers(0, c - 1), min_size=m, max_size=m)))
    groups = np.unique(draw(st.lists(st.integers(0, 3), min_size=m, max_size=m)), return_inverse=True)[1]
    orders = [np.array(draw(st.permutations(range(size)))) for size in (m, n, c, int(groups.max()) + 1)]
    return np.array(draw(cells)), numbers, groups, orders


@pytest.mark.slow
@settings(deadline=None, max_examples=100, derandomize=True)
@given(tables())
def test_data_in_any_order_is_the_same(drawn):
    matrix, numbers, groups, (rows, items, classes, others) = drawn
    c, moved = len(classes), matrix[rows][:, items]
    order = canonical_order(matrix, numbers, c, groups)
    again = canonical_order(moved, classes[numbers[rows]], c, others[groups[rows]])
    np.testing.assert_array_equal(order.sort(matrix), again.sort(moved))
    new_classes = inverse(again.classes)[classes[numbers[rows]]][again.rows]
    np.testing.assert_array_equal(inverse(order.classes)[numbers][order.rows], new_classes)
    new_groups = again.sort_groups(others[groups[rows]])
    np.testing.assert_array_equal(order.sort_groups(groups), new_groups)


FORMS = {"dense": np.asarray, "by columns": np.asfortranarray, "sparse": sp.csr_array}
# What forms of data change is how rows and columns are gone through, for which a few are enough.
FEW = ("nothing", "cycle", "the same twice", "identical rows that a column numbers")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for form in FORMS for name in (SYMMETRIC if form == "dense" else FEW)]
)
def test_symmetric_data_in_any_order_is_the_same(name, form):
    matrix, rng = SYMMETRIC[name], np.random.default_rng(1)
    for numbers in (np.zeros(len(matrix), dtype=np.intp), np.arange(len(matrix)) % 2):
        expected, classes = sorted_data(matrix, numbers)
        for _ in range(4):
            moved, of_rows, _ = shuffled(matrix, numbers, rng)
            found, again = sorted_data(FORMS[form](moved), of_rows)
            np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, expected)
            np.testing.assert_array_equal(again, classes)


@pytest.mark.parametrize("name", [*SYMMETRIC, "Latin square"])
def test_names_decide_between_items_that_nothing_else_tells_apart(name):
    matrix, rng = SYMMETRIC.get(name, LATIN_SQUARE), np.random.default_rng(1)
    names, numbers = np.array([f"item {i}" for i in range(matrix.shape[1])]), np.zeros(len(matrix), dtype=np.intp)
    # Of identical items any may stand for the others.
    first = {column.tobytes(): name for column, name in zip(matrix.T[::-1], names[::-1], strict=True)}
    kinds = np.array([first[column.tobytes()] for column in matrix.T])
    order = canonical_order(matrix, numbers, 1, item_names=names)
    for _ in range(4):
        moved, _, items = shuffled(matrix, numbers, rng)
        again = canonical_order(moved, numbers, 1, item_names=names[items])
        np.testing.assert_array_equal(order.sort(matrix), again.sort(moved))
        assert kinds[items][again.items].tolist() == kinds[order.items].tolist()


def test_classes_with_the_same_rows():
    matrix, numbers = np.vstack([RANDOM, RANDOM]), np.repeat([0, 1], 6)
    for found, expected in zip(sorted_data(matrix, numbers), sorted_data(matrix, 1 - numbers), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_with_too_many_ties_names_decide(monkeypatch):
    monkeypatch.setattr(content_colours, "MAX_WORK", 0)
    rng, numbers = np.random.default_rng(1), np.zeros(7, dtype=np.intp)
    names = np.array(list("gfedcba"))
    for _ in range(4):
        moved, _, items = shuffled(cycle(7), numbers, rng)
        order = canonical_order(moved, numbers, 1, item_names=names[items])
        np.testing.assert_array_equal(
            order.sort(moved), canonical_order(cycle(7), numbers, 1, item_names=names).sort(cycle(7))
        )


class Unsplit(Table):
    """A table whose ties are solved as one part, as those of data in blocks are."""

    def split(self, tied, colours):
        return OnePart(self, tied, colours)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(SYMMETRIC) - {"large identity", "cycles of several lengths"}))
def test_ties_that_cannot_be_split(name):
    rng = np.random.default_rng(2)
    matrix = SYMMETRIC[name]

    def sort(cells):
        items, _ = sort_by_content(
            Unsplit(cells, [np.zeros(len(cells), dtype=np.intp)]), [cells.shape[1], 1], [None] * 2
        )
        moved = cells[:, items]
        return moved[np.lexsort(moved.T)]

    for _ in range(4):
        np.testing.assert_array_equal(sort(shuffled(matrix, np.zeros(len(matrix), int), rng)[0]), sort(matrix))


def test_ties_take_no_more_looks_than_they_may(monkeypatch):
    class Counted(Unsplit):
        looks = 0

        def look(self, colours):
            Counted.looks += 1
            return super().look(colours)

    def looks(budget):
        monkeypatch.setattr(content_colours, "MAX_WORK", budget * content_colours.LEAST_WORK)
        Counted.looks = 0
        items, _ = sort_by_content(Counted(np.eye(30, dtype=bool), [np.zeros(30, dtype=np.intp)]), [30, 1], [None] * 2)
        assert sorted(items.tolist()) == list(range(30))
        return Counted.looks

    # One item after the other is singled out; where the budget ends, their places decide.
    found = [looks(budget) for budget in (0, 5, 10, 20, 10**6)]
    assert found == sorted(found)
    assert found[0] < found[2] < found[-1] / 2


# ---------------------------------------------------------------------- weights, columns without ones, orders


def test_identical_rows_and_items_stand_together():
    rng = np.random.default_rng(0)
    matrix = (rng.random((12, 8)) < 0.4)[np.repeat(np.arange(12), 3)][:, np.repeat(np.arange(8), 2)]
    moved, numbers, _ = shuffled(matrix, np.arange(36) % 2, rng)
    cells, of_class = sorted_data(moved, numbers)
    for lines in (cells[of_class == 0], cells[of_class == 1], cells.T):
        changes = (lines[1:] != lines[:-1]).any(axis=1).sum()
        assert changes + 1 == len(np.unique(lines, axis=0))


def test_how_often_rows_and_items_occur_tells_them_apart():
    numbers, copies = np.zeros(6, dtype=np.intp), np.repeat(np.arange(3), [2, 1, 3])
    matrix = np.eye(3, dtype=bool)[copies]
    cells, _ = sorted_data(matrix, numbers)
    again, _ = sorted_data(matrix[::-1][:, [1, 0, 2]], numbers)
    np.testing.assert_array_equal(again, cells)
    # The same matrix of distinct rows in another order of the weights is other data.
    assert sorted(cells.sum(axis=0)) == [1, 2, 3]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_columns_without_ones_come_last_and_change_nothing(form):
    rng, numbers = np.random.default_rng(0), np.arange(30) % 2
    matrix = rng.random((30, 10)) < 0.3
    more = np.hstack([np.zeros((30, 2), dtype=bool), matrix, np.zeros((30, 1), dtype=bool)])
    plain, order = canonical_order(form(matrix), numbers, 2), canonical_order(form(more), numbers, 2)
    assert order.items[:10].tolist() == (plain.items + 2).tolist()
    np.testing.assert_array_equal(order.rows, plain.rows)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_there_and_back(form):
    rng = np.random.default_rng(0)
    matrix = rng.random((7, 5)) < 0.4
    order = Order(rows=rng.permutation(7), items=rng.permutation(5), classes=np.array([2, 0, 1]))
    there = order.sort(form(matrix))
    back = order.back.sort(there)
    there, back = (cells if isinstance(cells, np.ndarray) else cells.toarray() for cells in (there, back))
    np.testing.assert_array_equal(there, matrix[order.rows][:, order.items])
    np.testing.assert_array_equal(back, matrix)
    figures = rng.random((3, 2))
    np.testing.assert_array_equal(order.back.sort_classes(order.sort_classes(figures)), figures)
    np.testing.assert_array_equal(Order().sort(matrix), matrix)


def test_entries_of_sparse_rows_are_sorted():
    """Sums over a row are made in the order of its entries."""
    matrix = sp.csr_array(np.random.default_rng(0).random((9, 20)) < 0.5)
    order = canonical_order(matrix, np.zeros(9, dtype=np.intp), 1)
    moved = order.sort(matrix)
    for begin, end in pairwise(moved.indptr):
        assert (np.diff(moved.indices[begin:end]) > 0).all()
