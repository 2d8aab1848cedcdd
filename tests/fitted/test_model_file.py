import io
import json
import os
import pickle

import numpy as np
import pandas as pd
import pytest

from saltmine import CSalt, Prepare, Primp, load
from saltmine.fitted.model_file import ModelFileError
from tests.helpers.models import two_blocks

ARRAYS = (
    "components_",
    "alterations_",
    "usage_",
    "usage_counts_",
    "noise_counts_",
    "history_",
    "row_labels_",
    "classes_",
    "class_counts_",
    "carrier_counts_",
    "use_p_values_",
    "use_q_values_",
    "alteration_p_values_",
    "alteration_q_values_",
    "pattern_gain_",
    "alteration_gain_",
)


ONE_COLUMN = {"bins": 4, "missing": "error", "columns": [{"kind": "flag", "column": "a", "missing": False}]}


@pytest.fixture(scope="module")
def model(planted):
    frame = pd.DataFrame(planted.X, columns=[f"gène {i}" for i in range(100)])
    return CSalt(random_state=0, max_iter=600).fit(frame, np.array(["normal", "tümour"])[planted.y])


@pytest.fixture
def path(tmp_path, model):
    model.save(tmp_path / "model.salt")
    return tmp_path / "model.salt"


def rewrite(path, **changes):
    """Write the file again with some arrays changed; header changes are given as a dict."""
    with np.load(path) as archive:
        arrays = dict(archive)
    for name, value in changes.items():
        if value is None:
            del arrays[name]
        elif name == "header" and isinstance(value, dict):
            header = json.loads(arrays["header"].tobytes()) | value
            arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        else:
            arrays[name] = value
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


def test_everything_comes_back(model, path, planted):
    again = load(path)
    assert type(again) is CSalt
    assert again.get_params() == model.get_params()
    for name in ARRAYS:
        one, two = getattr(model, name), getattr(again, name)
        np.testing.assert_array_equal(one, two, err_msg=name)
        assert one.dtype == two.dtype
    for name in ("n_components_", "n_iter_", "n_features_in_", "description_length_", "null_description_length_"):
        assert getattr(again, name) == getattr(model, name)
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    frame = pd.DataFrame(planted.X, columns=model.feature_names_in_)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    pd.testing.assert_frame_equal(again.patterns(), model.patterns())


@pytest.mark.parametrize(
    "labels",
    [
        [3, 1] * 20,
        [True, False] * 20,
        ["a", "b"] * 20,
        np.array(["x", "yy"] * 20, dtype=object),
        [0.0, 1.0] * 20,
    ],
)
@pytest.mark.parametrize("kind", [CSalt, Primp])
def test_labels_keep_their_kind(tmp_path, kind, labels):
    model = kind(random_state=0, max_iter=20).fit(two_blocks(), labels)
    assert model.n_components_ == 2
    model.save(tmp_path / "m.salt")
    again = load(tmp_path / "m.salt")
    assert type(again) is kind
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.row_labels_, np.asarray(labels))


def test_a_callback_or_generator_is_not_stored(tmp_path):
    model = Primp(callback=print, random_state=np.random.RandomState(0), max_iter=5).fit(np.eye(4))
    model.set_params(callback=lambda now: None)
    model.save(tmp_path / "m.salt")
    assert load(tmp_path / "m.salt").get_params()["callback"] is None


def test_an_unfitted_model_is_not_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        CSalt().save(tmp_path / "m.salt")
    assert list(tmp_path.iterdir()) == []


def test_files_cut_short_or_altered_are_refused_with_a_sentence(path):
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for cut in [0, 1, 10, *rng.integers(20, len(whole) - 1, 40)]:
        path.write_bytes(whole[:cut])
        with pytest.raises(ModelFileError, match="damaged or not a saltmine model"):
            load(path)
    for position in rng.integers(0, len(whole), 200):
        changed = bytearray(whole)
        changed[position] ^= 0xFF
        path.write_bytes(changed)
        try:
            load(path)
        except ModelFileError:
            refused += 1
    # What is left are bytes that no reader looks at: dates and the like in the zip directory.
    assert refused > 130


