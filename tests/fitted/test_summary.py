"""The summary of a fitted model: its parts, and what they say in words."""

import numpy as np
import pandas as pd
import pytest

from saltmine import CSalt, Primp
from saltmine.cli.results import _single_items
from saltmine.fitted.headline import headline
from saltmine.fitted.kinds import class_kinds
from saltmine.fitted.parts import ClassSummary, Part, PatternSummary
from saltmine.fitted.summary import Summary
from saltmine.fitted.wording import percent
from saltmine.report.page import render
from tests.helpers.report_models import baskets, baskets_model, owned_by_two, planted_model


@pytest.fixture(scope="module")
def shops():
    return Summary(baskets_model())


@pytest.mark.slow
@pytest.mark.parametrize("make", [baskets_model, owned_by_two])
def test_parts_hold_every_row_of_the_table_once(make):
    summary = Summary(make())
    entries = np.concatenate([part.entries for pattern in summary.patterns for part in pattern.parts])
    np.testing.assert_array_equal(np.sort(entries), np.arange(len(summary.entries)))
    for pattern in summary.patterns:
        for part in pattern.parts:
            rows = summary.entries.iloc[part.entries]
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


@pytest.mark.slow
def test_items_of_several_classes_are_named_once():
    summary = Summary(owned_by_two())
    pattern = next(pattern for pattern in summary.patterns if len(pattern.owners) > 1)
    assert pattern.owners == [(0, "mostly"), (1, "mostly")]
    ((role, text),) = summary.describe(pattern, 2)
    assert role == -1
    assert text.startswith("mostly class a, class b: ")


@pytest.mark.slow
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
        title = summary.title(pattern)
        assert all(title.count(summary.item_names[item]) == 1 for item in items)
        assert title.endswith(" …") == (pattern.size > len(items))


@pytest.mark.slow
def test_only_shared_patterns_have_a_main_user(shops):
    assert {pattern.kind for pattern in shops.patterns} == {"shared", "only"}
    # Some carriers elsewhere change nothing of what belongs to a class, and of what both classes use.
    model = baskets_model()
    model.carrier_counts_ = np.maximum(model.carrier_counts_, 1)
    assert all(pattern.main_user is None for pattern in Summary(model).patterns)
    dinner = next(pattern.number for pattern in shops.patterns if pattern.kind == "shared" and not pattern.altered_by)
    model.usage_counts_[1, dinner] = 3
    found = {pattern.number: pattern.main_user for pattern in Summary(model).patterns}
    assert found.pop(dinner) == 0
    assert set(found.values()) == {None}


def _breakfast(added):
    """Return a summary and a pattern of four shops: milk and bread, and what shops add."""
    summary = Summary.__new__(Summary)
    names = ["milk", "bread", "tea", "sugar", "jam", "rice"]
    summary.__dict__.update(item_names=names, roles=["Mainz", "Trier", "Bonn", "Köln", "common"])
    parts = [Part(-1, "shared", np.arange(2), np.arange(2), np.full(2, 5.0), 9.0, 9.0, None, None, None)]
    for role, items in added.items():
        numbers = np.array([names.index(item) for item in items])
        parts.append(Part(role, "added", numbers, numbers, np.ones(len(items)), 9.0, 9.0, None, 0.001, None))
    size = 2 + len({item for items in added.values() for item in items})
    return summary, PatternSummary(0, False, [], list(added), size, [3, 3, 2, 2], 9.0, 9.0, None, parts)


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ({}, "milk, bread"),
        ({0: ["tea", "sugar"]}, "milk, bread; Mainz adds: tea, sugar"),
        ({0: ["tea"], 1: ["sugar"]}, "milk, bread; Mainz adds: tea; Trier adds: sugar"),
        ({0: ["tea"], 1: ["tea", "sugar"]}, "milk, bread; Mainz, Trier add: tea; Trier adds: sugar"),
        ({a: ["tea"] for a in range(4)}, "milk, bread; 4 classes add: tea"),
        ({0: ["tea", "sugar", "jam", "rice"]}, "milk, bread; Mainz adds: tea, sugar, jam …"),
    ],
)
def test_a_title_tells_added_items_from_shared_ones(added, expected):
    summary, pattern = _breakfast(added)
    assert summary.title(pattern) == expected


@pytest.mark.slow
def test_the_table_tells_added_items_from_shared_ones():
    model = CSalt(random_state=0).fit(*baskets())
    table = model.summary().table
    (breakfast,) = [text for text in table["strongest"] if "bread" in text]
    shared, added = breakfast.split("; Trier adds: ")
    assert set(shared.split(", ")) == {"bread", "butter", "jam", "milk"}
    assert set(added.split(", ")) == {"coffee", "sugar"}
    for label, count in zip(model.classes_, model.class_counts_, strict=True):
        np.testing.assert_allclose(table[f"share_{label}"] * count, table[f"usage_{label}"])


