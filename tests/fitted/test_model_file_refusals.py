"""Model files that are refused: every field of the header and every array, with the sentence that is given."""

import json

import numpy as np
import pandas as pd
import pytest

from fuzz.real_models import pack
from saltmine import CSalt, Prepare, load
from saltmine.fitted.model_file import ModelFileError
from saltmine.parameters import RUN_PARAMETERS
from tests.helpers.model_files import rewrite, taken_apart
from tests.helpers.paths import shared_path


@pytest.fixture(scope="module")
def content(planted):
    """Return the file of a model with names, groups, stability and facts."""
    frame = pd.DataFrame(planted.X, columns=[f"item {k}" for k in range(100)])
    groups = pd.Series([f"patient {k % 90}" for k in range(180)], name="patient")
    rows = [f"row {k}" for k in range(180)]
    model = CSalt(random_state=0).fit(frame, np.array(["normal", "tumour"])[planted.y], groups=groups, row_names=rows)
    model.assess_stability(frame, refits=1, random_state=0)
    model.preparation_ = Prepare().fit(frame)
    model.about_ = {"source": "a.csv", "kind": "items", "reading": {}}
    return model


@pytest.fixture
def path(tmp_path, content):
    content.save(tmp_path / "model.salt")
    return tmp_path / "model.salt"


def refusal(path):
    """Return why a file is refused, which is one sentence."""
    with pytest.raises(ModelFileError) as error:
        load(path)
    sentence = str(error.value)
    assert sentence.startswith(f"'{path}' ")
    assert sentence.endswith(".")
    assert len(sentence.splitlines()) == 1
    assert len(sentence) < 700
    return sentence


def test_the_file_itself_is_loaded(path):
    assert load(path).groups_ is not None


# ---------------------------------------------------------------------- the header


@pytest.mark.parametrize("name", sorted(RUN_PARAMETERS))
@pytest.mark.parametrize("value", [None, "tcp://127.0.0.1:9", 1])
def test_a_parameter_of_a_run_is_refused(path, name, value):
    rewrite(path, {f"parameters.{name}": value})
    assert f"is refused: it sets the parameter {name}, which belongs to a run and not to a model" in refusal(path)