def test_names_of_items_and_of_features_are_kept_apart(tmp_path):
    frame = pd.DataFrame(two_blocks(), columns=list("abcdefgh"))
    names = [f"item {letter}" for letter in frame.columns]
    CSalt(random_state=0).fit(frame, [0, 1] * 20, item_names=names).save(tmp_path / "m.salt")
    again = load(tmp_path / "m.salt")
    assert again.feature_names_in_.tolist() == list(frame.columns)
    assert sorted(again.patterns()["item"]) == names
    assert again.transform(frame).shape == (40, 2)


def test_names_preparation_and_what_is_known_of_the_data_come_back(tmp_path):
    table = pd.DataFrame(two_blocks(), columns=list("abcdefgh")).assign(colour=["red", "blue"] * 20, age=np.arange(40))
    prepare = Prepare(thresholds={"age": [7]}).fit(table)
    model = CSalt(random_state=0).fit(prepare.transform(table), ["a", "b"] * 20, row_names=[f"r{k}" for k in range(40)])
    assert model.n_components_ > 0
    model.preparation_ = prepare
    model.about_ = {"source": "table.csv", "image": [2, 2]}
    model.save(tmp_path / "m.salt")
    again = load(tmp_path / "m.salt")
    assert again.row_names_.tolist() == model.row_names_.tolist()
    assert again.about_ == model.about_
    pd.testing.assert_frame_equal(again.preparation_.transform(table), prepare.transform(table))


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 and then nothing", b"\x93NUMPY\x01\x00"])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other.salt"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"other\.salt' is"):
        load(path)