def test_a_title_names_few_of_many_classes_that_add_items():
    summary, pattern = _breakfast({0: ["tea"], 1: ["sugar"], 2: ["jam"], 3: ["rice"]})
    assert summary.title(pattern).endswith(" …")
    assert summary.title(pattern).count(" adds: ") == 3


def _classes(*names):
    return [ClassSummary(name, name, rows=10, reached=5) for name in names]


def _pattern(usage, *owners, altered_by=()):
    role, kind = owners[0] if owners else (-1, "shared")
    parts = [Part(role, kind, np.arange(2), np.arange(2), np.ones(2), 9.0, 9.0, None, None, None)]
    return PatternSummary(0, False, list(owners), list(altered_by), 2, usage, 9.0, 9.0, None, parts)


def _typical(usage, size=3, altered_by=()):
    parts = [Part(-1, "typical", np.arange(size), np.arange(size), np.ones(size), -2.0, 9.0, None, None, None)]
    return PatternSummary(0, True, [], list(altered_by), size, usage, -2.0, 9.0, None, parts)


@pytest.mark.parametrize(
    ("names", "patterns", "expected"),
    [
        ("ab", [], "No pattern passed the test at alpha = 0.01."),
        (["all rows"], [], "No pattern passed the test at alpha = 0.01."),
        (
            ["all rows"],
            [_pattern([5])] * 2,
            "2 patterns of items that occur together more often than chance explains; 50 % of the rows use some.",
        ),
        (
            ["Mainz", "3"],
            [_pattern([5, 5]), _pattern([0, 2], (1, "only"))],
            "2 patterns: 1 is shared by both classes, 1 is only in class 3; no class adds items to them.",
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
            "3 patterns: 2 are only in Mainz, 1 is mostly in Mainz; no class adds items to them.",
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
            "6 patterns: 6 are only in one class each; 6 classes add items to 6 of them.",
        ),
    ],
)
def test_the_headline_in_words(names, patterns, expected):
    assert headline(_classes(*names), patterns, alpha=0.01) == expected


@pytest.mark.parametrize(
    ("names", "patterns", "expected"),
    [
        (["all rows"], [_typical([9])], "The typical row has 3 items (90 % of the rows)."),
        ("ab", [_typical([10, 5], size=1)], "The typical row has 1 item (75 % of the rows)."),
        # Of several, each is told.
        (
            "ab",
            [_typical([10, 5]), _typical([5, 5], size=4)],
            "2 typical rows have 3 items (75 % of the rows) and 4 (50 % of the rows).",
        ),
        (
            "ab",
            [_typical([10, 9], altered_by=[1])],
            "The typical row has 3 items (95 % of the rows); 1 class adds items to it.",
        ),
        (
            "abc",
            [_typical([10, 10, 10], altered_by=[0, 2])],
            "The typical row has 3 items (100 % of the rows); 2 classes add items to it.",
        ),
    ],
)
@pytest.mark.parametrize("n_found", [0, 2])
def test_the_headline_tells_of_typical_rows_apart_from_patterns(names, patterns, expected, n_found):
    """What is said of patterns is what would be said without typical rows."""
    found = [_pattern([5] * len(names), altered_by=[0] if len(names) > 1 else [])] * n_found
    classes = _classes(*names)
    rows = "row" if len(patterns) == 1 else "rows"
    without = headline(classes, found, alpha=0.01) if n_found else f"No pattern was found beside the typical {rows}."
    assert without.startswith("2 patterns") == (n_found > 0)
    for listed in (patterns + found, found + patterns):
        assert headline(classes, listed, alpha=0.01) == f"{without} {expected}"


def test_a_typical_row_has_a_kind_of_its_own():
    assert _typical([9, 9]).kind == "typical"
    assert _pattern([9, 9]).kind == "shared"
    assert _pattern([9, 9], (0, "mostly")).kind == "mostly"


@pytest.fixture(scope="module")
def with_typical_row():
    """Return the summary of rows of one class that have most of eight items; one in five has a pattern as well."""
    rng = np.random.default_rng(0)
    cells = rng.random((300, 60)) < 0.03
    cells[:, :8] = rng.random((300, 8)) < 0.95
    cells[:60, 10:18] = True
    return Summary(Primp(random_state=0).fit(pd.DataFrame(cells, columns=[f"thing{k}" for k in range(60)])))


