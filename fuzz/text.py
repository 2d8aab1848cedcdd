"""Changes of text files that keep them text: lines, fields, line ends, quotes; and of values in JSON."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

from fuzz.damage import NUMBERS, TEXTS, text_value, whole_number

_SEPARATORS = (b"\t", b",", b";", b" ")
_MAX_REPEATS = 300


def changed_lines(random: Random, data: bytes) -> bytes:
    r"""Return a table with changed lines or fields.

    Examples
    --------
    >>> changed_lines(Random(3), b"a,b\n1,0\n0,1\n") == changed_lines(Random(3), b"a,b\n1,0\n0,1\n")
    True
    """
    lines = data.split(b"\n")
    for _ in range(random.choice((1, 1, 2, 3))):
        random.choice(_LINE_CHANGES)(random, lines)
    data = b"\n".join(lines)
    return random.choice(_ENDINGS)(data) if random.random() < 0.15 else data


def _line(random: Random, lines: list[bytes]) -> int:
    # The header decides most, so it is chosen more often.
    return 0 if random.random() < 0.2 else random.randrange(len(lines))


def _delete_line(random: Random, lines: list[bytes]) -> None:
    if len(lines) > 1:
        del lines[_line(random, lines)]


def _copy_line(random: Random, lines: list[bytes]) -> None:
    lines.insert(_line(random, lines), lines[_line(random, lines)])


def _swap_lines(random: Random, lines: list[bytes]) -> None:
    one, two = _line(random, lines), _line(random, lines)
    lines[one], lines[two] = lines[two], lines[one]


def _insert_line(random: Random, lines: list[bytes]) -> None:
    lines.insert(_line(random, lines), random.choice((b"", b" ", b"#", b"# x", b"%", b"\t\t", b",,,", b'"', b"\r")))


def _few_lines(random: Random, lines: list[bytes]) -> None:
    del lines[random.randrange(len(lines)) :]
    lines.append(b"")


def _change_fields(change: Callable[[Random, list[bytes]], None]) -> Callable[[Random, list[bytes]], None]:
    def change_line(random: Random, lines: list[bytes]) -> None:
        number = _line(random, lines)
        separator = max(_SEPARATORS, key=lines[number].count)
        fields = lines[number].split(separator)
        change(random, fields)
        lines[number] = separator.join(fields)

    return change_line


def _set_field(random: Random, fields: list[bytes]) -> None:
    fields[random.randrange(len(fields))] = text_value(random).encode()


def _set_number(random: Random, fields: list[bytes]) -> None:
    fields[random.randrange(len(fields))] = random.choice(NUMBERS).encode()


def _delete_field(random: Random, fields: list[bytes]) -> None:
    del fields[random.randrange(len(fields))]


def _copy_field(random: Random, fields: list[bytes]) -> None:
    copies = 1 if random.random() < 0.9 else random.randrange(_MAX_REPEATS)
    fields[random.randrange(len(fields)) :] += [random.choice(fields)] * copies


def _same_field(random: Random, fields: list[bytes]) -> None:
    fields[random.randrange(len(fields))] = random.choice(fields)


def _swap_fields(random: Random, fields: list[bytes]) -> None:
    random.shuffle(fields)


def _quote_field(random: Random, fields: list[bytes]) -> None:
    number = random.randrange(len(fields))
    before, after = random.choice(((b'"', b'"'), (b'"', b""), (b"", b'"'), (b'" ', b' "'), (b"'", b"'"), (b" ", b" ")))
    fields[number] = before + fields[number] + after


def _set_column(random: Random, lines: list[bytes]) -> None:
    """Give one column the same kind of value in every line, so that columns as a whole are odd."""
    separator = max(_SEPARATORS, key=lines[0].count)
    column = random.randrange(lines[0].count(separator) + 1)
    value = text_value(random)
    for number in range(random.randrange(2), len(lines)):
        fields = lines[number].split(separator)
        if column < len(fields) and len(fields) > 1:
            fields[column] = (random.choice(NUMBERS) if random.random() < 0.2 else value).encode()
            lines[number] = separator.join(fields)


def _repeat_lines(random: Random, lines: list[bytes]) -> None:
    lines += lines[1:] * random.choice((1, 3, 20))


_LINE_CHANGES: list[Callable[[Random, list[bytes]], None]] = [
    *(_delete_line, _copy_line, _swap_lines, _insert_line, _few_lines, _set_column, _set_column, _repeat_lines),
    *map(_change_fields, (_set_field, _set_field, _set_number, _set_number, _delete_field, _copy_field)),
    *map(_change_fields, (_same_field, _swap_fields, _quote_field)),
]
_ENDINGS: list[Callable[[bytes], bytes]] = [
    lambda data: data.replace(b"\n", b"\r\n"),
    lambda data: data.replace(b"\n", b"\r"),
    lambda data: data.replace(b"\n", b"\r\n", 2),
    lambda data: data.replace(b"\n", b"\n\r"),
    lambda data: data.rstrip(b"\n"),
    lambda data: data + b"\n\n\n",
    lambda data: b"\xef\xbb\xbf" + data,
    lambda data: data.decode("utf-8", "replace").encode("utf-16"),
    lambda data: data.decode("utf-8", "replace").encode("latin-1", "replace"),
    lambda data: data.replace(b",", b";"),
    lambda data: data.replace(b"\t", b" "),
    lambda data: data.replace(b",", b"\t"),
]


# ---------------------------------------------------------------------- JSON


def changed_json_lines(random: Random, data: bytes) -> bytes:
    """Return lines of JSON with changed values, names or lines."""
    lines = data.split(b"\n")
    if random.random() < 0.25:
        return changed_lines(random, data)
    if random.random() < 0.03:
        lines[0] = deep_json(random)
        return b"\n".join(lines)
    for _ in range(random.choice((1, 1, 2, 4))):
        number = random.randrange(len(lines))
        if lines[number].startswith(b"{"):
            changed = changed_json(random, json.loads(lines[number]))
            lines[number] = as_json(random, changed).replace(b"\n", b" ")
    return b"\n".join(lines)


def as_json(random: Random, value: Any) -> bytes:
    """Return a value as JSON, with text as it is or escaped; broken code points are always escaped."""
    text = json.dumps(value, ensure_ascii=random.random() < 0.5)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def changed_json(random: Random, value: Any) -> Any:
    """Return a value of JSON with one change: at any depth, with equal chances for what is deep and what is not."""
    inner = _places(value)
    if not inner or random.random() < 0.02:
        return json_value(random)
    holder, key = random.choice(inner)
    how = random.random()
    if how < 0.12:
        del holder[key]
    elif how < 0.2 and isinstance(holder, dict):
        holder[random.choice((*TEXTS, *holder))] = holder.pop(key)
    elif how < 0.25 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif how < 0.32:
        holder[key] = copy.deepcopy(random.choice(inner)[0])
    elif how < 0.4:
        place, name = random.choice(inner)
        holder[key] = copy.deepcopy(place[name])
    elif isinstance(holder[key], (int, float)) and how < 0.7:
        holder[key] = random.choice((whole_number(random), float("nan"), 1e308, -1, 0, 0.5, True, 10**400))
    else:
        holder[key] = json_value(random)
    return value


def deep_json(random: Random) -> bytes:
    """Return JSON that is nested deeper than parsers go."""
    opening, closing = random.choice(((b"[", b"]"), (b'{"text":', b"}"), (b'{"label":[', b"]}")))
    depth = random.choice((300, 3000, 100_000))
    return opening * depth + b"1" + closing * (depth if random.random() < 0.5 else 0)


def json_value(random: Random) -> Any:
    """Return a value that another one is replaced by."""
    nested: Any = 1
    for _ in range(random.choice((3, 20, 60))):
        nested = [nested]
    return random.choice(
        (
            *(None, True, False, [], {}, "", 0, -1, 1.5, float("nan"), float("inf"), 10**400, nested),
            *(whole_number(random), text_value(random), "\ud800", "a\udfff", ["a"], {"a": 1}, [1, "a", None]),
        )
    )


def _places(value: Any, depth: int = 0) -> list[tuple[Any, Any]]:
    """Return every holder and key of a value in dictionaries and lists; of long lists, the ends."""
    found: list[tuple[Any, Any]] = []
    if depth > 20 or not isinstance(value, (dict, list)):
        return found
    keys = list(value) if isinstance(value, dict) else sorted({*range(len(value))[:3], *range(len(value))[-2:]})
    for key in keys:
        found += [(value, key), *_places(value[key], depth + 1)]
    return found
