"""Single items that classes differ in."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control, fisher_exact

from saltmine import CSalt, Primp
from saltmine.datasets import make_planted


def labelled(seed, sizes, n_items=30, differing=()):
    rng = np.random.default_rng(seed)
    labels = np.repeat([f"class {a}" for a in range(len(sizes))], sizes)
    cells = rng.random((sum(sizes), n_items)) < 0.2
    for item in differing:
        cells[labels == "class 1", item] |= rng.random(sizes[1]) < 0.4
    return cells, labels


def test_two_classes_have_one_test_per_item():
    cells, labels = labelled(0, [80, 60], differing=[4, 9])
    cells[:, 7] = False
    table = CSalt(random_state=0).fit(cells, labels).differences(max_p=1)
    assert sorted(table["item"]) == [item for item in range(30) if item != 7]
    assert set(table["item"][:2]) == {4, 9}
    assert (table["class"][:2] == "class 1").all()
    assert (table["share"] >= table["share_elsewhere"]).all()
    assert table["p_value"].is_monotonic_increasing
    for row in table.itertuples():
        own = labels == row[2]
        counts = [[cells[own, row.item].sum(), (~cells[own, row.item]).sum()]]
        counts.append([cells[~own, row.item].sum(), (~cells[~own, row.item]).sum()])
        smaller = min(fisher_exact(counts, alternative=side).pvalue for side in ("less", "greater"))
        assert row.p_value == pytest.approx(min(1, 2 * smaller))
        assert (row.rows, row.rows_elsewhere) == (counts[0][0], counts[1][0])
        assert row.share == pytest.approx(np.mean(cells[own, row.item]))
        assert row.odds_low < row.odds_ratio < row.odds_high


def test_every_class_of_several_is_compared_with_the_rest():
    cells, labels = labelled(1, [50, 60, 70], differing=[2])
    model = CSalt(random_state=0).fit(cells, labels)
    table = model.differences(max_p=1)
    assert len(table) == 3 * 30
    first = table.iloc[0]
    assert (first["item"], first["class"]) == (2, "class 1")
    shown = model.differences()
    assert len(shown) == (table["p_value"] <= 0.05).sum()
    # The correction counts all tests, not those that are listed.
    pd.testing.assert_frame_equal(shown, table.iloc[: len(shown)])


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[80, 60], [50, 60, 70]])
def test_all_items_and_classes_are_corrected_together(sizes):
    cells, labels = labelled(1, sizes, differing=[2, 5])
    cells[:, 7] = False
    cells[:, 11] = cells[:, 12]
    table = CSalt(random_state=0, alpha=0.5).fit(cells, labels).differences(max_p=1)
    assert len(table) == 29 * (1 if len(sizes) == 2 else 3)
    np.testing.assert_allclose(table["q_value"], false_discovery_control(table["p_value"]), rtol=1e-9)
    pd.testing.assert_frame_equal(table, CSalt(random_state=0, alpha=0.001).fit(cells, labels).differences(max_p=1))


def test_odds_ratios_and_their_intervals():
    cells, labels = labelled(3, [80, 60], differing=[4])
    table = CSalt(random_state=0).fit(cells, labels).differences(max_p=1)
    for row in table.itertuples():
        own = labels == row[2]
        counts = np.array([[cells[side, row.item].sum(), (~cells[side, row.item]).sum()] for side in (own, ~own)]) + 0.5
        ratio = counts[0, 0] * counts[1, 1] / (counts[0, 1] * counts[1, 0])
        width = 1.96 * np.sqrt((1 / counts).sum())
        assert row.odds_ratio == pytest.approx(ratio)
        ends = np.log([row.odds_low, row.odds_high])
        np.testing.assert_allclose(ends, [np.log(ratio) - width, np.log(ratio) + width], atol=1e-4)


@pytest.mark.slow
def test_shuffled_labels_are_rarely_confirmed():
    """By Benjamini and Hochberg one table in twenty at most has any; q-values of 40 tables."""
    claimed = 0
    for seed in range(40):
        cells, labels = labelled(seed, [60, 60])
        model = Primp(random_state=0).fit(cells, labels)
        claimed += int((model.differences()["q_value"] <= 0.05).any())
    assert claimed <= 5


@pytest.mark.slow
def test_names_of_items_and_one_class():
    planted = make_planted(40, [60, 60], 3, noise=0.05, random_state=0)
    model = CSalt(random_state=0).fit(planted.X, planted.y, item_names=[f"gene {i}" for i in range(40)])
    assert set(model.differences(max_p=1)["item"]) <= {f"gene {i}" for i in range(40)}
    alone = Primp(random_state=0).fit(planted.X)
    assert len(alone.differences(max_p=1)) == 0
    assert list(alone.differences().columns) == list(model.differences().columns)


@pytest.mark.parametrize("max_p", [0, 1.5, "0.05", None])
def test_a_level_that_is_none_is_refused(max_p):
    planted = make_planted(40, [60, 60], 3, noise=0.05, random_state=0)
    model = Primp(random_state=0).fit(planted.X)
    with pytest.raises(ValueError, match=f"max_p must be a probability of at most 1, as 0.05, not {max_p!r}"):
        model.differences(max_p)
