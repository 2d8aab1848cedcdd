"""What a reader returns, and the names of its columns and loci."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from html import escape
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.files import ReadError
from saltmine.names import quoted, shorten_message
from saltmine.nouns import counted

if TYPE_CHECKING:
    import pandas as pd

#: A matrix of 0/1 or counts, dense or sparse, or a table that `Prepare` turns into items.
Cells: TypeAlias = "pd.DataFrame | NDArray[Any] | sp.csr_array"

#: A file and a column, as options of readers.
PathArg: TypeAlias = "str | PathLike[str] | None"
ColumnArg: TypeAlias = "str | int | None"

#: What the items are; the report draws words as clouds, loci on chromosomes and pixels as images.
ITEMS, WORDS, LOCI, PIXELS = "items", "words", "loci", "pixels"

# How a missing value is written: as pandas reads it in tables, or a question mark. A class may be called "none".
_MISSING = frozenset(
    ["", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"]
)
#: The end of an error about a row without class.
DROP_UNLABELLED = "or leave such rows out with --drop-unlabelled (drop_unlabelled=True)"

_MAX_COLUMNS_LISTED = 20
_MAX_ITEMS_LISTED = 10


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
    group_name : str or None
        Name of the column of the groups, such as "patient", if it has one.
    notes : tuple of str
        What the reader left out or added, one sentence each.

    Examples
    --------
    >>> Table(np.eye(3, dtype=int), y=np.array(["a", "a", "b"]), item_names=np.array(["milk", "tea", "rice"]))
    Table(3 rows, 3 items, 2 classes)
    """

    X: Cells
    y: NDArray[Any] | None = None
    row_names: NDArray[Any] | None = None
    item_names: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    kind: str = ITEMS
    group_name: str | None = None
    notes: tuple[str, ...] = ()
    shape: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (int(self.X.shape[0]), int(self.X.shape[1])))
        # Notes may repeat names of the file, and a terminal obeys control characters.
        object.__setattr__(self, "notes", tuple(map(shorten_message, self.notes)))

    def __repr__(self) -> str:
        classes = "" if self.y is None else f", {counted(len(set(self.y.tolist())), 'class')}"
        return f"Table({counted(self.shape[0], 'row')}, {self.shape[1]:,} {self.kind}{classes})"

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
        """The cells if they are a DataFrame, None if they are a matrix.

        Examples
        --------
        >>> Table(np.eye(2, dtype=int)).frame is None
        True
        """
        return None if isinstance(self.X, np.ndarray) or sp.issparse(self.X) else self.X


def check_text(table: Table) -> None:
    """Refuse names and labels with half of a character, which can be neither printed nor written."""
    parts = {"class": table.y, "name": table.row_names, "group": table.groups, "item": table.item_names}
    for what, values in parts.items():
        if values is None or values.dtype.kind not in "OU":
            continue
        try:
            "".join(map(str, values.tolist())).encode()
        except UnicodeEncodeError:
            row = next(k for k, value in enumerate(values) if not _is_text(str(value)))
            place = f"column {row + 1}" if what == "item" else f"row {row + 1}"
            problem = f"the {what} {str(values[row])!a} has a broken character"
            raise ReadError(f"{problem}; write it again.", place) from None


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_missing(value: Any) -> bool:
    """Return whether a value of a label or a group says that there is none.

    Examples
    --------
    >>> is_missing(" NA"), is_missing("?"), is_missing(float("nan")), is_missing(None), is_missing("none")
    (True, True, True, True, False)
    """
    return value is None or value != value or (isinstance(value, str) and value.strip() in _MISSING)


