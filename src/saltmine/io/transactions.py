"""FIMI transactions: one per line, items separated by blanks."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np

from saltmine.io.files import ReadError, load_lines
from saltmine.io.labels import read_names, with_labels
from saltmine.io.limits import MAX_RATIO_OF_LISTS, TextCost
from saltmine.io.table import ColumnArg, PathArg, Table, matrix_of_ones
from saltmine.names import as_text

# Memory for a byte and a line: the text, its lines, and an item for every few bytes.
_COST = TextCost(byte=12, line=150, ratio=MAX_RATIO_OF_LISTS)


def read_dat(
    path: Path,
    *,
    labels: PathArg = None,
    target: ColumnArg = None,
    group: ColumnArg = None,
    items: PathArg = None,
    drop_unlabelled: bool = False,
) -> Table:
    """Read transactions; an empty line is a transaction without items, and an item repeated in a line counts once.

    Parameters
    ----------
    path : Path
        May be compressed.
    labels : path, optional
        File with the classes of the transactions.
    target, group : str or int, optional
        Columns of the label file.
    items : path, optional
        File with the names of the items, one per line: 0 in the data is the first of them, and so on. Without it the
        items have the names of the data and are sorted, numbers by their value.
    drop_unlabelled : bool
        Leave out rows without a class.
    """
    tokens: dict[str, int] = {}
    # Numbers in compact arrays: there may be a hundred million.
    found, lengths = array("i"), array("i")
    for line in load_lines(path, _COST):
        in_line = line.split()
        found.extend([tokens.setdefault(token, len(tokens)) for token in in_line])
        lengths.append(len(in_line))
    _check_items(lengths, tokens)
    if items is None:
        is_counted = all(_is_count(token) for token in tokens)
        names = as_text(sorted(tokens, key=lambda token: (int(token) if is_counted else 0, token)))
        column_of = {token: column for column, token in enumerate(names)}
    else:
        names = read_names(items)
        column_of = _numbered(tokens, found, lengths, items, len(names))
    columns = np.array([column_of[token] for token in tokens], dtype=np.intc)[np.asarray(found)]
    X = matrix_of_ones(np.repeat(np.arange(len(lengths), dtype=np.intc), lengths), columns, (len(lengths), len(names)))
    return with_labels(Table(X, item_names=names), labels, target, group, drop_unlabelled=drop_unlabelled)


def _check_items(lengths: array[int], tokens: dict[str, int]) -> None:
    if not lengths:
        raise ReadError("the file is empty; it should hold one transaction per line.")
    if not tokens:
        raise ReadError(f"there are {len(lengths)} transactions, but no items in them.")
    if max(lengths) == 1 and any("," in token or ";" in token for token in tokens):
        raise ReadError("the items seem to be separated by commas or semicolons; put blanks between them.")


def _numbered(
    tokens: dict[str, int], found: array[int], lengths: array[int], items: PathArg, n_names: int
) -> dict[str, int]:
    """Return the column of every token, which is a number."""
    for token in sorted(tokens):
        if not _is_count(token) or int(token) >= n_names:
            line = int(np.searchsorted(np.cumsum(lengths), found.index(tokens[token]), side="right")) + 1
            known = f"{items} has {n_names} names, for the items 0 to {n_names - 1}"
            remedy = "add its name, or read the data without names"
            raise ReadError(f"the item {token!r} has no name, because {known}; {remedy}.", line)
    return {token: int(token) for token in tokens}


def _is_count(token: str) -> bool:
    # Longer numbers are codes rather than counts, and Python refuses to parse very long ones.
    return token.isdecimal() and len(token) <= 18
