"""The data as a linear operator on a device, multiplied as a whole; see `saltmine.solver.relaxed.operator`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.data.folding import Weights
from saltmine.data.validation import BinaryMatrix
from saltmine.solver.relaxed.device import Array, Device
from saltmine.solver.relaxed.operator import MAX_DENSE_BYTES


class DeviceOperator:
    """Data on a device; factors and products are arrays of its library.

    ``storage`` is "dense", "sparse", or "auto": dense, which devices multiply faster, unless sparse data would be huge.

    Examples
    --------
    >>> import numpy as np
    >>> from saltmine.solver.relaxed.device import HOST
    >>> operator = DeviceOperator(np.array([[1, 0], [1, 1]], dtype=bool), [slice(0, 2)], HOST)
    >>> operator.transposed_times(np.array([[1.0], [0.5]])).tolist()
    [[[1.5], [0.5]]]
    """

    def __init__(
        self,
        matrix: BinaryMatrix,
        blocks: list[slice],
        device: Device,
        weights: Weights | None = None,
        storage: str = "auto",
    ) -> None:
        self.shape = (matrix.shape[0], matrix.shape[1])
        self.blocks, self.device, self.weights = blocks, device, weights or Weights.ones(self.shape)
        self.item_counts: NDArray[np.int64] = matrix.T @ self.weights.rows
        dense_bytes = self.shape[0] * self.shape[1] * np.dtype(device.dtype).itemsize
        is_huge = not isinstance(matrix, np.ndarray) and dense_bytes > MAX_DENSE_BYTES
        if storage == "sparse" or (storage == "auto" and is_huge):
            parts = [sp.csr_array(matrix[rows], dtype=device.dtype) for rows in blocks]
            self._classes = [device.sparse(part) for part in parts]
            self._transposed = [device.sparse(sp.csr_array(part.T)) for part in parts]
        else:
            dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray() != 0
            self._classes = [device.put(dense[rows]) for rows in blocks]
            self._transposed = [of_class.T for of_class in self._classes]

    def transposed_times(self, usage: Array) -> Array:
        """Return ``D_a^T Y_a`` for every class, shape (c, n, r)."""
        products = [part @ usage[rows, :] for part, rows in zip(self._transposed, self.blocks, strict=True)]
        return self.device.xp.stack(products)

    def times(self, weights: Array) -> Array:
        """Return ``D_a W_a`` for every class, stacked to (m, r)."""
        return self.device.xp.concat([part @ weights[a, :, :] for a, part in enumerate(self._classes)])
