"""What a reader returns, and the one kind of error that a file can cause."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.data.validation import as_text

if TYPE_CHECKING:
    import pandas as pd

#: Names of rows and items as text, by the name that readers know it under.
as_names = as_text

#: A 0/1 (or counted) matrix, dense or sparse, or a table whose columns `Prepare` has yet to turn into items.
Cells: TypeAlias = "pd.DataFrame | NDArray[Any] | sp.csr_array"

#: What the items are; the report draws words as clouds, loci on chromosomes and pixels as images.
ITEMS, WORDS, LOCI, PIXELS = "items", "words", "loci", "pixels"


class ReadError(ValueError):
    """A file that cannot be read as asked: one sentence that says what is wrong, where, and how to mend it."""


@dataclass(frozen=True, repr=False)
class Table:
    """The contents of a data file.

    Attributes
    ----------
    X : DataFrame, ndarray or CSR array, (m, n)
        The cells. Tables come as a DataFrame and may have columns that are not 0/1; `saltmine.Prepare` makes items of
        them. Everything else comes as a matrix, sparse where the file is.
    y : (m,) labels or None
        The class of every row, where the file or a label file beside it has one.
    row_names, item_names : arrays of text, or None
        Names of rows and columns, where there are any. Distinct.
    groups : (m,) array of text, or None
        What rows belong together, such as the patient that several samples come from.
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
        from saltmine.report.notebook import table_html

        return table_html(self)

    @property
    def frame(self) -> pd.DataFrame | None:
        """The cells where they are a DataFrame, None where they are a matrix."""
        import pandas as pd

        return self.X if isinstance(self.X, pd.DataFrame) else None


def demand_distinct(names: NDArray[Any], what: str, source: str) -> None:
    """Refuse names that occur twice; ``what`` is "columns", "rows" and so on."""
    seen: dict[Any, int] = {}
    for position, name in enumerate(names, start=1):
        if name in seen:
            raise ReadError(
                f"{source}: two {what} are called {name!r} ({seen[name]} and {position}); rename one of them."
            )
        seen[name] = position
