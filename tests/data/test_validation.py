"""Every message that bad input can meet, on dense and sparse data."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from saltmine import CSalt, Primp
from saltmine.data.labels import class_numbers
from saltmine.data.validation import TableNames, as_binary, given_names

Y = [0, 0, 1, 1]


def table(value, column=1, row=2):
    X = np.zeros((4, 3))
    X[0] = 1
    X[row, column] = value
    return X


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0.5, r"Column 1 holds 0.5 in row 2, which is neither 0 nor 1; create the estimator with binarize=t"),
        (7, r"Column 1 holds 7.0 in row 2, which is neither 0 nor 1"),
        (-1, r"Column 1 holds -1.0 in row 2"),
        (np.nan, r"Column 1 holds a missing value \(NaN\) in row 2; fill it"),
        (np.inf, r"Column 1 holds an infinite value \(inf\) in row 2"),
    ],
)
def test_what_is_not_binary_is_named(form, value, message):
    for model in (CSalt(), Primp()):
        with pytest.raises(ValueError, match=message):
            model.fit(form(table(value)), Y)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_threshold_does_not_hide_missing_or_infinite_values(form, value):
    with pytest.raises(ValueError, match=r"Column 1 holds an? (missing|infinite) value"):
        CSalt(binarize=0.5).fit(form(table(value)), Y)


def test_column_names_are_used():
    frame = pd.DataFrame(table(3), columns=["shoes", "hats", "gloves"])
    with pytest.raises(ValueError, match=r"Column 'hats' holds 3\.0 in row 2"):
        CSalt().fit(frame, Y)


def test_whole_numbers_are_shown_as_such():
    with pytest.raises(ValueError, match="Column 0 holds 5 in row 1"):
        as_binary(np.array([[1, 0], [5, 1]]), None)


@pytest.mark.parametrize("binarize", [None, 0.5])
@pytest.mark.parametrize("dtype", [object, "string", "category"])
def test_text_columns_are_named(dtype, binarize):
    frame = pd.DataFrame({"on": [0, 1, 1, 0], "colour": pd.Series(["red", "blue", "red", "red"], dtype=dtype)})
    with pytest.raises(
        ValueError,
        match=r"Column 'colour' holds 'red' in row 0, which is not a number; make it 0/1 first .* or drop the column",
    ):
        CSalt(binarize=binarize).fit(frame, Y)


@pytest.mark.parametrize("form", [list, lambda X: np.array(X, dtype=object)])
def test_text_in_arrays_is_named(form):
    with pytest.raises(ValueError, match="Column 1 holds 'x' in row 1, which is not a number"):
        CSalt().fit(form([[1, 0], [1, "x"]]), [0, 1])
    with pytest.raises(ValueError, match="Column 0 holds '1' in row 0, which is not a number"):
        CSalt().fit(np.array([["1", "0"], ["0", "1"]]), [0, 1])


@pytest.mark.parametrize("gap", [None, pd.NA, np.nan])
def test_gaps_in_objects_are_missing_values(gap):
    X = np.array([[1, 0], [0, gap], [1, 1], [0, 1]], dtype=object)
    for form in (X, pd.DataFrame(X), X.tolist()):
        with pytest.raises(ValueError, match=r"Column 1 holds a missing value \(NaN\) in row 1"):
            CSalt().fit(form, Y)


def test_masked_entries_are_missing_values():
    X = np.ma.masked_array(np.ones((4, 2)), mask=[[0, 0], [0, 0], [0, 1], [0, 0]])
    with pytest.raises(ValueError, match=r"Column 1 holds a missing value \(NaN\) in row 2"):
        CSalt().fit(X, Y)


def test_column_numbers_of_a_table_are_its_own():
    frame = pd.DataFrame(table(3), columns=[10, 20, 30])
    with pytest.raises(ValueError, match=r"Column 20 holds 3\.0 in row 2"):
        CSalt().fit(frame, Y)
    items = CSalt(algorithm="paper", max_iter=300, random_state=0).fit(frame > -1, Y).patterns()["item"]
    assert set(items) == {10, 20, 30}


def test_rows_with_names_of_their_own_are_named():
    frame = pd.DataFrame(table(3), index=["ann", "bob", "cat", "dan"])
    with pytest.raises(ValueError, match=r"Column 1 holds 3\.0 in row 2 \(index 'cat'\)"):
        CSalt().fit(frame, Y)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["bread", "milk"], ["tea"]], "rows that differ in length; turn lists of names into 0/1 columns"),
        ([{"bread"}, {"tea"}], "MultiLabelBinarizer"),
        ("baskets.csv", r"X is 'baskets\.csv', not a table; read the file first"),
        (Path("baskets.csv"), "not a table; read the file first"),
        (pd.DataFrame(index=[0, 1]), "X has no columns"),
    ],
)
def test_what_is_no_table_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        CSalt().fit(X, [0, 1])


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(ValueError, match=r"'a' is the name of two columns \(1 and 2\); rename one of them"):
        CSalt().fit(pd.DataFrame(np.ones((4, 2)), columns=["a", "a"]), Y)


@pytest.mark.parametrize("binarize", [None, 0])
@pytest.mark.parametrize(("value", "what"), [(np.nan, "missing"), (np.inf, "infinite")])
def test_tables_of_categories_hide_nothing(binarize, value, what):
    frame = pd.DataFrame(table(value)).astype("category")
    with pytest.raises(ValueError, match=f"Column 1 holds an? {what} value"):
        CSalt(binarize=binarize).fit(frame, Y)
    with pytest.raises(ValueError, match=r"Column 1 holds 2\.0 in row 2, which is neither 0 nor 1"):
        CSalt().fit(pd.DataFrame(table(2)).astype("category"), Y)
    assert CSalt(max_iter=20).fit(pd.DataFrame(table(1)).astype("category"), Y).n_features_in_ == 3


def test_periods_are_named():
    frame = pd.DataFrame({"month": pd.period_range("2020-01", periods=4, freq="M")})
    with pytest.raises(ValueError, match=r"Column 'month' holds Period.* which is not a number"):
        CSalt().fit(frame, Y)


def test_dates_in_arrays_are_named():
    with pytest.raises(ValueError, match=r"Column 0 holds datetime.* in row 0, which is not a number"):
        CSalt().fit(np.full((4, 2), np.datetime64("2020-01-01")), Y)


def test_dates_are_named():
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-01"] * 4)})
    with pytest.raises(ValueError, match=r"Column 'day' holds Timestamp.* in row 0, which is not a number"):
        CSalt().fit(frame, Y)


def test_nullable_columns_are_read_and_their_gaps_named():
    full = pd.DataFrame({"a": [1, 1, 0, 0], "b": [1, 1, 0, 1]}, dtype="boolean")
    assert CSalt(max_iter=20, random_state=0).fit(full, Y).n_features_in_ == 2
    full.loc[1, "b"] = pd.NA
    with pytest.raises(ValueError, match=r"Column 'b' holds a missing value \(NaN\) in row 1"):
        CSalt().fit(full, Y)


def test_duplicate_entries_of_a_sparse_matrix_add_up_and_are_then_not_binary():
    X = sp.coo_array(([1, 1, 1], ([0, 0, 1], [0, 0, 1])), shape=(4, 2))
    with pytest.raises(ValueError, match="Column 0 holds 2 in row 0"):
        CSalt().fit(X, Y)


def test_stored_zeros_are_zeros():
    X = sp.csr_array(([1, 0, 1], ([0, 1, 2], [0, 1, 1])), shape=(4, 2))
    binary = as_binary(X, None)
    assert binary.nnz == 2
    assert X.nnz == 3


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [float, int, bool])
@pytest.mark.parametrize("threshold", [0, 0.5, 1, 2])
def test_binarize_takes_values_above_the_threshold(form, dtype, threshold):
    X = np.array([[0.0, 0.2, 3], [0.5, 0.7, 1]]).astype(dtype)
    binary = as_binary(form(X), threshold)
    np.testing.assert_array_equal(np.asarray(binary @ np.eye(3)) != 0, threshold < X)


def test_a_negative_threshold_needs_dense_data():
    with pytest.raises(ValueError, match="binarize=-1 would turn every zero of a sparse matrix into a one"):
        CSalt(binarize=-1).fit(sp.eye_array(4, format="csr"), Y)
    assert as_binary(np.zeros((2, 2)), -1).all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", None, "b", "b"], r"row 1 has no label \(None\); give it one or drop the row"),
        (np.array(["a", np.nan, "b", "b"], dtype=object), r"row 1 has no label"),
        (pd.Series(["a", pd.NA, "b", "b"], dtype=object), r"row 1 has no label"),
        (pd.Series([1, None, 2, 2], dtype="Int64"), r"row 1 has no label"),
        (pd.Series(["a", None, "b", "b"], dtype="category"), r"row 1 has no label"),
        (pd.to_datetime(pd.Series(["2020-01-01", None, "2020-01-01", "2021-01-01"])), r"row 1 has no label"),
        ([0.0, np.nan, 1.0, 1.0], r"row 1 has no label"),
        (np.array(["a", 1, "b", 2], dtype=object), r"y mixes labels of different kinds \(int, str\)"),
        (np.ma.masked_array([0, 0, 1, 1], mask=[0, 1, 0, 0]), r"row 1 has no label \(masked\)"),
        (pd.to_datetime(pd.Series(["2020", "2020", "2021", "2021"])), "are not supported; make them text"),
        ([b"a", b"a", b"b", b"b"], "are not supported; make them text"),
        (pd.Series(pd.cut([1, 1, 5, 5], 2)), "are not supported; make them text"),
        ([0.5, 1.5, 2.5, 3.7], "continuous"),
        ([0, 1], r"X has 4 rows, but y has 2 labels; give every row one label"),
    ],
)
def test_labels_that_name_no_class_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        CSalt().fit(table(1), y)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"]),
        (pd.Series(["b", "a", "b"], dtype="string"), ["a", "b"]),
        (pd.Series([2, 1, 2], dtype="Int64"), [1, 2]),
        (pd.DataFrame({"y": pd.Series([2, 1, 2], dtype="Int64")}), [1, 2]),
        (np.array(["b", "a", "b"], dtype=np.dtypes.StringDType()), ["a", "b"]),
        (pd.Series([True, False, True], dtype="boolean"), [False, True]),
        (np.array([2, 1, 2], dtype=object), [1, 2]),
        (np.array([True, False, True], dtype=object), [False, True]),
        (np.array(["b", np.str_("a"), "b"], dtype=object), ["a", "b"]),
        ([np.int64(2), 1, 2], [1, 2]),
        ((2.0, 1.0, 2.0), [1.0, 2.0]),
    ],
)
def test_classes_are_sorted_and_keep_their_kind(y, classes):
    found, numbers = class_numbers(y)
    assert found.tolist() == classes
    assert [type(label) for label in found.tolist()] == [type(label) for label in classes]
    assert numbers.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"algorithm": "magic"}, "algorithm must be 'saltmine' or 'likelihood' or 'paper', not 'magic'"),
        ({"algorithm": ["paper"]}, "algorithm must be"),
        ({"alpha": 0}, "alpha must be a probability between 0 and 1, as 0.01, not 0"),
        ({"alpha": "low"}, "alpha must be a probability"),
        ({"max_rank": 0}, "max_rank must be a whole number of at least 1, or None, not 0"),
        ({"rank_step": 2.5}, "rank_step must be a whole number of at least 1, not 2.5"),
        ({"max_iter": True}, "max_iter must be a whole number"),
        ({"n_restarts": -1}, "n_restarts must be a whole number"),
        ({"tol": -0.1}, r"tol must be a finite number of at least 0, not -0\.1"),
        ({"tol": float("nan")}, "tol must be a finite number of at least 0, not nan"),
        ({"tol": float("inf")}, "tol must be a finite number of at least 0, not inf"),
        ({"binarize": "yes"}, r"binarize must be a number \(values above it become ones\) or None, not 'yes'"),
        ({"binarize": float("nan")}, "binarize must be a number"),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0, or None, not 0"),
        (
            {"random_state": "x"},
            "random_state must be a whole number of at least 0, a numpy RandomState or None, not 'x'",
        ),
        ({"callback": 5}, "callback must be a function of one Progress argument or None, not 5"),
        ({"verbose": "loud"}, "verbose must be a whole number, 0 for a quiet fit"),
    ],
)
@pytest.mark.parametrize("kind", [CSalt, Primp])
def test_wrong_parameters_are_named(kind, parameters, message):
    with pytest.raises(ValueError, match=message):
        kind(**parameters).fit(table(1), Y)


def test_labels_are_needed_by_csalt_only():
    with pytest.raises(ValueError, match="CSalt requires y to be passed, but the target y is None"):
        CSalt().fit(table(1))
    assert Primp(max_iter=20).fit(table(1)).classes_.tolist() == [0]


def test_names_that_are_given_are_one_for_each():
    assert given_names(["a", 7], 2, "feature_names", "columns").tolist() == ["a", "7"]
    assert given_names(np.array(["b"]), 1, "feature_names", "columns").tolist() == ["b"]
    with pytest.raises(ValueError, match=r"^names has 1 names, but the data has 2 columns; give each one name\.$"):
        given_names(["a"], 2, "names", "columns")
    for wrong in ("ab", {"a", "b"}, frozenset("ab"), {"a": 1, "b": 2}, 5, iter("ab")):
        with pytest.raises(ValueError, match=r"^names must be a list of names, not "):
            given_names(wrong, 2, "names", "columns")


def test_names_of_a_table_are_those_that_say_something():
    frame = pd.DataFrame(np.ones((2, 3)), columns=["a", 7, 2.5])
    names = TableNames.of(frame)
    assert names.columns.tolist() == ["a", 7, "2.5"]
    assert names.rows is None
    assert TableNames.of(frame.set_index(pd.Index([0, 2]))).cell(1, 1, "x") == "Column 7 holds x in row 1 (index 2)"
    assert TableNames.of(np.ones((2, 3))) == TableNames()
    second = TableNames(np.array(["a", "b"], dtype=object), first_column=1)
    assert second.cell(0, 4, "x") == "Column 'b' holds x in row 4"


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_first_bad_value_of_the_first_bad_column_is_named(form):
    cells = np.zeros((5, 4))
    cells[0, 3] = cells[4, 1] = cells[2, 1] = 9
    cells[0, 0] = 1
    with pytest.raises(ValueError, match=r"^Column 1 holds 9\.0 in row 2, which is neither 0 nor 1; create the "):
        as_binary(form(cells), None)
    names = TableNames(first_row=10, first_column=20)
    with pytest.raises(ValueError, match=r"^Column 21 holds 9\.0 in row 12,"):
        as_binary(form(cells), None, names)
    cells[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"^Column 1 holds a missing value \(NaN\) in row 2; fill it, drop the row,"):
        as_binary(form(cells), 0.0)


def test_input_is_never_changed():
    stored = sp.csr_array(([1, 0, 1], ([0, 1, 2], [0, 1, 1])), shape=(4, 2))
    twice = sp.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    for X, binarize in ((stored, None), (twice, 0.5)):
        before = X.copy()
        binary = as_binary(X, binarize)
        assert (binary.data == 1).all()
        assert binary.dtype == np.int8
        for one, two in ((X.data, before.data), (X.indices, before.indices), (X.indptr, before.indptr)):
            np.testing.assert_array_equal(one, two)
    plain = np.array([[True, False]])
    assert as_binary(plain, None) is plain
