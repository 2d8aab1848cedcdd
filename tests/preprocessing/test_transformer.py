import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import saltmine
from saltmine import CSalt, Prepare
from saltmine.preprocessing.columns import quantile_cuts
from saltmine.preprocessing.transformer import MIN_ROWS_FOR_THREADS


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "age": [25, 61, 70, 33, 48, 52],
            "colour": ["red", "blue", "red", "green", "blue", "red"],
            "member": [1, 0, 1, 1, 0, 0],
            "cylinders": [4, 6, 8, 4, 6, 4],
            "open": [True, False, True, True, True, False],
        }
    )


def test_every_kind_of_column_becomes_items(table):
    items = Prepare(thresholds={"age": [30, 60]}).fit_transform(table)
    assert list(items.columns) == [
        "age<30", "30<=age<60", "age>=60",
        "colour=blue", "colour=green", "colour=red",
        "member",
        "cylinders=4", "cylinders=6", "cylinders=8",
        "open",
    ]  # fmt: skip
    np.testing.assert_array_equal(items["age>=60"], table["age"] >= 60)
    np.testing.assert_array_equal(items["30<=age<60"], table["age"].between(30, 59))
    np.testing.assert_array_equal(items["colour=red"], table["colour"] == "red")
    np.testing.assert_array_equal(items["cylinders=6"], table["cylinders"] == 6)
    np.testing.assert_array_equal(items["member"], table["member"] == 1)
    np.testing.assert_array_equal(items["open"], table["open"])


def test_sparse_items_are_the_same(table):
    dense = Prepare().fit_transform(table)
    sparse = Prepare(sparse_output=True).fit_transform(table)
    np.testing.assert_array_equal(sparse.toarray(), dense)
    np.testing.assert_array_equal(Prepare(sparse_output=True).fit(table).transform(table).toarray(), dense)


def test_new_data_gets_the_same_items(table):
    prepare = Prepare().fit(table)
    pd.testing.assert_frame_equal(prepare.transform(table), Prepare().fit_transform(table))
    new = pd.DataFrame(
        {"open": [False], "more": [3], "colour": ["violet"], "age": [1000], "cylinders": [5], "member": [0]}
    )
    items = prepare.transform(new)
    assert list(items.columns) == list(prepare.get_feature_names_out())
    assert items.loc[0][items.loc[0]].index.tolist() == [prepare.get_feature_names_out()[3]]


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=5, max_size=60).filter(lambda x: len(set(x)) > 4),
    st.integers(2, 4),
)
def test_every_number_is_in_one_interval_and_every_interval_has_one(numbers, bins):
    items = Prepare(bins=bins).fit_transform(pd.DataFrame({"x": numbers}))
    if list(items.columns) == ["x"]:
        return
    np.testing.assert_array_equal(items.sum(axis=1), 1)
    assert (items.sum(axis=0) > 0).all()
    assert 2 <= items.shape[1] <= bins


NUMBERS = st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6, allow_subnormal=False)), min_size=5, max_size=60)


