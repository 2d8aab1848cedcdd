"""Data that stays where it is: dask arrays, zarr arrays and folders of files, cut into blocks that workers read.

Nothing here reads cells. Opening looks at shapes and headers, and cutting makes Dask's delayed objects, which give a
block of 0/1 when they are computed.
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

from saltmine.data.row_files import PlacedNames, RowFile, check_binary, open_folder
from saltmine.data.validation import BinaryMatrix
from saltmine.distributed.errors import needing

if TYPE_CHECKING:
    from dask.delayed import Delayed

#: How many bytes of input make a block, about.
BLOCK_BYTES = 128 << 20
# What a chunk of a sparse dask array weighs, for lack of a better guess: it does not say how many ones it stores.
_SPARSE_CHUNK_BYTES = 64 << 20


def is_lazy(X: Any) -> bool:
    """Tell whether data is read lazily: a dask or zarr array, or the path of a folder or a zarr array.

    Examples
    --------
    >>> is_lazy("."), is_lazy("genomes.zarr"), is_lazy("baskets.csv"), is_lazy([[0, 1]])
    (True, True, False, False)
    """
    if isinstance(X, (str, PathLike)):
        # What has no suffix may be a folder with a typing error, which is then told so.
        return Path(X).is_dir() or Path(X).suffix in ("", ".zarr")
    return _library_of(X) in ("dask", "zarr")


def _library_of(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


@dataclass(frozen=True)
class LazyMatrix:
    """Data that has not been read: what it looks like, and how to get at parts of it.

    Attributes
    ----------
    kind : str
        What it is, for messages.
    row_edges, column_edges : list of int
        Where the chunks that can be read on their own begin; at the end the number of rows or columns.
    chunk : callable
        ``chunk(i, j, binarize)`` returns the delayed 0/1 matrix of a chunk.
    n_bytes : int
        How much there is to read, about.
    item_names : ndarray or None
        What the columns are called.
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
        """Return where to cut the rows (axis 0) or the columns (axis 1) into blocks.

        There is a block for every thread at least, none is much larger than ``BLOCK_BYTES``, and they begin where
        chunks begin if that does not make them too different.
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
        from dask import delayed

        grid = [
            [self.chunk(i, j, binarize) for j in range(len(self.column_edges) - 1)]
            for i in range(len(self.row_edges) - 1)
        ]
        whole = [slice(0, length) for length in self.shape]
        blocks = []
        for begin, end in pairwise(edges):
            whole[axis] = slice(begin, end)
            rows, columns = _overlaps(self.row_edges, whole[0]), _overlaps(self.column_edges, whole[1])
            pieces = [[delayed(_take)(grid[i][j], part, other) for j, other in columns] for i, part in rows]
            blocks.append(delayed(_assembled)(pieces))
        return blocks


def open_blocks(X: Any) -> LazyMatrix:
    """Look at data that is read lazily, without reading its cells.

    Parameters
    ----------
    X : dask array, zarr array, or path
        Chunks of a dask array are numpy arrays or scipy sparse. A path leads to a zarr array or to a folder of .npz
        (sparse as scipy saves it, or one array) or .parquet files, each of which has some of the rows; their order is
        that of the sorted names.

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
    raise ValueError(
        f"X is a {type(X).__name__} of Dask; of its collections only arrays can be fitted, and "
        "X.to_dask_array(lengths=True) makes one of a table."
    )


def _is_zarr(path: str) -> bool:
    return Path(path).suffix == ".zarr" or any((Path(path) / name).exists() for name in ("zarr.json", ".zarray"))


def _zarr_as_dask(X: Any) -> Any:
    import dask.array as da
    import zarr

    if isinstance(X, (str, PathLike)):
        path = fspath(X)
        if "://" not in path:
            if not Path(path).exists():
                raise ValueError(f"There is no zarr array {path}; check the path.")
            path = str(Path(path).resolve())
        try:
            X = zarr.open(path, mode="r")
        except Exception as error:  # damaged metadata makes zarr raise nearly anything
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise ValueError(f"{path} is no zarr array or is damaged ({reason}); write it again.") from None
    if not isinstance(X, zarr.Array):
        names = ", ".join(sorted(X.array_keys())) or "none"
        raise ValueError(f"The zarr group {X.store_path} is no array; pass one of its arrays, which are: {names}.")
    # Chunks as large as Dask likes them, each made of whole chunks of zarr.
    return da.from_array(X, chunks="auto")


def _from_array(X: Any, kind: str) -> LazyMatrix:
    if X.ndim != 2:
        raise ValueError(f"The {kind} has {X.ndim} dimensions; a table has rows and columns, so two are needed.")
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise ValueError(f"The {kind} does not know the sizes of its chunks; call X.compute_chunk_sizes() first.")
    if 0 in X.shape:
        raise ValueError(f"The {kind} has {X.shape[0]} rows and {X.shape[1]} columns; at least one of each is needed.")
    if X.dtype.kind in "USTMm":
        raise ValueError(f"The {kind} holds {X.dtype.name}, not numbers; make it 0/1 first.")
    row_edges, column_edges = ([0, *np.cumsum(sizes).tolist()] for sizes in X.chunks)
    chunks = X.to_delayed()

    def chunk(i: int, j: int, binarize: float | None) -> Delayed:
        from dask import delayed

        names = PlacedNames(first_row=row_edges[i], first_column=column_edges[j])
        return delayed(check_binary)(chunks[i, j], binarize, names)

    n_bytes = X.nbytes if isinstance(X._meta, np.ndarray) else min(X.nbytes, X.npartitions * _SPARSE_CHUNK_BYTES)
    return LazyMatrix(kind, row_edges, column_edges, chunk, int(n_bytes))


def _from_files(files: list[RowFile]) -> LazyMatrix:
    row_edges = [0, *np.cumsum([file.n_rows for file in files]).tolist()]

    def chunk(i: int, j: int, binarize: float | None) -> Delayed:
        from dask import delayed

        return delayed(files[i].read)(binarize, row_edges[i])

    names = files[0].item_names
    n_bytes = sum(file.n_bytes for file in files)
    return LazyMatrix(f"folder of {files[0].kind} files", row_edges, [0, files[0].n_columns], chunk, n_bytes, names)


def _near_marks(length: int, count: int, marks: Sequence[int]) -> list[int]:
    """Cut ``length`` into about even parts, at a mark where one is within a quarter of a part.

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
    """Return which chunks a range touches, and what part of each it takes.

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


def _assembled(pieces: list[list[BinaryMatrix]]) -> BinaryMatrix:
    """Put pieces together; the block is sparse if one of them is."""
    if len(pieces) == len(pieces[0]) == 1:
        return pieces[0][0]
    if any(sp.issparse(piece) for row in pieces for piece in row):
        return sp.csr_array(sp.block_array([[sp.csr_array(piece) for piece in row] for row in pieces], dtype=np.int8))
    return np.block(pieces)
