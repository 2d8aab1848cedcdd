"""Encoders that turn a column into items: a row has at most one item of a column, or, with `AtLeast`, several.

An encoder returns the number of each row's item, -1 for none; with `AtLeast`, that of the last item.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from saltmine.arrays import Indices
from saltmine.names import quoted
from saltmine.nouns import counted

# Larger neighbouring whole numbers are the same floating-point number.
_MAX_INTEGER = 2**53
# Quantiles of more numbers are found from every second, third, ... of them.
_QUANTILE_SAMPLE = 10_000
# Values that make a column an item, and the value that stands for its absence.
_YES_NO = {"yes": "no", "y": "n", "true": "false", "t": "f", "present": "absent", "positive": "negative"}
_YES_NO |= {"ja": "nein", "oui": "non"}
# Other words for both in new data, in lower case; numbers as `number_text` writes them.
_USUAL_YES, _USUAL_NO = frozenset(["yes", "true", "1"]), frozenset(["no", "false", "0"])
# Values that are no numbers, as a share of the rows, in a column that is taken for one of numbers.
MOST_STRAY = 0.1
# What to do with a column that looks like the names of the rows, in Python and on the command line.
_LIKE_NAMES = "if it names the rows, make it the index, else drop the column"
_LIKE_NAMES_OPTIONS = "if it names the rows, name it with --row-names, else leave it out with --ignore"

Codes = NDArray[np.signedinteger[Any]]


class ColumnError(ValueError):
    """A column that cannot be items; the command line has other remedies than Python.

    Parameters
    ----------
    message : str
        What is wrong, and what to do in Python.
    on_command_line : str
        The same for the command line, where it has options for it.
    """

    def __init__(self, message: str, on_command_line: str = "") -> None:
        super().__init__(message)
        self.on_command_line = on_command_line or message


class Column:
    """A column of a table; its properties are computed once."""

    def __init__(self, values: pd.Series[Any], name: str) -> None:
        self.values = values
        self.name = name

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def missing(self) -> NDArray[np.bool_] | None:
        """Mask of the missing values; None if there are none."""
        if getattr(self.values.dtype, "kind", "O") in "biu" and isinstance(self.values.dtype, np.dtype):
            return None
        gaps = self.values.isna().to_numpy(dtype=bool)
        return gaps if gaps.any() else None

    @cached_property
    def is_numeric(self) -> bool:
        """Whether it holds numbers, or truth values with or without gaps."""
        if self.values.dtype == object:
            return pd.api.types.infer_dtype(self.values, skipna=True) == "boolean"
        return pd.api.types.is_numeric_dtype(self.values.dtype)

    @property
    def is_constant(self) -> bool:
        """Whether all of at least two rows have the same value, other than 0; missing values differ from all others."""
        if len(self) < 2 or self.missing is not None:
            return False
        if not self.is_numeric:
            return len(self.texts[1]) == 1
        first = self.numbers[0]
        # Most columns differ within their first values.
        return bool(first != 0 and (self.numbers[:100] == first).all() and (self.numbers == first).all())

    @cached_property
    def numbers(self) -> NDArray[Any]:
        """The values as numbers, NaN for missing ones."""
        if isinstance(self.values.dtype, np.dtype) and self.values.dtype.kind in "biuf":
            return self.values.to_numpy()
        try:
            return self.values.to_numpy(dtype=np.float64, na_value=np.nan)
        except (ValueError, TypeError):
            problem = f"Column {quoted(self.name)} holds text, but it held numbers when the preparation was fitted."
            raise ValueError(problem) from None

    @property
    def present(self) -> NDArray[Any]:
        """The numbers that are not missing."""
        return self.numbers if self.missing is None else self.numbers[~self.missing]

    @cached_property
    def texts(self) -> tuple[Indices, list[str]]:
        """The number of each row's value among the distinct values, -1 if missing, and the distinct values as text."""
        if isinstance(self.values.dtype, pd.StringDtype) and self.values.dtype.storage == "pyarrow":
            return _arrow_texts(self.values.array)
        numbers, distinct = pd.factorize(self.numbers if self.is_numeric else self.values)
        return numbers, [value_text(value) for value in distinct]

    @property
    def words(self) -> set[str]:
        """The distinct values in lower case."""
        return {_word(text) for text in self.texts[1]}


@dataclass(frozen=True)
class Encoder:
    """How a column is turned into items; by default the column itself is the only item."""

    column: str
    kind: ClassVar[str]

    @property
    def items(self) -> list[str]:
        """Names of the items."""
        return [self.column]

    def encode(self, column: Column) -> Codes:
        """Return the number of each row's item, -1 for none."""
        raise NotImplementedError  # each subclass has its own

    def warning(self, column: Column) -> str | None:
        """Return a sentence about values of new data that may be misread; None if there are none."""
        return None


