"""The summary of a fitted model: its parts, and what they say in words."""

import numpy as np
import pytest

from saltmine import CSalt
from saltmine.fitted.kinds import class_kinds
from saltmine.fitted.summary import ClassSummary, Part, PatternSummary, Summary, answer
from tests.helpers.report_models import baskets, baskets_model, owned_by_two, planted_model


@pytest.fixture(scope="module")
def shops():
    return Summary(baskets_model())


@pytest.mark.parametrize("make", [baskets_model, owned_by_two])
def test_parts_hold_every_row_of_the_table_once(make):
    summary = Summary(make())
    entries = np.concatenate([part.entries for pattern in summary.patterns for part in pattern.parts])
    np.testing.assert_array_equal(np.sort(entries), np.arange(len(summary.table)))
    for pattern in summary.patterns:
        for part in pattern.parts:
            rows = summary.table.iloc[part.entries]
            assert set(rows["pattern"]) == {pattern.number}
            assert set(rows["role"]) == {summary.roles[part.role]}
            assert set(rows["kind"]) == {part.kind}
            assert rows["item"].tolist() == [summary.item_names[item] for item in part.items]


def test_owners_and_alterations_are_those_of_the_model(shops):
    kinds = class_kinds(shops.model)
    assert (kinds != "").any()
    for s, pattern in enumerate(shops.patterns):
        assert dict(pattern.owners) == {a: kind for a, kind in enumerate(kinds[:, s]) if kind}
        assert pattern.altered_by == np.flatnonzero(shops.model.alterations_[:, s].any(axis=1)).tolist()
        assert pattern.kind == next((kind for _, kind in pattern.owners), "shared")


def test_parts_have_the_figures_of_what_they_claim(shops):
    model = shops.model
    for pattern in shops.patterns:
        for part in pattern.parts:
            tests = model.alteration_q_values_ if part.kind == "added" else model.use_q_values_
            if part.role < 0:
                assert part.q_value is None
            else:
                assert part.q_value == pytest.approx(tests[part.role, pattern.number], rel=0.01)


def test_parts_in_words(shops):
    texts = dict(
        text
        for pattern in shops.patterns
        for text in zip(_texts(shops, pattern, 8), _texts(shops, pattern, 2, brief=True), strict=True)
    )
    added = next(text for text in texts if "coffee" in text)
    assert added in ("Trier adds: coffee, sugar", "Trier adds: sugar, coffee")
    assert texts[added] == added
    own = next(text for text in texts if "beer" in text)
    assert own.startswith("only Mainz: ")
    assert texts[own].startswith("only Mainz: ")
    assert texts[own].endswith(" and 1 more")


def _texts(summary, pattern, *arguments, **options):
    return [text for _, text in summary.describe(pattern, *arguments, **options)]


def test_items_of_several_classes_are_named_once():
    summary = Summary(owned_by_two())
    pattern = next(pattern for pattern in summary.patterns if len(pattern.owners) > 1)
    assert pattern.owners == [(0, "mostly"), (1, "mostly")]
    ((role, text),) = summary.describe(pattern, 2)
    assert role == -1
    assert text.startswith("mostly class a, class b: ")


def test_without_names_items_are_called_by_their_number():
    X, shop = baskets()
    summary = Summary(CSalt(random_state=0).fit(X.to_numpy(), shop))
    pattern = next(pattern for pattern in summary.patterns if pattern.kind == "shared")
    item = pattern.parts[0].items[0]
    assert _texts(summary, pattern, 1)[0].startswith(f"item {item}")
    assert _texts(summary, pattern, 1, brief=True)[0].startswith(f"{item}")


def test_the_title_names_each_item_once():
    summary = Summary(planted_model(6, [30, 30, 30, 30], 40, size=2))
    for pattern in summary.patterns:
        items = [item for item, _ in pattern.title]
        assert len(items) == len(set(items)) <= 5
        assert summary.title(pattern) == ", ".join(summary.item_names[item] for item in items)


def _classes(*names):
    return [ClassSummary(name, name, rows=10, reached=5) for name in names]


def _pattern(usage, *owners, altered_by=()):
    role, kind = owners[0] if owners else (-1, "shared")
    parts = [Part(role, kind, np.arange(2), np.arange(2), 9.0, 9.0, None, None, None)]
    return PatternSummary(0, list(owners), list(altered_by), 2, usage, 9.0, 9.0, None, parts)


TOGETHER = "that items occur together more often than the sizes of rows and the frequencies of items explain"


@pytest.mark.parametrize(
    ("names", "patterns", "expected"),
    [
        (
            "ab",
            [],
            f"No pattern was found: nothing shows {TOGETHER}, nor that classes differ in the use of any items.",
        ),
        (["all rows"], [], f"No pattern was found: nothing shows {TOGETHER}."),
        (
            ["all rows"],
            [_pattern([5])] * 2,
            "2 patterns of items that occur together more often than chance explains; 50 % of the rows use some.",
        ),
        (
            ["Mainz", "3"],
            [_pattern([5, 5]), _pattern([0, 2], (1, "only"))],
            "2 patterns: 1 is shared by both classes, 1 is only in class 3; no class adds items.",
        ),
        # A pattern that a class does not use is shared as long as no difference is shown, but not "by" that class.
        (
            ["Mainz", "Trier"],
            [_pattern([5, 0], altered_by=[0])],
            "1 pattern: 1 is shared; Mainz adds items to it.",
        ),
        (
            ["Mainz", "Trier"],
            [*[_pattern([4, 0], (0, "only"))] * 2, _pattern([4, 1], (0, "mostly"))],
            "3 patterns: 2 are only in Mainz, 1 is mostly in Mainz; no class adds items.",
        ),
        (
            ["Mainz", "Trier", "Köln"],
            [_pattern([1, 1, 0], (0, "mostly"), (1, "mostly")), *[_pattern([1, 1, 1], altered_by=[0, 2])] * 2],
            "3 patterns: 2 are shared by all 3 classes, 1 is mostly in some of the 3 classes; "
            "Mainz adds items to 2 of them, Köln to 2.",
        ),
        (
            ["u", "v", "w", "x", "y", "z"],
            [_pattern(np.eye(6, dtype=int)[k].tolist(), (k, "only"), altered_by=[k]) for k in range(6)],
            "6 patterns: 1 is only in class u, 1 is only in class v, 1 is only in class w, 1 is only in class x, "
            "2 are only in another class; 6 classes add items to 6 of them.",
        ),
    ],
)
def test_the_answer_in_words(names, patterns, expected):
    assert answer(_classes(*names), patterns) == expected


def test_the_answer_of_methods_that_test_nothing():
    weak = PatternSummary(0, [], [], 2, [5, 5], 1.0, 9.0, None, [])
    assert answer(_classes("a", "b"), [], tested=False) == "No pattern was found."
    expected = "1 pattern: 1 is shared by both classes. Chance may explain this pattern (evidence below 4.6 nats)."
    assert answer(_classes("a", "b"), [weak], tested=False, can_alter=False) == expected