def test_a_typical_row_in_words(with_typical_row):
    summary = with_typical_row
    assert summary.model.typical_.tolist() == [pattern.typical for pattern in summary.patterns]
    (typical,) = [pattern for pattern in summary.patterns if pattern.typical]
    (part,) = typical.parts
    assert part.kind == typical.kind == "typical"
    for brief in (True, False):
        (text,) = _texts(summary, typical, 8, brief=brief)
        names = text.removeprefix("typical row: ").split(", ")
        assert text == "typical row: " + ", ".join(names)
        assert sorted(names) == [f"thing{k}" for k in range(8)]
    for pattern in summary.patterns:
        if not pattern.typical:
            assert not any("typical" in text for text in _texts(summary, pattern, 8))


def test_the_number_of_components_counts_the_typical_row(with_typical_row):
    model = with_typical_row.model
    in_headline = (~model.typical_ & ~model.of_few_groups_).sum()
    assert with_typical_row.headline.startswith(f"{in_headline} pattern")
    assert model.n_components_ == len(model.components_) == in_headline + 1


def test_rows_that_use_the_typical_row_alone_use_no_pattern(with_typical_row):
    """Of one class the headline says how many rows use patterns; nearly all of them use the typical row."""
    model = with_typical_row.model
    using = model.usage_[:, ~model.typical_].any(axis=1).mean()
    assert 0.1 < using < 0.3
    assert f"; {percent(using)} of the rows use some. The typical row has 8 items (" in with_typical_row.headline


def test_the_headline_of_methods_that_test_nothing():
    weak = PatternSummary(0, False, [], [], 2, [5, 5], 1.0, 9.0, None, [])
    assert headline(_classes("a", "b"), []) == "No pattern was found."
    expected = "1 pattern: 1 is shared by both classes. Chance may explain this pattern (evidence below 4.6 nats)."
    assert headline(_classes("a", "b"), [weak], can_alter=False) == expected


def test_the_headline_counts_confirmed_alterations_only():
    unsure = PatternSummary(0, False, [], [0, 1], 2, [5, 5], 9.0, 9.0, None, [], unconfirmed=[1])
    assert headline(_classes("Mainz", "Trier"), [unsure]).endswith("; Mainz adds items to it.")


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([["DS12"]], "1 pattern is of one patient, which says nothing about others."),
        ([["DS12"], ["DS7"]], "2 patterns are of one patient each, which says nothing about others."),
        ([["DS7", "DS9"]], "1 pattern, of 2 patients, is not significant when patients are counted."),
        (
            [["DS12"], ["DS7", "DS9"]],
            "2 patterns, each of at most 2 patients, are not significant when patients are counted.",
        ),
    ],
)
def test_the_headline_tells_of_patterns_of_single_groups(groups, expected):
    patterns = [PatternSummary(k, False, [], [], 2, [1, 1], -9.0, 9.0, None, [], of) for k, of in enumerate(groups)]
    words = headline(_classes("a", "b"), patterns, alpha=0.01, group="patient")
    assert words == f"No pattern of several patients passed the test at alpha = 0.01. {expected}"
    assert patterns[0].kind == "group"


@pytest.mark.slow
def test_of_two_items_that_say_the_same_the_more_frequent_one_is_told():
    y = np.repeat(["mammal", "bird", "fish"], 20)
    milk = y == "mammal"
    X = pd.DataFrame({"milk=true": milk, "milk=false": ~milk, "eggs": ~milk, "noise": np.arange(60) % 2 == 0})
    summary = CSalt(random_state=0).fit(X, y).summary()
    told = summary.told_differences
    assert told.loc[told["class"] == "mammal", "item"].tolist() == ["milk=true"]
    assert set(told.loc[told["class"] == "bird", "item"]) == {"milk=false", "eggs"}
    assert len(summary.differences) > len(told)


@pytest.mark.slow
def test_items_and_differences_are_counted_apart():
    """With three classes, an item may differ in each of them; headline, terminal and report give both counts."""
    y = np.repeat(["cat", "dog", "owl"], 40)
    rng = np.random.default_rng(0)
    shares = {"cat": 0.05, "dog": 0.5, "owl": 0.95}
    X = pd.DataFrame({f"trait{k}": [rng.random() < shares[name] for name in y] for k in range(12)})
    summary = CSalt(random_state=0).fit(X, y).summary()
    confirmed = summary.differences.query("q_value <= 0.05")
    n_items, n_pairs = confirmed["item"].nunique(), len(confirmed)
    assert n_pairs > 20 > n_items > 5
    both = f"{n_pairs} differences of one class from all others"
    assert f" Single items that differ between the classes: {n_items} ({both})." in summary.headline
    assert f'<p class="lead">{n_items} items differ between the classes, with {both} (q' in render(summary)
    lead, *_ = _single_items(summary)
    assert str(lead).strip() == f"Single items, the surest 5 of {both} (q at most 0.05):"
