"""The paper's loop on a device: compared with NumPy, and the messages where a device is missing."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import devices
from saltmine import CSalt, Primp
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import make_planted
from saltmine.solver.paper import palm
from saltmine.solver.relaxed import device_operator
from saltmine.solver.relaxed.device import HOST, open_device
from saltmine.solver.relaxed.device_operator import DeviceOperator
from saltmine.solver.relaxed.objective import RelaxedObjective
from saltmine.solver.relaxed.operator import DenseOperator
from tests.helpers.folded_data import folded_data, random_factors

# Importing torch takes seconds.
slow = pytest.mark.slow


@pytest.fixture
def torch():
    pytest.importorskip("array_api_compat", reason="array-api-compat is not installed (saltmine[gpu])")
    return pytest.importorskip("torch", reason="torch is not installed (saltmine[gpu])")


@pytest.fixture(params=[False, True], ids=["unfolded", "folded"])
def data(request):
    """Return matrix, blocks and weights of three classes, of different size."""
    folded = folded_data(m=70, n=50, ends=(30, 33, 70))
    return folded.matrix, folded.blocks, folded.weights if request.param else None


@pytest.fixture(params=["numpy", pytest.param("torch", marks=slow)])
def device(request):
    """Return a device on this machine's processor: numpy's own, which needs no other library, and torch's."""
    if request.param == "torch":
        request.getfixturevalue("torch")
    return HOST if request.param == "numpy" else open_device("cpu")


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_both_products_are_those_of_the_data(data, storage, device):
    matrix, blocks, weights = data
    operator = DeviceOperator(matrix, blocks, device, weights, storage)
    factors = random_factors(matrix, blocks, 3)
    V, Y = device.put(factors.V), device.put(factors.Y)
    products, usage = operator.transposed_times(Y), operator.times(V)
    assert type(products) is type(usage) is type(Y)
    products, usage = device.get(products), device.get(usage)
    for a, rows in enumerate(blocks):
        np.testing.assert_allclose(products[a], matrix[rows].T @ factors.Y[rows], rtol=1e-12)
        np.testing.assert_allclose(usage[rows], matrix[rows] @ factors.V[a], rtol=1e-12)
    counts = np.ones(len(matrix), int) if weights is None else weights.rows
    np.testing.assert_array_equal(operator.item_counts, (matrix * counts[:, None]).sum(axis=0))


@pytest.mark.parametrize(("most", "is_sparse"), [(1 << 31, False), (0, True)])
def test_sparse_data_is_held_dense_unless_it_is_huge(small_data, monkeypatch, most, is_sparse):
    monkeypatch.setattr(device_operator, "MAX_DENSE_BYTES", most)
    matrix, blocks = small_data
    operator = DeviceOperator(sp.csr_array(matrix), blocks, HOST)
    assert sp.issparse(operator._classes[0]) == is_sparse
    assert not sp.issparse(DeviceOperator(matrix, blocks, HOST)._classes[0])


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("alterations", [True, False])
def test_a_device_takes_the_steps_of_the_processor(data, storage, device, alterations):
    matrix, blocks, weights = data
    start = random_factors(matrix, blocks, 6)
    before = start.Y.copy()
    settings = {"max_iter": 200, "alterations": alterations, "check_every": 1}
    with ThreadTeam(1) as team:
        expected = palm(RelaxedObjective(DenseOperator(matrix, blocks, team, weights=weights)), start, **settings)
    found = palm(RelaxedObjective(DeviceOperator(matrix, blocks, device, weights, storage)), start, **settings)
    assert len(found.history) == 201
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-6)
    for name in ("X", "V", "Y"):
        factor = getattr(found.factors, name)
        assert isinstance(factor, np.ndarray)
        assert factor.dtype == np.float64
        np.testing.assert_allclose(factor, getattr(expected.factors, name), atol=1e-8)
    # The start is left alone, whether or not the device shares memory with numpy.
    np.testing.assert_array_equal(start.Y, before)


@slow
def test_a_device_without_double_precision_takes_them_in_single(torch, data):
    matrix, blocks, weights = data
    single, start = replace(open_device("cpu"), dtype=np.float32), random_factors(matrix, blocks, 6)
    objective = RelaxedObjective(DeviceOperator(matrix, blocks, single, weights))
    assert objective.u.dtype == objective.project(single.put(start.Y)).P.dtype == torch.float32
    found = palm(objective, start, max_iter=50)
    assert found.factors.X.dtype == np.float32
    expected = palm(RelaxedObjective(DeviceOperator(matrix, blocks, HOST, weights)), start, max_iter=50)
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-5)


