from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from saltmine import CSalt
from saltmine.data.item_counts import ItemCounts
from saltmine.fitted.kinds import class_kinds
from saltmine.fitted.pattern_table import pattern_table
from tests.helpers.report_models import baskets_model


@pytest.fixture(scope="module")
def named(planted):
    frame = pd.DataFrame(planted.X, columns=[f"gene {i}" for i in range(100)])
    labels = np.array(["normal", "tumour"])[planted.y]
    return frame, labels, CSalt(random_state=0).fit(frame, labels)


def test_every_entry_of_the_model_is_a_row_of_each_role(named):
    _, _, model = named
    table, owners = model.patterns(), (class_kinds(model) != "").sum(axis=0)
    listed = (model.components_.sum(axis=1) * np.maximum(owners, 1)).sum() + model.alterations_.sum()
    assert len(table) == listed
    assert not table.duplicated(["pattern", "item", "role", "kind"]).any()
    for _, row in table.iterrows():
        item = int(row["item"].split()[1])
        if row.kind == "added":
            assert model.alterations_[model.classes_.tolist().index(row.role), row.pattern, item]
        else:
            assert model.components_[row.pattern, item]
            assert (row.kind == "shared") == (row.role == "common")


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


@pytest.mark.slow
def test_rows_have_the_tests_of_what_they_claim():
    model = baskets_model()
    table = model.patterns()
    assert set(table.kind) == {"shared", "added", "only"}
    for _, row in table.iterrows():
        if row.kind == "shared":
            assert np.isnan([row.p_value, row.q_value]).all()
            continue
        place = model.classes_.tolist().index(row.role), row.pattern
        added = row.kind == "added"
        assert row.p_value == (model.alteration_p_values_ if added else model.use_p_values_)[place]
        assert row.q_value == (model.alteration_q_values_ if added else model.use_q_values_)[place]
        assert row.evidence == (model.alteration_evidence_[place] if added else model.pattern_evidence_[row.pattern])
        assert row.gain == (model.alteration_gain_[place] if added else model.pattern_gain_[row.pattern])


def fitted_by_hand(components, alterations, carriers, labels, use_q_values, typical=()):
    """Return the table of a model given by its factors; all that carry a pattern use it and have all its items.

    ``typical`` are the numbers of the patterns that are typical rows.
    """
    classes, sizes = np.unique(labels, return_counts=True)
    n_entries, shape = int(components.sum() + alterations.sum()), carriers.shape
    added = alterations.any(axis=2)
    items = np.full((len(classes), components.shape[1]), 1)
    model = SimpleNamespace(
        of_few_groups_=np.zeros(len(components), dtype=bool),
        all_counts_=None,
        most_counts_=None,
        components_=components,
        alterations_=alterations,
        classes_=classes,
        class_counts_=sizes,
        usage_counts_=carriers,
        carrier_counts_=carriers,
        item_counts_=items,
        noise_counts_=items,
        pattern_evidence_=np.arange(10.0, 10 + len(components)),
        alteration_evidence_=np.where(added, 5.0, np.nan),
        pattern_gain_=np.zeros(len(components)),
        alteration_gain_=np.where(added, 7.0, np.nan),
        use_p_values_=use_q_values / 2,
        use_q_values_=use_q_values,
        alteration_p_values_=np.where(added, 0.001, np.nan),
        alteration_q_values_=np.where(added, 0.002, np.nan),
        typical_=np.isin(np.arange(len(components)), typical),
        stability_=None,
        _item_names=None,
        _level=0.01,
    )
    hits = np.ones((shape[0], n_entries), dtype=int)
    model._items = ItemCounts(np.arange(components.shape[1]), components, alterations, items, items, hits)
    return pattern_table(model)


