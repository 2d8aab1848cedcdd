"""Checks of plain values from a file, field by field: type, range and length.

A schema says what a value has to be; ``check`` raises a `SchemaError` that names the field. Values are those of JSON:
texts, numbers, truth values, None, lists and dictionaries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from math import isfinite
from typing import Any

from saltmine.names import printable

# Digits of a whole number: more than a file ever needs, and few enough for every type.
_MAX_DIGITS = 20
# Characters of a value that an error shows, and names that it lists.
_SHOWN, _LISTED = 40, 10


class SchemaError(ValueError):
    """Raised for a field that is not what its schema says."""


class Schema:
    """What a value has to be: in words, and as a function that says whether it is."""

    def __init__(self, what: str, accepts: Callable[[Any], bool]) -> None:
        self.what, self.accepts = what, accepts

    def check(self, value: Any, where: str) -> None:
        """Raise an error that names the field ``where`` if the value is not what it has to be."""
        if not self.accepts(value):
            raise SchemaError(f"{where} is {_shown(value)}, not {self.what}")


def whole(least: int, most: int) -> Schema:
    """Return the schema of a whole number; truth values are none.

    Examples
    --------
    >>> whole(1, 9).check(True, "bins")
    Traceback (most recent call last):
    saltmine.fitted.schema.SchemaError: bins is True, not a whole number from 1 to 9
    """
    what = f"a whole number from {least} to {most}"
    return Schema(what, lambda value: type(value) is int and least <= value <= most)


def number(least: float, most: float, above: bool = False) -> Schema:
    """Return the schema of a finite number; with ``above`` it is larger than the least and smaller than the most."""
    what = f"a number {'between' if above else 'from'} {least:g} {'and' if above else 'to'} {most:g}"

    def accepts(value: Any) -> bool:
        if type(value) not in (int, float) or not isfinite(value):
            return False
        return bool(least < value < most) if above else bool(least <= value <= most)

    return Schema(what, accepts)


def flag() -> Schema:
    """Return the schema of a truth value."""
    return Schema("true or false", lambda value: type(value) is bool)


def choice(*values: str) -> Schema:
    """Return the schema of one of these texts."""
    what = " or ".join(map(repr, values)) if len(values) <= _LISTED else f"one of {len(values)} known names"
    return Schema(what, lambda value: type(value) is str and value in values)


def text(most: int, least: int = 0) -> Schema:
    """Return the schema of a text with so many characters, none of which is half of a surrogate pair."""
    return _Text(least, most)


def texts(most: int, least: int = 0) -> Schema:
    """Return the schema of a list of texts; there may be millions."""
    return _Texts(_Text(least, most))


def like(pattern: str, what: str) -> Schema:
    """Return the schema of a text that a regular expression describes."""
    return Schema(what, lambda value: type(value) is str and re.fullmatch(pattern, value) is not None)


def none_or(schema: Schema) -> Schema:
    """Return the schema of None, or of something else."""
    return _NoneOr(schema)


def either(*schemas: Schema) -> Schema:
    """Return the schema of a value that is one of several things."""
    what = " or ".join(schema.what for schema in schemas)
    return Schema(what, lambda value: any(schema.accepts(value) for schema in schemas))


def list_of(schema: Schema, least: int = 0, most: int | None = None) -> Schema:
    """Return the schema of a list whose values all have the same schema."""
    return _ListOf(schema, least, most)


def any_object() -> Schema:
    """Return the schema of a dictionary with any fields."""
    return Schema("an object", lambda value: type(value) is dict)


def record(fields: Mapping[str, Schema], optional: Collection[str] = ()) -> Schema:
    """Return the schema of a dictionary: every field has its own schema, and there are no others.

    Examples
    --------
    >>> record({"bins": whole(1, 9)}).check({"bins": 3, "depth": 4}, "preparation")
    Traceback (most recent call last):
    saltmine.fitted.schema.SchemaError: preparation.depth is not a field that model files have
    """
    return _Record(fields, optional)


def record_by(field: str, records: Mapping[str, Schema]) -> Schema:
    """Return the schema of a dictionary in which one field says what the others are."""
    return _RecordBy(field, records)


class _Text(Schema):
    def __init__(self, least: int, most: int) -> None:
        super().__init__(f"text of {least} to {most} characters", self._accepts)
        self.least, self.most = least, most

    def _accepts(self, value: Any) -> bool:
        return type(value) is str and self.least <= len(value) <= self.most and _is_encodable(value)

    def check(self, value: Any, where: str) -> None:
        if type(value) is str and not _is_encodable(value):
            raise SchemaError(f"{where} is {_shown(value)}, which holds half of a character (a surrogate)")
        super().check(value, where)


class _Texts(Schema):
    def __init__(self, text: _Text) -> None:
        super().__init__(f"a list: {text.what}", self._accepts)
        self._text = text

    def _accepts(self, values: Any) -> bool:
        # All at once, because there may be millions.
        if type(values) is not list or set(map(type, values)) - {str}:
            return False
        lengths, text = set(map(len, values)), self._text
        return (
            text.least <= min(lengths, default=text.least)
            and max(lengths, default=0) <= text.most
            and _is_encodable(*values)
        )

    def check(self, value: Any, where: str) -> None:
        if type(value) is list and not self.accepts(value):
            position = next(k for k, part in enumerate(value) if not self._text.accepts(part))
            self._text.check(value[position], f"{where}[{position}]")
        super().check(value, where)


class _NoneOr(Schema):
    def __init__(self, schema: Schema) -> None:
        super().__init__(f"{schema.what} or null", lambda value: value is None or schema.accepts(value))
        self._schema = schema

    def check(self, value: Any, where: str) -> None:
        if value is not None:
            self._schema.check(value, where)


class _ListOf(Schema):
    def __init__(self, schema: Schema, least: int, most: int | None) -> None:
        sizes = f" of at least {least}" if most is None else f" of {least} to {most}"
        super().__init__(f"a list{sizes if least or most else ''}: {schema.what}", self._accepts)
        self._schema, self._least, self._most = schema, least, most

    def _has_size(self, values: Any) -> bool:
        return type(values) is list and self._least <= len(values) and (self._most is None or len(values) <= self._most)

    def _accepts(self, values: Any) -> bool:
        return self._has_size(values) and all(map(self._schema.accepts, values))

    def check(self, value: Any, where: str) -> None:
        if not self._has_size(value):
            raise SchemaError(f"{where} is {_shown(value)}, not {self.what}")
        for position, part in enumerate(value):
            self._schema.check(part, f"{where}[{position}]")


class _Record(Schema):
    def __init__(self, fields: Mapping[str, Schema], optional: Collection[str]) -> None:
        super().__init__("an object", lambda value: type(value) is dict)
        self._fields, self._optional = fields, optional

    def check(self, value: Any, where: str) -> None:
        super().check(value, where)
        for name in value:
            if name not in self._fields:
                raise SchemaError(f"{_below(where, _short(name))} is not a field that model files have")
        for name, schema in self._fields.items():
            if name in value:
                schema.check(value[name], _below(where, name))
            elif name not in self._optional:
                raise SchemaError(f"{_below(where, name)} is missing")


class _RecordBy(Schema):
    def __init__(self, field: str, records: Mapping[str, Schema]) -> None:
        super().__init__("an object", lambda value: type(value) is dict)
        self._field, self._records = field, records

    def check(self, value: Any, where: str) -> None:
        super().check(value, where)
        if self._field not in value:
            raise SchemaError(f"{_below(where, self._field)} is missing")
        choice(*self._records).check(value[self._field], _below(where, self._field))
        others = {name: part for name, part in value.items() if name != self._field}
        self._records[value[self._field]].check(others, where)


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _is_encodable(*values: str) -> bool:
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: Any) -> str:
    """Return a value as part of an error; it may be of any size and type."""
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value):,}"
    return _short(repr(value))


def _short(text: str) -> str:
    # Half of a surrogate pair could not be printed, and a control character could do something.
    plain = printable(text[: _SHOWN + 1].encode(errors="backslashreplace").decode())
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}..."


# ---------------------------------------------------------------------- from text


def structure_bytes(text: bytes) -> int:
    """Return a bound on the memory that the values of a JSON text take, without making them.

    Every value is preceded by one of four marks, and takes its characters and a header.
    """
    return 4 * len(text) + 128 * sum(text.count(mark) for mark in (b",", b"[", b"{", b":"))


def parse(text: bytes) -> Any:
    """Return the values of a JSON text, which is stricter than Python: no NaN, no double fields, no endless numbers.

    Examples
    --------
    >>> parse(b'{"bins": 3, "bins": 4}')
    Traceback (most recent call last):
    saltmine.fitted.schema.SchemaError: it has the field bins twice
    """
    try:
        return json.loads(text.decode(), object_pairs_hook=_dictionary, parse_int=_whole, parse_constant=_constant)
    except SchemaError:
        raise
    except (ValueError, RecursionError):
        raise SchemaError("its header is not JSON") from None


def _dictionary(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen = set[str]()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise SchemaError(f"it has the field {_short(twice)} twice")
    return values


def _whole(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise SchemaError(f"it has a number of {len(digits):,} digits")
    return int(digits)


def _constant(name: str) -> Any:
    raise SchemaError(f"it has the value {name}, which is not a number")
