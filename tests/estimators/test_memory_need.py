"""Limits of memory: what a search needs is estimated first; it takes a smaller sample, or says what it needs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from benchmarks.trust.checkpoints import digest_of
from benchmarks.trust.memory_need import QUICK, memory_need
from saltmine import CSalt, Primp, load
from saltmine.checkpoint import CheckpointError
from saltmine.datasets import make_planted
from saltmine.estimators.memory_need import estimate, sample_cells
from saltmine.memory import MemoryLimitError, parse_size
from saltmine.solver import tall, wide
from tests.helpers.command_line import refused, run


@pytest.fixture(scope="module")
def planted():
    return make_planted(100, [90, 80], rank=3, noise=0.05, random_state=3)


class Data:
    """A matrix without cells."""

    def __init__(self, *shape):
        self.shape = shape


# ---------------------------------------------------------------------- estimates


@pytest.mark.parametrize("shape", [(500, 200), (4000, 4000), (600_000, 60), (60, 600_000), (60_000, 300)], ids=str)
def test_more_of_anything_needs_more(shape):
    needed = estimate(Data(*shape), 2, wide.SAMPLE_CELLS)
    m, n = shape
    for larger in ((2 * m, n), (m, 2 * n)):
        # Data that is twice as large may be searched by a sample, whose size is limited.
        assert estimate(Data(*larger), 2, wide.SAMPLE_CELLS) > 0.9 * needed
    assert estimate(Data(*shape), 4, wide.SAMPLE_CELLS) >= needed
    assert estimate(Data(*shape), 2, wide.SAMPLE_CELLS, has_sample=False) >= m * n


def test_a_cluster_has_the_blocks():
    for shape in ((60, 600_000), (600_000, 60)):
        apart, here = (estimate(Data(*shape), 2, wide.SAMPLE_CELLS, is_shared=shared) for shared in (True, False))
        assert apart < here


def test_the_sample_is_as_large_as_the_limit_allows():
    data = Data(300_000, 300)
    whole = estimate(data, 3, tall.SAMPLE_CELLS)
    assert sample_cells(data, 3, whole) == tall.SAMPLE_CELLS
    cells = [sample_cells(data, 3, limit) for limit in range(whole, whole // 2, -whole // 20)]
    assert cells == sorted(cells, reverse=True)
    assert cells[-1] < cells[0]
    for limit in (whole - 1, 2 * whole // 3):
        assert estimate(data, 3, sample_cells(data, 3, limit)) <= limit


@pytest.mark.parametrize("shape", [(500, 200), (600_000, 60), (60, 600_000)], ids=str)
def test_what_has_no_sample_that_is_small_enough_is_refused_with_what_it_needs(shape):
    with pytest.raises(MemoryLimitError) as error:
        sample_cells(Data(*shape), 2, 1 << 20)
    said = str(error.value)
    assert said.startswith(f"the search in {shape[0]:,} rows and {shape[1]:,} columns takes about ")
    assert "but only 1 MB may be used; leave out rows or columns, or raise the limit with --max-memory " in said
    enough = parse_size(said.split("max_memory='")[1].split("'")[0])
    assert sample_cells(Data(*shape), 2, enough) > 0


@pytest.mark.slow
def test_the_estimate_is_on_the_safe_side():
    found = memory_need(QUICK[0], 5, None)
    assert found["peak"] <= found["estimate"]
    assert found["refused"]


# ---------------------------------------------------------------------- fits


@pytest.mark.slow
@pytest.mark.parametrize(("make", "limits"), [(CSalt, ["2G", 1e9]), (Primp, [10**9])])
def test_a_limit_that_is_not_reached_changes_nothing(planted, make, limits):
    alone = make(random_state=0).fit(planted.X, planted.y)
    for limit in limits:
        assert digest_of(make(random_state=0, max_memory=limit).fit(planted.X, planted.y)) == digest_of(alone)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "sizes"), [("dense", (150, [4000, 4000])), ("sparse", (8000, [80, 80]))], ids=["rows", "columns"]
)
def test_a_limit_that_is_reached_makes_the_sample_smaller(monkeypatch, kind, sizes):
    made = make_planted(*sizes, rank=4, noise=0.02, random_state=2)
    X = sp.csr_array(made.X) if kind == "sparse" else made.X
    module, least = (tall, "MIN_ROWS") if sizes[0] < 1000 else (wide, "MIN_ITEMS")
    monkeypatch.setattr(module, least, 500)
    whole = estimate(X, 2, wide.SAMPLE_CELLS)
    drawn, draw = [], module.draw
    monkeypatch.setattr(module, "draw", lambda *given: drawn.append(draw(*given)) or drawn[-1])
    CSalt(random_state=0).fit(X, made.y)
    assert not drawn
    limited = CSalt(random_state=0, max_memory=int(0.75 * whole)).fit(X, made.y)
    assert len(drawn) == 1
    assert drawn[0].copies.sum() < max(X.shape) / 2
    assert limited.description_length_ < limited.null_description_length_


@pytest.mark.parametrize("algorithm", ["saltmine", "paper"])
def test_too_little_is_refused_before_the_search(planted, algorithm):
    def fail(now):
        pytest.fail("the search has begun")

    model = CSalt(algorithm=algorithm, max_memory="1M", callback=fail)
    with pytest.raises(MemoryLimitError, match=r"raise the limit with --max-memory \d+M"):
        model.fit(planted.X, planted.y)
    assert not hasattr(model, "usage_")


@pytest.mark.parametrize("value", ["much", "", 0, -5, True, [1], float("nan"), float("inf")])
def test_what_is_no_memory_is_refused(planted, value):
    for make in (CSalt, Primp):
        with pytest.raises(ValueError, match=r"max_memory: .* is not a size of memory; write it as 500M or 2G\."):
            make(max_memory=value).fit(planted.X, planted.y)


def test_it_belongs_to_the_run(planted, tmp_path):
    model = CSalt(random_state=0, max_memory="2G").fit(planted.X, planted.y)
    model.save(tmp_path / "model.salt")
    assert load(tmp_path / "model.salt").max_memory is None
    assert clone(model).max_memory == pickle.loads(pickle.dumps(model)).max_memory == "2G"


def test_another_limit_is_another_fit(monkeypatch, planted, tmp_path):
    path = tmp_path / "fit.ckpt"

    def stop(now):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CSalt(random_state=0, checkpoint=path, max_memory="2G", callback=stop).fit(planted.X, planted.y)
    with pytest.raises(CheckpointError, match="other max_memory"):
        CSalt(random_state=0, checkpoint=path, max_memory="1G").fit(planted.X, planted.y)


# ---------------------------------------------------------------------- command line


@pytest.fixture
def table(tmp_path, planted):
    np.savez(tmp_path / "table.npz", X=planted.X, y=planted.y)
    return tmp_path / "table.npz"


@pytest.mark.slow
def test_the_command_line_limits_the_fit_too(table, tmp_path):
    fit = "fit", table, "-q", "-o", tmp_path / "out", "--max-memory"
    line = refused(*fit, "2M")
    assert "the search in 170 rows and 100 columns takes about" in line
    assert "raise the limit with --max-memory" in line
    assert not (tmp_path / "out").exists()
    assert run(*fit, "1G").exit_code == 0
    # Reading has a limit whatever the method is.
    assert run(*fit, "1G", "--method", "asso").exit_code == 0
