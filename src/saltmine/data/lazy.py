"""Data that is read lazily: dask arrays, zarr arrays and folders of files, cut into blocks that workers read.

Nothing here reads cells. Opening reads shapes and headers; cutting makes delayed objects of Dask, each of which gives a
block of 0/1 when it is computed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.data.row_files import RowFile, check_binary, open_folder
from saltmine.data.validation import BinaryMatrix, TableNames
from saltmine.extras import needing
from saltmine.io.files import summary

if TYPE_CHECKING:
    from dask.delayed import Delayed

#: Approximate size of a block, in bytes of input.
BLOCK_BYTES = 128 << 20
# Assumed size of a chunk of a sparse dask array, which does not tell how many ones it stores.
_SPARSE_CHUNK_BYTES = 64 << 20


def is_lazy(X: Any) -> bool:
    """Return whether data is read lazily: a dask or zarr array, or the path of a folder or a zarr array.

    Examples
    --------
    >>> is_lazy("."), is_lazy("genomes.zarr"), is_lazy("baskets.csv"), is_lazy([[0, 1]])
    (True, True, False, False)
    """
    if isinstance(X, (str, PathLike)):
        # A path without suffix may be a misspelt folder, for which `open_blocks` has a message.
        return Path(X).is_dir() or Path(X).suffix in ("", ".zarr")
    return _library_of(X) in ("dask", "zarr")


def _library_of(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


@dataclass(frozen=True)
class LazyMatrix:
    """Data that has not been read: its shape, and how to read parts of it.

    Attributes
    ----------
    kind : str
        Name of the kind of data, for messages.
    row_edges, column_edges : list of int
        Where the separately readable chunks begin, followed by the number of rows or columns.
    chunk : callable
        ``chunk(i, j, binarize)`` returns the delayed 0/1 matrix of a chunk.
    n_bytes : int
        Approximate size of the input.
    item_names : ndarray or None
        Names of the columns.
    """

    kind: str
    row_edges: list[int]
    column_edges: list[int]
    chunk: Callable[[int, int, float | None], Delayed]
    n_bytes: int
    item_names: NDArray[Any] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of rows and of columns."""
        return self.row_edges[-1], self.column_edges[-1]

    def edges(self, axis: int, n_threads: int = 1) -> list[int]:
        """Return the edges of blocks of rows (axis 0) or columns (axis 1).

        There are at least as many blocks as threads, none is much larger than ``BLOCK_BYTES``, and they begin where
        chunks begin unless that makes their sizes too different.
        """
        length = self.shape[axis]
        count = min(length, max(n_threads, -(-self.n_bytes // BLOCK_BYTES)))
        return _near_marks(length, count, (self.row_edges, self.column_edges)[axis])

    def sources(self, axis: int, edges: Sequence[int], binarize: float | None = None) -> list[Delayed]:
        """Return the blocks between the edges, delayed: each is a boolean array or a CSR array of ones.

        Parameters
        ----------
        axis : 0 or 1
            Whether the edges cut the rows or the columns.
        edges : sequence of int
            From 0 to the number of rows or columns.
        binarize : float or None
            As in `saltmine.data.validation.as_binary`.
        """
        from dask import delayed  # an optional extra

        n_columns = len(self.column_edges) - 1
        grid = [[self.chunk(i, j, binarize) for j in range(n_columns)] for i in range(len(self.row_edges) - 1)]
        whole = [slice(0, length) for length in self.shape]
        blocks = []
        for begin, end in pairwise(edges):
            whole[axis] = slice(begin, end)
            rows, columns = _overlaps(self.row_edges, whole[0]), _overlaps(self.column_edges, whole[1])
            pieces = [[delayed(_take)(grid[i][j], part, other) for j, other in columns] for i, part in rows]
            blocks.append(delayed(_assemble)(pieces))
        return blocks


def open_blocks(X: Any) -> LazyMatrix:
    """Return lazily read data, without reading its cells.

    Parameters
    ----------
    X : dask array, zarr array, or path
        Chunks of a dask array are numpy arrays or scipy sparse. A path is that of a zarr array or of a folder of .npz
        (sparse as saved by scipy, or one array) or .parquet files, each with some of the rows, in the order of their
        sorted names.

    Examples
    --------
    >>> import dask.array as da
    >>> data = open_blocks(da.eye(6, chunks=2))
    >>> data.shape, data.edges(axis=0, n_threads=3)
    ((6, 6), [0, 2, 4, 6])
    >>> data.sources(axis=0, edges=[0, 1, 6])[0].compute()
    array([[ True, False, False, False, False, False]])
    """
    with needing("dask", "Data that is read lazily"):
        import dask.array as da

        if (isinstance(X, (str, PathLike)) and _is_zarr(fspath(X))) or _library_of(X) == "zarr":
            return _from_array(_zarr_as_dask(X), "zarr array")
    if isinstance(X, (str, PathLike)):
        return _from_files(open_folder(Path(X)))
    if isinstance(X, da.Array):
        return _from_array(X, "dask array")
    problem = f"X is a {type(X).__name__} of Dask, but only Dask arrays can be fitted"
    raise ValueError(f"{problem}; X.to_dask_array(lengths=True) turns a table into one.")


def _is_zarr(path: str) -> bool:
    return Path(path).suffix == ".zarr" or any((Path(path) / name).exists() for name in ("zarr.json", ".zarray"))


def _zarr_as_dask(X: Any) -> Any:
    import dask.array as da  # optional extras, as zarr; `open_blocks` says which are missing
    import zarr

    if isinstance(X, (str, PathLike)):
        path = fspath(X)
        if "://" not in path:
            if not Path(path).exists():
                raise ValueError(f"There is no zarr array {path}; check the path.")
            path = str(Path(path).resolve())
        try:
            X = zarr.open(path, mode="r")
        except Exception as error:  # zarr raises nearly every class of error for damaged metadata
            problem = f"{path} is not a valid zarr array, or it is damaged ({summary(error)})"
            raise ValueError(f"{problem}; write it again.") from None
    if not isinstance(X, zarr.Array):
        names = ", ".join(sorted(X.array_keys())) or "none"
        # Before version 3 of zarr, the store has the path.
        place = getattr(X, "store_path", None) or getattr(X.store, "path", X.name)
        raise ValueError(f"The zarr group {place} is not an array; pass one of its arrays, which are: {names}.")
    # Chunks of the size that Dask chooses, each of whole chunks of zarr.
    return da.from_array(X, chunks="auto")


def _from_array(X: Any, kind: str) -> LazyMatrix:
    if X.ndim != 2:
        raise ValueError(f"The {kind} has {X.ndim} dimensions; two are needed, rows and columns.")
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise ValueError(f"The {kind} does not know the sizes of its chunks; call X.compute_chunk_sizes() first.")
    if 0 in X.shape:
        raise ValueError(f"The {kind} has {X.shape[0]} rows and {X.shape[1]} columns; at least one of each is needed.")
    if X.dtype.kind in "USTMmV":
        raise ValueError(f"The {kind} holds {X.dtype.name}, not numbers; make it 0/1 first.")
    row_edges, column_edges = ([0, *np.cumsum(sizes).tolist()] for sizes in X.chunks)
    chunks = X.to_delayed()

    def chunk(i: int, j: int, binarize: float | None) -> Delayed:
        from dask import delayed  # an optional extra

        names = TableNames(first_row=row_edges[i], first_column=column_edges[j])
        shape = row_edges[i + 1] - row_edges[i], column_edges[j + 1] - column_edges[j]
        return delayed(_check_chunk)(chunks[i, j], shape, binarize, names)

    n_bytes = X.nbytes if isinstance(X._meta, np.ndarray) else min(X.nbytes, X.npartitions * _SPARSE_CHUNK_BYTES)
    return LazyMatrix(kind, row_edges, column_edges, chunk, int(n_bytes))


def _check_chunk(part: Any, shape: tuple[int, int], binarize: float | None, names: TableNames) -> BinaryMatrix:
    """Return a chunk as 0/1, after checking that it is as large as the array says."""
    if part.shape != shape:
        problem = f"The chunk at row {names.first_row} and column {names.first_column} has the shape {part.shape}"
        raise ValueError(f"{problem}, but the array says {shape}; make the array again with the right shape.")
    return check_binary(part, binarize, names)


def _from_files(files: list[RowFile]) -> LazyMatrix:
    row_edges = [0, *np.cumsum([file.n_rows for file in files]).tolist()]

    def chunk(i: int, j: int, binarize: float | None) -> Delayed:
        from dask import delayed  # an optional extra

        return delayed(files[i].read)(binarize, row_edges[i])

    names = files[0].item_names
    n_bytes = sum(file.n_bytes for file in files)
    return LazyMatrix(f"folder of {files[0].kind} files", row_edges, [0, files[0].n_columns], chunk, n_bytes, names)


def _near_marks(length: int, count: int, marks: Sequence[int]) -> list[int]:
    """Return the edges of about equal parts, moved to a mark if one is within a quarter of a part.

    Examples
    --------
    >>> _near_marks(100, 4, marks=[0, 10, 52, 78, 100]), _near_marks(5, 5, marks=[0, 5])
    ([0, 25, 52, 78, 100], [0, 1, 2, 3, 4, 5])
    """
    edges = [0]
    for part in range(1, count):
        even = length * part // count
        above = bisect_left(marks, even)
        mark = min(marks[above - 1 : above + 1], key=lambda mark: abs(mark - even))
        edges.append(mark if 4 * abs(mark - even) * count < length else even)
    return [*edges, length]


def _overlaps(edges: Sequence[int], wanted: slice) -> list[tuple[int, slice]]:
    """Return the chunks that overlap a range, each with its part in the range.

    Examples
    --------
    >>> _overlaps([0, 4, 4, 9], slice(2, 6))
    [(0, slice(2, 4, None)), (2, slice(0, 2, None))]
    """
    overlaps = []
    for number, (begin, end) in enumerate(pairwise(edges)):
        first, last = max(begin, wanted.start), min(end, wanted.stop)
        if first < last:
            overlaps.append((number, slice(first - begin, last - begin)))
    return overlaps


def _take(chunk: BinaryMatrix, rows: slice, columns: slice) -> BinaryMatrix:
    part = chunk[rows, columns]
    # A view would keep the whole chunk in memory.
    return part if part.shape == chunk.shape else part.copy()


def _assemble(pieces: list[list[BinaryMatrix]]) -> BinaryMatrix:
    """Return the pieces as one block, sparse if one of them is sparse."""
    if len(pieces) == len(pieces[0]) == 1:
        return pieces[0][0]
    if any(sp.issparse(piece) for row in pieces for piece in row):
        return sp.csr_array(sp.block_array([[sp.csr_array(piece) for piece in row] for row in pieces], dtype=np.int8))
    return np.block(pieces)
