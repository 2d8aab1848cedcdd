from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from saltmine import CSalt
from saltmine.data.item_counts import ItemCounts
from saltmine.fitted.pattern_table import pattern_table


@pytest.fixture(scope="module")
def named(planted):
    frame = pd.DataFrame(planted.X, columns=[f"gene {i}" for i in range(100)])
    labels = np.array(["normal", "tumour"])[planted.y]
    return frame, labels, CSalt(random_state=0).fit(frame, labels)


def test_every_entry_of_the_model_is_a_row(named):
    _, _, model = named
    table = model.patterns()
    assert len(table) == model.components_.sum() + model.alterations_.sum()
    assert not table.duplicated(["pattern", "item", "role"]).any()
    for _, row in table.iterrows():
        item = int(row["item"].split()[1])
        altered = model.alterations_[:, row.pattern, item]
        if row.role == "common":
            assert model.components_[row.pattern, item]
        else:
            assert model.components_[row.pattern, item] or altered[model.classes_.tolist().index(row.role)]


def test_support_is_the_share_of_using_rows_that_have_the_item(named):
    frame, labels, model = named
    for _, row in model.patterns().iterrows():
        for label in model.classes_:
            uses = model.usage_[:, row.pattern] & (labels == label)
            assert row[f"usage_{label}"] == uses.sum()
            if uses.any():
                assert row[f"support_{label}"] == pytest.approx(frame.loc[uses, row["item"]].mean())
            else:
                assert np.isnan(row[f"support_{label}"])


def test_shares_are_of_all_rows_and_lift_compares_with_them(named):
    frame, labels, model = named
    for _, row in model.patterns().iterrows():
        for label in model.classes_:
            share = frame.loc[labels == label, row["item"]].mean()
            assert row[f"share_{label}"] == pytest.approx(share)
            if row[f"usage_{label}"]:
                assert row[f"lift_{label}"] == pytest.approx(row[f"support_{label}"] / share)
            else:
                assert np.isnan(row[f"lift_{label}"])


def test_what_is_shared_has_no_test_and_what_belongs_to_a_class_has_one(named):
    table = named[2].patterns()
    assert set(table.kind) == {"shared", "added", "only"}
    tested = table.kind != "shared"
    assert table.loc[~tested, ["p_value", "q_value"]].isna().all(axis=None)
    assert table.loc[tested, "p_value"].between(0, 1).all()
    assert (table.loc[tested, "q_value"] >= table.loc[tested, "p_value"]).all()


def fitted_by_hand(components, alterations, usage, labels, hits=None, carriers=None, carrier_hits=None):
    """Return the table of a model given by its factors."""
    classes, sizes = np.unique(labels, return_counts=True)
    counts = np.stack([usage[labels == label].sum(axis=0) for label in classes])
    n_entries = int(components.sum() + alterations.sum())
    unknown = np.full((len(classes), len(components)), np.nan)
    model = SimpleNamespace(
        components_=components,
        alterations_=alterations,
        classes_=classes,
        class_counts_=sizes,
        usage_counts_=counts,
        item_counts_=np.tile(sizes[:, None], components.shape[1]),
        carrier_counts_=counts if carriers is None else carriers,
        pattern_evidence_=np.arange(10.0, 10 + len(components)),
        alteration_evidence_=unknown.copy(),
        pattern_gain_=np.zeros(len(components)),
        alteration_gain_=unknown.copy(),
        stability_=None,
        _item_names=None,
    )
    hits = np.ones((len(classes), n_entries), int) if hits is None else hits
    carrier_hits = hits if carrier_hits is None else carrier_hits
    columns = np.arange(components.shape[1])
    noise = np.zeros_like(model.item_counts_)
    model._items = ItemCounts(columns, components, alterations, model.item_counts_, noise, hits, carrier_hits)
    model.alteration_evidence_[0, 0] = 5.0
    return pattern_table(model)


def test_kinds_tell_shared_added_and_own_items_apart():
    components = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 1], [1, 1, 0, 0, 0]], dtype=bool)
    alterations = np.zeros((3, 4, 5), dtype=bool)
    alterations[0, 0, 3] = True  # class a adds one item to three
    alterations[1, 2, :3] = True  # class b's "alteration" of a single item is larger than what it alters
    labels = np.repeat(["a", "b", "c"], 2)
    usage = np.array([[1, 1, 1, 1], [1, 1, 1, 1], [1, 0, 1, 1], [1, 0, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0]], dtype=bool)
    table = fitted_by_hand(components, alterations, usage, labels)
    found = {(row.pattern, row["item"]): (row.role, row.kind) for _, row in table.iterrows()}
    assert found[0, 0] == ("common", "shared")
    assert found[0, 3] == ("a", "added")
    assert found[1, 0] == ("a", "only")
    assert found[2, 4] == ("common", "shared")
    assert found[2, 0] == ("b", "only")
    # Two of three classes are several.
    assert found[3, 0] == ("common", "shared")