@pytest.mark.slow
@settings(deadline=None)
@given(
    NUMBERS.filter(lambda x: len(set(x) - {None}) > 4),
    st.one_of(st.none(), st.lists(st.integers(-100, 100), min_size=1, max_size=5, unique=True)),
    st.sampled_from(["item", "ignore"]),
    st.booleans(),
)
def test_rows_have_all_cumulative_items_that_hold(numbers, thresholds, missing, sparse_output):
    frame = pd.DataFrame({"x": np.array(numbers, dtype=float), "on": [k % 2 for k in range(len(numbers))]})
    settings = {"thresholds": None if thresholds is None else {"x": thresholds}, "missing": missing}
    prepare = Prepare(cuts="cumulative", sparse_output=sparse_output, **settings)
    items = prepare.fit_transform(frame)
    if sparse_output:
        items = pd.DataFrame.sparse.from_spmatrix(items, columns=prepare.item_names_)
    expected = {}
    for name in prepare.item_names_:
        column, separator, cut = name.partition(">=")
        if separator:
            expected[name] = frame[column] >= float(cut)
    if missing == "item" and None in numbers:
        expected["x missing"] = frame["x"].isna()
    expected["on"] = frame["on"] == 1
    assert list(items.columns) == list(expected)
    np.testing.assert_array_equal(items.to_numpy().astype(bool), pd.DataFrame(expected).to_numpy())
    # The cuts are those of the intervals.
    intervals = Prepare(**settings).fit(frame).item_names_
    assert sum(">=" in name for name in expected) == sum(
        name.startswith("x>=") or "<x" in name or "<=x" in name for name in intervals
    )
    again = Prepare.from_dict(json.loads(json.dumps(prepare.to_dict())))
    assert again.cuts == "cumulative"
    new = frame.iloc[::-1].head(3)
    np.testing.assert_array_equal(again.transform(new).to_numpy(), items.iloc[::-1].head(3).to_numpy().astype(bool))


def test_cumulative_items_of_new_rows_beyond_all_cuts(table):
    prepare = Prepare(thresholds={"age": [60, 30]}, cuts="cumulative").fit(table)
    assert list(prepare.item_names_[:2]) == ["age>=30", "age>=60"]
    new = table.head(3).assign(age=[0, 30, 1000])
    np.testing.assert_array_equal(prepare.transform(new).to_numpy()[:, :2], [[0, 0], [1, 0], [1, 1]])


def test_preparations_stored_without_cuts_have_intervals(table):
    plain = Prepare().fit(table).to_dict()
    del plain["cuts"]
    assert Prepare.from_dict(plain).cuts == "intervals"


def test_cuts_have_few_digits_and_parts_of_equal_size():
    numbers = np.random.default_rng(0).normal(size=1000)
    cuts = quantile_cuts(numbers, 4)
    sizes = np.diff([0, *(int((numbers < cut).sum()) for cut in cuts), 1000])
    assert sizes.tolist() == [250, 250, 250, 250]
    assert all(len(repr(cut)) <= 8 for cut in cuts)


def test_counts_with_many_zeros_are_cut_above_zero():
    items = Prepare().fit_transform(pd.DataFrame({"visits": [0] * 50 + [1, 2, 3, 4, 5, 6]}))
    assert list(items.columns) == ["visits<1", "visits>=1"]


