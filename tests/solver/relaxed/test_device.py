"""The relaxed solve on a device: compared with the compiled code, and the messages where a device is missing."""

import sys
from copy import deepcopy as copy

import numpy as np
import pytest
import scipy.sparse as sp

import saltmine.solver.relaxed.device
from saltmine.data.threads import ThreadTeam
from saltmine.mdl.code_length import cross_weights
from saltmine.solver.relaxed import step_kernels
from saltmine.solver.relaxed.accelerated import AcceleratedDescent
from saltmine.solver.relaxed.device import HOST, DeviceOperator, on_device, open_device
from saltmine.solver.relaxed.operator import DenseOperator
from saltmine.solver.relaxed.spectrum import count_signals
from saltmine.solver.relaxed.step_kernels import Costs, Pace, State
from tests.helpers.folded_data import folded_data, random_factors

# Importing torch takes seconds.
pytestmark = pytest.mark.slow


@pytest.fixture
def torch():
    pytest.importorskip("array_api_compat", reason="array-api-compat is not installed (saltmine[gpu])")
    return pytest.importorskip("torch", reason="torch is not installed (saltmine[gpu])")


@pytest.fixture(params=[False, True], ids=["unfolded", "folded"])
def data(request):
    """Return matrix, blocks and weights of three classes, of different size."""
    folded = folded_data(m=70, n=50, ends=(30, 33, 70))
    return folded.matrix, folded.blocks, folded.weights if request.param else None


@pytest.fixture(params=["dense", "sparse"])
def storage(request, monkeypatch):
    """Return a function that brings a matrix into the form that is to be held on the device."""
    if request.param == "dense":
        return lambda matrix: matrix
    monkeypatch.setattr(saltmine.solver.relaxed.device, "MAX_DENSE_CELLS", 0)
    return sp.csr_array


@pytest.fixture(params=["numpy", "torch"])
def device(request):
    """Return a device on this machine's processor: numpy's own, which needs no other library, and torch's."""
    if request.param == "torch":
        request.getfixturevalue("torch")
    return HOST if request.param == "numpy" else open_device("cpu")


def test_both_products_are_those_of_the_data_and_come_back_as_they_went(data, storage, device):
    matrix, blocks, weights = data
    operator = DeviceOperator(storage(matrix), blocks, device, weights)
    factors = random_factors(matrix, blocks, 3, np.float32)
    calls = []
    products = operator.transposed_times(factors.Y, lambda out, items: calls.append(items))
    usage = operator.times(factors.V, lambda out, a, rows: calls.append((a, rows)))
    for a, rows in enumerate(blocks):
        np.testing.assert_allclose(products[a], matrix[rows].T @ factors.Y[rows], rtol=1e-5)
        np.testing.assert_allclose(usage[rows], matrix[rows] @ factors.V[a], rtol=1e-5)
    assert calls == [slice(0, 50), *enumerate(blocks)]
    assert isinstance(products, np.ndarray)
    there = operator.times(device.put(factors.V))
    assert type(there) is type(device.put(factors.V))
    np.testing.assert_array_equal(device.get(there), usage)
    counts = np.ones(len(matrix), int) if weights is None else weights.rows
    np.testing.assert_array_equal(operator.item_counts, (matrix * counts[:, None]).sum(axis=0))


@pytest.mark.parametrize("alterations", [True, False])
def test_a_device_takes_the_steps_of_the_compiled_path(data, storage, device, alterations):
    matrix, blocks, weights = data
    cross = cross_weights([40, 5, 60])
    settings = {"ramp": 12, "max_iter": 16, "tol": -1.0, "alterations": alterations, "check_every": 3}
    with ThreadTeam(2) as team:
        compiled = AcceleratedDescent(DenseOperator(matrix, blocks, team, np.float32, weights), cross)
        expected = compiled.run(compiled.start(6, np.random.default_rng(0)), **settings)
    solver = AcceleratedDescent(DeviceOperator(storage(matrix), blocks, device, weights), cross)
    start = solver.start(6, np.random.default_rng(0))
    found = solver.run(start, **settings)
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-5)
    for name in ("X", "V", "Y"):
        factor = getattr(found.factors, name)
        assert isinstance(factor, np.ndarray)
        assert factor.dtype == np.float32
        np.testing.assert_allclose(factor, getattr(expected.factors, name), atol=1e-4)
    # The start is left alone, whether or not the device shares memory with numpy.
    np.testing.assert_array_equal(start.Y, solver.start(6, np.random.default_rng(0)).Y)


