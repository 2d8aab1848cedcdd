import numpy as np
import pandas as pd
import pytest

from saltmine import CSalt


@pytest.fixture(scope="module")
def named(planted):
    frame = pd.DataFrame(planted.X, columns=[f"gene {i}" for i in range(100)])
    labels = np.array(["normal", "tumour"])[planted.y]
    return frame, labels, CSalt(random_state=0).fit(frame, labels)


def test_every_entry_of_the_model_is_a_row(named):
    _, _, model = named
    table = model.patterns()
    shared = table[~table.alteration]
    assert len(shared) == model.components_.sum()
    for _, row in shared.iterrows():
        assert model.components_[row.pattern, int(row["item"].split()[1])]
    for a, label in enumerate(model.classes_):
        of_class = table[table.alteration & (table.role == label)]
        assert len(of_class) == model.alterations_[a].sum()
        for _, row in of_class.iterrows():
            assert model.alterations_[a, row.pattern, int(row["item"].split()[1])]
    assert not table.duplicated(["pattern", "item", "role"]).any()


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


def test_patterns_of_one_class_belong_to_it_and_shared_ones_to_all(named):
    _, _, model = named
    table = model.patterns()
    used_by = model.usage_counts_ > 0
    for s, part in table[~table.alteration].groupby("pattern"):
        expected = "common" if used_by[:, s].all() else model.classes_[used_by[:, s]][0]
        assert set(part.role) == {expected}
    assert "common" in set(table.role)


def test_without_names_items_are_column_numbers(fitted):
    table = fitted.patterns()
    assert table["item"].dtype.kind == "i"
    assert list(table.columns[:4]) == ["pattern", "item", "role", "alteration"]


def test_a_model_without_patterns_has_an_empty_table():
    table = CSalt().fit(np.zeros((4, 3)), ["a", "a", "b", "b"]).patterns()
    assert len(table) == 0
    assert "support_a" in table.columns


def test_a_pattern_that_two_of_three_classes_use_is_common():
    X = np.zeros((30, 12), bool)
    X[:20, :6] = True
    X[20:, 6:] = True
    model = CSalt(random_state=0, max_iter=2000).fit(X, np.repeat(["a", "b", "c"], 10))
    table = model.patterns()
    used_by = (model.usage_counts_ > 0).sum(axis=0)
    assert 2 in used_by
    for s, part in table[~table.alteration].groupby("pattern"):
        assert (set(part.role) == {"common"}) == (used_by[s] > 1)


def test_a_class_called_common_is_not_mistaken_for_the_shared_part(planted):
    labels = np.array(["common", "rare"])[planted.y]
    table = CSalt(random_state=0).fit(planted.X, labels).patterns()
    assert set(table.role) <= {"common", "class common", "rare"}
    assert "common" not in set(table[table.alteration].role)