def test_long_tables_are_prepared_in_parts_of_columns_but_alike():
    rng = np.random.default_rng(0)
    rows = MIN_ROWS_FOR_THREADS + 1
    long = pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "colour": rng.choice(["red", "blue"], rows),
            "on": rng.integers(0, 2, rows),
            "gap": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(0, 9, rows)),
        }
    )
    prepare = Prepare(missing="item")
    whole = prepare.fit_transform(long)
    halves = [prepare.transform(part) for part in (long[: rows // 2], long[rows // 2 :])]
    pd.testing.assert_frame_equal(whole, pd.concat(halves))
    with pytest.raises(ValueError, match=r"Column 'gap' has no value"):
        Prepare().fit(long)


def test_columns_of_yes_and_no_are_items_themselves():
    frame = pd.DataFrame(
        {"smoker": ["Yes", "no", "Yes"], "sex": ["m", "f", "m"], "test": ["negative", "positive", "negative"]}
    )
    prepare = Prepare()
    items = prepare.fit_transform(frame)
    assert list(items.columns) == ["smoker", "sex=f", "sex=m", "test"]
    assert items["smoker"].tolist() == [True, False, True]
    assert items["test"].tolist() == [False, True, False]
    again = Prepare.from_dict(json.loads(json.dumps(prepare.to_dict())))
    pd.testing.assert_frame_equal(again.transform(frame), items)


@pytest.fixture
def smokers():
    return Prepare(missing="ignore").fit(pd.DataFrame({"smoker": ["Yes", "no", "Yes"]}))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (["yes", "YES", " Yes ", "No", "NO"], [1, 1, 1, 0, 0]),
        ([1, 0, 1], [1, 0, 1]),
        ([1.0, None, 0.0], [1, 0, 0]),
        ([True, False], [1, 0]),
        ([True, None, False], [1, 0, 0]),
        (["true", "FALSE", "1", "0", "1.0"], [1, 0, 1, 0, 1]),
        (pd.array(["YES", None, "no"], dtype="string"), [1, 0, 0]),
        (pd.Categorical(["YES", "no"]), [1, 0]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_yes_and_no_may_be_written_otherwise_in_new_data(smokers, new, expected):
    assert smokers.transform(pd.DataFrame({"smoker": new}))["smoker"].tolist() == expected


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("yes", "no"), [("y", "n"), ("Present", "absent"), ("positive", "Negative"), ("T", "F")])
def test_all_words_for_yes_and_no_may_differ_in_case(yes, no):
    prepare = Prepare().fit(pd.DataFrame({"c": [yes, no]}))
    new = pd.DataFrame({"c": [yes.swapcase(), no.swapcase(), "yes", "no"]})
    assert prepare.transform(new)["c"].tolist() == [True, False, True, False]


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (["maybe", "yes", "maybe"], r"^'maybe' in column 'smoker' was not in the fit; 2 rows have no item of it, like"),
        (["no", 2, "maybe", "y"], r"^'2' \(and 2 other values\) in column 'smoker' was not in the fit; 3 rows have"),
        ([2, 1, None], r"^'2' in column 'smoker' was not in the fit; 1 row has no item of it, like 'no'\.$"),
    ],
)
def test_values_that_are_neither_yes_nor_no_are_warned_of_once(smokers, new, message):
    with pytest.warns(UserWarning, match=message) as found:
        items = smokers.transform(pd.DataFrame({"smoker": new}))
    assert len(found) == 1
    assert items["smoker"].tolist() == [value in ("yes", 1) for value in new]


def test_a_column_of_0_and_1_takes_yes_and_no_but_no_other_text(table):
    prepare = Prepare().fit(table)
    new = prepare.transform(table.assign(member=["Yes", "no", "TRUE", "1", "False", "no"]))
    assert new["member"].tolist() == [True, False, True, True, False, False]
    with pytest.raises(ValueError, match="'member' holds text, but it held numbers"):
        prepare.transform(table.assign(member=["yes", "no", "maybe", "yes", "no", "no"]))


@pytest.mark.filterwarnings("error")
def test_unknown_categories_have_no_item_and_no_warning(table):
    assert not Prepare().fit(table).transform(table.assign(colour="violet")).filter(like="colour").any(axis=None)


def test_columns_with_a_single_value_are_left_out():
    frame = pd.DataFrame({"city": ["Mainz"] * 3, "ones": [1, 1, 1], "a": [0, 1, 1]})
    frame["gap"] = ["x", None, "x"]
    frame["never"] = 0
    prepare = Prepare(missing="item")
    assert list(prepare.fit_transform(frame).columns) == ["a", "gap=x", "gap missing", "never"]
    assert prepare.left_out_ == ["city", "ones"]
    again = Prepare.from_dict(json.loads(json.dumps(prepare.to_dict())))
    assert again.left_out_ == prepare.left_out_
    assert again.transform(frame).shape == (3, 4)
    with pytest.raises(ValueError, match=r"No column has more than one value"):
        Prepare().fit(frame[["city", "ones"]])


def test_names_pass_through_a_pipeline(table):
    model = make_pipeline(saltmine.Prepare(bins=2), CSalt(random_state=0)).fit(table, [0, 1, 0, 1, 0, 1])
    assert "colour=red" in model[-1].feature_names_in_
    assert model.predict(table).shape == (6,)


def test_arrays_have_numbered_columns():
    items = Prepare(bins=2).fit_transform(np.array([[1.5, 0], [2.5, 1], [3.5, 1]]))
    assert list(items.columns) == ["x0<2", "x0>=2", "x1"]


def test_a_clone_is_not_fitted_and_has_the_parameters(table):
    again = clone(Prepare(bins=3, missing="item").fit(table))
    others = {"cuts": "intervals", "sparse_output": False, "thresholds": None}
    assert again.get_params() == {"bins": 3, "missing": "item"} | others
    assert not hasattr(again, "item_names_")


@pytest.fixture
def gaps():
    return pd.DataFrame(
        {"age": [20.0, np.nan, 40, 50, 60], "colour": ["red", "blue", None, "red", "red"], "old": [1, 0, None, 1, 0]}
    )


def test_missing_values_are_an_error_by_default_and_it_says_how(gaps):
    with pytest.raises(
        ValueError, match=r"Column 'age' has no value in row 1, counted from 0; choose missing='item' [^-]*$"
    ):
        Prepare().fit(gaps)
    with pytest.raises(ValueError, match=r"has no value in row 1 \(and 1 more rows\)"):
        Prepare().fit(pd.DataFrame({"age": [1, None, None]}))


def test_missing_values_can_be_items(gaps):
    items = Prepare(missing="item", bins=2).fit_transform(gaps)
    np.testing.assert_array_equal(items["age missing"], gaps["age"].isna())
    np.testing.assert_array_equal(items["colour missing"], gaps["colour"].isna())
    np.testing.assert_array_equal(items["old missing"], gaps["old"].isna())
    np.testing.assert_array_equal(items.filter(like="age").sum(axis=1), 1)
    assert not items.loc[2, ["colour=red", "colour=blue", "old"]].any()


def test_missing_values_can_be_ignored(gaps):
    items = Prepare(missing="ignore", bins=2).fit_transform(gaps)
    assert not any("missing" in name for name in items.columns)
    assert not items.loc[1].filter(like="age").any()


def test_gaps_in_new_data_follow_the_same_rule(table):
    new = table.astype({"age": float})
    new.loc[0, "age"] = np.nan
    with pytest.raises(ValueError, match=r"Column 'age' has no value in row 0"):
        Prepare().fit(table).transform(new)
    assert not Prepare(missing="item").fit(table).transform(new).loc[0].filter(like="age").any()


def test_what_was_learned_can_be_stored_as_json(table, gaps):
    for prepare, frame in ((Prepare(thresholds={"age": [30.5]}), table), (Prepare(missing="item"), gaps)):
        prepare.fit(frame)
        again = Prepare.from_dict(json.loads(json.dumps(prepare.to_dict())))
        pd.testing.assert_frame_equal(again.transform(frame), prepare.transform(frame))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (pd.Series([True, False, None], dtype=object), pd.Series([True, False])),
        (pd.Series(["1.0", "A", "2.0"]), pd.Series([1.0, 2.0])),
        (pd.Series(["01", "A", "02"]), pd.Series([1, 2])),
        (pd.Series([0.5, 1.5, 2.5], dtype="category"), pd.Series([0.5, 1.5])),
        (pd.Series([0.1, 0.2, 0.3], dtype="float64"), pd.Series([0.1, 0.2], dtype="float64")),
        (pd.Series([1, 2, None], dtype="Int64"), pd.Series([1, 2])),
        (pd.Series([1, "x", 2], dtype=object), pd.Series([1, 2])),
    ],
)
def test_a_value_is_the_same_item_whatever_type_its_column_has(old, new):
    prepare = Prepare(missing="ignore").fit(pd.DataFrame({"c": old}))
    items = prepare.transform(pd.DataFrame({"c": new}))
    assert items.iloc[0].any()
    np.testing.assert_array_equal(items.iloc[0], prepare.transform(pd.DataFrame({"c": old})).iloc[0])