def missing_mask(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values of an array of labels are missing."""
    if values.dtype.kind in "biu":
        return np.zeros(len(values), dtype=bool)
    return np.array([is_missing(value) for value in values.tolist()], dtype=bool)


def without_class(count: int) -> tuple[str, ...]:
    """Return the note about rows that were left out because they have no class."""
    return (f"Left out {counted(count, 'row')} without a class.",) if count else ()


def rows_of(X: Cells, rows: NDArray[np.intp]) -> Cells:
    """Return these rows of a table or matrix; -1, which comes last, is a row without items of a sparse matrix."""
    if np.array_equal(rows, np.arange(X.shape[0])):
        return X
    present = rows[rows >= 0]
    if not sp.issparse(X):
        return X[present] if isinstance(X, np.ndarray) else X.iloc[present].reset_index(drop=True)
    added = sp.csr_array((len(rows) - len(present), X.shape[1]), dtype=X.dtype)
    return sp.csr_array(sp.vstack([X[present], added]))


def kept_rows(names: NDArray[Any], table: Table) -> NDArray[np.intp]:
    """Return the numbers of those among all rows of a file, given by name, that are rows of the table."""
    kept = set() if table.row_names is None else set(table.row_names.tolist())
    return np.flatnonzero([name in kept for name in names.tolist()])


def drop_unlabelled_rows(table: Table) -> Table:
    """Return a table without the rows whose class is missing, and a note about them."""
    assert table.y is not None
    kept = np.flatnonzero(~missing_mask(table.y))
    if not len(kept):
        raise ReadError("no row has a class; check the column of the classes (target, --target).")
    notes = table.notes + without_class(table.shape[0] - len(kept))
    names, groups = (None if part is None else part[kept] for part in (table.row_names, table.groups))
    return replace(table, X=rows_of(table.X, kept), y=table.y[kept], row_names=names, groups=groups, notes=notes)


def drop_rare(table: Table, min_rows: int, option: str = "min_samples") -> Table:
    """Return a table without the items that fewer rows have, and a note about them; ``option`` is what the user set.

    Examples
    --------
    >>> table = Table(matrix_of_ones([0, 1, 1], [0, 0, 1], (2, 2)), item_names=np.array(["TP53", "KRAS"]))
    >>> table = drop_rare(table, 2)
    >>> table.item_names.tolist(), table.notes
    (['TP53'], ('Left out 1 item in fewer than 2 rows (min_samples, --min-samples).',))
    """
    if not table.shape[1]:
        return table
    flag = f"--{option.replace('_', '-')}"
    if isinstance(min_rows, bool) or not isinstance(min_rows, int) or min_rows < 1:
        raise ReadError(f"{option} is {min_rows!r}, but it must be a whole number of at least 1 ({flag}).")
    counts = np.asarray((sp.csr_array(table.X) != 0).sum(axis=0))
    keep = counts >= min_rows
    if keep.all():
        return table
    if not keep.any():
        most = int(counts.argmax())
        name = f"{table.item_names[most]!r}, " if table.item_names is not None else ""
        found = f"the most frequent, {name}is in {counts[most]} of {table.shape[0]}"
        remedy = f"so {option} ({flag}) can be at most {counts[most]}"
        raise ReadError(f"no item is in at least {min_rows} rows; {found}, {remedy}.")
    left_out = f"Left out {counted(int((~keep).sum()), 'item')} in fewer than {min_rows} rows ({option}, {flag})."
    notes = (left_out,) if min_rows > 1 else ()
    names = None if table.item_names is None else table.item_names[keep]
    return replace(table, X=sp.csr_array(table.X)[:, keep], item_names=names, notes=table.notes + notes)


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


def no_such_column(
    path: PathArg, name: str | int, columns: Iterable[str], what: str, n_columns: int | None = None
) -> ReadError:
    """Return the error for a missing column: it lists the columns and suggests a similar one.

    ``n_columns`` says how many there are if not all are given.

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
    meant = f" (did you mean {quoted(by_lower[close[0]])}?)" if close else ""
    n_more = (n_columns or len(columns)) - _MAX_COLUMNS_LISTED
    more = f" and {n_more} more" if n_more > 0 else ""
    problem = f"there is no column {quoted(str(name))} for {what}{meant}; the columns are {listed or 'none'}{more}."
    return ReadError(problem, path=path)


def _abbreviated(name: str) -> str:
    name = name if name.isprintable() else repr(name)
    return name if len(name) <= 40 else f"{name[:40]}..."
