"""Loops for every kind of processor: the same numbers to the last bit, and words where one cannot be used."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine import CSalt, _core
from saltmine.data.bits import BitMatrix
from saltmine.datasets import make_planted
from saltmine.solver import kernels

NAMES = ("v2", "v3", "v4")


@pytest.fixture
def by_processor():
    """Return a function that computes something with the loops of every processor that this one can run."""
    before = _core.cpu()

    def compute(work):
        found = {}
        for name in NAMES:
            try:
                _core.use_cpu(name)
            except ValueError:
                continue
            found[name] = work()
        _core.use_cpu(before)
        return found

    yield compute
    _core.use_cpu(before)


def same_bytes(found):
    first, *others = found.values()
    return all(one.tobytes() == other.tobytes() for more in others for one, other in zip(first, more, strict=True))


@pytest.mark.skipif(_core.cpu() == "baseline", reason="this processor has one kind of loops")
class TestProcessors:
    """Of x86-64."""

    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 10**6), sizes=st.lists(st.sampled_from([1, 2, 63, 64, 65, 130]), min_size=1, max_size=3))
    def test_rows_weigh_the_same_as_summed_one_by_one(self, seed, sizes):
        rng = np.random.default_rng(seed)
        cells = rng.random((sum(sizes), 9)) < 0.4
        edges = np.cumsum([0, *sizes])
        bits = BitMatrix(cells, [slice(a, b) for a, b in pairwise(edges)])
        data = kernels.make_data(bits)
        open_rows = rng.random(cells.shape) < 0.7
        carry = rng.random((len(sizes), 9)) < 0.6
        errors, total = rng.integers(0, 50, 9), 400.0
        before, found = _core.cpu(), []
        for name in NAMES:
            try:
                _core.use_cpu(name)
            except ValueError:
                continue
            gains = np.zeros(64 * len(data.row_mask))
            _core.weigh_rows(data, bits.layout.pack(open_rows.T), carry, errors, total, gains)
            found.append(gains[bits.layout.places][np.argsort(bits.layout.rows)])
        _core.use_cpu(before)
        assert all(one.tobytes() == found[0].tobytes() for one in found)
        worth = data.costs.weights * np.log(total / np.maximum(errors, 0.5))
        expected = np.zeros(len(cells))
        for a in range(len(sizes)):
            rows = slice(edges[a], edges[a + 1])
            signs = np.where(cells[rows], 1.0, -1.0) * open_rows[rows]
            cross = (data.costs.weights * (data.costs.cross[:, a, None] * carry).sum(axis=0)) * cells[rows]
            expected[rows] = np.where(carry[a], signs * worth, -cross).sum(axis=1)
        np.testing.assert_allclose(found[0], expected, rtol=1e-12, atol=1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("shape", [(120, [30, 41]), (700, [20, 21, 15]), (30, [700, 64])], ids=str)
    def test_models_are_the_same(self, by_processor, shape):
        columns, sizes = shape
        planted = make_planted(columns, sizes, rank=3, noise=0.05, random_state=3)

        def fit():
            model = CSalt(random_state=3).fit(planted.X, planted.y)
            lengths = model.code_lengths(planted.X)
            history = np.array(list(model.history_), dtype=object)
            return model.components_, model.alterations_, model.usage_, np.asarray(lengths), history.astype(str)

        assert same_bytes(by_processor(fit))

    @pytest.mark.slow
    def test_a_processor_is_asked_for_by_its_name(self):
        def asked(name):
            code = "from saltmine import _core; print(_core.cpu())"
            environment = {**os.environ, "SALTMINE_CPU": name}
            return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)

        assert asked("v2").stdout == "v2\n"
        assert asked("").stdout.strip() in NAMES
        unknown = asked("v9")
        assert unknown.returncode == 1
        assert unknown.stderr.splitlines()[-1].startswith("ImportError: SALTMINE_CPU must be v2, v3 or v4;")
        fitted = subprocess.run(
            [sys.executable, "-m", "saltmine", "demo", "-o", "nowhere"],
            capture_output=True,
            text=True,
            env={**os.environ, "SALTMINE_CPU": "v9"},
        )
        assert (fitted.returncode, fitted.stderr.splitlines()) == (
            2,
            ["Error: SALTMINE_CPU must be v2, v3 or v4; unset it to use what this processor has."],
        )