def test_a_failed_fit_leaves_the_former_state(table, gaps):
    prepare = Prepare().fit(table)
    names = prepare.item_names_.tolist()
    with pytest.raises(ValueError, match="has no value"):
        prepare.fit(gaps)
    assert prepare.item_names_.tolist() == names
    assert prepare.feature_names_in_.tolist() == list(table.columns)
    with pytest.raises(ValueError, match="has no value"):
        (fresh := Prepare()).fit(gaps)
    with pytest.raises(NotFittedError):
        fresh.transform(table)


def test_matrices_without_names_are_dense_or_sparse_by_size(table, monkeypatch):
    prepare = Prepare()
    dense = prepare.items_of(table, fit=True)
    assert isinstance(dense, np.ndarray)
    np.testing.assert_array_equal(dense, prepare.transform(table))
    monkeypatch.setattr("saltmine.preprocessing.transformer.MAX_DENSE_CELLS", 10)
    np.testing.assert_array_equal(prepare.items_of(table).toarray(), dense)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"id": [10**18 + k for k in range(30)]}, r"'id' holds whole numbers of more than 15 digits.*index"),
        ({"z": [1 + 2j, 3j]}, r"'z' holds complex numbers"),
        (
            {"name": [f"p{k}" for k in range(50)]},
            r"'name' holds 50 different texts in 50 rows, .*make it the index, else drop the column\.$",
        ),
        (
            {"day": pd.to_datetime(["2020-01-01", "2021-01-01"])},
            r"'day' holds dates or times; .* such as the year, or drop the column\.$",
        ),
        ({"x": [1.0, np.inf, 2, 3, 4, 5]}, r"'x' holds an infinite value \(inf\) in row 1"),
        ({"a": [1, 2, 3], "a=1": [0, 1, 1]}, r"'a=1' is the name of two items \(1 and 4\); rename one"),
        ({}, r"X has 0 rows and 0 columns; at least one of each"),
    ],
)
def test_columns_that_cannot_be_items_are_named(frame, message):
    with pytest.raises(ValueError, match=message) as found:
        Prepare().fit(pd.DataFrame(frame))
    assert "--" not in str(found.value)
    # Errors of other processes, as in a cross-validation, are pickled.
    again = pickle.loads(pickle.dumps(found.value))
    assert (str(again), vars(again)) == (str(found.value), vars(found.value))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bins": 1}, r"bins must be a whole number of at least 2, not 1"),
        ({"cuts": "both"}, r"cuts must be 'intervals' or 'cumulative', not 'both'"),
        ({"missing": "drop"}, r"missing must be 'error' or 'item' or 'ignore', not 'drop'"),
        ({"thresholds": [60]}, r"thresholds must be a dict such as"),
        ({"thresholds": {"age": "60"}}, r"thresholds of 'age' must be a list of numbers"),
        ({"thresholds": {"age": []}}, r"thresholds of 'age' must be a list of numbers"),
        ({"thresholds": {"size": [1]}}, r"There is no column 'size' to cut at thresholds"),
        ({"thresholds": {"colour": [1]}}, r"'colour' has thresholds but holds text"),
    ],
)
def test_wrong_parameters_are_explained(table, parameters, message):
    with pytest.raises(ValueError, match=message):
        Prepare(**parameters).fit(table)


