"""The summary of a fitted model: its parts, and what they say in words."""

import numpy as np
import pytest

from saltmine import CSalt
from saltmine.fitted.model import specific_class
from saltmine.fitted.summary import ClassSummary, Part, PatternSummary, Summary, answer
from tests.helpers.report_models import baskets, baskets_model, planted_model


@pytest.fixture(scope="module")
def shops():
    return Summary(baskets_model())


def test_parts_hold_every_row_of_the_table_once(shops):
    entries = np.concatenate([part.entries for pattern in shops.patterns for part in pattern.parts])
    np.testing.assert_array_equal(np.sort(entries), np.arange(len(shops.table)))
    for pattern in shops.patterns:
        for part in pattern.parts:
            rows = shops.table.iloc[part.entries]
            assert set(rows["pattern"]) == {pattern.number}
            assert set(rows["role"]) == {shops.roles[part.role]}
            assert set(rows["kind"]) == {part.kind}
            assert rows["item"].tolist() == [shops.item_names[item] for item in part.items]


def test_a_pattern_belongs_to_the_class_that_alone_uses_it(shops):
    usage = shops.model.usage_counts_
    assert (specific_class(usage) >= 0).any()
    for pattern, owner in zip(shops.patterns, specific_class(usage), strict=True):
        assert pattern.specific_class == owner
        assert (pattern.kind == "only") == (owner >= 0)
        others = [count for a, count in enumerate(pattern.usage) if a != owner]
        assert not any(others) if owner >= 0 else sum(count > 0 for count in others) > 1


def test_parts_in_words(shops):
    texts = {shops.describe(part, 8): shops.describe(part, 2, brief=True) for p in shops.patterns for part in p.parts}
    added = next(text for text in texts if "coffee" in text)
    assert added in ("Trier adds: coffee, sugar", "Trier adds: sugar, coffee")
    assert texts[added] == added
    own = next(text for text in texts if "beer" in text)
    assert own.startswith("only in Mainz: ")
    assert texts[own].startswith("only Mainz: ")
    assert texts[own].endswith(" and 1 more")


def test_without_names_items_are_called_by_their_number():
    X, shop = baskets()
    summary = Summary(CSalt(random_state=0).fit(X.to_numpy(), shop))
    part = summary.patterns[0].parts[0]
    assert summary.describe(part, 1).startswith(f"item {part.items[0]}")
    assert summary.describe(part, 1, brief=True).startswith(f"{part.items[0]}")


def test_the_title_names_each_item_once():
    summary = Summary(planted_model(6, [30, 30, 30, 30], 40, size=2))
    for pattern in summary.patterns:
        items = [item for item, _ in pattern.title]
        assert len(items) == len(set(items)) <= 5
        assert summary.title(pattern) == ", ".join(summary.item_names[item] for item in items)


def _classes(*names):
    return [ClassSummary(name, name, rows=10, reached=5) for name in names]


def _pattern(kind, usage, *roles):
    owner = usage.index(max(usage)) if kind == "only" else -1
    parts = [Part(role, kind, np.arange(2), np.arange(2), 9.0, 9.0, None, unconfirmed=0) for role in roles]
    return PatternSummary(0, kind, owner, 2, usage, 9.0, 9.0, None, parts)


@pytest.mark.parametrize(
    ("names", "patterns", "expected"),
    [
        ("ab", [], "No pattern: nothing in these data occurs together more often than chance explains."),
        (
            ["all rows"],
            [_pattern("shared", [5], -1)] * 2,
            "2 patterns of items that occur together more often than chance explains; 50 % of the rows use some.",
        ),
        (
            ["Mainz", "3"],
            [_pattern("shared", [5, 5], -1), _pattern("only", [0, 2], 1)],
            "2 patterns: 1 is shared by both classes, 1 belongs to class 3 only; no class alters what is shared.",
        ),
        (["Mainz", "Trier"], [_pattern("only", [4, 0], 0)] * 2, "2 patterns: 2 belong to Mainz only."),
        (
            ["Mainz", "Trier", "Köln"],
            [_pattern("altered", [1, 1, 0], -1, 0), *[_pattern("altered", [1, 1, 1], -1, 0, 2)] * 2],
            "3 patterns: 2 are shared by all 3 classes, 1 is shared by some of the 3 classes; "
            "all shared ones are altered (3 by Mainz, 2 by Köln).",
        ),
        (
            ["u", "v", "w", "x", "y", "z"],
            [_pattern("only", np.eye(6, dtype=int)[k].tolist(), k) for k in range(6)],
            "6 patterns: 1 belongs to class u only, 1 belongs to class v only, 1 belongs to class w only, "
            "1 belongs to class x only, 2 belong to one of 2 other classes only.",
        ),
    ],
)
def test_the_answer_in_words(names, patterns, expected):
    assert answer(_classes(*names), patterns) == expected
