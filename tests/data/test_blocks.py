"""Blocks of rows and of columns: together they are the data, and each is as large as it may be."""

from itertools import pairwise

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from saltmine.data import blocks
from saltmine.data.blocks import column_sources, count_threads, read_rows, read_source, read_whole, row_sources
from saltmine.data.lazy import open_blocks
from saltmine.data.stacking import Labels

CELLS = np.random.default_rng(0).random((40, 12)) < 0.4
NUMBERS = np.arange(40) % 3
LABELS = Labels(NUMBERS, 3)


def lazily(cells):
    return open_blocks(da.from_array(cells, chunks=(9, 5)))


forms = pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lazily], ids=["dense", "sparse", "lazy"])


class Threads:
    """What is asked of a cluster: how many threads its workers have."""

    def __init__(self, *threads):
        self.threads = dict(enumerate(threads))

    def nthreads(self):
        return self.threads


class Here:
    """A cluster of this process: what is computed there is computed here."""

    def compute(self, tasks):
        return [task.compute(scheduler="sync") for task in tasks]

    def gather(self, found):
        return found


def dense(part):
    return part.toarray() if sp.issparse(part) else part


def test_threads_of_a_cluster_are_counted():
    assert count_threads(None) == 1
    assert count_threads(Threads(2, 3)) == 5
    assert count_threads(Threads()) == 1


@forms
@pytest.mark.parametrize("client", [None, Threads(2, 3)], ids=["no cluster", "five threads"])
def test_blocks_of_columns_are_the_data(form, client):
    sources = list(column_sources(form(CELLS), client, None))
    assert len(sources) >= count_threads(client)
    parts = [read_source(source) for source in sources]
    assert all(part.format == "csr" for part in parts if sp.issparse(part))
    assert any(map(sp.issparse, parts)) == (form is sp.csr_array)
    np.testing.assert_array_equal(np.hstack([dense(part) for part in parts]), CELLS)


@forms
@pytest.mark.parametrize("client", [None, Threads(2, 3)], ids=["no cluster", "five threads"])
def test_blocks_of_rows_are_the_data_with_its_classes(form, client):
    sources = row_sources(form(CELLS), LABELS, client, None, 3)
    assert len(sources) >= count_threads(client)
    parts = [read_source(source) for source in sources]
    np.testing.assert_array_equal(np.vstack([dense(part) for part, _ in parts]), CELLS)
    np.testing.assert_array_equal(np.concatenate([classes for _, classes in parts]), NUMBERS)
    assert {classes.dtype for _, classes in parts} == {np.dtype(np.uint8)}


def test_blocks_have_so_many_cells(monkeypatch):
    monkeypatch.setattr(blocks, "COLUMN_BLOCK_CELLS", 120)
    assert [part.shape for part in column_sources(CELLS, None, None)] == [(40, 3)] * 4
    monkeypatch.setattr(blocks, "ROW_BLOCK_CELLS", 120)
    monkeypatch.setattr(blocks, "ROWS_PER_CLASS", 0)
    assert [part.shape for part, _ in row_sources(CELLS, LABELS, None, None, 3)] == [(10, 12)] * 4
    # At least so many rows for every class that the search knows.
    monkeypatch.setattr(blocks, "ROWS_PER_CLASS", 10)
    assert [part.shape for part, _ in row_sources(CELLS, LABELS, None, None, 2)] == [(20, 12)] * 2


def test_class_numbers_travel_in_the_smallest_type():
    labels = Labels(np.arange(40) * 10, 400)
    [(_, classes)] = row_sources(CELLS, labels, None, None, 400)
    assert classes.dtype == np.uint16
    assert classes.tolist() == labels.numbers.tolist()


def test_entries_of_sparse_rows_may_be_in_any_order():
    data = sp.csr_array(CELLS)
    for begin, end in pairwise(data.indptr):
        data.indices[begin:end] = data.indices[begin:end][::-1].copy()
    data = sp.csr_array((data.data, data.indices, data.indptr), shape=data.shape)
    assert not data.has_sorted_indices
    parts = list(column_sources(data, Threads(2, 3), None))
    assert len(parts) >= 5
    np.testing.assert_array_equal(np.hstack([part.toarray() for part in parts]), CELLS)
    # What was given is as it was.
    assert not data.has_sorted_indices


def test_a_cluster_reads_the_same():
    data = lazily(CELLS * np.arange(12))
    np.testing.assert_array_equal(read_whole(data, 4.0, Here()), read_whole(data, 4.0))
    rows = np.array([30, 2, 2])
    np.testing.assert_array_equal(read_rows(data, rows, 4.0, Here()), read_rows(data, rows, 4.0))


@forms
def test_the_whole_is_read(form):
    whole = read_whole(form(CELLS), None)
    assert sp.issparse(whole) == (form is sp.csr_array)
    np.testing.assert_array_equal(dense(whole), CELLS)


def test_sparse_chunks_are_read_as_one_sparse_matrix():
    chunks = da.from_array(CELLS.astype(np.int8), chunks=(9, 5)).map_blocks(sp.csr_matrix)
    whole = read_whole(open_blocks(chunks), None)
    assert whole.format == "csr"
    np.testing.assert_array_equal(whole.toarray(), CELLS)


@forms
def test_values_are_cut_where_asked(form):
    counts = CELLS * np.arange(12)
    if form is lazily:
        np.testing.assert_array_equal(read_whole(form(counts), 4.0), counts > 4)
        parts = [read_source(source) for source in column_sources(form(counts), None, 4.0)]
        np.testing.assert_array_equal(np.hstack(parts), counts > 4)
        parts = [read_source(source)[0] for source in row_sources(form(counts), LABELS, None, 4.0, 3)]
        np.testing.assert_array_equal(np.vstack(parts), counts > 4)
        np.testing.assert_array_equal(read_rows(form(counts), np.array([30, 2]), 4.0), counts[[30, 2]] > 4)


@forms
@pytest.mark.parametrize("rows", [[5], [0, 39], [38, 3, 3, 17, 9], list(range(40))[::-1]])
def test_rows_are_read_in_the_order_that_is_asked_for(form, rows):
    found = read_rows(form(CELLS), np.array(rows), None)
    assert sp.issparse(found) == (form is sp.csr_array)
    np.testing.assert_array_equal(dense(found), CELLS[rows])


def test_only_chunks_with_such_rows_are_read():
    read = []

    def note(block, block_info=None):
        read.append(block_info[0]["chunk-location"][0])
        return block

    data = open_blocks(da.from_array(CELLS, chunks=(9, 12)).map_blocks(note, dtype=bool))
    np.testing.assert_array_equal(read_rows(data, np.array([20, 10]), None), CELLS[[20, 10]])
    assert sorted(read) == [1, 2]


def test_what_is_delayed_is_computed_and_the_rest_is_as_it_is():
    assert read_source(dask.delayed(sum)([1, 2])) == 3
    assert read_source(CELLS) is CELLS