def test_new_data_that_does_not_fit_is_explained(table):
    prepare = Prepare().fit(table)
    with pytest.raises(ValueError, match=r"The columns 'colour', 'open' are missing"):
        prepare.transform(table[["age", "member", "cylinders"]])
    wide = Prepare().fit(pd.DataFrame(np.eye(13), columns=[f"c{j:02d}" for j in range(13)]))
    with pytest.raises(ValueError, match=r"The columns 'c00', 'c01', [^(]*, 'c09' \(and 2 more\) are missing"):
        wide.transform(pd.DataFrame({"c12": [1]}))
    with pytest.raises(ValueError, match=r"'member' holds 7 in row 2, but it was 0/1"):
        prepare.transform(table.assign(member=[1, 0, 7, 1, 0, 0]))
    with pytest.raises(ValueError, match=r"'age' holds text, but it held numbers"):
        prepare.transform(table.assign(age=["old"] * 6))


def test_rows_without_names_are_told_how_to_get_them(table):
    prepare = Prepare().fit(table)
    rows = table.to_numpy()
    told = r"no column names, but the columns of the fit \('age', '\w+', ...\) are looked up by name; pass a DataFrame"
    for nameless in (rows, rows.tolist(), pd.DataFrame(rows)):
        with pytest.raises(ValueError, match=rf"{told}, such as pd.DataFrame\(X, columns=prepare.feature_names_in_\)"):
            prepare.transform(nameless)
    with pytest.raises(ValueError, match=rf"{told} with all {table.shape[1]} of them"):
        prepare.transform(rows[:, :2])
    named = prepare.transform(pd.DataFrame(rows, columns=prepare.feature_names_in_))
    pd.testing.assert_frame_equal(named, prepare.transform(table))


