import io
import os
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from saltmine import CSalt, DiffNorm, Prepare, Primp, load
from saltmine.fitted import model_archive
from saltmine.fitted.model_file import ModelFileError
from saltmine.fitted.model_schema import PARAMETERS
from saltmine.methods import METHODS
from saltmine.parameters import RUN_PARAMETERS
from tests.helpers.model_files import rewrite, taken_apart
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


@pytest.fixture(scope="module")
def model(planted):
    frame = pd.DataFrame(planted.X, columns=[f"gène {i}" for i in range(100)])
    return CSalt(random_state=0, max_iter=600).fit(frame, np.array(["normal", "tümour"])[planted.y])


@pytest.fixture
def path(tmp_path, model):
    model.save(tmp_path / "model.salt")
    return tmp_path / "model.salt"


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


@pytest.mark.slow
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


def test_what_belongs_to_a_run_is_not_stored(tmp_path):
    model = Primp(callback=print, random_state=np.random.RandomState(0), max_iter=5, n_jobs=2).fit(np.eye(4))
    model.set_params(callback=lambda now: None, client="tcp://127.0.0.1:9", device="cuda", verbose=1)
    model.save(tmp_path / "m.salt")
    assert RUN_PARAMETERS.isdisjoint(taken_apart(tmp_path / "m.salt")[0]["parameters"])
    again = load(tmp_path / "m.salt")
    assert again.get_params() == Primp(max_iter=5).get_params()


def test_a_limit_on_time_is_not_stored(tmp_path):
    model = DiffNorm(max_time=60, binarize=0.5).fit(two_blocks(), [0, 1] * 20)
    model.save(tmp_path / "m.salt")
    assert load(tmp_path / "m.salt").get_params() == DiffNorm(binarize=0.5).get_params()


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.title)
def test_every_parameter_is_stored_or_belongs_to_a_run(method):
    kind = method.estimator
    names = set(kind._get_param_names())
    assert set(PARAMETERS[kind._kind]) == names - RUN_PARAMETERS
    for name, default in kind().get_params().items():
        if name not in RUN_PARAMETERS:
            PARAMETERS[kind._kind][name].check(default, name)