def test_a_device_counts_the_same_signals(data, storage, device):
    matrix, blocks, weights = data
    matrix = matrix.copy()
    matrix[:20, :15] = matrix[30:50, 20:40] = True
    with ThreadTeam(1) as team:
        operator = DenseOperator(matrix, blocks, team, np.float32, weights)
        expected = count_signals(operator, np.random.default_rng(0), 40)
    operator = DeviceOperator(storage(matrix), blocks, device, weights)
    assert count_signals(operator, np.random.default_rng(0), 40) == expected > 0


@pytest.mark.parametrize("alterations", [True, False])
def test_every_step_on_whole_arrays_is_that_of_the_compiled_loops(alterations):
    """Also for a part of the rows: what is outside stays as it was."""
    rng = np.random.default_rng(0)
    n, m, r, c, items, rows = 11, 13, 8, 3, slice(2, 9), slice(4, 12)
    X, V, Y = (n, r), (c, n, r), (m, r)

    def draw(*shapes):
        return [rng.random(shape, dtype=np.float32) for shape in shapes]

    u, cross, multiplicities = draw((n,), (c, c), (n,))
    costs = Costs(u, np.float32(3.1), cross, multiplicities)
    start, pace = State(*draw(X, X, V, V, Y, Y, V)), Pace(np.float32(0.3), np.float32(0.07))
    P, G, product, codes, steps, class_steps = draw(V, (c, r, r), Y, (r,), (r,), (c, r))
    after = []
    for kernels in (step_kernels, saltmine.solver.relaxed.device):
        state = copy(start)
        grams = kernels.step_items(state, costs, P, G, pace, (steps / 50, class_steps / 50), alterations, items)
        kernels.step_rows(state, costs, product, G[0], codes, pace, steps / 50, rows)
        after.append((*state, grams))
    compiled, whole = after
    for k, name in enumerate([*State._fields, "grams"]):
        np.testing.assert_allclose(compiled[k], whole[k], rtol=1e-5, atol=1e-6, err_msg=name)
    for k, (name, before) in enumerate(zip(State._fields, start, strict=True)):
        part = rows if name.startswith("Y") else items
        inside = np.zeros_like(before, dtype=bool)
        inside[..., part, :] = True
        np.testing.assert_array_equal(compiled[k][~inside], before[~inside], err_msg=name)
        moves = alterations or not name.startswith("V")
        assert (compiled[k][inside] != before[inside]).mean() > 0.5 if moves else (compiled[k] == before).all(), name


def test_compiled_loops_refuse_half_a_vector():
    X, V, Y = (np.zeros(shape, dtype=np.float32) for shape in ((5, 4), (1, 5, 4), (6, 4)))
    costs, codes = Costs(X[0], np.float32(1), X[:1, :1], X[0]), X[0]
    with pytest.raises(ValueError, match="multiple of eight"):
        step_kernels.step_rows(State(X, X, V, V, Y, Y, V), costs, Y, X[:4], codes, Pace(0.0, 0.0), codes, slice(0, 6))


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("name", ["cpu", "torch:cpu"])
def test_a_device_is_found_by_its_name_with_or_without_the_library(torch, small_data, name):
    operator = on_device(*small_data, None, name)
    there = operator.device.put(np.ones((13, 2), dtype=np.float32))
    assert isinstance(operator.transposed_times(there), torch.Tensor)


@pytest.mark.parametrize("name", ["gpu", "torch", "cuda:x", "", "numpy:cpu"])
def test_an_unknown_name_is_refused(torch, name):
    with pytest.raises(ValueError, match=f"^device must be one of torch, .* or 'cupy'; got '{name}'.$"):
        open_device(name)


def test_a_device_must_be_a_name():
    with pytest.raises(ValueError, match=r"^device must be one of torch, .*; got 3\.$"):
        open_device(3)


@pytest.mark.parametrize("name", ["cuda:99", "torch:mps:99", "meta"])
def test_a_device_that_this_machine_lacks_is_refused_in_one_sentence(torch, name):
    with pytest.raises(ValueError, match=f"^device '{name}' does not work on this machine .*leave device out") as error:
        open_device(name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("library", ["torch", "array_api_compat.torch"])
def test_without_torch_the_extra_is_named(monkeypatch, library):
    # None is what Python puts there to say that a module is not to be imported.
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=r"device 'cuda' needs torch and array-api-compat.*'saltmine\[gpu\]'"):
        open_device("cuda")


def test_without_cupy_the_extra_and_the_builds_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ImportError, match=r"'saltmine\[gpu\]'.*cupy-cuda12x"):
        open_device("cupy")
