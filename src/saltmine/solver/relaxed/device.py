"""The relaxed solve on other devices: array libraries, the data on a device, and the steps on whole arrays.

Other libraries are used through the array API (array-api-compat), so that the solver is written once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.data.folding import Weights
from saltmine.data.validation import BinaryMatrix
from saltmine.solver.relaxed import step_kernels as formulas
from saltmine.solver.relaxed.operator import OnItems, OnRows
from saltmine.solver.relaxed.step_kernels import HALF, Costs, Pace, State

# An array of the library of the device.
Array = Any

# Sparse input of up to this many cells (1 GiB in single precision) is held dense: devices multiply that faster.
MAX_DENSE_CELLS = 1 << 28


@dataclass(frozen=True)
class Device:
    """An array library, and one of its devices.

    Attributes
    ----------
    xp : namespace
        The library, as a namespace of the array API.
    place : object
        The device, as the library names it.
    wide : dtype
        For long sums: double precision, if the device has it.
    sparse : callable
        Copies a CSR matrix to the device, as an object that ``@`` multiplies.
    """

    xp: Any
    place: Any
    wide: Any
    sparse: Callable[[sp.csr_array], Any]

    def put(self, array: NDArray[Any]) -> Array:
        """Return a copy on the device."""
        return self.xp.asarray(array, device=self.place, copy=True)

    def get(self, array: Array) -> NDArray[Any]:
        """Return the array as a numpy array."""
        if isinstance(array, np.ndarray):
            return array
        return np.asarray(import_module("array_api_compat").to_device(array, "cpu"))


HOST = Device(np, "cpu", np.float64, lambda matrix: matrix)


class DeviceOperator:
    """Data on a device, in single precision; see `saltmine.solver.relaxed.operator.Operator`.

    Products of device arrays stay on the device; those of numpy arrays come back as numpy arrays.

    Examples
    --------
    >>> import numpy as np
    >>> operator = DeviceOperator(np.array([[1, 0], [1, 1]], dtype=bool), [slice(0, 2)], HOST)
    >>> operator.transposed_times(np.array([[1.0], [0.5]], dtype=np.float32)).tolist()
    [[[1.5], [0.5]]]
    """

    def __init__(
        self, matrix: BinaryMatrix, blocks: list[slice], device: Device, weights: Weights | None = None
    ) -> None:
        self.shape = (matrix.shape[0], matrix.shape[1])
        self.blocks, self.device, self.weights = blocks, device, weights or Weights.ones(self.shape)
        self.item_counts: NDArray[np.int64] = matrix.T @ self.weights.rows
        if isinstance(matrix, np.ndarray) or self.shape[0] * self.shape[1] <= MAX_DENSE_CELLS:
            dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray() != 0
            data = device.xp.asarray(device.put(dense), dtype=device.xp.float32)
            self._classes = [data[rows] for rows in blocks]
            self._transposed = [of_class.T for of_class in self._classes]
        else:
            parts = [sp.csr_array(matrix[rows], dtype=np.float32) for rows in blocks]
            self._classes = [device.sparse(part) for part in parts]
            self._transposed = [device.sparse(sp.csr_array(part.T)) for part in parts]

    def transposed_times(self, usage: Array, on_panel: OnItems = lambda result, items: None) -> Array:
        """Return ``D_a^T Y_a`` for every class; ``on_panel`` is called once, for all items."""
        on_device = self._to_device(usage)
        products = [part @ on_device[rows] for part, rows in zip(self._transposed, self.blocks, strict=True)]
        out = self._like(self.device.xp.stack(products), usage)
        on_panel(out, slice(0, self.shape[1]))
        return out

    def times(self, weights: Array, on_panel: OnRows = lambda result, a, rows: None) -> Array:
        """Return ``D_a W_a`` for every class; ``on_panel`` is called once per class."""
        on_device = self._to_device(weights)
        products = [part @ on_device[a] for a, part in enumerate(self._classes)]
        out = self._like(self.device.xp.concat(products), weights)
        for a, rows in enumerate(self.blocks):
            on_panel(out, a, rows)
        return out

    def _to_device(self, array: Array) -> Array:
        return self.device.put(array) if isinstance(array, np.ndarray) else array

    def _like(self, product: Array, array: Array) -> Array:
        """Return a product as a numpy array if ``array`` is one."""
        return self.device.get(product) if isinstance(array, np.ndarray) else product


def on_device(matrix: BinaryMatrix, blocks: list[slice], weights: Weights | None, device: str) -> DeviceOperator:
    """Return an operator with the data on a device.

    Parameters
    ----------
    device : str
        A device of torch, such as "cuda", "cuda:1", "mps" or "cpu" (or with the library, "torch:cuda"), or "cupy".
    """
    return DeviceOperator(matrix, blocks, open_device(device), weights)


def open_device(name: str) -> Device:
    """Return the library and its device, and check that it works."""
    if not isinstance(name, str):
        raise ValueError(_unknown(name))
    return _cupy() if name == "cupy" else _torch(name)


def _unknown(name: object) -> str:
    return f"device must be one of torch, such as 'cuda', 'cuda:1', 'mps' or 'cpu', or 'cupy'; got {name!r}."


def _absent(name: str, why: Exception) -> str:
    reason = " ".join(str(why).split("\n")[0].split()).rstrip(".")
    return f"device {name!r} does not work on this machine ({reason}); leave device out to use the processor."


def _torch(name: str) -> Device:
    try:
        torch, xp = import_module("torch"), import_module("array_api_compat.torch")
    except ImportError as error:
        raise ImportError(
            f"device {name!r} needs torch and array-api-compat, which are not installed: pip install 'saltmine[gpu]'."
        ) from error
    try:
        place = torch.device(name.removeprefix("torch:"))
    except RuntimeError as error:
        raise ValueError(_unknown(name)) from error
    try:
        torch.ones(1, device=place).cpu()
    # The type of the error depends on the device and on how torch was built.
    except (RuntimeError, AssertionError, ImportError) as error:
        raise ValueError(_absent(name, error)) from error

    def sparse(matrix: sp.csr_array) -> Any:
        parts = [torch.from_numpy(array) for array in (matrix.indptr, matrix.indices, matrix.data)]
        with warnings.catch_warnings():
            # torch warns that its sparse matrices are in beta state.
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
            return torch.sparse_csr_tensor(*parts, size=matrix.shape, device=place, check_invariants=False)

    return Device(xp, place, xp.float32 if place.type == "mps" else xp.float64, sparse)


def _cupy() -> Device:
    try:
        cupy, xp = import_module("cupy"), import_module("array_api_compat.cupy")
        csr_matrix = import_module("cupyx.scipy.sparse").csr_matrix
    except ImportError as error:
        raise ImportError(
            "device 'cupy' needs array-api-compat, pip install 'saltmine[gpu]', and the build of cupy for your CUDA, "
            "such as pip install cupy-cuda12x; one of them is not installed."
        ) from error
    try:
        place = cupy.ones(1).device
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise ValueError(_absent("cupy", error)) from error
    return Device(xp, place, xp.float64, csr_matrix)


# ---------------------------------------------------------------------- steps on whole arrays
#
# Every function takes the arguments of its namesake in `step_kernels`, in arrays of any library that follows the array
# API and writes into slices (torch, cupy), and computes the same formulas.


def copy(factor: NDArray[Any], device: Device) -> Array:
    """Return a copy on the device."""
    return device.put(factor)


def step_items(
    state: State,
    costs: Costs,
    P: Array,
    G: Array,
    pace: Pace,
    steps: tuple[Array, Array],
    alterations: bool,
    part: slice,
) -> Array:
    """Take the steps in X and, if there are alterations, in V; return the Gram matrices of the patterns."""
    P, half = P[:, part], HALF * costs.u[part, None]
    _step_X(state, costs, P, G, pace, steps[0], half, part)
    if alterations:
        _step_V(state, costs, P, G, pace, steps[1], half, part)
    V, multiplicities = state.V[:, part], costs.items[part, None]
    patterns = state.X[part] + V
    weights = -costs.mu * multiplicities * patterns
    for a in range(V.shape[0]):
        weights += formulas.cross_weight(V[a], V, multiplicities * costs.cross[a, :, None, None])
    state.weights[:, part] = weights
    patterns *= multiplicities**0.5
    return patterns.swapaxes(1, 2) @ patterns


def _step_X(
    state: State, costs: Costs, P: Array, G: Array, pace: Pace, steps: Array, gradient: Array, part: slice
) -> None:
    point = formulas.extrapolated(state.X[part], state.X_before[part], pace.inertia)
    fitted = (point + state.V[:, part]) @ G
    for a in range(P.shape[0]):
        gradient = gradient + formulas.error_gradient(fitted[a], P[a], costs.mu)
    state.X_before[part] = state.X[part]
    state.X[part] = formulas.prox_step(point, gradient, steps, pace.weight)


def _step_V(
    state: State, costs: Costs, P: Array, G: Array, pace: Pace, steps: Array, gradient: Array, part: slice
) -> None:
    V = state.V[:, part]
    points = formulas.extrapolated(V, state.V_before[:, part], pace.inertia)
    gradient = gradient + formulas.error_gradient((state.X[part] + points) @ G, P, costs.mu)
    for b in range(V.shape[0]):
        there, back = costs.cross[:, b, None, None], costs.cross[b, :, None, None]
        gradient += formulas.cross_gradient(P, P[b], V[b], there, back)
    state.V_before[:, part] = V
    state.V[:, part] = formulas.prox_step(points, gradient, steps[:, None], pace.weight)


def step_rows(
    state: State, costs: Costs, product: Array, gram: Array, codes: Array, pace: Pace, steps: Array, part: slice
) -> None:
    """Take the step in Y for rows of one class."""
    point = formulas.extrapolated(state.Y[part], state.Y_before[part], pace.inertia)
    gradient = formulas.usage_gradient(product[part], point @ gram, codes, costs.mu)
    state.Y_before[part] = state.Y[part]
    state.Y[part] = formulas.prox_step(point, gradient, steps, pace.weight)