@dataclass(frozen=True)
class Flag(Encoder):
    """A 0/1 column, which is an item itself."""

    kind = "flag"

    def encode(self, column: Column) -> Codes:
        """Return 0 for rows that have the item."""
        if not column.is_numeric and column.words <= _USUAL_YES | _USUAL_NO:
            return _codes_of_words(column, _USUAL_YES)
        numbers = column.numbers
        if not _is_flag(column.present):
            wrong = (numbers != 0) & (numbers != 1)
            row = int(np.flatnonzero(wrong if column.missing is None else wrong & ~column.missing)[0])
            problem = (
                f"Column {quoted(self.column)} holds {numbers[row]:g} in row {row}, but it was 0/1 when the preparation"
            )
            raise ValueError(f"{problem} was fitted; give it the same kind of values.")
        return np.where(numbers == 1, np.int8(0), np.int8(-1))


@dataclass(frozen=True)
class Values(Encoder):
    """A column of categories, with an item per value as in ``colour=red``."""

    values: tuple[str, ...]
    kind = "values"

    @property
    def items(self) -> list[str]:
        """Names of the items."""
        return [f"{self.column}={value}" for value in self.values]

    def encode(self, column: Column) -> Codes:
        """Return the number of each row's value; unknown values are no item."""
        numbers, distinct = column.texts
        known = {value: k for k, value in enumerate(self.values)}
        # If all values of a batch are numbers, "01" and "1.0" have been read as 1.
        as_numbers = {_normalized(value): k for value, k in known.items()}
        as_numbers = as_numbers if len(as_numbers) == len(known) else {}
        # The last entry is for the number -1, a missing value.
        codes = [known.get(value, as_numbers.get(_normalized(value), -1)) for value in distinct] + [-1]
        return np.array(codes, dtype=_smallest_type(len(self.values)))[numbers]


@dataclass(frozen=True)
class YesNo(Encoder):
    """A column of yes and no, which is an item itself."""

    yes: str
    kind = "yes-no"

    def encode(self, column: Column) -> Codes:
        """Return 0 for rows that have the item, in whatever case it is written."""
        return _codes_of_words(column, _USUAL_YES | {_word(self.yes)})

    def warning(self, column: Column) -> str | None:
        """Return a sentence about values that are neither yes nor no, which would be a no without a word."""
        no = _YES_NO.get(_word(self.yes), "no")
        known = _USUAL_YES | _USUAL_NO | {_word(self.yes), no}
        of_row, distinct = column.texts
        unknown = [k for k, text in enumerate(distinct) if _word(text) not in known]
        if not unknown:
            return None
        n_rows = int(np.isin(of_row, unknown).sum())
        more = f" (and {counted(len(unknown) - 1, 'other value')})" if len(unknown) > 1 else ""
        problem = f"{quoted(distinct[unknown[0]])}{more} in column {quoted(self.column)} was not in the fit"
        rows = f"{counted(n_rows, 'row')} {'has' if n_rows == 1 else 'have'}"
        return f"{problem}; {rows} no item of it, like {quoted(no)}."


@dataclass(frozen=True)
class Constant(Encoder):
    """A column with the same value in every row, which has no items."""

    kind = "constant"
    items: ClassVar[list[str]] = []

    def encode(self, column: Column) -> Codes:
        """Return -1 for every row."""
        return np.full(len(column), -1, dtype=np.int8)


@dataclass(frozen=True)
class Intervals(Encoder):
    """A numeric column that is cut at thresholds, as in ``age<30``, ``30<=age<60``, ``age>=60``."""

    thresholds: tuple[float, ...]
    kind = "intervals"

    @property
    def items(self) -> list[str]:
        """Names of the items."""
        cuts = [number_text(threshold) for threshold in self.thresholds]
        between = [f"{low}<={self.column}<{high}" for low, high in pairwise(cuts)]
        return [f"{self.column}<{cuts[0]}", *between, f"{self.column}>={cuts[-1]}"]

    def encode(self, column: Column) -> Codes:
        """Return the number of each row's interval."""
        codes = np.zeros(len(column.numbers), dtype=_smallest_type(len(self.thresholds) + 1))
        for threshold in self.thresholds:
            codes += column.numbers >= threshold
        if column.missing is not None:
            codes[column.missing] = -1
        return codes


