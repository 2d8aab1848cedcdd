"""Where the relaxed solve of the paper runs: NumPy, or another array library and one of its devices.

Libraries are used through the array API. NumPy follows it by itself, the others through array-api-compat.
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

# An array of the library of the device.
Array = Any


@dataclass(frozen=True)
class Device:
    """An array library, and one of its devices.

    Attributes
    ----------
    xp : namespace
        The library, as a namespace of the array API.
    place : object
        The device, as the library names it.
    dtype : numpy type
        Precision of all arrays: double, or single where the device has no other.
    sparse : callable
        Copies a CSR matrix to the device, as an object that ``@`` multiplies.
    """

    xp: Any
    place: Any
    dtype: type[np.floating]
    sparse: Callable[[sp.csr_array], Any]

    def put(self, array: NDArray[Any]) -> Array:
        """Return a copy on the device."""
        # In NumPy first: devices without double precision cannot even take such an array to convert it.
        return self.xp.asarray(np.asarray(array, dtype=self.dtype), device=self.place, copy=True)

    def get(self, array: Array) -> NDArray[Any]:
        """Return an array of the device as a numpy array."""
        if isinstance(array, np.ndarray):
            return array
        return np.asarray(import_module("array_api_compat").to_device(array, "cpu"))


#: NumPy on the processor.
HOST = Device(np, "cpu", np.float64, lambda matrix: matrix)


def open_device(name: str) -> Device:
    """Return the library and its device, and check that it works.

    Parameters
    ----------
    name : str
        A device of torch, such as "cuda", "cuda:1", "mps" or "cpu" (or with the library, "torch:cuda"), or "cupy".
    """
    if not isinstance(name, str):
        raise ValueError(_unknown(name))
    return _cupy() if name == "cupy" else _torch(name)


def _unknown(name: object) -> str:
    return f"device must be one of torch, such as 'cuda', 'cuda:1', 'mps' or 'cpu', or 'cupy'; got {name!r}."


def _absent(name: str, why: Exception) -> str:
    # What torch says of a device that it was not built for is long and about its own parts.
    is_unbuilt = isinstance(why, NotImplementedError)
    reason = "torch was built without it" if is_unbuilt else str(why).split("\n")[0].split(". ")[0].rstrip(".")
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
            try:
                return torch.sparse_csr_tensor(*parts, size=matrix.shape, device=place, check_invariants=False)
            except NotImplementedError as error:
                raise ValueError(f"device {name!r} holds no sparse data; fit with storage='dense'.") from error

    precisions = xp.__array_namespace_info__().dtypes(device=place, kind="real floating")
    return Device(xp, place, np.float64 if "float64" in precisions else np.float32, sparse)


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
    return Device(xp, place, np.float64, csr_matrix)