def test_rows_with_names_are_refused_after_a_fit_without(table):
    numbers = table[["age", "member"]]
    prepare = Prepare().fit(numbers.to_numpy())
    with pytest.raises(ValueError, match="X has column names such as 'age', but the fit had none; pass an array"):
        prepare.transform(numbers)
    assert prepare.transform(numbers.to_numpy()).shape == (len(table), len(prepare.item_names_))
    with pytest.raises(ValueError, match="The column 'x1' is missing"):
        prepare.transform(numbers.to_numpy()[:, :1])


def test_matrices_need_no_preparing(planted):
    import scipy.sparse as sp

    with pytest.raises(ValueError, match=r"X is sparse, so it is a matrix already"):
        Prepare().fit(sp.csr_array(planted.X))


@pytest.mark.slow
def test_text_needs_no_pyarrow():
    """pandas holds text itself where pyarrow, an optional extra, is not installed."""
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'pyarrow':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "import pandas as pd; from saltmine import Prepare\n"
        "frame = pd.DataFrame({'day': pd.array(['Fri', None, 'Sat', 'Fri'], dtype=pd.StringDtype('python'))})\n"
        "print(list(Prepare(missing='ignore').fit(frame).get_feature_names_out()))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['day=Fri', 'day=Sat']"


@pytest.mark.parametrize(
    ("stray", "message"),
    [
        (
            {7: "old"},
            r"Column 'age' holds numbers, but 'old' in row 7, counted from 0; correct it, .* or drop the column",
        ),
        ({7: "old", 90: "n.n."}, r"'old' in row 7, counted from 0 \(and no number in 1 more row\)"),
    ],
)
def test_a_word_among_numbers_is_named(stray, message):
    ages = [str(age) for age in np.random.default_rng(0).random(300)]
    for row, word in stray.items():
        ages[row] = word
    with pytest.raises(ValueError, match=message):
        Prepare().fit(pd.DataFrame({"age": ages}))


def test_names_of_rows_are_not_taken_for_numbers():
    with pytest.raises(ValueError, match=r"300 different texts in 300 rows, too many for categories; if it names"):
        Prepare().fit(pd.DataFrame({"id": [f"patient {k}" for k in range(300)]}))


def test_a_missing_column_of_a_table_whose_names_look_like_those_of_an_array():
    table = pd.DataFrame({"x0": [0, 1, 1], "x1": [1, 0, 1], "x2": [1, 1, 0]})
    prepare = Prepare().fit(table)
    with pytest.raises(ValueError, match=r"The column 'x1' is missing; new data needs all columns of the fit\."):
        prepare.transform(table[["x0", "x2"]])