@dataclass(frozen=True)
class AtLeast(Encoder):
    """A numeric column with an item per threshold, as ``age>=30``, ``age>=60``; a row of 70 years has both."""

    thresholds: tuple[float, ...]
    kind = "at-least"

    @property
    def items(self) -> list[str]:
        """Names of the items."""
        return [f"{self.column}>={number_text(threshold)}" for threshold in self.thresholds]

    def encode(self, column: Column) -> Codes:
        """Return the number of the last item of each row, which has all items before it too."""
        codes = Intervals(self.column, self.thresholds).encode(column)
        # An interval begins at the threshold before it; a missing value has no interval.
        return np.maximum(codes - 1, -1).astype(codes.dtype)

    def split(self, codes: Codes, with_missing: bool) -> list[Codes]:
        """Return a column of codes for every item: 0 for the rows that have it; the last one is for missing values."""
        n_items = len(self.thresholds)
        has = [(codes >= k) & (codes < n_items) for k in range(n_items)]
        has += [codes == n_items] if with_missing else []
        return [np.where(rows, np.int8(0), np.int8(-1)) for rows in has]


_ALL_ENCODERS = (Flag, YesNo, Values, Intervals, AtLeast, Constant)
_ENCODERS: dict[str, type[Encoder]] = {encoder.kind: encoder for encoder in _ALL_ENCODERS}


def encoder_from(plain: Mapping[str, Any]) -> Encoder:
    """Return the encoder with the kind and the fields of a dict; raise KeyError, TypeError or ValueError if invalid."""
    if plain["kind"] not in _ENCODERS:
        raise ValueError(f"there is no kind of column {plain['kind']!r}")
    encoder = _ENCODERS[plain["kind"]]
    given: dict[str, Any] = {field.name: plain[field.name] for field in fields(encoder)}
    for name, kind in (("values", str), ("thresholds", float)):
        if name in given:
            given[name] = tuple(kind(value) for value in given[name])
    return encoder(**given | {name: str(given[name]) for name in ("column", "yes") if name in given})


def choose_encoder(
    column: Column, bins: int, thresholds: list[float] | None, cut: type[Intervals] | type[AtLeast] = Intervals
) -> Encoder:
    """Return the encoder that fits a column; ``cut`` is that of numbers with many values."""
    name, dtype = column.name, column.values.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        problem = f"Column {quoted(name)} holds dates or times"
        problem += "; turn it into a number or a category first, such as the year, or"
        raise ColumnError(f"{problem} drop the column.", f"{problem} leave it out with --ignore.")
    if getattr(dtype, "kind", "O") == "c":
        raise ValueError(
            f"Column {quoted(name)} holds complex numbers. Complex data not supported; take their real parts."
        )
    if thresholds is not None:
        if not column.is_numeric:
            raise ValueError(f"Column {quoted(name)} has thresholds but holds text, not numbers; leave them out.")
        return cut(name, tuple(sorted({float(threshold) for threshold in thresholds})))
    if column.is_constant:
        return Constant(name)
    if not column.is_numeric:
        return _choose_values(column)
    numbers = column.present
    if _is_flag(numbers):
        return Flag(name)
    if pd.api.types.is_integer_dtype(dtype) and abs(column.values.dropna()).max() > _MAX_INTEGER:
        problem = f"Column {quoted(name)} holds whole numbers of more than 15 digits, which look like names"
        raise ColumnError(f"{problem}; {_LIKE_NAMES}.", f"{problem}; {_LIKE_NAMES_OPTIONS}.")
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(np.isinf(column.numbers))[0])
        raise ValueError(
            f"Column {quoted(name)} holds an infinite value (inf) in row {row}; replace it or drop the row."
        )
    # Most columns of many numbers have many among their first values, which takes less time than all of them.
    if len(np.unique(numbers[:100])) <= bins and len(distinct := np.unique(numbers)) <= bins:
        return Values(name, tuple(number_text(value) for value in distinct))
    return cut(name, quantile_cuts(numbers, bins))


def _reject_stray_text(column: Column) -> None:
    """Refuse a column of numbers in which a few values are no numbers, and name the first of them."""
    of_row, distinct = column.texts
    is_text = np.isnan(pd.to_numeric(pd.Series(distinct, dtype=object), errors="coerce").to_numpy(dtype=np.float64))
    stray = np.flatnonzero(is_text[of_row] & (of_row >= 0))
    if not 0 < len(stray) <= MOST_STRAY * len(of_row):
        return
    row = int(stray[0])
    problem = (
        f"Column {quoted(column.name)} holds numbers, but {quoted(distinct[of_row[row]])} in row {row}, counted from 0"
    )
    more = f" (and no number in {counted(len(stray) - 1, 'more row')})" if len(stray) > 1 else ""
    problem += f"{more}; correct it, leave it empty if it is missing, or"
    raise ColumnError(f"{problem} drop the column.", f"{problem} leave the column out with --ignore.")