@pytest.fixture
def by_hand():
    """Return the table of patterns of all, of class a, and of a and b; b adds an item to the first two."""
    components = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 1, 0]], dtype=bool)
    alterations = np.zeros((4, 3, 5), dtype=bool)
    alterations[1, :2, 4] = True
    carriers = np.array([[10, 20, 20], [10, 0, 20], [10, 0, 1], [10, 0, 1]])
    q_values = np.array([[1, 0.001, 0.003], [1, 1, 0.004], [1, 1, 1], [1, 1, 1]])
    return fitted_by_hand(components, alterations, carriers, np.repeat(["a", "b", "c", "common"], 40), q_values)


def test_roles_and_kinds_by_hand(by_hand):
    found = by_hand.groupby("pattern")[["item", "role", "kind"]].agg(list).to_dict("index")
    assert found[0] == {"item": [0, 1, 2, 4], "role": ["common"] * 3 + ["b"], "kind": ["shared"] * 3 + ["added"]}
    assert found[1] == {"item": [0, 1, 4], "role": ["a", "a", "b"], "kind": ["only", "only", "added"]}
    assert found[2] == {"item": [2, 3, 2, 3], "role": ["a", "a", "b", "b"], "kind": ["mostly"] * 4}


def test_tests_and_evidence_by_hand(by_hand):
    assert by_hand.q_value.tolist() == pytest.approx(
        [*[np.nan] * 3, 0.002, 0.001, 0.001, 0.002, 0.003, 0.003, 0.004, 0.004], nan_ok=True
    )
    assert by_hand.p_value[3] == 0.001
    assert by_hand.evidence.tolist() == [10, 10, 10, 5, 11, 11, 5, 12, 12, 12, 12]
    assert by_hand.gain[by_hand.kind == "added"].tolist() == [7, 7]


def test_a_typical_row_by_hand():
    """It owns nothing, whatever the tests say; what a class adds to it is added, and has the tests of that."""
    components = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]], dtype=bool)
    alterations = np.zeros((2, 2, 5), dtype=bool)
    alterations[1, 0, 3] = True
    carriers, q_values = np.array([[39, 20], [15, 0]]), np.array([[0.001, 0.001], [1, 1]])
    labels = np.repeat(["a", "b"], 40)
    tables = [fitted_by_hand(components, alterations, carriers, labels, q_values, typical) for typical in ([], [0])]
    plain, table = (part[["pattern", "item", "role", "kind", "q_value"]].set_index("pattern") for part in tables)
    assert set(plain.loc[0, "kind"]) == {"mostly", "added"}
    assert table.loc[0, "item"].tolist() == [0, 1, 2, 3]
    assert table.loc[0, "role"].tolist() == ["common"] * 3 + ["b"]
    assert table.loc[0, "kind"].tolist() == ["typical"] * 3 + ["added"]
    assert table.loc[0, "q_value"].tolist() == pytest.approx([*[np.nan] * 3, 0.002], nan_ok=True)
    assert set(table.loc[1, "kind"]) == {"only"}
    pd.testing.assert_frame_equal(table.loc[[1]], plain.loc[[1]])
    # Its evidence and gain are told like those of any pattern.
    assert tables[1].evidence.tolist() == tables[0].evidence.tolist() == [10, 10, 10, 5, 11, 11]


def test_a_class_called_common_is_not_mistaken_for_the_shared_part():
    components = np.array([[1, 1, 1, 0], [0, 1, 1, 0]], dtype=bool)
    alterations = np.zeros((2, 2, 4), dtype=bool)
    alterations[0, 0, 3] = True
    carriers, q_values = np.array([[10, 10], [10, 0]]), np.array([[1, 0.001], [1, 1]])
    labels = np.repeat(["common", "rare"], 20)
    table = fitted_by_hand(components, alterations, carriers, labels, q_values)
    assert set(table.role[table.kind == "shared"]) == {"common"}
    assert set(table.role[table.kind != "shared"]) == {"class common"}
    assert set(table.kind) == {"shared", "only", "added"}


def test_a_single_class_shares_with_itself(planted):
    with pytest.warns(UserWarning, match="only one class"):
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