def test_an_added_item_is_tested_among_the_rows_that_carry_the_pattern():
    components = np.array([[1, 1, 0]], dtype=bool)
    alterations = np.zeros((3, 1, 3), dtype=bool)
    alterations[:2, 0, 2] = True  # two classes add it: each is compared with the third
    labels = np.repeat(["a", "b", "c"], 10)
    usage = np.ones((30, 1), dtype=bool)
    hits = np.array([[10, 10, 9, 9], [10, 10, 5, 5], [10, 10, 1, 1]])
    table = fitted_by_hand(components, alterations, usage, labels, hits)
    p_values = table.p_value[table.kind == "added"].tolist()
    assert p_values[0] == pytest.approx(fisher_exact([[9, 1], [1, 9]], alternative="greater")[1])
    assert p_values[1] == pytest.approx(fisher_exact([[5, 5], [1, 9]], alternative="greater")[1])
    assert table.q_value[table.kind == "added"].tolist() == pytest.approx([2 * p_values[0], p_values[1]])


@pytest.mark.slow
def test_the_test_of_added_items_holds_its_level_on_classes_that_do_not_differ():
    """Rows that use a pattern are chosen by what their class adds; the test must not take that for a difference."""
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(300):
        data = rng.random((120, 8)) < 0.1
        has = rng.random(120) < 0.4
        data[has, :4] |= rng.random((has.sum(), 4)) < 0.9
        data[has, 4:] |= rng.random((has.sum(), 4)) < 0.4
        labels = np.repeat(["a", "b"], 60)
        # Class a is said to add two items, and its users are those that have most of the six.
        components = np.array([[1, 1, 1, 1, 0, 0, 0, 0]], dtype=bool)
        alterations = np.zeros((2, 1, 8), dtype=bool)
        alterations[0, 0, 4:6] = True
        usage = np.where(labels == "a", data[:, :6].sum(axis=1) >= 4, data[:, :4].sum(axis=1) >= 3)[:, None]
        carriers = data[:, :4].sum(axis=1) > 2
        counts = [
            np.stack([data[rows & (labels == a)][:, :6].sum(axis=0) for a in "ab"]) for rows in (usage[:, 0], carriers)
        ]
        carrier_counts = np.array([[(carriers & (labels == a)).sum()] for a in "ab"])
        table = fitted_by_hand(components, alterations, usage, labels, *counts[:1], carrier_counts, counts[1])
        p_values += table.p_value[table.kind == "added"].tolist()
    assert np.mean(np.array(p_values) < 0.05) < 0.07


def test_a_pattern_of_one_class_is_one_test_on_all_rows():
    components = np.array([[1, 1, 1, 0]], dtype=bool)
    labels = np.repeat(["a", "b"], 20)
    usage = np.zeros((40, 1), dtype=bool)
    usage[:8] = True
    nothing = np.zeros((2, 1, 4), dtype=bool)
    table = fitted_by_hand(components, nothing, usage, labels, carriers=np.array([[9], [2]]))
    expected = fisher_exact([[9, 11], [2, 18]], alternative="greater")[1]
    # Three items, one test: nothing to correct for.
    assert table.p_value.tolist() == pytest.approx([expected] * 3)
    assert table.q_value.tolist() == pytest.approx([expected] * 3)


def test_a_class_called_common_is_not_mistaken_for_the_shared_part():
    components = np.array([[1, 1, 1, 0], [0, 1, 1, 0]], dtype=bool)
    alterations = np.zeros((2, 2, 4), dtype=bool)
    alterations[0, 0, 3] = True
    usage = np.array([[1, 1], [1, 1], [1, 0], [1, 0]], dtype=bool)
    table = fitted_by_hand(components, alterations, usage, np.array(["common", "common", "rare", "rare"]))
    assert set(table.role[table.kind == "shared"]) == {"common"}
    assert set(table.role[table.kind != "shared"]) == {"class common"}


def test_where_little_is_shared_added_items_are_compared_on_all_rows():
    components = np.array([[1, 0, 0, 0]], dtype=bool)
    alterations = np.zeros((2, 1, 4), dtype=bool)
    alterations[0, 0, 1] = alterations[1, 0, 2] = True
    usage = np.ones((20, 1), dtype=bool)
    table = fitted_by_hand(components, alterations, usage, np.repeat(["a", "b"], 10))
    # Every row has every item in this model, so there is no difference to be shown.
    assert table.p_value[table.kind == "added"].tolist() == [1.0, 1.0]


def test_a_single_class_shares_with_itself(planted):
    table = CSalt(random_state=0, max_iter=1000).fit(planted.X, np.zeros(180)).patterns()
    assert set(table.kind) == {"shared"}
    assert set(table.role) == {"common"}


def test_without_names_items_are_column_numbers(fitted):
    table = fitted.patterns()
    assert table["item"].dtype.kind == "i"
    assert list(table.columns[:4]) == ["pattern", "item", "role", "kind"]


def test_a_model_without_patterns_has_an_empty_table():
    table = CSalt().fit(np.zeros((4, 3)), ["a", "a", "b", "b"]).patterns()
    assert len(table) == 0
    assert "support_a" in table.columns