@slow
def test_precision_is_double_where_the_device_has_it(torch, monkeypatch):
    assert open_device("cpu").dtype is np.float64
    xp = sys.modules["array_api_compat.torch"]
    info = type("Info", (), {"dtypes": lambda self, device, kind: {"float32": torch.float32}})
    monkeypatch.setattr(xp, "__array_namespace_info__", info)
    assert open_device("cpu").dtype is np.float32


# ---------------------------------------------------------------- fits


@slow
@pytest.mark.parametrize("estimator", [CSalt, Primp])
@pytest.mark.parametrize(
    "parameters", [{}, {"storage": "sparse", "fold": False}, {"n_restarts": 2, "n_jobs": 2}], ids=str
)
def test_a_fit_finds_the_same_model_on_torch(torch, estimator, parameters):
    planted = make_planted(120, [60, 70], rank=5, noise=0.02, random_state=3)
    X, y = np.repeat(planted.X, 2, axis=0), np.repeat(planted.y, 2)
    settings = {"algorithm": "paper", "max_iter": 400, "random_state": 0, **parameters}
    here = estimator(**settings).fit(X, y)
    there = estimator(**settings, device="cpu").fit(X, y)
    assert here.n_components_ > 1
    for name in ("components_", "alterations_", "usage_"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    np.testing.assert_allclose(there.history_, here.history_, rtol=1e-6)


@slow
def test_the_objective_of_a_planted_matrix_is_that_of_numpy(torch):
    planted = make_planted(120, [80, 80], rank=6, noise=0.1, random_state=0)
    assert devices.largest_difference(planted, open_device("cpu"), rank=10, n_iter=200) < 1e-6


def test_a_device_is_refused_for_the_search_of_this_library():
    planted = make_planted(30, [20, 20], rank=2, random_state=0)
    for estimator in (CSalt, Primp):
        with pytest.raises(ValueError, match=r"^device is for algorithm='paper' only; .* on the processor\.$"):
            estimator(device="cuda").fit(planted.X, planted.y)


def test_a_fit_refuses_a_device_that_is_no_name():
    with pytest.raises(ValueError, match=r"^device must be the name of one, such as 'cuda', or None, not 3\.$"):
        CSalt(algorithm="paper", device=3).fit(np.eye(4, dtype=bool), [0, 0, 1, 1])


# ---------------------------------------------------------------- names


@slow
@pytest.mark.parametrize("name", ["cpu", "torch:cpu"])
def test_a_device_is_found_by_its_name_with_or_without_the_library(torch, name):
    device = open_device(name)
    array = device.put(np.ones((2, 3), dtype=bool))
    assert isinstance(array, torch.Tensor)
    np.testing.assert_array_equal(device.get(array), np.ones((2, 3)))


@slow
@pytest.mark.parametrize("name", ["gpu", "torch", "cuda:x", "", "numpy:cpu"])
def test_an_unknown_name_is_refused(torch, name):
    with pytest.raises(ValueError, match=f"^device must be one of torch, .* or 'cupy'; got '{name}'.$"):
        open_device(name)


def test_a_device_must_be_a_name():
    with pytest.raises(ValueError, match=r"^device must be one of torch, .*; got 3\.$"):
        open_device(3)


@slow
@pytest.mark.parametrize("name", ["cuda:99", "torch:mps:99", "xla", "meta"])
def test_a_device_that_this_machine_lacks_is_refused_in_one_sentence(torch, name):
    with pytest.raises(ValueError, match=f"^device '{name}' does not work on this machine .*leave device out") as error:
        open_device(name)
    assert "\n" not in str(error.value)
    assert ". " not in str(error.value)


@slow
def test_a_device_that_torch_was_built_without_is_named_so(torch, monkeypatch):
    def ones(*arguments, **options):
        raise NotImplementedError(
            "Could not run 'aten::empty' with arguments from the 'MPS' backend. This could be ..."
        )

    monkeypatch.setattr(torch, "ones", ones)
    with pytest.raises(ValueError, match=r"^device 'mps' does not work .* \(torch was built without it\); leave"):
        open_device("mps")


@slow
def test_a_device_that_holds_no_sparse_data_says_so(torch, small_data, monkeypatch):
    def sparse_csr_tensor(*arguments, **options):
        raise NotImplementedError("Could not run 'aten::empty' with arguments from the 'SparseCsrMPS' backend.")

    monkeypatch.setattr(torch, "sparse_csr_tensor", sparse_csr_tensor)
    with pytest.raises(ValueError, match=r"^device 'cpu' holds no sparse data; fit with storage='dense'\.$"):
        DeviceOperator(*small_data, open_device("cpu"), storage="sparse")


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