def test_an_unfitted_model_is_not_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        CSalt().save(tmp_path / "m.salt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
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


@pytest.mark.slow
def test_names_of_items_and_of_features_are_kept_apart(tmp_path):
    frame = pd.DataFrame(two_blocks(), columns=list("abcdefgh"))
    names = [f"item {letter}" for letter in frame.columns]
    CSalt(random_state=0).fit(frame, [0, 1] * 20, item_names=names).save(tmp_path / "m.salt")
    again = load(tmp_path / "m.salt")
    assert again.feature_names_in_.tolist() == list(frame.columns)
    assert sorted(again.patterns()["item"]) == names
    assert again.transform(frame).shape == (40, 2)


@pytest.mark.slow
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


@pytest.mark.slow
def test_column_numbers_of_a_table_come_back(tmp_path):
    numbers = list(range(7, 15))
    model = CSalt(random_state=0).fit(pd.DataFrame(two_blocks(), columns=numbers), [0, 1] * 20)
    assert sorted(model.patterns()["item"]) == numbers
    model.save(tmp_path / "m.salt")
    again = load(tmp_path / "m.salt")
    assert not hasattr(again, "feature_names_in_")
    pd.testing.assert_frame_equal(again.patterns(), model.patterns())


def test_odd_names_of_columns_come_back_as_text(tmp_path):
    # Not text among them: scikit-learn refuses that.
    names = [True, False, 10**30, 3, 4, -1, 2**63, 1.5]
    model = CSalt(random_state=0).fit(pd.DataFrame(two_blocks(), columns=pd.Index(names, dtype=object)), [0, 1] * 20)
    model.save(tmp_path / "m.salt")
    expected = ["True", "False", str(10**30), 3, 4, -1, str(2**63), "1.5"]
    assert load(tmp_path / "m.salt")._item_names.tolist() == expected


def test_saving_onto_a_folder_is_refused(model, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        model.save(tmp_path)


def test_a_folder_that_does_not_exist_is_named(model, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*missing"):
        model.save(tmp_path / "missing" / "m.salt")


WEIGHTS = np.arange(180) % 3
ALL_OPTIONS = {
    "groups": lambda X, y: CSalt(random_state=0, alpha=0.05).fit(X, y, groups=np.arange(len(y)) // 2),
    "weights": lambda X, y: CSalt(features="alterations", random_state=0, n_restarts=2).fit(
        X, y, sample_weight=np.arange(len(y)) % 3
    ),
    "numbers": lambda X, y: CSalt(random_state=0, binarize=0.5, max_rank=2).fit(
        X * 2.5, (y == y[0]).astype(np.float32)
    ),
    "no classes": lambda X, y: Primp(random_state=3, tol=0.01, storage="sparse").fit(sp.csr_array(X)),
    "noise": lambda X, y: CSalt(random_state=0).fit(np.random.default_rng(0).random((60, 9)) < 0.3, y[:60]),
    "no ones": lambda X, y: CSalt().fit(np.zeros((4, 3)), [1, 1, 2, 2]),
    "paper": lambda X, y: CSalt(algorithm="paper", max_iter=300, rank_step=3, fold=False, random_state=1).fit(X, y),
}


@pytest.mark.slow
@pytest.mark.parametrize("fit", ALL_OPTIONS.values(), ids=ALL_OPTIONS)
def test_models_with_all_options_come_back_and_again(fit, planted, tmp_path):
    model = fit(planted.X, np.array(["normal", "tumour"])[planted.y])
    for name in ("one.salt", "two.salt"):
        model.save(tmp_path / name)
        again = load(tmp_path / name)
        assert again.get_params() == model.get_params()
        assert again.near_miss_ == model.near_miss_
        for attribute in (*ARRAYS, "row_weights_", "groups_", "temperature_", "group_name_"):
            np.testing.assert_array_equal(getattr(again, attribute), getattr(model, attribute), err_msg=attribute)
        pd.testing.assert_frame_equal(again.patterns(), model.patterns())
        pd.testing.assert_frame_equal(again.differences(), model.differences())
        assert str(again.summary()) == str(model.summary())
        model = again
    assert (tmp_path / "one.salt").read_bytes() == (tmp_path / "two.salt").read_bytes()


@pytest.mark.slow
def test_stability_and_refits_of_a_loaded_model(model, planted, tmp_path):
    X = pd.DataFrame(planted.X, columns=model.feature_names_in_)
    model.save(tmp_path / "m.salt")
    again = load(tmp_path / "m.salt")
    again.assess_stability(X, refits=2, random_state=0)
    again.save(tmp_path / "m.salt")
    third = load(tmp_path / "m.salt")
    assert third.stability_.refits == 2
    for name in ("patterns", "alterations", "entries"):
        np.testing.assert_array_equal(getattr(third.stability_, name), getattr(again.stability_, name))


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"doi": "10.1"}, "about.doi is not a field that model files have"),
        ({"source": 7}, "about.source is 7, not text"),
        ({"image": [2]}, "about.image is a list of 1, not a list of 2 to 2"),
        ({"source": "caf\udce9"}, r"about.source is 'caf\\udce9', which holds half of a character"),
        ({"reading": {"labels": "a.txt"}}, "about.reading.labels is not a field"),
        ({"source": object()}, "Object of type object is not JSON serializable"),
    ],
)
def test_what_a_file_cannot_hold_is_named_before_anything_is_written(model, tmp_path, monkeypatch, about, message):
    monkeypatch.setattr(model, "about_", about)
    with pytest.raises(ValueError, match=f"The model cannot be saved: {message}.*; change it in the model and save"):
        model.save(tmp_path / "m.salt")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_no_file_can_hold_is_found_among_all(tmp_path):
    model = CSalt(random_state=0).fit(two_blocks(), [0, 1] * 20, row_names=[f"r{k}" for k in range(39)] + ["r\udcff"])
    with pytest.raises(ValueError, match=r"row_names\[39\] is 'r\\udcff', which holds half of a character"):
        model.save(tmp_path / "m.salt")


@pytest.mark.slow
@pytest.mark.parametrize("length", [100, 1000])
def test_a_model_that_would_look_like_a_bomb_is_stored_without_compression(tmp_path, length, monkeypatch):
    # A row takes the memory of a long label, and next to nothing in a compressed file.
    monkeypatch.setattr(model_archive, "FREE_BYTES", 1 << 20)
    X = np.zeros((8000, 4), dtype=bool)
    X[0] = True
    model = CSalt(random_state=0).fit(X, np.where(np.arange(len(X)) % 2, "a" * length, "b"))
    model.save(tmp_path / "m.salt")
    with zipfile.ZipFile(tmp_path / "m.salt") as archive:
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
    assert load(tmp_path / "m.salt").class_counts_.tolist() == [4000, 4000]
