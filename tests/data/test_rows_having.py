"""Rows that have all or most of the items of a pattern, and how frequent what classes add is among them."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from saltmine.data.lazy import open_blocks
from saltmine.data.rows_having import ItemSets, count_having, count_having_in_memory
from tests.data.test_blocks import Here


@pytest.fixture
def cells():
    """Return rows, classes, patterns and what three classes add to them."""
    rng = np.random.default_rng(0)
    rows, components = rng.random((50, 12)) < 0.6, rng.random((4, 12)) < 0.4
    components[3] = False
    components[3, 5] = True
    alterations = (rng.random((3, 4, 12)) < 0.2) & ~components
    alterations[2, 0] = False
    return rows, rng.integers(3, size=50), components, alterations


def forms():
    yield "dense", np.asarray
    yield "sparse", sp.csr_array
    yield "lazy", lambda rows: open_blocks(da.from_array(rows, chunks=(13, 5)))


@pytest.mark.parametrize(("name", "form"), list(forms()), ids=[name for name, _ in forms()])
@pytest.mark.parametrize("few_rows", [1, 1000])
def test_rows_are_counted_as_one_by_one(name, form, few_rows, cells, monkeypatch):
    monkeypatch.setattr("saltmine.data.rows_having.PART_CELLS", 100)
    monkeypatch.setattr("saltmine.data.rows_having.FEW_ROWS", few_rows)
    monkeypatch.setattr("saltmine.data.lazy.BLOCK_BYTES", 100)
    rows, numbers, components, alterations = cells
    found = count_having(form(rows), ItemSets(components, alterations), numbers)
    enough = components.sum(axis=1) >= 2
    assert enough.tolist() == [True, True, True, False]
    for s in range(4):
        items = components[s] if enough[s] else components[s] | alterations[:, s].any(axis=0)
        has_most = rows[:, items].sum(axis=1) > items.sum() / 2
        for a in range(3):
            own = numbers == a
            assert found.all_items[a, s] == sum(row.all() for row in rows[own][:, items])
            assert found.most_items[a, s] == np.count_nonzero(has_most & own)
            looked_at = has_most if enough[s] else np.ones(50, dtype=bool)
            added = alterations[a, s]
            mine = rows[looked_at & own][:, added]
            np.testing.assert_allclose(found.added_shares[0, a, s], mine.mean() if mine.size else np.nan)
            others = [
                rows[looked_at & (numbers == b)][:, added & ~alterations[b, s]].ravel() for b in range(3) if b != a
            ]
            others = np.concatenate(others)
            np.testing.assert_allclose(found.added_shares[1, a, s], others.mean() if others.size else np.nan)


def test_without_patterns_there_is_nothing_to_count():
    nothing = ItemSets(np.zeros((0, 2), dtype=bool), np.zeros((1, 0, 2), dtype=bool))
    found = count_having(np.ones((3, 2), dtype=bool), nothing, np.zeros(3, dtype=int))
    assert [counts.shape for counts in found] == [(1, 0), (1, 0), (2, 1, 0), (2, 1, 0), (2, 1, 0)]


def test_items_that_stand_for_several_columns_count_as_these_do(cells):
    rows, numbers, components, alterations = cells
    weights = np.random.default_rng(1).integers(1, 4, rows.shape[1])
    columns = np.repeat(np.arange(rows.shape[1]), weights)
    whole = count_having(rows[:, columns], ItemSets(components[:, columns], alterations[:, :, columns]), numbers)
    folded = count_having(rows, ItemSets(components, alterations, weights), numbers)
    for found, expected in zip(folded, whole, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("few_rows", [1, 1000])
@pytest.mark.parametrize("client", [None, Here()], ids=["no cluster", "cluster"])
def test_values_are_cut_where_asked_wherever_they_are(few_rows, client, cells, monkeypatch):
    monkeypatch.setattr("saltmine.data.rows_having.FEW_ROWS", few_rows)
    monkeypatch.setattr("saltmine.data.lazy.BLOCK_BYTES", 100)
    rows, numbers, components, alterations = cells
    values = np.where(rows, 3, np.random.default_rng(0).integers(0, 3, rows.shape))
    lazy = open_blocks(da.from_array(values, chunks=(13, 5)))
    sets = ItemSets(components, alterations)
    for found, expected in zip(
        count_having(lazy, sets, numbers, 2.0, client), count_having(rows, sets, numbers), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_only_the_columns_that_are_asked_for_are_looked_at(form, cells, monkeypatch):
    monkeypatch.setattr("saltmine.data.rows_having.PART_CELLS", 100)
    rows, numbers, components, alterations = cells
    columns = np.array([7, 0, 3, 9, 1])
    sets = ItemSets(components[:, columns], alterations[:, :, columns])
    found = count_having_in_memory(form(rows), sets, numbers, columns)
    for one, two in zip(found, count_having(rows[:, columns], sets, numbers), strict=True):
        np.testing.assert_array_equal(one, two)
