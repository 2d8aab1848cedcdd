"""Labels, groups and weights of rows: what they become, and what is refused."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.data import labels
from saltmine.data.labels import Grouping, class_numbers, group_numbers, row_counts


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["b", "a", "ccc", ""]), min_size=1, max_size=20))
def test_numbers_of_labels_lead_back_to_them(y):
    classes, numbers = class_numbers(y, len(y))
    assert classes.tolist() == sorted(set(y))
    assert classes[numbers].tolist() == y


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([3, "3", "x", 2.5]), min_size=2, max_size=20))
def test_groups_are_told_apart_by_their_text(groups):
    names = [str(name) for name in groups]
    if len(set(names)) == 1:
        return
    found, numbers = group_numbers(groups, len(groups))
    assert found.tolist() == sorted(set(names))
    assert found[numbers].tolist() == names


def test_a_single_row_may_be_one_group():
    assert group_numbers(["p"], 1)[1].tolist() == [0]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", None, "b"], "groups has no name for row 1 (None); give it one, or a group of its own."),
        ([1.0, 2.0, np.nan], "groups has no name for row 2 (nan); give it one, or a group of its own."),
        (
            np.ma.masked_array(["a", "b", "b"], mask=[0, 1, 1]),
            "groups has no name for row 1 (masked); give it one, or a group of its own.",
        ),
        ([["a"], ["b"], ["b"]], "groups must be one name per row, not an array of 2 dimensions."),
        (["a", "b"], "X has 3 rows, but groups has 2 names; give every row one group."),
        (["a", "a", "a"], "All rows are in one group, 'a', so nothing can be said; leave groups out."),
    ],
)
def test_groups_that_say_nothing_are_refused(groups, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        group_numbers(groups, 3)


def test_a_column_of_a_table_brings_its_name():
    names = ["p2", "p1", "p2"]
    for groups, noun in (
        (names, "group"),
        (pd.Series(names), "group"),
        (pd.Series(names, name="patient"), "patient"),
        (pd.Series(names, name=""), "group"),
        (pd.Series(names, name=7), "group"),
        (pd.DataFrame({"donor": names}), "donor"),
        (np.array(names), "group"),
    ):
        found = Grouping.of(groups, 3)
        assert found.noun == noun
        assert found.of_rows.tolist() == names
        assert found.names.tolist() == ["p1", "p2"]
    with pytest.raises(ValueError, match="an array of 2 dimensions"):
        Grouping.of(pd.DataFrame({"donor": names, "site": names}), 3)


def test_groups_of_copies_are_those_of_their_rows():
    groups = Grouping.of(pd.Series(["c", "a", "b", "a"], name="patient"), 4)
    copies = groups.of_copies(np.array([3, 0, 0, 1]))
    assert copies.of_rows.tolist() == ["a", "c", "c", "a"]
    assert copies.names.tolist() == ["a", "c"]
    assert copies.noun == "patient"
    assert not groups.is_trivial
    assert not copies.is_trivial
    assert groups.of_copies(np.array([0, 1, 2])).is_trivial


@pytest.mark.parametrize("weights", [[2, 0, 1, 3], [2.0, 0.0, 1.0, 3.0], np.array([2, 0, 1, 3], dtype=np.uint8)])
def test_weights_count_rows(weights):
    found = row_counts(weights, np.array([0, 0, 1, 1]), np.array(["a", "b"]))
    assert found.tolist() == [2, 0, 1, 3]
    assert found.dtype == np.int64


def test_one_weight_is_that_of_all_rows():
    numbers, classes = np.array([0, 1, 1]), np.array(["a", "b"])
    assert row_counts(3, numbers, classes).tolist() == [3, 3, 3]
    assert row_counts([True, True, False], numbers, classes).tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            np.ma.masked_array([1, 1, 1], mask=[0, 0, 1]),
            "sample_weight is masked for some rows; give every row a weight, 0 to leave it out.",
        ),
        ([[1, 1, 1]], "Sample weights must be 1D array or scalar: one per row, not 2 dimensions."),
        ([1, 1], "sample_weight.shape == (2,), expected (3,): X has 3 rows; give every row one weight."),
        (["1", "1", "1"], "sample_weight has '1'; weights are whole numbers, how often each row occurs."),
        (
            [1, 1, -1],
            "The weight of row 2 is -1; weights are whole numbers of at least 0, how often each row occurs: tests "
            "count rows.",
        ),
        (
            [1, 0.5, np.nan],
            "The weight of row 1 is 0.5; weights are whole numbers of at least 0, how often each row occurs: tests "
            "count rows.",
        ),
        (
            [1, 2.0**30, 2.0**31],
            "The weights add up to 3.22e+09 rows (row 2 alone: 2.15e+09), but 2,147,483,648 fit at most; divide all "
            "weights by the same number.",
        ),
        ([0, 1, 1], "The weight of all rows of class 'a' is zero; leave the class out."),
        ([1, 0, 0], "The weight of all rows of class 'b' is zero; leave the class out."),
    ],
)
def test_weights_that_count_nothing_are_refused(weights, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        row_counts(weights, np.array([0, 1, 1]), np.array(["a", "b"]))


def test_weights_may_add_up_to_as_many_rows_as_fit(monkeypatch):
    monkeypatch.setattr(labels, "MAX_ROWS", 10)
    assert row_counts([4, 6], np.array([0, 1]), np.array(["a", "b"])).tolist() == [4, 6]
    with pytest.raises(ValueError, match="add up to 11 rows"):
        row_counts([5, 6], np.array([0, 1]), np.array(["a", "b"]))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            np.ma.masked_array(["a", "b"], mask=[0, 1]),
            "Input y contains NaN: row 1 has no label (masked); give it one or drop the row.",
        ),
        (["a", None], "Input y contains NaN: row 1 has no label (None); give it one or drop the row."),
        (["a"], "X has 2 rows, but y has 1 labels; give every row one label."),
        (
            np.array(["a", 1], dtype=object),
            "y mixes labels of different kinds (int, str); make them all text, for example y.astype(str).",
        ),
        ([b"a", b"b"], "Labels such as b'a' are not supported; make them text, for example y.astype(str)."),
        (
            pd.Series([pd.Period("2020"), pd.Period("2021")]),
            "Labels such as Period('2020', 'Y-DEC') are not supported; make them text, for example y.astype(str).",
        ),
    ],
)
def test_labels_that_name_no_class_are_refused_with_a_sentence(y, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        class_numbers(y, 2)
