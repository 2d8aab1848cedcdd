"""FIMI transactions: one per line, items separated by blanks."""

from __future__ import annotations

from itertools import chain
from os import PathLike
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from saltmine.io.files import lines_of, read_text
from saltmine.io.sheets import labelled, read_names
from saltmine.io.table import ReadError, Table, as_names


def read_dat(
    path: Path,
    *,
    labels: str | PathLike[str] | None = None,
    target: str | int | None = None,
    group: str | int | None = None,
    items: str | PathLike[str] | None = None,
) -> Table:
    """Read transactions; an empty line is one without items, and an item that is repeated in a line counts once.

    Parameters
    ----------
    path : Path
        May be compressed.
    labels : path, optional
        File with the classes of the transactions.
    target, group : str or int, optional
        Columns of the label file.
    items : path, optional
        File with the names of the items, one per line: 0 in the data is the first of them, and so on. Without it items
        are called as in the data, and sorted, numbers by their value.
    """
    transactions = [line.split() for line in lines_of(read_text(path))]
    tokens = set(chain.from_iterable(transactions))
    _demand_items(path, transactions, tokens)
    if items is None:
        names = as_names(_sorted(tokens))
        column_of = {token: column for column, token in enumerate(names)}
    else:
        names = read_names(items)
        column_of = _numbered(path, transactions, tokens, items, len(names))
    table = Table(_matrix(transactions, column_of, len(names)), item_names=names)
    return labelled(table, path, labels, target, group)


def _demand_items(path: Path, transactions: list[list[str]], tokens: set[str]) -> None:
    if not transactions:
        raise ReadError(f"{path} is empty; it should hold a transaction per line.")
    if not tokens:
        raise ReadError(f"{path} has {len(transactions)} transactions, but no items in them.")
    if max(map(len, transactions)) == 1 and any("," in token or ";" in token for token in tokens):
        raise ReadError(f"{path} seems to separate items by commas or semicolons; put blanks between them.")


def _sorted(tokens: set[str]) -> list[str]:
    if all(_is_count(token) for token in tokens):
        return sorted(tokens, key=lambda token: (int(token), token))
    return sorted(tokens)


def _numbered(
    path: Path, transactions: list[list[str]], tokens: set[str], items: str | PathLike[str], n_names: int
) -> dict[str, int]:
    """Return the column of every token: the number that it is."""
    for token in sorted(tokens):
        if not _is_count(token) or int(token) >= n_names:
            line = next(number for number, found in enumerate(transactions, start=1) if token in found)
            raise ReadError(
                f"{path}, line {line}: the item {token!r} has no name, as {items} has {n_names} names, for the items 0 "
                f"to {n_names - 1}; add its name, or read the data without names."
            )
    return {token: int(token) for token in tokens}


def _is_count(token: str) -> bool:
    # Longer numbers are codes rather than counts, and Python refuses to read very long ones.
    return token.isdecimal() and len(token) <= 18


def _matrix(transactions: list[list[str]], column_of: dict[str, int], n_items: int) -> sp.csr_array:
    lengths = [len(transaction) for transaction in transactions]
    tokens = chain.from_iterable(transactions)
    columns = np.fromiter(map(column_of.__getitem__, tokens), dtype=np.int64, count=sum(lengths))
    rows = np.repeat(np.arange(len(transactions)), lengths)
    # Truth values, as those of a repeated item add up to one.
    ones = np.ones(len(rows), dtype=bool)
    return sp.csr_array((ones, (rows, columns)), shape=(len(transactions), n_items)).astype(np.int8)
