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
from saltmine.solver.relaxed.step_kernels import HALF, Costs, Prox

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


def extrapolate(factor: Array, before: Array, inertia: Any, part: slice, out: Array) -> None:
    """Extrapolate rows of a (n, r) factor."""
    out[part] = formulas.extrapolated(factor[part], before[part], inertia)


def add_to_all(X: Array, V: Array, part: slice, out: Array) -> None:
    """Compute ``out_a = X + V_a``."""
    out[:, part] = X[part] + V[:, part]


def multiply(factor: Array, gram: Array, out: Array) -> None:
    """Compute ``out = factor gram``."""
    out[...] = factor @ gram


def step_X(
    point: Array, fitted: Array, P: Array, costs: Costs, step: Prox, part: slice, X: Array, before: Array
) -> None:
    """Take the step in X from ``point``. The old X goes to ``before``."""
    gradient = HALF * costs.u[part, None]
    for a in range(P.shape[0]):
        gradient = gradient + formulas.error_gradient(fitted[a, part], P[a, part], costs.mu)
    before[part] = X[part]
    X[part] = formulas.prox_step(point[part], gradient, step.steps, step.weight)


def step_V(
    point: Array, fitted: Array, P: Array, costs: Costs, step: Prox, part: slice, V: Array, before: Array
) -> None:
    """Take the step in every V_a from ``point``. The old V goes to ``before``."""
    P = P[:, part]
    gradient = formulas.error_gradient(fitted[:, part], P, costs.mu) + HALF * costs.u[part, None]
    for b in range(V.shape[0]):
        there, back = costs.cross[:, b, None, None], costs.cross[b, :, None, None]
        gradient += formulas.cross_gradient(P, P[b], V[b, part], there, back)
    before[:, part] = V[:, part]
    V[:, part] = formulas.prox_step(point[:, part], gradient, step.steps[:, None], step.weight)


def usage_weights(X: Array, V: Array, items: Array, costs: Costs, part: slice, patterns: Array, weights: Array) -> None:
    """Compute what the usage step needs; ``items`` are the multiplicities of the items."""
    V, multiplicities = V[:, part], items[part, None]
    pattern = X[part] + V
    patterns[:, part] = multiplicities**0.5 * pattern
    total = -costs.mu * multiplicities * pattern
    for a in range(V.shape[0]):
        total += formulas.cross_weight(V[a], V, multiplicities * costs.cross[a, :, None, None])
    weights[:, part] = total


def step_Y(
    point: Array, fitted: Array, product: Array, codes: Array, mu: Any, step: Prox, Y: Array, before: Array
) -> None:
    """Take the step in rows of one class from ``point``."""
    before[...] = Y
    Y[...] = formulas.prox_step(point, formulas.usage_gradient(product, fitted, codes, mu), step.steps, step.weight)
