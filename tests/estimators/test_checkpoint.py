"""Fits that are interrupted and go on from their checkpoint end with the model of a fit that was left alone."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.trust.checkpoints import checkpoints, digest_of
from saltmine import CSalt, Primp, checkpoint, load
from saltmine.checkpoint import Checkpoint, CheckpointError
from saltmine.datasets import make_planted
from saltmine.solver import tall, wide
from tests.helpers.command_line import refused, run

SAMPLE = 300


class Interrupted(Exception):
    """What stops a fit in these tests."""


@pytest.fixture(autouse=True)
def keep_every_state(monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 0.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.ckpt"


@pytest.fixture
def small_samples(monkeypatch):
    for module, least, most in ((wide, "MIN_ITEMS", "MAX_ITEMS"), (tall, "MIN_ROWS", "MAX_ROWS")):
        monkeypatch.setattr(module, least, SAMPLE)
        monkeypatch.setattr(module, most, SAMPLE)


@pytest.fixture(scope="module")
def planted():
    return make_planted(120, [100, 110], rank=5, noise=0.1, random_state=3)


def interrupted(monkeypatch, states, part=""):
    """Return a fit that is stopped after so many states of a part were kept, and None then."""
    keep = Checkpoint.keep

    def fit(model, *data, **more):
        left = states

        def keep_and_stop(self, name, state):
            nonlocal left
            keep(self, name, state)
            left -= part in name
            if not left:
                raise Interrupted

        with monkeypatch.context() as patch:
            patch.setattr(Checkpoint, "keep", keep_and_stop)
            try:
                return model.fit(*data, **more)
            except Interrupted:
                return None

    return fit


def go_on(monkeypatch, states, make, *data, **more):
    """Fit, stopped after every so many states, until it comes to its end; return the model and the number of runs."""
    fit = interrupted(monkeypatch, states)
    for runs in range(1, 1000):
        model = fit(make(), *data, **more)
        if model is not None:
            return model, runs
    raise AssertionError("the fit does not come to its end")


@pytest.mark.slow
def test_it_goes_on_from_every_state(monkeypatch, path, planted):
    alone = CSalt(random_state=0).fit(planted.X, planted.y)
    make = lambda: CSalt(random_state=0, checkpoint=path)  # noqa: E731
    model, runs = go_on(monkeypatch, 1, make, planted.X, planted.y)
    assert runs > 20
    assert digest_of(model) == digest_of(alone)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"max_rank": 3},
        {"n_restarts": 2},
        {"n_restarts": 3, "n_jobs": 2},
        {"algorithm": "paper", "max_iter": 300},
        {"algorithm": "paper", "max_iter": 300, "device": "cpu"},
        {"fold": False, "storage": "sparse"},
    ],
    ids=str,
)
def test_it_goes_on_in_memory(monkeypatch, path, planted, parameters):
    if "device" in parameters:
        pytest.importorskip("torch", reason="torch is not installed (saltmine[gpu])")
    alone = CSalt(random_state=0, **parameters).fit(planted.X, planted.y)
    make = lambda: CSalt(random_state=0, checkpoint=path, **parameters)  # noqa: E731
    model, runs = go_on(monkeypatch, 9, make, planted.X, planted.y)
    assert runs > 2
    assert digest_of(model) == digest_of(alone)
    assert not list(path.parent.iterdir())


@pytest.mark.slow
def test_it_goes_on_without_classes_with_groups_and_weights(monkeypatch, path, planted):
    alone = Primp(random_state=0).fit(planted.X)
    model, runs = go_on(monkeypatch, 3, lambda: Primp(random_state=0, checkpoint=path), planted.X)
    assert runs > 2
    assert digest_of(model) == digest_of(alone)
    more = {"groups": np.arange(len(planted.y)) // 2, "sample_weight": np.arange(len(planted.y)) % 3}
    alone = CSalt(random_state=0).fit(planted.X, planted.y, **more)
    model, _ = go_on(monkeypatch, 9, lambda: CSalt(random_state=0, checkpoint=path), planted.X, planted.y, **more)
    assert digest_of(model) == digest_of(alone)


WIDE = make_planted(2000, [60, 60], rank=4, noise=0.02, random_state=2)
TALL = make_planted(40, [900, 900], rank=4, noise=0.02, random_state=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "kind", "make"),
    [
        ("wide", "array", CSalt),
        ("wide", "sparse", Primp),
        ("wide", "dask", CSalt),
        ("tall", "array", Primp),
        ("tall", "sparse", CSalt),
        ("tall", "dask", CSalt),
    ],
)
def test_it_goes_on_in_blocks(monkeypatch, small_samples, path, shape, kind, make):
    made = {"wide": WIDE, "tall": TALL}[shape]
    X = made.X
    if kind == "sparse":
        X = sp.csr_array(X)
    if kind == "dask":
        da = pytest.importorskip("dask.array")
        X = da.from_array(X, chunks=(500, 700))
    assert (wide.is_wide if shape == "wide" else tall.is_tall)(made.X.shape)
    alone = make(random_state=0).fit(X, made.y)
    model, runs = go_on(monkeypatch, 9, lambda: make(random_state=0, checkpoint=path), X, made.y)
    assert runs > 2
    assert digest_of(model) == digest_of(alone)
    assert not list(path.parent.iterdir())


@pytest.mark.slow
def test_restarts_of_wide_data_go_on(monkeypatch, small_samples, path):
    alone = CSalt(random_state=0, n_restarts=2).fit(WIDE.X, WIDE.y)
    make = lambda: CSalt(random_state=0, n_restarts=2, checkpoint=path)  # noqa: E731
    model, _ = go_on(monkeypatch, 10, make, WIDE.X, WIDE.y)
    assert digest_of(model) == digest_of(alone)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_blocks_that_are_cut_otherwise_begin_from_the_sample(monkeypatch, small_samples, path, shape):
    da = pytest.importorskip("dask.array")
    made = {"wide": WIDE, "tall": TALL}[shape]
    monkeypatch.setattr("saltmine.data.lazy.BLOCK_BYTES", 20_000)
    fit = interrupted(monkeypatch, 2, "all ")
    X = da.from_array(made.X, chunks=(300, 300))
    assert fit(CSalt(random_state=0, checkpoint=path), X, made.y) is None
    states = checkpoint.read(path)["parts"]
    assert any(name.endswith(("all columns", "all rows")) for name in states)
    monkeypatch.setattr("saltmine.data.lazy.BLOCK_BYTES", 35_000)
    model = CSalt(random_state=0, checkpoint=path).fit(X, made.y)
    alone = CSalt(random_state=0).fit(X, made.y)
    np.testing.assert_array_equal(model.usage_, alone.usage_)
    np.testing.assert_array_equal(model.components_, alone.components_)


@pytest.mark.slow
def test_a_fit_without_a_seed_goes_on_with_its_first_random_numbers(monkeypatch, path, planted):
    fit = interrupted(monkeypatch, 20)
    assert fit(CSalt(checkpoint=path), planted.X, planted.y) is None
    (seed,) = checkpoint.read(path)["facts"]["seeds"]
    model = CSalt(checkpoint=path).fit(planted.X, planted.y)
    monkeypatch.setattr(CSalt, "_seeds", lambda self: [seed])
    assert digest_of(model) == digest_of(CSalt().fit(planted.X, planted.y))


@pytest.mark.slow
def test_checkpoints_change_no_result(path, planted):
    assert digest_of(CSalt(random_state=0, checkpoint=str(path)).fit(planted.X, planted.y)) == digest_of(
        CSalt(random_state=0).fit(planted.X, planted.y)
    )
    assert not list(path.parent.iterdir())


# ---------------------------------------------------------------------- real processes


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["three restarts, two at a time", "published algorithm", "wide, read lazily"],
)
def test_fits_that_are_killed_go_on(name):
    """A few kills of every kind of fit; ``make bench-trust`` has many."""
    found = checkpoints(name, 7, Path(), kills=2)
    assert found["identical"] == 1, found
    assert found["left"] == 0


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.parametrize("name", ["tall, cluster"])
def test_fits_on_a_cluster_whose_client_is_killed_go_on(name):
    pytest.importorskip("distributed")
    found = checkpoints(name, 5, Path(), kills=2)
    assert found["identical"] == 1, found


# ---------------------------------------------------------------------- other fits


@pytest.fixture
def begun(monkeypatch, path, planted):
    """Return a checkpoint that was left in the middle of a fit."""
    assert interrupted(monkeypatch, 5)(CSalt(random_state=0, checkpoint=path), planted.X, planted.y) is None
    return path


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"alpha": 0.05}, "alpha 0.01, not 0.05"),
        ({"random_state": 1}, "random_state 0, not 1"),
        ({"random_state": None}, "other random_state"),
        # Its repr has an address, which differs between the processes that collect tests.
        pytest.param({"random_state": np.random.RandomState(3)}, "other random_state", id="RandomState"),
        ({"n_restarts": 2}, "n_restarts 1, not 2"),
        ({"max_rank": 4}, "max_rank None, not 4"),
        ({"algorithm": "paper"}, "other algorithm"),
        ({"fold": False}, "fold True, not False"),
    ],
    ids=str,
)
def test_other_parameters_are_another_fit(begun, planted, parameters, reason):
    model = CSalt(checkpoint=begun).set_params(**{"random_state": 0, **parameters})
    with pytest.raises(CheckpointError, match=r"belongs to another fit \(") as error:
        model.fit(planted.X, planted.y)
    assert reason in str(error.value)
    assert not hasattr(model, "usage_")


def test_other_data_and_labels_are_another_fit(begun, planted):
    other = planted.X.copy()
    other[3, 7] ^= True
    with pytest.raises(CheckpointError, match=r"\(other data\); name another file or delete this one"):
        CSalt(random_state=0, checkpoint=begun).fit(other, planted.y)
    with pytest.raises(CheckpointError, match=r"\(other labels\)"):
        CSalt(random_state=0, checkpoint=begun).fit(planted.X, planted.y[::-1])
    with pytest.raises(CheckpointError, match=r"\(other method\)|other method"):
        Primp(random_state=0, checkpoint=begun).fit(planted.X, planted.y)
    with pytest.raises(CheckpointError, match="other data"):
        CSalt(random_state=0, checkpoint=begun).fit(planted.X[:-1], planted.y[:-1])


@pytest.mark.slow
def test_other_lazy_data_is_another_fit(monkeypatch, small_samples, path):
    da = pytest.importorskip("dask.array")
    for made in (WIDE, TALL):
        X = da.from_array(made.X, chunks=(500, 700))
        assert interrupted(monkeypatch, 5)(CSalt(random_state=0, checkpoint=path), X, made.y) is None
        other = made.X.copy()
        other[5, 30] ^= True
        moved = made.X.copy()
        moved[:, [3, 4]] = made.X[:, [4, 3]]
        for cells in (other, moved, made.X[::-1]):
            with pytest.raises(CheckpointError, match=r"\(other data\)"):
                CSalt(random_state=0, checkpoint=path).fit(da.from_array(cells, chunks=(400, 900)), made.y)
        path.unlink()


@pytest.mark.slow
def test_what_does_not_change_a_model_may_change(monkeypatch, begun, planted):
    alone = CSalt(random_state=0).fit(planted.X, planted.y)
    model = CSalt(random_state=0, checkpoint=begun, verbose=0, n_jobs=2, fit_prior=False, callback=lambda now: None)
    model.fit(planted.X, planted.y)
    np.testing.assert_array_equal(model.usage_, alone.usage_)


def test_a_damaged_checkpoint_is_refused(begun, planted):
    whole = begun.read_bytes()
    begun.write_bytes(whole[:-40])
    with pytest.raises(CheckpointError, match="is damaged; delete it to begin anew"):
        CSalt(random_state=0, checkpoint=begun).fit(planted.X, planted.y)
    assert begun.read_bytes() == whole[:-40]


def test_a_state_that_does_not_fit_the_data_is_refused(begun, planted):
    content = checkpoint.read(begun)
    for part in content["parts"].values():
        part["state"]["local"] = part["state"]["local"][:-3]
    begun.write_bytes(checkpoint._encode(content))
    with pytest.raises(CheckpointError, match="is damaged; delete it to begin anew"):
        CSalt(random_state=0, checkpoint=begun).fit(planted.X, planted.y)


def test_a_place_that_cannot_be_written_to_is_noticed_before_the_search(tmp_path, planted):
    def fail(now):
        pytest.fail("the search has begun")

    for place in (tmp_path, tmp_path / "missing" / "fit.ckpt"):
        with pytest.raises(CheckpointError):
            CSalt(checkpoint=place, callback=fail).fit(planted.X, planted.y)
    with pytest.raises(ValueError, match="checkpoint must be the name of a file or None, not 5"):
        CSalt(checkpoint=5).fit(planted.X, planted.y)


@pytest.mark.slow
def test_a_full_disk_does_not_end_the_fit(monkeypatch, path, planted):
    write, left = Checkpoint._write, 3

    def fail_later(self):
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device")
        write(self)

    monkeypatch.setattr(Checkpoint, "_write", fail_later)
    with pytest.warns(UserWarning, match=r"cannot be written \(No space left on device\); the fit goes on without it"):
        model = CSalt(random_state=0, checkpoint=path).fit(planted.X, planted.y)
    assert digest_of(model) == digest_of(CSalt(random_state=0).fit(planted.X, planted.y))


@pytest.mark.slow
def test_refits_do_not_touch_the_checkpoint(path, planted):
    model = CSalt(random_state=0, checkpoint=path).fit(planted.X, planted.y)
    path.write_text("something else by now")
    model.assess_stability(planted.X, planted.y, refits=1, random_state=0)
    assert path.read_text() == "something else by now"


@pytest.mark.slow
def test_model_files_do_not_name_the_checkpoint(path, planted):
    model = CSalt(random_state=0, checkpoint=path).fit(planted.X, planted.y)
    model.save(path.with_suffix(".salt"))
    assert load(path.with_suffix(".salt")).checkpoint is None


# ---------------------------------------------------------------------- command line


@pytest.fixture
def table(tmp_path, planted):
    lines = [",".join(["class", *(f"c{j}" for j in range(planted.X.shape[1]))])]
    cells = planted.X.astype(int).astype(str)
    lines += [",".join([f"k{label}", *row]) for label, row in zip(planted.y, cells, strict=True)]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    return tmp_path / "table.csv"


@pytest.mark.slow
def test_the_command_goes_on_and_removes_the_file_after_writing(monkeypatch, path, table, tmp_path):
    command = "fit", table, "--target", "class", "-q", "--checkpoint", path
    stopped = interrupted(monkeypatch, 6)
    fit = CSalt.fit

    def fit_and_stop(model, *data, **more):
        with monkeypatch.context() as patch:
            patch.setattr(CSalt, "fit", fit)
            found = stopped(model, *data, **more)
        if found is None:
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patch:
        patch.setattr(CSalt, "fit", fit_and_stop)
        result = run(*command, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert path.exists()
    assert not (tmp_path / "out").exists()
    result = run(*command, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert not path.exists()
    assert run(*command[:-2], "-o", tmp_path / "alone").exit_code == 0
    assert digest_of(load(tmp_path / "out" / "model.salt")) == digest_of(load(tmp_path / "alone" / "model.salt"))


@pytest.mark.slow
def test_the_file_stays_until_the_results_are_written(monkeypatch, path, table, tmp_path):
    def fail(*given):
        assert path.exists()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("saltmine.cli.fit.write_results", fail)
    monkeypatch.setattr(checkpoint, "LEAST", 0.0)
    result = run("fit", table, "--target", "class", "-q", "--checkpoint", path, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert path.exists()


def test_wrong_checkpoints_are_one_line(path, table, tmp_path):
    fit = "fit", table, "--target", "class", "-q", "-o", tmp_path / "out", "--checkpoint"
    assert "is a folder; name a file in it." in refused(*fit, tmp_path)
    assert "make it first." in refused(*fit, tmp_path / "missing" / "fit.ckpt")
    path.write_text("mine")
    assert "is no checkpoint of saltmine; name another file." in refused(*fit, path)
    assert path.read_text() == "mine"
    line = refused(*fit, path, "--method", "asso")
    assert "--checkpoint is not for asso but for csalt" in line


@pytest.mark.slow
def test_no_warnings(path, planted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CSalt(random_state=0, checkpoint=path).fit(planted.X, planted.y)
