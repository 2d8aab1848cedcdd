"""Fitted attributes that have an entry for every column of the input."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.solver.items import ItemFigures, entries


class ByColumn:
    """Attributes that are kept for distinct items, and made for all columns when they are first asked for."""

    _items: ItemFigures

    @property
    def components_(self) -> NDArray[np.bool_]:
        """Shared patterns, (r, n)."""
        return self._items.all_components

    @property
    def alterations_(self) -> NDArray[np.bool_]:
        """Class-specific alterations, (c, r, n)."""
        return self._items.all_alterations

    @property
    def sparse_components_(self) -> sp.csr_array:
        """Shared patterns as a sparse matrix, (r, n)."""
        return self._items.sparse(self._items.components)

    @property
    def sparse_alterations_(self) -> list[sp.csr_array]:
        """Alterations of every class as sparse matrices, (r, n) each."""
        return [self._items.sparse(altered) for altered in self._items.alterations]

    @property
    def item_counts_(self) -> NDArray[np.int64]:
        """Ones of every class and column, (c, n)."""
        return self._items.all_item_counts

    @property
    def noise_counts_(self) -> NDArray[np.int64]:
        """Cells of every class and column that the model gets wrong, (c, n)."""
        return self._items.all_noise_counts

    @property
    def _hits(self) -> NDArray[np.int64]:
        return self._items.hits_of(*entries(self.components_, self.alterations_))[0]
