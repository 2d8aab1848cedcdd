"""Schemas of plain values: what they accept, and what they say of the rest."""

import json
import sys

import pytest

from saltmine.fitted.schema import (
    SchemaError,
    any_object,
    choice,
    either,
    flag,
    like,
    list_of,
    none_or,
    number,
    parse,
    record,
    record_by,
    structure_bytes,
    text,
    texts,
    whole,
)

ACCEPTED = [
    (whole(0, 5), [0, 5], [True, -1, 6, 1.0, "1", None, 10**30]),
    (number(0, 1), [0, 1, 0.5], [True, -0.1, 1.1, float("nan"), float("inf"), "0.5", None]),
    (number(0, 1, above=True), [0.5, 1e-300], [0, 1, 0.0, 1.0, False]),
    (flag(), [True, False], [0, 1, "true", None]),
    (choice("a", "b"), ["a", "b"], ["c", "", ["a"], None, 1]),
    (text(3, 1), ["a", "abc"], ["", "abcd", "\ud800", 1, None, b"a"]),
    (texts(3), [[], ["", "abc"]], [["abcd"], [1], "abc", None, ["a", "\udfff"], {"a": 1}]),
    (texts(3, 1), [["a"]], [["a", ""]]),
    (like("[a-z]+", "a word"), ["abc"], ["", "abc\n", "Abc", 3]),
    (none_or(flag()), [None, True], [0, "x"]),
    (either(flag(), whole(1, 2)), [True, 1], [0, 3, "x", 1.0]),
    (list_of(flag(), 1, 2), [[True], [True, False]], [[], [True] * 3, [1], "x", (True,)]),
    (any_object(), [{}, {"a": 1}], [[], None, "x"]),
    (record({"a": flag()}, optional=("a",)), [{}, {"a": True}], [{"a": 1}, {"b": True}, []]),
    (record({"a": flag()}), [{"a": True}], [{}, None]),
    (
        record_by("kind", {"x": record({}), "y": record({"a": flag()})}),
        [{"kind": "x"}],
        [{"kind": "y"}, {}, {"kind": 1}],
    ),
]


@pytest.mark.parametrize(("schema", "right", "wrong"), ACCEPTED, ids=[schema.what[:30] for schema, _, _ in ACCEPTED])
def test_schemas_accept_what_they_say_and_nothing_else(schema, right, wrong):
    for value in right:
        schema.check(value, "field")
    for value in wrong:
        with pytest.raises(SchemaError, match=r"^field") as error:
            schema.check(value, "field")
        assert len(str(error.value)) < 300


def test_errors_name_the_place_in_lists_and_records():
    schema = record({"columns": list_of(record({"bins": whole(1, 9)}))})
    with pytest.raises(SchemaError, match=r"^preparation\.columns\[1\]\.bins is 'x', not a whole number from 1 to 9$"):
        schema.check({"columns": [{"bins": 1}, {"bins": "x"}]}, "preparation")
    with pytest.raises(SchemaError, match=r"^columns\[0\]\.bins is missing$"):
        schema.check({"columns": [{}]}, "")


def test_errors_about_large_values_are_short():
    for value in ("x" * 10**6, [[]] * 10**5, {"y" * 10**6: 1}, {str(k): k for k in range(10**4)}):
        with pytest.raises(SchemaError) as error:
            record({"a": flag()}).check(value, "field")
        assert len(str(error.value)) < 150


@pytest.mark.parametrize(
    "value",
    [
        [[]] * 1000,
        [{}] * 1000,
        [{"a": 1}] * 1000,
        {f"k{k}": k for k in range(1000)},
        ["some text"] * 1000,
        list(range(1000, 3000)),
        [1.5] * 1000,
        ["ü" * 50] * 100,
    ],
    ids=lambda value: str(value)[:20],
)
def test_values_take_no_more_memory_than_their_text_tells(value):
    def size(part):
        inner = [*part.keys(), *part.values()] if isinstance(part, dict) else part if isinstance(part, list) else ()
        return sys.getsizeof(part) + sum(map(size, inner))

    text = json.dumps(value).encode()
    assert size(parse(text)) <= structure_bytes(text)