class Evil:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def test_nothing_in_a_file_is_executed(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stream = io.BytesIO()
    np.save(stream, np.array([Evil()], dtype=object), allow_pickle=True)
    rewrite(path, history_=np.array([Evil()], dtype=object))
    (tmp_path / "plain.salt").write_bytes(pickle.dumps(Evil()))
    (tmp_path / "single.salt").write_bytes(stream.getvalue())
    for name in ("model.salt", "plain.salt", "single.salt"):
        with pytest.raises(ModelFileError):
            load(tmp_path / name)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"header": None}, "is not a saltmine model; load takes"),
        ({"header": np.zeros(3, np.uint8)}, "is not a saltmine model"),
        ({"header": {"format": "something else"}}, "is not a saltmine model"),
        ({"header": {"version": 99}}, "format version 99, but this saltmine reads version 7; install a newer saltmine"),
        (
            {"header": {"version": 3}},
            "format version 3, but this saltmine reads version 7; fit and save the model again",
        ),
        ({"header": {"estimator": "Forest"}}, "parts do not fit together"),
        ({"header": {"parameters": {"depth": 3}}}, "parts do not fit together"),
        ({"header": {"n_components_": 77}}, "rank or number of columns differ"),
        ({"header": {"item_names": ["a"]}}, "column names differ"),
        ({"header": {"classes": {"labels": [1], "dtype": "<i8"}}}, "number of classes differs"),
        ({"header": {"shape": [1, 2]}}, "parts do not fit together"),
        ({"usage_": None}, "parts do not fit together"),
        ({"usage_": np.zeros(3, np.uint8)}, "usage_ has shape"),
        ({"usage_counts_": np.zeros((1, 1), int)}, "usage_counts_ has shape"),
        ({"_hits": np.zeros((2, 1), int)}, "_hits has shape"),
        ({"item_counts_": np.zeros((2, 100), dtype="U3")}, "item_counts_ has values of type"),
        ({"noise_counts_": np.full((2, 100), -1)}, "noise_counts_ has negative values"),
        ({"history_": np.array(["a"])}, "history_ has values of type"),
        ({"header": {"version": float("inf")}}, "is not a saltmine model"),
        ({"header": {"row_names": ["one"]}}, "row names differ"),
        ({"header": {"about": 7}}, "the facts about the data are not a dictionary"),
        (
            {"header": {"preparation": ONE_COLUMN}},
            "preparation makes other columns",
        ),
        ({"header": {"preparation": {"bins": 4}}}, "parts do not fit together"),
        ({"header": {"refits": 3}}, "parts do not fit together"),
        ({"carrier_counts_": np.zeros(3, int)}, "carrier_counts_ has shape"),
        ({"carrier_counts_": None}, "parts do not fit together"),
        ({"use_q_values_": None}, "parts do not fit together"),
        ({"alteration_q_values_": np.zeros((2, 1))}, "alteration_q_values_ has shape"),
        ({"item_of": np.zeros(3, int)}, "item_of has shape"),
        ({"item_of": np.full(100, 1000)}, "items of the columns differ"),
        ({"pattern_gain_": np.zeros(99)}, "pattern_gain_ has shape"),
        ({"header": {"n_iter_": "many"}}, "n_iter_ is not a number"),
        ({"header": {"temperature_": 0.5}}, "temperature_ is not a number of at least 1"),
        ({"header": {"parameters": {"binarize": "x"}}}, "binarize must be a number"),
        ({"header": {"classes": {"labels": ["a", "b"], "dtype": "<U500000000"}}}, "labels are of an unknown type"),
        ({"header": {"classes": {"labels": ["a", "a"], "dtype": "str"}}}, "number of classes differs"),
        ({"row_classes": np.full(180, -1)}, "row_classes has negative values"),
        ({"row_classes": np.zeros(180, int)}, "a class has no rows"),
        ({"row_weights": np.zeros(180, int)}, "a class has no rows"),
        ({"row_weights": np.full(180, -1)}, "row_weights has negative values"),
        ({"most_counts_": np.zeros((1, 1), int)}, "most_counts_ has shape"),
        ({"_added_shares": np.zeros((1, 1))}, "_added_shares has shape"),
        ({"header": {"group_name": ""}}, "the groups have no name"),
        ({"header": {"group_name": 7}}, "the groups have no name"),
        ({"header": {"groups": ["a", "a"]}}, "groups have the same name"),
        ({"header": {"groups": [1, 2]}}, "the names of the groups are not text"),
        ({"header": {"groups": ["a", "b"]}}, "parts do not fit together"),
        ({"header": {"near_miss": [[0, 1000], 3, 0.5]}}, "the strongest candidate is not of these columns"),
        ({"header": {"near_miss": [[0, 1], 3, 2.0]}}, "the strongest candidate is not of these columns"),
        ({"header": {"near_miss": [[0, 1]]}}, "parts do not fit together"),
        ({"row_classes": np.zeros(3, int)}, "row_classes has shape"),
        ({"row_classes": np.full(180, 9)}, "parts do not fit together"),
    ],
)
def test_parts_that_do_not_fit_are_named(path, changes, message):
    rewrite(path, **changes)
    with pytest.raises(ModelFileError, match=message):
        load(path)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no model file .*nowhere\.salt"):
        load(tmp_path / "nowhere.salt")
    with pytest.raises(ModelFileError, match="is a folder"):
        load(tmp_path)


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(path, model, monkeypatch):
    before = path.read_bytes()

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["model.salt"]


class Mine(CSalt):
    pass


def test_what_load_would_not_know_is_not_saved(tmp_path):
    model = Mine(max_iter=5).fit(np.eye(4), [0, 0, 1, 1])
    with pytest.raises(TypeError, match="Mine cannot be saved: load would not know it"):
        model.save(tmp_path / "m.salt")
    dates = CSalt(max_iter=5).fit(np.eye(4), [0, 0, 1, 1])
    dates.classes_ = np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")
    with pytest.raises(TypeError, match=r"Labels such as datetime.date\(2020, 1, 1\) cannot be stored"):
        dates.save(tmp_path / "m.salt")
    assert list(tmp_path.iterdir()) == []


def test_column_numbers_of_a_table_come_back(tmp_path):
    numbers = list(range(7, 15))
    model = CSalt(random_state=0).fit(pd.DataFrame(two_blocks(), columns=numbers), [0, 1] * 20)
    assert sorted(model.patterns()["item"]) == numbers
    model.save(tmp_path / "m.salt")
    again = load(tmp_path / "m.salt")
    assert not hasattr(again, "feature_names_in_")
    pd.testing.assert_frame_equal(again.patterns(), model.patterns())


def test_saving_onto_a_folder_is_refused(model, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        model.save(tmp_path)


def test_a_folder_that_does_not_exist_is_named(model, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*missing"):
        model.save(tmp_path / "missing" / "m.salt")
