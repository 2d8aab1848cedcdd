from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.data import lazy as inputs
from saltmine.data.lazy import is_lazy, open_blocks
from saltmine.data.validation import as_binary
from saltmine.distributed.connect import connect
from saltmine.distributed.executor import DaskExecutor
from saltmine.io import ReadError
from tests.helpers.blocks import Tally
from tests.helpers.lazy_data import KINDS, names_of, of_dask

N_ROWS, N_COLUMNS = 23, 17
CELLS = (np.random.default_rng(3).random((N_ROWS, N_COLUMNS)) < 0.3).astype(np.uint8)
NAMES = names_of(CELLS)
SPARSE = ("dask, sparse", "npz, sparse")


@pytest.fixture(params=KINDS)
def kind(request):
    """Every kind of input: tests that take it run once on each."""
    return request.param


@pytest.fixture
def lazy(kind, tmp_path):
    return KINDS[kind](CELLS, tmp_path)


def dense(block):
    return block.toarray() if sp.issparse(block) else block


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1])
def test_blocks_make_up_the_matrix(lazy, kind, axis):
    assert is_lazy(lazy)
    data = open_blocks(lazy)
    assert data.shape == CELLS.shape
    length = CELLS.shape[axis]
    for edges in ([0, length], [0, 1, length // 2, length], list(range(length + 1)), data.edges(axis, n_threads=3)):
        blocks = dask.compute(*data.sources(axis, edges), scheduler="sync")
        assert len(blocks) == len(edges) - 1
        for block in blocks:
            assert sp.issparse(block) == (kind in SPARSE)
            assert block.dtype == (np.int8 if sp.issparse(block) else bool)
            if sp.issparse(block):
                assert block.format == "csr"
                assert (block.data == 1).all()
        np.testing.assert_array_equal(np.concatenate([dense(block) for block in blocks], axis=axis), CELLS)


def test_names_come_from_parquet_only(lazy, kind):
    names = open_blocks(lazy).item_names
    assert (names is None) if kind != "parquet" else (names.tolist() == NAMES)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("value", [2, np.nan])
def test_values_other_than_0_and_1_are_told_as_for_the_whole_matrix(kind, tmp_path, axis, value):
    cells = CELLS.astype(np.float64)
    cells[15, 11] = value
    data = open_blocks(KINDS[kind](cells, tmp_path))
    with pytest.raises(ValueError, match=r"Column 11 holds .* in row 15") as wanted:
        as_binary(cells, None)
    with pytest.raises(ValueError, match=r"Column .* in row 15") as told:
        dask.compute(*data.sources(axis, data.edges(axis, n_threads=2)), scheduler="sync")
    name = "'item 11'" if kind == "parquet" else "11"
    assert str(told.value) == str(wanted.value).replace("Column 11", f"Column {name}")


def test_binarize(kind, tmp_path):
    counts = CELLS * np.arange(1, N_COLUMNS + 1, dtype=np.uint8)
    (block,) = dask.compute(*open_blocks(KINDS[kind](counts, tmp_path)).sources(0, [0, N_ROWS], binarize=4))
    np.testing.assert_array_equal(dense(block), counts > 4)


def test_a_missing_cell_of_parquet(tmp_path):
    pd.DataFrame({"hats": [True, None], "bags": [1, 0]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"Column 'hats' holds a missing value .* in row 1"):
        dask.compute(*open_blocks(tmp_path).sources(0, [0, 2]))


def test_masked_chunks_have_missing_values():
    masked = da.ma.masked_equal(da.from_array(CELLS, chunks=6), 1)
    with pytest.raises(ValueError, match="holds a missing value"):
        dask.compute(*open_blocks(masked).sources(0, [0, N_ROWS]))


def test_blocks_are_many_enough_and_small_enough(monkeypatch, lazy):
    data = open_blocks(lazy)
    for axis in (0, 1):
        for n_threads in (1, 2, 5, 1000):
            edges = data.edges(axis, n_threads)
            assert edges[0] == 0
            assert edges[-1] == data.shape[axis]
            assert (np.diff(edges) > 0).all()
            assert len(edges) - 1 == min(n_threads, data.shape[axis])
        monkeypatch.setattr(inputs, "BLOCK_BYTES", data.n_bytes // 4)
        assert len(data.edges(axis)) - 1 >= 4
        monkeypatch.undo()


def test_blocks_begin_where_chunks_begin():
    data = open_blocks(da.zeros((100, 8), chunks=((24, 1, 25, 27, 23), 8)))
    assert data.edges(0, n_threads=4) == [0, 25, 50, 77, 100]


def test_reading_is_left_to_the_workers(tmp_path, client):
    with connect(client) as client:
        for number, (kind, make) in enumerate(KINDS.items()):
            folder = tmp_path / str(number)
            folder.mkdir()
            data = open_blocks(make(CELLS, folder))
            with DaskExecutor(client, DenseTally, data.sources(1, data.edges(1, n_threads=2))) as executor:
                np.testing.assert_array_equal(np.hstack(executor.query(DenseTally.get)), CELLS, err_msg=kind)
        data = open_blocks(of_dask(CELLS * 2, tmp_path))
        with pytest.raises(ValueError, match=r"Column \d+ holds 2 in row \d+, which is neither 0 nor 1"):
            DaskExecutor(client, DenseTally, data.sources(0, data.edges(0, n_threads=2)))


class DenseTally(Tally):
    """Blocks of what a source gives, on a worker."""

    def __init__(self, source):
        super().__init__(dense(source))


def test_headers_tell_the_shape_without_the_cells(tmp_path):
    sp.save_npz(tmp_path / "a.npz", sp.eye_array(5000, 6000, format="csr"), compressed=False)
    damaged = bytearray((tmp_path / "a.npz").read_bytes())
    damaged[damaged.index(b"data.npy") + 20000] ^= 1
    (tmp_path / "a.npz").write_bytes(damaged)
    data = open_blocks(tmp_path)
    assert data.shape == (5000, 6000)
    with pytest.raises(ReadError, match=r"a\.npz: this is not a valid npz archive, or it is damaged \(Bad CRC"):
        dask.compute(*data.sources(0, [0, 5000]))


@pytest.mark.slow
def test_is_lazy_is_cheap_and_knows_what_is_not():
    for other in ([[0, 1]], CELLS, sp.csr_array(CELLS), pd.DataFrame(CELLS), "baskets.csv", Path("a.npz"), None):
        assert not is_lazy(other)
    code = "import sys; from saltmine.data.lazy import is_lazy; is_lazy('.'); print('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def save(path, rows=2, columns=3):
    if path.suffix == ".npz":
        sp.save_npz(path, sp.csr_array((rows, columns)))
    else:
        pd.DataFrame(np.zeros((rows, columns), int), columns=NAMES[:columns]).to_parquet(path)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_files_of_different_width(tmp_path, suffix):
    save(tmp_path / f"a{suffix}")
    save(tmp_path / f"b{suffix}", columns=4)
    with pytest.raises(ReadError, match=rf"a{suffix} has 3 columns and .*b{suffix} has 4; each file must have some"):
        open_blocks(tmp_path)


def test_files_with_other_columns(tmp_path):
    pd.DataFrame({"hats": [1], "bags": [0]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"hats": [1], "ties": [0]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ReadError, match=r"b\.parquet has no column 'bags', which .*a\.parquet has; all files must"):
        open_blocks(tmp_path)


def test_folders_that_are_no_data(tmp_path):
    with pytest.raises(ReadError, match=r"There is no folder .*nowhere; check the path"):
        open_blocks(tmp_path / "nowhere")
    with pytest.raises(ReadError, match=r"The folder .* is empty; \.npz or \.parquet files are needed"):
        open_blocks(tmp_path)
    (tmp_path / ".hidden").touch()
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(ReadError, match="is empty"):
        open_blocks(tmp_path)
    save(tmp_path / "a.npz")
    assert open_blocks(str(tmp_path)).shape == (2, 3)
    for other in ("b.parquet", "notes.txt"):
        (tmp_path / other).touch()
        with pytest.raises(ReadError, match=rf"\.npz or \.parquet files and nothing else, but it holds.*{other}"):
            open_blocks(tmp_path)
        (tmp_path / other).unlink()
    (tmp_path / "file").touch()
    with pytest.raises(ReadError, match=r"file is a file, not a folder of \.npz or \.parquet files; saltmine\.read"):
        open_blocks(tmp_path / "file")


@pytest.mark.parametrize(("name", "what"), [("a.npz", "npz archive"), ("a.parquet", "Parquet file")])
def test_broken_files(tmp_path, name, what):
    save(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    for broken in (whole[: len(whole) // 2], b"", b"not at all"):
        (tmp_path / name).write_bytes(broken)
        with pytest.raises(ReadError, match=rf"{name}: (this is )?not an? (valid )?{what}, or"):
            open_blocks(tmp_path)


def test_archives_without_one_matrix(tmp_path):
    np.savez(tmp_path / "a.npz", one=CELLS, two=CELLS)
    with pytest.raises(
        ReadError, match=r"a\.npz: there are 2 arrays with two dimensions \(the arrays are one, two\); save one"
    ):
        open_blocks(tmp_path)


def test_files_without_cells(tmp_path):
    save(tmp_path / "a.npz", rows=0)
    with pytest.raises(ReadError, match=r"The files of .* have no cells; at least one row and one column are needed"):
        open_blocks(tmp_path)


def test_columns_of_parquet_that_are_no_numbers(tmp_path):
    pd.DataFrame({"hats": [1], "city": ["Ulm"]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(
        ReadError, match=r"a\.parquet: the column 'city' holds .*string, not numbers; make it 0/1 first"
    ):
        open_blocks(tmp_path)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (da.ones(5), "The dask array has 1 dimensions; two are needed, rows and columns"),
        (da.ones((0, 5)), "The dask array has 0 rows and 5 columns; at least one of each is needed"),
        (da.from_array(np.full((2, 2), "yes")), "The dask array holds str96, not numbers; make it 0/1 first"),
        (da.ones((6, 2), chunks=3)[da.arange(6, chunks=3) > 2], r"sizes of its chunks; call X\.compute_chunk_sizes"),
        (dask.delayed(1), r"X is a Delayed\w* of Dask, but only Dask arrays can be fitted"),
    ],
)
def test_arrays_that_cannot_be_fitted(X, sentence):
    with pytest.raises(ValueError, match=sentence):
        open_blocks(X)


def test_zarr_that_cannot_be_fitted(tmp_path):
    with pytest.raises(ValueError, match=r"There is no zarr array .*none\.zarr; check the path"):
        open_blocks(tmp_path / "none.zarr")
    zarr.open_group(str(tmp_path / "group.zarr"), mode="w")
    zarr.open_array(str(tmp_path / "group.zarr" / "cells"), mode="w", shape=(2, 2), chunks=(2, 2), dtype="i1")
    with pytest.raises(ValueError, match=r"zarr group .*group\.zarr is not an array; pass one of its arrays.*: cells"):
        open_blocks(tmp_path / "group.zarr")
    (tmp_path / "broken.zarr").mkdir()
    (tmp_path / "broken.zarr" / "zarr.json").write_text("{")
    with pytest.raises(ValueError, match=r"broken\.zarr is not a valid zarr array, or it is damaged"):
        open_blocks(tmp_path / "broken.zarr")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hidden", "code", "sentence"),
    [
        (
            "distributed",
            "connect('tcp://host:8786').__enter__()",
            "A fit on a Dask cluster needs the library distributed",
        ),
        ("dask", "open_blocks('.')", "Data that is read lazily needs the library dask"),
        ("zarr", "open_blocks('cells.zarr')", "Data that is read lazily needs the library zarr"),
        ("pyarrow", "open_blocks('folder')", "A folder of Parquet files needs the library pyarrow"),
    ],
)
def test_libraries_that_are_not_installed(tmp_path, hidden, code, sentence):
    (tmp_path / "folder").mkdir()
    save(tmp_path / "folder" / "a.parquet")
    (tmp_path / "cells.zarr").mkdir()
    lines = [
        f"import sys; sys.modules[{hidden!r}] = None",
        "from saltmine.distributed.connect import connect",
        "from saltmine.data.lazy import open_blocks",
        code,
    ]
    run = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, cwd=tmp_path)
    extra = "parquet" if hidden == "pyarrow" else "dask"
    assert run.stderr.endswith(f"ImportError: {sentence}; pip install 'saltmine[{extra}]'.\n")


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 300), st.integers(1, 12), st.sets(st.integers(1, 299), max_size=20))
def test_edges_are_even_unless_a_chunk_begins_within_a_quarter_of_a_block(length, count, marks):
    count = min(count, length)
    marks = [0, *sorted(mark for mark in marks if mark < length), length]
    data = inputs.LazyMatrix("data", marks, [0, 1], None, 0)
    edges = data.edges(0, n_threads=count)
    assert len(edges) == count + 1
    assert (edges[0], edges[-1]) == (0, length)
    for part in range(1, count):
        even = length * part // count
        away = min(abs(mark - even) for mark in marks)
        if away < length / count / 4:
            assert edges[part] in marks
            assert abs(edges[part] - even) == away
        else:
            assert edges[part] == even


def test_two_columns_of_parquet_with_one_name(tmp_path):
    table = pa.table([[1, 0], [0, 1]], names=["hats", "hats"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ReadError, match=r"a\.parquet: 'hats' is the name of two columns \(1 and 2\)"):
        open_blocks(tmp_path)


def test_the_index_of_a_table_is_no_data_and_columns_may_be_in_any_order(tmp_path):
    first = pd.DataFrame({"hats": [1, 0], "bags": [0, 0]}, index=pd.Index([7, 9], name="customer"))
    second = pd.DataFrame({"bags": [1.0], "hats": [0.0]}, index=pd.Index([8], name="customer"))
    first.to_parquet(tmp_path / "a.parquet")
    second.to_parquet(tmp_path / "b.pq")
    data = open_blocks(tmp_path)
    assert data.item_names.tolist() == ["hats", "bags"]
    (block,) = dask.compute(*data.sources(0, [0, 3]), scheduler="sync")
    assert block.astype(int).tolist() == [[1, 0], [0, 0], [0, 1]]
    assert data.n_bytes == 6


def test_columns_of_parquet_may_be_truth_values_decimals_categories_or_empty(tmp_path):
    kinds = {
        "truth": pa.array([True, False]),
        "decimal": pa.array([Decimal(1), Decimal(0)], pa.decimal128(5, 0)),
        "category": pa.array([1, 0]).dictionary_encode(),
        "real": pa.array([1.0, 0.0], pa.float32()),
        "whole": pa.array([1, 0], pa.uint16()),
    }
    pq.write_table(pa.table(kinds), tmp_path / "a.parquet")
    (block,) = dask.compute(*open_blocks(tmp_path).sources(0, [0, 2]), scheduler="sync")
    assert block.tolist() == [[True] * 5, [False] * 5]
    pq.write_table(pa.table({"nothing": pa.nulls(2)}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"Column 'nothing' holds a missing value \(NaN\) in row 0"):
        dask.compute(*open_blocks(tmp_path).sources(0, [0, 2]), scheduler="sync")
    pq.write_table(pa.table({"text": pa.array(["a", "b"]).dictionary_encode()}), tmp_path / "a.parquet")
    with pytest.raises(ReadError, match=r"the column 'text' holds dictionary.*, not numbers"):
        open_blocks(tmp_path)


def test_files_that_change_between_opening_and_reading(tmp_path):
    np.savez(tmp_path / "a.npz", cells=CELLS, names=np.array(["a", "b"]))
    data = open_blocks(tmp_path)
    assert data.shape == CELLS.shape
    assert data.n_bytes == CELLS.nbytes + np.array(["a", "b"]).nbytes
    np.savez(tmp_path / "a.npz", cells=CELLS[:, 1:], names=np.array(["a", "b"]))
    with pytest.raises(ReadError, match=r"a\.npz: the file has changed since it was opened; open the folder again\.$"):
        dask.compute(*data.sources(0, [0, N_ROWS]), scheduler="sync")


def test_sizes_of_arrays_are_those_of_their_cells():
    cells = da.from_array(CELLS.astype(np.float64), chunks=6)
    assert open_blocks(cells).n_bytes == 8 * CELLS.size
    sparse = da.from_array(CELLS, chunks=6).map_blocks(sp.csr_matrix)
    # Not known: at most what all cells would take.
    assert open_blocks(sparse).n_bytes == CELLS.size


def test_parts_of_chunks_are_copies_and_whole_ones_are_not():
    chunk = CELLS.astype(bool)
    assert inputs._take(chunk, slice(0, N_ROWS), slice(0, N_COLUMNS)).base is chunk
    assert inputs._take(chunk, slice(1, 3), slice(0, N_COLUMNS)).base is None