HEADERS = [
    ("format", "something else", "is not a saltmine model; load takes a file that model.save wrote"),
    ("version", 99, "has format version 99, but this saltmine reads version 9; install a newer saltmine"),
    ("version", 3, "has format version 3, but this saltmine reads version 9; fit and save the model again"),
    ("version", True, "is not a saltmine model"),
    ("version", 8.0, "is not a saltmine model"),
    ("code", "import os", "code is not a field that model files have"),
    ("co\r\x00de", 1, "co\\r\\x00de is not a field that model files have"),
    ("estimator", "Forest", "estimator is 'Forest', not 'CSalt' or 'Primp' or"),
    ("estimator", ["CSalt"], "estimator is a list of 1, not"),
    ("parameters", [], "parameters is a list of 0, not an object"),
    ("parameters.depth", 3, "parameters.depth is not a field that model files have"),
    ("parameters.alpha", True, "parameters.alpha is True, not a number between 0 and 1"),
    ("parameters.alpha", 1, "parameters.alpha is 1, not a number between 0 and 1"),
    ("parameters.binarize", "x", "parameters.binarize is 'x', not a number from"),
    ("parameters.max_iter", 0, "parameters.max_iter is 0, not a whole number from 1 to 2147483647"),
    ("parameters.max_iter", 10.0, "parameters.max_iter is 10.0, not a whole number"),
    ("parameters.random_state", 2**32, "parameters.random_state is 4294967296, not a whole number from 0 to"),
    ("parameters.fold", 1, "parameters.fold is 1, not true or false"),
    ("parameters.storage", "disk", "parameters.storage is 'disk', not 'auto' or 'dense' or 'sparse'"),
    ("parameters.features", "items", "parameters.features is 'items', not 'usage' or 'probability' or 'alterations'"),
    ("classes", ["a", "b"], "classes is a list of 2, not an object"),
    ("classes.labels", [], "classes.labels is a list of 0, not a list"),
    ("classes.labels", ["normal", None], r"classes.labels[1] is None, not text"),
    ("classes.labels", ["a" * 1_000_001, "b"], "classes.labels[0] is 'aaaaaaaaaa"),
    ("classes.labels", ["b", "a"], "labels are not sorted and distinct"),
    ("classes.labels", ["a", "a"], "labels are not sorted and distinct"),
    ("classes.labels", [1, 2], "labels are of another type than the header says"),
    ("classes.labels", ["a", 1], "labels are of another type than the header says"),
    ("classes.labels", ["a", "b", "c"], "alterations_ has shape"),
    ("classes.dtype", "<U500000000", "classes.dtype is '<U500000000', not one of 14 known names"),
    ("classes.dtype", "5" * 5000, "classes.dtype is '555555555"),
    ("classes.dtype", "int8", "labels are of another type than the header says"),
    ("item_names", ["a"], "column names differ"),
    ("item_names", "abc", "item_names is 'abc', not a list"),
    ("item_names", [True] * 100, "item_names is a list of 100, not a list: text"),
    ("item_names", ["x\ud800"] * 100, "item_names is a list of 100, not a list: text"),
    ("feature_names", ["a"], "names of features differ"),
    ("feature_names", [1] * 100, r"feature_names[0] is 1, not text of 0 to 1000000 characters"),
    ("row_names", ["one"], "row names differ"),
    ("row_names", ["x"] * 179 + ["\ud800"], r"row_names[179] is '\ud800', which holds half of a character"),
    ("row_names", ["x" * 1_000_001] + ["x"] * 179, "row_names[0] is 'xxxxx"),
    ("about", 7, "about is 7, not an object"),
    ("about.image", 7, "about.image is 7, not a list of 2 to 2"),
    ("about.image", [True, 2], "about.image[0] is True, not a whole number from 1 to 1000000"),
    ("about.kind", "pictures", "about.kind is 'pictures', not 'items' or 'words' or 'loci' or 'pixels'"),
    ("about.title", ["x"], "about.title is a list of 1, not text"),
    ("about.reading", "x", "about.reading is 'x', not an object"),
    ("about.reading.labels", "/etc/passwd", "about.reading.labels is not a field that model files have"),
    ("about.reading.items", "/etc/passwd", "about.reading.items is not a field"),
    ("about.reading.stop_words", "/etc/passwd", "about.reading.stop_words is not a field"),
    ("about.reading.format", "pickle", "about.reading.format is 'pickle', not 'csv' or"),
    ("about.reading.separator", ",,,", "about.reading.separator is ',,,', not text of 1 to 2 characters"),
    ("about.reading.encoding", "a/b", "about.reading.encoding is 'a/b', not the name of an encoding"),
    ("about.reading.language", "../../x", "about.reading.language is '../../x', not the code of a language"),
    ("about.reading.nonsilent", 1, "about.reading.nonsilent is 1, not true or false"),
    ("preparation", {"bins": 4}, "preparation.missing is missing"),
    ("preparation.bins", 1, "preparation.bins is 1, not a whole number from 2 to"),
    ("preparation.columns", [], "preparation.columns is a list of 0, not a list of at least 1"),
    ("preparation.columns.0.kind", "evil", "preparation.columns[0].kind is 'evil', not 'flag' or"),
    ("preparation.columns.0", {"column": "a", "missing": False}, "preparation.columns[0].kind is missing"),
    ("preparation.columns.0.yes", "x", "preparation.columns[0].yes is not a field"),
    ("preparation.columns.0.column", 7, "preparation.columns[0].column is 7, not text"),
    ("preparation.columns.0.column", "item 1", "'item 1' is the name of two items (1 and 2)"),
    ("preparation.columns.0.missing", 0, "preparation.columns[0].missing is 0, not true or false"),
    (
        "preparation.columns.0",
        {"kind": "intervals", "column": "a", "missing": False, "thresholds": []},
        "preparation.columns[0].thresholds is a list of 0, not a list of at least 1",
    ),
    (
        "preparation.columns.0",
        {"kind": "intervals", "column": "a", "missing": False, "thresholds": [1, 2]},
        "the preparation makes other columns",
    ),
    ("near_miss", [[0, 1], 3, 0.5], "near_miss is a list of 3, not an object"),
    ("near_miss", {"items": [0, 100], "rows": 3, "chance": 0.5}, "the strongest candidate is not of these columns"),
    ("near_miss", {"items": [0], "rows": 3, "chance": 0.5}, "near_miss.items is a list of 1, not a list of 2 to"),
    ("near_miss", {"items": [0, 1], "rows": 1, "chance": 0.5}, "near_miss.rows is 1, not a whole number from 2"),
    ("near_miss", {"items": [0, 1], "rows": 3, "chance": 2}, "near_miss.chance is 2, not a number from 0 to 1"),
    ("near_miss", {"items": [0, 1], "rows": 3}, "near_miss.chance is missing"),
    ("group_name", "", "group_name is '', not text of 1 to 1000000 characters"),
    ("group_name", 7, "group_name is 7, not text"),
    ("groups", ["a", "b"], "row_groups has more groups than the header"),
    ("groups", [1, 2], "groups[0] is 1, not text"),
    ("groups", None, "a model of this kind has no part '"),
    ("groups", [f"patient {k // 2}" for k in range(90)], "groups have the same name"),
    ("refits", -1, "refits is -1, not a whole number"),
    ("refits", 0, "a model of this kind has no part 'stability_"),
    ("rows", 10**13, "rows is 10000000000000, not a whole number from 1 to"),
    ("rows", 7, "usage_ has shape"),
    ("items", 101, "_ has shape"),
    ("n_components_", True, "n_components_ is True, not a whole number from 0 to 1000000"),
    ("n_components_", 77, "components_ has shape"),
    ("n_features_in_", 99, "item_of has shape (100,), expected (99,)"),
    ("n_iter_", "many", "n_iter_ is 'many', not a whole number"),
    ("description_length_", None, "description_length_ is None, not a number"),
    ("temperature_", 0.5, "temperature_ is 0.5, not a number from 1 to 100"),
    ("temperature_", 1e300, "temperature_ is 1e+300, not a number from 1 to 100"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("field", "value", "message"), HEADERS, ids=[f"{h[0]} {str(h[1])[:20]!a}" for h in HEADERS])
def test_every_field_of_the_header_is_checked(path, field, value, message):
    rewrite(path, {field: value})
    assert message in refusal(path)


TEXTS = [
    (b"", "its header is not JSON"),
    (b"\x00\x00", "its header is not JSON"),
    (b"[" * 100_000, "its header is not JSON"),
    (b"[1, 2]", "is not a saltmine model"),
    (b'"text"', "is not a saltmine model"),
    (b'{"format": NaN}', "it has the value NaN, which is not a number"),
    (b'{"format": -Infinity}', "it has the value -Infinity, which is not a number"),
    (b'{"version": %s}' % (b"9" * 5000), "it has a number of 5,000 digits"),
    (b'{"format": "a", "format": "b"}', "it has the field format twice"),
    (b'{"format": "\xff"}', "its header is not JSON"),
]


@pytest.mark.parametrize(("text", "message"), TEXTS, ids=[str(text[0][:20]) for text in TEXTS])
def test_headers_that_are_no_json_are_refused(path, text, message):
    path.write_bytes(pack(text, taken_apart(path)[1]))
    assert message in refusal(path)


def test_a_number_beyond_all_numbers_is_refused(path):
    header, arrays = taken_apart(path)
    text = json.dumps(header | {"description_length_": "here"}).replace('"here"', "1e999")
    path.write_bytes(pack(text.encode(), arrays))
    assert "description_length_ is inf, not a number" in refusal(path)


def test_a_file_of_the_first_release_that_names_a_cluster_is_refused():
    assert "has format version 4, but this saltmine reads version 9" in refusal(shared_path("hostile/client.salt"))


# ---------------------------------------------------------------------- arrays

ARRAYS = {
    "a type": ({"item_counts_": np.zeros((2, 100))}, "item_counts_ has values of type float64"),
    "text": ({"item_counts_": np.zeros((2, 100), dtype="U3")}, "item_counts_ is not a plain array of numbers"),
    "records": ({"history_": np.zeros(3, dtype=[("a", "i4")])}, "history_ is not a plain array of numbers"),
    "objects": ({"history_": np.array([None])}, "history_ is not a plain array of numbers"),
    "half numbers": ({"history_": np.zeros(3, dtype=np.float16)}, "history_ has values of type float16"),
    "truth values": ({"usage_": np.zeros(3, dtype=bool)}, "usage_ is not a plain array of numbers"),
    "missing": ({"usage_": None}, "usage_ is missing"),
    "one of four": ({"most_counts_": None}, "most_counts_ is missing"),
    "unknown": ({"evil": np.zeros(3)}, "a model of this kind has no part 'evil'"),
    "weights": ({"row_weights": np.full(180, -1)}, "row_weights has negative values"),
    "no weights": ({"row_weights": np.zeros(180, int)}, "a class has no rows"),
    "heavy weights": ({"row_weights": np.full(180, 2**62)}, "row_weights adds up to more rows than fit"),
    "bits": ({"usage_": np.zeros(3, np.uint8)}, "usage_ has shape (3,), expected"),
    "classes": ({"usage_counts_": np.zeros((1, 1), int)}, "usage_counts_ has shape (1, 1), expected (2,"),
    "axes": ({"history_": np.zeros((2, 2))}, "history_ has shape (2, 2), expected (2,)"),
    "hits": ({"_hits": np.zeros((2, 1), int)}, "_hits has another number of items than the patterns"),
    "many hits": ({"usage_counts_": "zeros"}, "_hits differs from usage_counts_ and item_counts_"),
    "negative": ({"noise_counts_": np.full((2, 100), -1)}, "noise_counts_ has negative values"),
    "too many": ({"noise_counts_": np.full((2, 100), 91)}, "noise_counts_ counts more rows than a class has"),
    "too many carriers": ({"carrier_counts_": "huge"}, "carrier_counts_ counts more rows than a class has"),
    "too many added": ({"_added_rows": "huge"}, "_added_rows counts more rows than there are"),
    "probability": ({"use_q_values_": "huge"}, "use_q_values_ has values that are no probabilities"),
    "share": ({"_added_shares": "huge"}, "_added_shares has values that are no probabilities"),
    "group tests": ({"item_p_values": np.full((2, 100), np.nan)}, "item_p_values are no probabilities"),
    "items": ({"item_of": np.full(100, 1000)}, "the items of the columns differ"),
    "lost items": ({"item_of": np.full(100, -1)}, "an item has no column"),
    "no patterns": ({"components_": "zeros", "alterations_": "zeros"}, "a pattern has no items"),
    "all add": ({"alterations_": "ones"}, "a class adds what all classes have"),
    "rows": ({"row_classes": np.full(180, 9)}, "row_classes has more classes than the header"),
    "negative rows": ({"row_classes": np.full(180, -1)}, "row_classes has negative values"),
    "empty class": ({"row_classes": np.zeros(180, int)}, "a class has no rows"),
    "groups": ({"row_groups": np.full(180, 90)}, "row_groups has more groups than the header"),
    "stability": ({"stability_entries": np.zeros(3)}, "stability_entries has another number of rows"),
    "stability of patterns": ({"stability_patterns": "huge"}, "stability_patterns has values that are no prob"),
}


@pytest.mark.parametrize(("changes", "message"), ARRAYS.values(), ids=ARRAYS)
def test_every_array_is_checked(path, changes, message):
    arrays = taken_apart(path)[1]
    fill = {"zeros": 0, "huge": 10**4, "ones": 255}
    made = {k: np.full_like(arrays[k], fill[v]) if isinstance(v, str) else v for k, v in changes.items()}
    rewrite(path, **made)
    assert message in refusal(path)


def test_a_single_class_differs_from_nothing(planted, tmp_path):
    path = tmp_path / "model.salt"
    with pytest.warns(UserWarning, match="only one class"):
        CSalt(random_state=0).fit(planted.X, np.zeros(180, int)).save(path)
    rewrite(path, use_q_values_=np.zeros_like(taken_apart(path)[1]["use_q_values_"]))
    assert "use_q_values_ compares a single class" in refusal(path)


def test_numbers_of_the_other_byte_order_are_read(path, content):
    arrays = taken_apart(path)[1]
    rewrite(path, **{k: v.astype(v.dtype.newbyteorder(">")) for k, v in arrays.items()})
    again = load(path)
    np.testing.assert_array_equal(again.usage_counts_, content.usage_counts_)
    np.testing.assert_array_equal(again.history_, content.history_)
    assert again.history_.dtype.isnative