def _choose_values(column: Column) -> Values | YesNo:
    _, distinct = column.texts
    words = {text.strip().lower() for text in distinct}
    yes = next((text for text in distinct if _YES_NO.get(text.strip().lower()) in words), None)
    if yes is not None and len(distinct) == 2:
        return YesNo(column.name, yes)
    present = int(column.values.count())
    if len(distinct) > max(20, present // 2):
        _reject_stray_text(column)
        problem = f"Column {quoted(column.name)} holds {len(distinct):,} different texts in {present:,} rows"
        problem += ", too many for categories;"
        raise ColumnError(f"{problem} {_LIKE_NAMES}.", f"{problem} {_LIKE_NAMES_OPTIONS}.")
    return Values(column.name, tuple(sorted(set(distinct))))


def _is_flag(numbers: NDArray[Any]) -> bool:
    if numbers.dtype.kind == "b" or not len(numbers):
        return True
    if numbers.dtype.kind in "iu":
        return bool(numbers.min() >= 0 and numbers.max() <= 1)
    # Most columns of other numbers are not 0/1 within their first values.
    return bool(np.isin(numbers[:100], (0, 1)).all() and ((numbers == 0) | (numbers == 1)).all())


def quantile_cuts(numbers: NDArray[Any], bins: int) -> tuple[float, ...]:
    """Return thresholds that cut the numbers into parts of about equal size, with as few digits as possible.

    Examples
    --------
    >>> import numpy as np
    >>> quantile_cuts(np.array([1.0, 2.0, 3.25, 4.7]), bins=2)
    (3.0,)
    >>> quantile_cuts(np.array([0, 0, 0, 0, 0, 0, 0, 9.0]), bins=4)
    (9.0,)
    """
    ordered = np.sort(numbers[:: max(1, len(numbers) // _QUANTILE_SAMPLE)])
    if ordered[0] == ordered[-1]:
        ordered = np.sort(numbers)
    begins = {int(np.searchsorted(ordered, ordered[len(ordered) * k // bins])) for k in range(1, bins)}
    # If most values are the smallest one, as in counts, cut between it and all others.
    begins = begins - {0} or {int(np.searchsorted(ordered, ordered[0], side="right"))}
    return tuple(sorted(_shortest_between(float(ordered[k - 1]), float(ordered[k])) for k in begins))


def _shortest_between(below: float, at: float) -> float:
    """Return the number with the fewest digits in (below, at], which cuts at the same place as ``at``."""
    for digits in range(17):
        number = float(f"{at:.{digits}e}")
        if below < number <= at:
            return number
    return at


def _arrow_texts(array: Any) -> tuple[Indices, list[str]]:
    """Return the number of each text of an Arrow array, and the distinct texts.

    Arrow, unlike pandas, does not hold the lock of the interpreter, so several columns are processed in parallel.
    """
    encoded = array.__arrow_array__().dictionary_encode().combine_chunks()
    numbers = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return numbers.astype(np.intp), encoded.dictionary.to_pylist()


def _smallest_type(n_items: int) -> type[np.signedinteger[Any]]:
    """Return the smallest type for the numbers of items and for -1."""
    return np.int8 if n_items < 127 else np.int32


def value_text(value: Any) -> str:
    """Return a value as it is written in the name of an item, for any type of column."""
    if isinstance(value, (bool, np.bool_, str)):
        return str(value)
    try:
        return number_text(float(value)) if isinstance(value, Real) else str(value)
    except OverflowError:  # a whole number of hundreds of digits
        return str(value)


def _word(text: str) -> str:
    """Return a text without differences of case and of the spaces around it, and a number as `number_text` does."""
    return _normalized(text.strip().lower())


def _codes_of_words(column: Column, yes: Set[str]) -> Codes:
    """Return 0 for rows whose value is one of some words, else -1."""
    of_row, distinct = column.texts
    # The last entry is for the number -1, a missing value.
    return np.array([0 if _word(text) in yes else -1 for text in distinct] + [-1], dtype=np.int8)[of_row]


def _normalized(text: str) -> str:
    """Return a text that is a number as `number_text` writes it, other texts unchanged."""
    try:
        return number_text(float(text))
    except (ValueError, OverflowError):
        return text


def number_text(number: float) -> str:
    """Return a number as text without superfluous digits.

    Examples
    --------
    >>> number_text(60.0), number_text(0.25), number_text(1e-7)
    ('60', '0.25', '1e-07')
    """
    number = float(number)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
