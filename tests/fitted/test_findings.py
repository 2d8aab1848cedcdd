"""Findings: confirmed, ordered, told with figures of the data, and no more than ten."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from saltmine import CSalt
from saltmine.datasets import make_planted
from saltmine.fitted.findings import MAX_FINDINGS, _items, _of_pattern, _shared, least_difference
from tests.helpers.report_models import baskets, baskets_model, owned_by_two, planted_model


@pytest.fixture(scope="module")
def shops():
    return baskets_model().summary()


def test_findings_are_confirmed_and_few(shops):
    for summary in (shops, planted_model(40, [60, 60, 60], 90, size=8).summary()):
        assert 0 < len(summary.findings) <= MAX_FINDINGS
        for finding in summary.findings:
            if finding.kind == "item":
                assert finding.q_value <= 0.05
            elif finding.kind == "shared":
                assert summary.patterns[finding.pattern].evidence >= -np.log(0.01)
            else:
                assert finding.q_value <= 0.01


def test_findings_name_their_class_and_items(shops):
    columns = baskets()[0].columns
    for finding in shops.findings:
        assert finding.class_name == (None if finding.role < 0 else shops.model.classes_[finding.role])
        assert list(finding.item_names) == columns[finding.items].tolist()
        assert str(finding.item_names[0]) in finding.text
    assert {finding.class_name for finding in shops.findings} == {"Mainz", "Trier", None}
    of_numbers = CSalt(random_state=0).fit(baskets()[0].to_numpy(), baskets()[1]).summary().findings
    assert of_numbers[0].item_names == tuple(of_numbers[0].items)


def test_larger_and_surer_differences_come_first_and_shared_patterns_last(shops):
    differences = [finding.difference for finding in shops.findings]
    of_classes = [finding.role >= 0 for finding in shops.findings]
    assert differences == sorted(differences, reverse=True)
    assert of_classes == sorted(of_classes, reverse=True)


def test_the_figures_of_findings_are_those_of_the_data(shops):
    X, shop = baskets()
    beer = next(finding for finding in shops.findings if "beer" in finding.text)
    assert beer.kind == "only"
    assert beer.text.startswith("Only in Mainz: ")
    fitting = shops.model.carrier_counts_[:, beer.pattern]
    mainz = int(np.sum(np.asarray(shop) == "Mainz"))
    assert f"; {fitting[0]:,} of {mainz:,} rows (" in beer.text
    coffee = next(finding for finding in shops.findings if finding.kind == "added")
    added = X[["coffee", "sugar"]].to_numpy()
    shared = (
        X[shops.model.components_[coffee.pattern].nonzero()[0].tolist()]
        if X.columns.dtype == int
        else X.iloc[:, np.flatnonzero(shops.model.components_[coffee.pattern])]
    )
    with_most = 2 * shared.to_numpy().sum(axis=1) > shared.shape[1]
    own = with_most & (np.asarray(shop) == "Trier")
    assert f"mean frequency of {100 * added[own].mean():.0f} % in Trier ({own.sum():,} rows)" in coffee.text
    other = with_most & (np.asarray(shop) != "Trier")
    assert f" in Mainz ({other.sum():,} rows)" in coffee.text


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ([30, 0, 0], "in 30 of 60 rows (50 %) of class 00; "),
        ([30, 0, 10], "in 40 of 150 rows (27 %) of class 00 and class 02; "),
        ([30, 10, 10], "in 50 of 180 rows (28 %) of all 3 classes; "),
    ],
)
def test_the_share_of_a_shared_pattern_is_that_of_the_classes_named(usage, expected):
    summary = planted_model(40, [60, 30, 90], 90, size=8).summary()
    assert expected in _shared(summary, replace(summary.patterns[0], usage=usage)).text


@pytest.mark.parametrize(
    ("telling", "expected"),
    [
        (8, "item 16, item 86, item 55, item 42, item 8 and 3 more"),
        (6, "item 16, item 86, item 55, item 42, item 8 and 3 more"),
        (2, "item 16, item 86 and 6 more"),
        (0, "item 16, item 86, item 55, item 42, item 8 and 3 more"),
    ],
)
def test_all_items_are_counted_and_only_telling_ones_are_named(telling, expected):
    """The table of patterns counts all items as well."""
    summary = planted_model(40, [60, 30, 90], 90, size=8).summary()
    part = summary.patterns[0].parts[0]
    assert len(part.items) == 8
    strength = np.where(np.arange(8) < telling, part.strength, 0.0)
    assert _items(summary, replace(part, strength=strength)) == expected
    assert summary.items_text(part, 5) == "item 16, item 86, item 55, item 42, item 8 and 3 more"


def test_single_items_are_found_without_patterns():
    rng = np.random.default_rng(0)
    y = np.repeat(["primary", "relapse"], [120, 60])
    X = pd.DataFrame(rng.random((180, 30)) < 0.05, columns=[f"gene{k}" for k in range(30)])
    X["PML"] = (y == "relapse") & (rng.random(180) < 0.3)
    summary = CSalt(random_state=0).fit(X, y).summary()
    assert not summary.patterns
    assert summary.headline.startswith("No pattern passed the test at alpha = 0.01. The strongest candidate, ")
    assert summary.headline.endswith(" Single items that differ between the classes: 1.")
    (finding,) = summary.findings
    hits = int(X["PML"].sum())
    assert finding.text.startswith(
        f"PML is more frequent in relapse: {hits} of 60 rows ({100 * hits / 60:.0f} %) against"
    )
    assert "0 of 120 rows (0 %) in primary (q = " in finding.text


def test_a_pattern_of_several_classes_is_told_for_each():
    summary = owned_by_two().summary()
    (pattern,) = [pattern for pattern in summary.patterns if len(pattern.owners) == 2]
    told = [finding.text for finding in _of_pattern(summary, pattern)]
    assert [text.partition(":")[0] for text in told] == ["Mostly in class a", "Mostly in class b"]


def test_nothing_is_found_in_noise():
    for seed in range(5000, 5004):
        rng = np.random.default_rng(seed)
        summary = CSalt(random_state=0).fit((rng.random((120, 60)) < 0.2).astype(int), np.repeat([0, 1], 60)).summary()
        assert summary.findings == []
        assert str(summary) == summary.headline


def test_the_table_has_a_row_per_pattern_and_the_text_a_line_per_finding(shops):
    assert shops.table["pattern"].tolist() == list(range(len(shops.patterns)))
    assert shops.table["kind"].tolist() == [pattern.kind for pattern in shops.patterns]
    np.testing.assert_array_equal(shops.table[["usage_Mainz", "usage_Trier"]].to_numpy().T, shops.model.usage_counts_)
    assert str(shops).splitlines() == [
        shops.headline,
        *(f"{k}. {finding.text}" for k, finding in enumerate(shops.findings, start=1)),
    ]


def test_names_are_escaped_in_notebooks():
    planted = make_planted(40, [60, 60], rank=2, noise=0.02, random_state=0)
    names = [f"<b>{k}" for k in range(40)]
    html = CSalt(random_state=0).fit(planted.X, planted.y, item_names=names).summary()._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html


@pytest.mark.parametrize("swapped", [False, True])
def test_the_least_difference_grows_with_difference_and_rows(swapped):
    def least(hits, rows, elsewhere, others):
        return (
            least_difference(elsewhere, others, hits, rows)
            if swapped
            else least_difference(hits, rows, elsewhere, others)
        )

    assert least(50, 100, 50, 100) == 0
    assert 0 < least(70, 100, 30, 100) < least(90, 100, 10, 100) < 0.8
    assert least(70, 100, 30, 100) < least(700, 1000, 300, 1000) < 0.4
