"""What a model of two or more classes consists of, counted as the paper's Table 1 counts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.arrays import Bools, Ints
from saltmine.metrics import for_every_class, residual

#: The owner of what several classes have in common.
COMMON = -1
#: Products with fewer items or rows are never counted, and not in truncated factorizations.
SINGLETONS, TRUNCATED = 2, 4


@dataclass(frozen=True)
class Factors:
    """A binary model and the class of every row.

    Attributes
    ----------
    components : (r, n) bool
    alterations : (c, r, n) bool
    usage : (m, r) bool
    y : (m,) int
        0, 1, ... c - 1.
    """

    components: Bools
    alterations: Bools
    usage: Bools
    y: NDArray[np.intp]

    @classmethod
    def of(cls, model: Any, y: NDArray[np.intp]) -> Factors:
        """Take the factors of a fitted model; one that knows no classes says the same of all of them."""
        alterations = for_every_class(np.asarray(model.alterations_, dtype=bool), int(y.max()) + 1)
        return cls(np.asarray(model.components_, dtype=bool), alterations, np.asarray(model.usage_, dtype=bool), y)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.alterations)

    @property
    def class_sizes(self) -> Ints:
        """Rows of every class."""
        return np.bincount(self.y, minlength=self.n_classes)

    @property
    def used(self) -> Ints:
        """Rows of every class that use every pattern, (c, r)."""
        return np.stack([self.usage[self.y == a].sum(axis=0) for a in range(self.n_classes)])

    def hits(self, X: sp.csr_array) -> Ints:
        """Count how often every item occurs in the rows of every class that use every pattern, (c, r, n)."""
        usage = self.usage.astype(np.int64)
        return np.stack([usage[self.y == a].T @ X[self.y == a] for a in range(self.n_classes)])


@dataclass(frozen=True)
class Product:
    """A pattern, or the part of one that counts on its own: its items in the rows of these classes.

    Attributes
    ----------
    pattern : int
    owner : int
        The class it belongs to, or `COMMON`.
    classes : tuple of int
        Whose rows use it.
    n_items, n_rows : int
        Items that any of the classes has in it, and rows that use it.
    """

    pattern: int
    owner: int
    classes: tuple[int, ...]
    n_items: int
    n_rows: int


def products_of(factors: Factors, least: int = SINGLETONS) -> list[Product]:
    """List the products of a model that have so many items and rows at least.

    Where a class adds more items to a pattern than the classes share, its pattern counts on its own. What is left, or
    the whole pattern otherwise, belongs to a class if no other one uses it, and else is common.

    Examples
    --------
    >>> import numpy as np
    >>> shared = np.array([[1, 1, 0, 0, 0]], dtype=bool)
    >>> added = np.array([[[0, 0, 1, 1, 1]], [[0, 0, 0, 0, 0]]], dtype=bool)
    >>> factors = Factors(shared, added, np.ones((4, 1), dtype=bool), np.array([0, 0, 1, 1]))
    >>> [(product.owner, product.n_items) for product in products_of(factors)]
    [(0, 5), (1, 2)]
    """
    shared, added = factors.components.sum(axis=1), factors.alterations.sum(axis=2)
    used = factors.used
    found = []
    for s in range(len(factors.components)):
        users = [a for a in range(factors.n_classes) if used[a, s]]
        alone = [a for a in users if added[a, s] > shared[s]]
        rest = [a for a in users if a not in alone]
        for classes in [[a] for a in alone] + ([rest] if rest else []):
            items = factors.components[s] | factors.alterations[classes, s].any(axis=0)
            owner = classes[0] if len(classes) == 1 else COMMON
            rows = int(used[classes, s].sum())
            found.append(Product(s, owner, tuple(classes), int(items.sum()), rows))
    return [product for product in found if min(product.n_items, product.n_rows) >= least]


def count_owners(products: Sequence[Product], n_classes: int) -> list[int]:
    """Count the common products and those of every class: r0, r1, r2, ..."""
    owners = [product.owner for product in products]
    return [owners.count(owner) for owner in (COMMON, *range(n_classes))]


def errors_of(factors: Factors, products: Sequence[Product], X: sp.csr_array) -> int:
    """Count the cells in which the data differs from these products of a model."""
    kept = np.zeros((factors.n_classes, len(factors.components)), dtype=bool)
    for product in products:
        kept[list(product.classes), product.pattern] = True
    # A part that is left out is one that nobody uses.
    rest = Factors(factors.components, factors.alterations, factors.usage & kept[factors.y], factors.y)
    return residual(rest, X, factors.y)


@dataclass(frozen=True)
class Claim:
    """What is said to belong to one class: a product of its own, or what it adds to a common one."""

    owner: int
    product: Product
    items: NDArray[np.intp]
    is_alteration: bool


def claims_of(factors: Factors, products: Sequence[Product]) -> list[Claim]:
    """List what belongs to single classes."""
    claims = []
    for product in products:
        s = product.pattern
        if product.owner != COMMON:
            items = factors.components[s] | factors.alterations[product.owner, s]
            claims.append(Claim(product.owner, product, np.flatnonzero(items), False))
        else:
            added = {a: np.flatnonzero(factors.alterations[a, s]) for a in product.classes}
            claims += [Claim(a, product, items, True) for a, items in added.items() if len(items)]
    return claims


def largest_patterns(factors: Factors, most: int) -> list[int]:
    """Return the patterns whose products span the largest area, items times rows, over all classes."""
    sizes = (factors.components | factors.alterations).sum(axis=2)
    areas = (sizes * factors.used).sum(axis=0)
    return [int(s) for s in np.argsort(-areas, kind="stable")[:most] if areas[s]]


def item_owners(factors: Factors, s: int) -> dict[int, int]:
    """Return the owner of every item of a pattern: all is a class's own where no other class uses the pattern."""
    users = np.flatnonzero(factors.used[:, s])
    owner_of_shared = int(users[0]) if len(users) == 1 else COMMON
    owners = {int(item): owner_of_shared for item in np.flatnonzero(factors.components[s])}
    for a in users:
        owners |= {int(item): int(a) for item in np.flatnonzero(factors.alterations[a, s])}
    return owners
