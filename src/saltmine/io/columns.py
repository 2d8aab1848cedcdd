"""Tables whose columns have names: which of them is the class, the name of the row, the group, and which are data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saltmine.io.naming import no_such_column
from saltmine.io.sheets import labelled
from saltmine.io.table import ReadError, Table, as_names, demand_distinct

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Columns:
    """A table as it stands in a file.

    Attributes
    ----------
    path : Path
    frame : DataFrame
        All columns, called by text; `split` takes those out of it that are no data.
    place : callable
        Says where a row, counted from 0, stands in the file: "votes.csv, line 7".
    row_names : (m,) array or None
        Names of the rows that belong to no column, where they are distinct.
    """

    path: Path
    frame: pd.DataFrame
    place: Callable[[int], str]
    row_names: NDArray[Any] | None = None

    def split(
        self,
        *,
        target: str | int | None,
        row_names: str | None,
        group: str | int | None,
        labels: str | PathLike[str] | None,
    ) -> Table:
        """Separate classes, names and groups from the data; with a label file, ``target`` is a column of that."""
        asked = {"row_names": row_names}
        if labels is None:
            asked["target"] = None if target is None else str(target)
        if group is not None and (labels is None or str(group) in self.frame.columns):
            asked["group"] = str(group)
            group = None
        taken = self._take_all({what: name for what, name in asked.items() if name is not None})
        if self.frame.shape[1] == 0:
            raise ReadError(f"{self.path} has no columns besides the classes, names and groups of its rows; add items.")
        names = as_names(taken["row_names"]) if "row_names" in taken else self.row_names
        if names is not None:
            demand_distinct(names, "rows", str(self.path))
        groups = as_names(taken["group"]) if "group" in taken else None
        table = Table(self.frame, taken.get("target"), names, as_names(self.frame.columns), groups)
        return table if labels is None else labelled(table, self.path, labels, target, group)

    def _take_all(self, asked: dict[str, str]) -> dict[str, NDArray[Any]]:
        """Take columns out of the frame, each for one purpose."""
        used: dict[str, str] = {}
        for what, name in asked.items():
            if name not in self.frame.columns:
                raise no_such_column(self.path, name, self.frame.columns, what)
            if name in used:
                raise ReadError(
                    f"{self.path}: the column {name!r} cannot be both {used[name]} and {what}; name another."
                )
            used[name] = what
        words = {"target": "label", "row_names": "name of the row", "group": "group"}
        return {what: self._take(name, words[what]) for what, name in asked.items()}

    def _take(self, name: str, what: str) -> NDArray[Any]:
        """Take a column out of the frame: an array of numbers or of text, none of them missing."""
        column = self.frame.pop(name)
        missing = column.isna().to_numpy()
        if missing.any():
            place = self.place(int(missing.argmax()))
            raise ReadError(
                f"{place}: the {what} in column {name!r} is missing (empty or NA); add it or remove the row."
            )
        values = np.asarray(column)
        if values.dtype.kind in "biuf":
            return values
        return np.array([str(value) for value in values], dtype=str)
