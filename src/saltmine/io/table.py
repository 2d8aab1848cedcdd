"""What a reader returns, and the names of its columns and loci."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from html import escape
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.files import ReadError

if TYPE_CHECKING:
    import pandas as pd

#: A matrix of 0/1 or counts, dense or sparse, or a table that `Prepare` turns into items.
Cells: TypeAlias = "pd.DataFrame | NDArray[Any] | sp.csr_array"

#: A file and a column, as options of readers.
PathArg: TypeAlias = "str | PathLike[str] | None"
ColumnArg: TypeAlias = "str | int | None"

#: What the items are; the report draws words as clouds, loci on chromosomes and pixels as images.
ITEMS, WORDS, LOCI, PIXELS = "items", "words", "loci", "pixels"

_MAX_COLUMNS_LISTED = 20
_MAX_ITEMS_LISTED = 10
_BARE_CHROMOSOME = re.compile(r"\d+|[XYM]|MT", re.IGNORECASE)


@dataclass(frozen=True, repr=False)
class Table:
    """The contents of a data file.

    Attributes
    ----------
    X : DataFrame, ndarray or CSR array, (m, n)
        The cells. Tables are a DataFrame and may have columns that are not 0/1; `saltmine.Prepare` turns them into
        items. All other files give a matrix, sparse if the file is sparse.
    y : (m,) labels or None
        The class of every row, if the file or a label file has it.
    row_names, item_names : arrays of text, or None
        Names of rows and columns, if there are any. Distinct.
    groups : (m,) array of text, or None
        Which rows belong together, for example the patient of each sample.
    kind : {"items", "words", "loci", "pixels"}
        What the items are.
    """

    X: Cells
    y: NDArray[Any] | None = None
    row_names: NDArray[Any] | None = None
    item_names: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    kind: str = ITEMS
    shape: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (int(self.X.shape[0]), int(self.X.shape[1])))

    def __repr__(self) -> str:
        classes = "" if self.y is None else f", {len(set(self.y.tolist()))} classes"
        return f"Table({self.shape[0]:,} rows, {self.shape[1]:,} {self.kind}{classes})"

    def _repr_html_(self) -> str:
        """Return size, classes and the first items; names come from data, so they are escaped."""
        facts = [f"{self.shape[0]:,} rows", f"{self.shape[1]:,} {self.kind}"]
        if self.y is not None:
            labels, counts = np.unique(self.y.astype(str), return_counts=True)
            sizes = (f"{label} ({count:,})" for label, count in zip(labels, counts, strict=True))
            facts.append("classes " + ", ".join(sizes))
        if self.item_names is not None:
            more = ", ..." if self.shape[1] > _MAX_ITEMS_LISTED else ""
            facts.append(", ".join(map(str, self.item_names[:_MAX_ITEMS_LISTED])) + more)
        return f"<div><b>Table</b>: {escape('; '.join(facts))}</div>"

    @property
    def frame(self) -> pd.DataFrame | None:
        """The cells if they are a DataFrame, None if they are a matrix."""
        return None if isinstance(self.X, np.ndarray) or sp.issparse(self.X) else self.X


def matrix_of_ones(rows: Any, columns: Any, shape: tuple[int, int]) -> sp.csr_array:
    """Return a matrix with a one in every given cell; a cell that is given twice counts once.

    Examples
    --------
    >>> matrix_of_ones([0, 1, 1], [2, 0, 0], (2, 3)).toarray().tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    X = sp.coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=shape).tocsr()
    X.data[:] = 1
    return X


def matrix_of_lists(columns: Sequence[Sequence[int]], n_columns: int) -> sp.csr_array:
    """Return a matrix with ones in the given columns of every row.

    Examples
    --------
    >>> matrix_of_lists([[2], [0, 0]], 3).toarray().tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    rows = np.repeat(np.arange(len(columns)), list(map(len, columns)))
    return matrix_of_ones(rows, list(chain.from_iterable(columns)), (len(columns), n_columns))


def locus_name(chromosome: str, position: int, reference: str, alternative: str) -> str:
    """Return the name of an alteration: its position and the alleles.

    Examples
    --------
    >>> locus_name("1", 173939653, "C", "T"), locus_name("chrX", 7, "A", "<DEL>")
    ('chr1:173939653 C>T', 'chrX:7 A><DEL>')
    """
    return f"{_chromosome_name(chromosome)}:{position} {reference}>{alternative}"


@lru_cache(maxsize=1024)
def _chromosome_name(name: str) -> str:
    # Some files write 1 where others write chr1; items of both should have the same names.
    return f"chr{name}" if _BARE_CHROMOSOME.fullmatch(name) else name


def no_such_column(path: PathArg, name: str | int, columns: Iterable[str], what: str) -> ReadError:
    """Return the error for a missing column: it lists the columns and suggests a similar one.

    Examples
    --------
    >>> from pathlib import Path
    >>> print(no_such_column(Path("cells.h5ad"), "tisue", ["tissue", "donor"], "target"))
    cells.h5ad: there is no column 'tisue' for target (did you mean 'tissue'?); the columns are tissue, donor.
    """
    columns = [str(column) for column in columns]
    listed = ", ".join(_abbreviated(column) for column in columns[:_MAX_COLUMNS_LISTED])
    by_lower = {column.lower(): column for column in columns}
    close = get_close_matches(str(name).lower(), by_lower, n=1)
    meant = f" (did you mean {by_lower[close[0]]!r}?)" if close else ""
    more = f" and {len(columns) - _MAX_COLUMNS_LISTED} more" if len(columns) > _MAX_COLUMNS_LISTED else ""
    problem = f"there is no column {str(name)!r} for {what}{meant}; the columns are {listed or 'none'}{more}."
    return ReadError(problem, path=path)


def _abbreviated(name: str) -> str:
    name = name if name.isprintable() else repr(name)
    return name if len(name) <= 40 else f"{name[:40]}..."
