"""What a table of patterns claims about classes, and whether it is true: used by `benchmarks.claims`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import fisher_exact

from saltmine.arrays import Bools
from saltmine.datasets import swap
from saltmine.fitted.findings import Finding
from saltmine.fitted.summary import Summary

ADDED, OF_A_CLASS = "added", ("only", "mostly")
CLAIMS = (*OF_A_CLASS, ADDED)
LEVEL = 0.05


@dataclass(frozen=True)
class Claim:
    """What a table says about one pattern and one class.

    Attributes
    ----------
    pattern : int
    role, kind : str
        The class, and "only", "mostly" or "added".
    items : frozenset
        Column numbers that are in the table for this pattern, role and kind.
    base : frozenset
        The other items of the pattern that no class adds; of a claim "added", what the items are added to.
    q_value : float
        The lowest of its items.
    """

    pattern: int
    role: str
    kind: str
    items: frozenset[int]
    base: frozenset[int]
    q_value: float

    @property
    def whole(self) -> frozenset[int]:
        """The items that rows of the class have: of a claim "added" together with the pattern."""
        return self.items | self.base if self.kind == ADDED else self.items


def claims_of(table: pd.DataFrame) -> list[Claim]:
    """Return the claims of a table of patterns, one for every pattern, role and kind."""
    claims = []
    of_kinds = table[table["kind"].isin(CLAIMS)]
    not_added = table[table["kind"] != ADDED].groupby("pattern")["item"].agg(frozenset)
    rows: pd.DataFrame
    pattern: Any
    for (pattern, role, kind), rows in of_kinds.groupby(["pattern", "role", "kind"]):
        items = frozenset(int(item) for item in rows["item"])
        base = frozenset(int(item) for item in not_added.get(pattern, ())) - items
        claims.append(Claim(int(pattern), str(role), str(kind), items, base, float(rows["q_value"].min())))
    return claims


# ---------------------------------------------------------------------- against planted item sets


def soft_scores(found: Sequence[frozenset[int]], planted: Sequence[frozenset[int]]) -> tuple[float, float, float]:
    """Return soft precision, recall and F1 of the item sets of a class; all are 0 where nothing was found.

    Precision is the mean over the found sets of the largest Jaccard similarity with a planted one, recall the mean
    over the planted sets of the largest with a found one.
    """
    if not found:
        return 0.0, 0.0, 0.0
    similar = np.array([[len(one & other) / len(one | other) for other in planted] for one in found])
    precision, recall = float(similar.max(axis=1).mean()), float(similar.max(axis=0).mean())
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def lines_of_three(items: Sequence[str], player: str) -> set[frozenset[int]]:
    """Return the eight lines of tic-tac-toe as column numbers; columns are ordered by square, row after row."""
    squares = np.array([k for k, item in enumerate(items) if item.endswith(f"={player}")]).reshape(3, 3)
    lines = [*squares, *squares.T, squares.diagonal(), squares[:, ::-1].diagonal()]
    return {frozenset(line.tolist()) for line in lines}


# ---------------------------------------------------------------------- on rows that the fit has not seen


def half_of(y: NDArray[np.str_], seed: int) -> Bools:
    """Choose a random half of the rows of every class; of an odd number, one more or one less."""
    rng = np.random.default_rng(seed)
    chosen = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        chosen[rows[: (len(rows) + rng.integers(2)) // 2]] = True
    return chosen


def has_most(X: Bools, items: Iterable[int]) -> Bools:
    """Say which rows have more than half of the items; all rows where there are none."""
    columns = np.fromiter(items, dtype=np.intp)
    return np.asarray(2 * X[:, columns].sum(axis=1) > len(columns)) if len(columns) else np.ones(len(X), dtype=bool)


def is_confirmed(claim: Claim, X: Bools, y: NDArray[np.str_], uses: Bools | None = None) -> bool:
    """Test a claim on new rows, one-sided, at 5 %.

    "only" and "mostly": more rows of the class use the pattern than of all others. "added": of the rows that use the
    pattern, more of the class have more than half of the added items than of the others.

    Parameters
    ----------
    claim : Claim
    X, y : new rows and their labels
    uses : (m,) bool, optional
        Which row uses the pattern, found without the labels. By default those that have more than half of its items,
        of a claim "added" of those that are not added.
    """
    is_added = claim.kind == ADDED
    if uses is None:
        uses = has_most(X, claim.base if is_added else claim.items)
    looked_at = uses if is_added else np.ones(len(y), dtype=bool)
    hits = has_most(X, claim.items) if is_added else uses
    inside = y == claim.role
    counts = [[int((looked_at & side & hit).sum()) for hit in (hits, ~hits)] for side in (inside, ~inside)]
    return bool(fisher_exact(counts, alternative="greater").pvalue <= LEVEL)


def is_confirmed_finding(
    finding: Finding, summary: Summary, claims: Sequence[Claim], X: Bools, y: NDArray[np.str_]
) -> bool | None:
    """Test a finding about a class on new rows as `is_confirmed` does; None for what is shared (`go_together`)."""
    if finding.role < 0:
        return None
    role = summary.classes[finding.role].label
    if finding.pattern is not None:
        found = [claim for claim in claims if (claim.pattern, claim.role) == (finding.pattern, role)]
        return all(is_confirmed(claim, X, y) for claim in found if claim.kind == finding.kind)
    has, inside = X[:, finding.items[0]] > 0, y == role
    counts = [[int((side & hit).sum()) for hit in (has, ~has)] for side in (inside, ~inside)]
    side = "less" if "is rarer in" in finding.text else "greater"
    return bool(fisher_exact(counts, alternative=side).pvalue <= LEVEL)


def go_together(X: sp.csr_array, patterns: Sequence[NDArray[np.intp]], seed: int) -> list[bool]:
    """Say of every set of items whether pairs of them are more frequent than in all of 19 swaps, a test at 5 %."""

    def pairs(rows: sp.csr_array) -> NDArray[np.int64]:
        hits = [np.asarray(rows[:, items].sum(axis=1), dtype=np.int64).ravel() for items in patterns]
        return np.array([(counts**2).sum() for counts in hits])

    most = np.max([pairs(swap(X, 20 * seed + k)) for k in range(round(1 / LEVEL) - 1)], axis=0)
    return [bool(more) for more in pairs(X) > most]
