"""The arrays of a model file: the type and shape of each, which values it may have, and what all of them take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.arrays import Bools, Floats, Ints
from saltmine.data.item_counts import ItemCounts, entries
from saltmine.data.labels import MAX_ROWS
from saltmine.fitted.model_archive import HEADER_PART, Declared, ModelArchive

# Kinds of values: truth values eight to a byte, counts, positions from -1 on, numbers, and probabilities or NaN.
BITS, COUNTS, PLACES, NUMBERS, SHARES = "bits", "counts", "places", "numbers", "shares"
_TYPES = {BITS: "u1", COUNTS: "i1 i2 i4 i8", PLACES: "i4 i8", NUMBERS: "f8", SHARES: "f8"}


@dataclass(frozen=True)
class Part:
    """An array of a model file.

    ``shape`` has a letter for every axis: m rows, r patterns, c classes, n columns, d distinct items, e entries of
    patterns, t rows of the pattern table, h steps of the search. The last three are as long as the file says.
    """

    kind: str
    shape: str


ALWAYS = {
    "components_": Part(BITS, "rd"),
    "alterations_": Part(BITS, "crd"),
    "usage_": Part(BITS, "mr"),
    "row_classes": Part(COUNTS, "m"),
    "item_of": Part(PLACES, "n"),
    "item_counts_": Part(COUNTS, "cd"),
    "noise_counts_": Part(COUNTS, "cd"),
    "_hits": Part(COUNTS, "ce"),
    "usage_counts_": Part(COUNTS, "cr"),
    "carrier_counts_": Part(COUNTS, "cr"),
    "pattern_evidence_": Part(NUMBERS, "r"),
    "pattern_gain_": Part(NUMBERS, "r"),
    "alteration_evidence_": Part(NUMBERS, "cr"),
    "alteration_gain_": Part(NUMBERS, "cr"),
    "use_p_values_": Part(SHARES, "cr"),
    "use_q_values_": Part(SHARES, "cr"),
    "alteration_p_values_": Part(SHARES, "cr"),
    "alteration_q_values_": Part(SHARES, "cr"),
    "history_": Part(NUMBERS, "h"),
}
#: Not counted where data is read lazily.
OF_ROWS = {
    "all_counts_": Part(COUNTS, "cr"),
    "most_counts_": Part(COUNTS, "cr"),
    "_added_shares": Part(SHARES, "2cr"),
    "_added_rows": Part(COUNTS, "2cr"),
}
OF_LIKELIHOOD = {
    "row_model_within": Part(BITS, "r"),
    "row_model_base": Part(SHARES, "cn"),
    "row_model_base_of_all": Part(SHARES, "n"),
    "row_model_rates": Part(SHARES, "cr"),
    "row_model_strengths": Part(SHARES, "ce"),
    "row_model_set_nats": Part(NUMBERS, "cr"),
    "row_model_no_set_nats": Part(NUMBERS, "c"),
}
OF_WEIGHTS = {"row_weights": Part(COUNTS, "m")}
OF_GROUPS = {"row_groups": Part(COUNTS, "m"), "item_p_values": Part(SHARES, "cd")}
OF_STABILITY = {
    "stability_patterns": Part(SHARES, "r"),
    "stability_alterations": Part(SHARES, "cr"),
    "stability_entries": Part(SHARES, "t"),
}


@dataclass(frozen=True)
class Sizes:
    """How much of everything a model has."""

    rows: int
    patterns: int
    classes: int
    items: int
    columns: int

    @classmethod
    def of(cls, header: Mapping[str, Any]) -> Sizes:
        """Return the sizes that a header tells."""
        n_classes = len(header["classes"]["labels"])
        return cls(header["rows"], header["n_components_"], n_classes, header["items"], header["n_features_in_"])

    def shape(self, part: Part, declared: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape that a part has to have; of axes that may have any length, that which it declares."""
        known = {"m": self.rows, "r": self.patterns, "c": self.classes, "d": self.items, "n": self.columns, "2": 2}
        given = dict(zip(part.shape, declared, strict=False))
        return tuple(known[axis] if axis in known else given.get(axis, 0) for axis in part.shape)

    @property
    def unpacked_bytes(self) -> int:
        """Bytes of the truth values, which files hold eight to a byte."""
        return (1 + self.classes) * self.patterns * self.items + self.rows * self.patterns

    @property
    def unfolded_bytes(self) -> int:
        """Bytes of what is made for all columns when it is asked for: patterns, alterations, and counts twice."""
        return ((1 + self.classes) * self.patterns + 16 * self.classes) * self.columns


def check_parts(names: Set[str], header: Mapping[str, Any]) -> dict[str, Part]:
    """Return the parts of these names, after a check that all are there that belong to the header, and no others."""
    optional = [
        (OF_ROWS, not names.isdisjoint(OF_ROWS)),
        (OF_LIKELIHOOD, not names.isdisjoint(OF_LIKELIHOOD)),
        (OF_WEIGHTS, not names.isdisjoint(OF_WEIGHTS)),
        (OF_GROUPS, header["groups"] is not None),
        (OF_STABILITY, header["refits"] > 0),
    ]
    parts = dict(ALWAYS)
    for group, is_there in optional:
        parts |= group if is_there else {}
    for name in parts:
        demand(name in names, f"{name} is missing")
    for name in names:
        demand(name in parts or name == HEADER_PART, f"a model of this kind has no part {name[:40]!r}")
    return parts


def check_declared(name: str, part: Part, declared: Declared, sizes: Sizes) -> None:
    """Refuse a part that declares another type or shape than the header implies."""
    types = _TYPES[part.kind].split()
    demand(declared.dtype.str[1:] in types, f"{name} has values of type {declared.dtype}")
    shape = sizes.shape(part, declared.shape)
    if part.kind == BITS:
        shape = (-(-prod(shape) // 8),)
    demand(declared.shape == shape, f"{name} has shape {declared.shape}, expected {shape}")


def read_parts(archive: ModelArchive, parts: Mapping[str, Part], sizes: Sizes) -> dict[str, NDArray[Any]]:
    """Return the arrays of the parts; their values have the right kind."""
    return {name: _checked(name, part, archive.read(name), sizes) for name, part in parts.items()}


def _checked(name: str, part: Part, array: NDArray[Any], sizes: Sizes) -> NDArray[Any]:
    if part.kind == BITS:
        shape = sizes.shape(part, ())
        # Zeros and ones are truth values as they are.
        return np.unpackbits(array, count=prod(shape)).view(bool).reshape(shape)
    if part.kind == COUNTS:
        demand(bool(array.min(initial=0) >= 0), f"{name} has negative values")
    if part.kind == SHARES:
        # Comparisons with NaN are false.
        demand(not bool(((array < 0) | (array > 1)).any()), f"{name} has values that are no probabilities")
    return array


# ---------------------------------------------------------------------- what belongs together


def check_together(arrays: Mapping[str, NDArray[Any]], sizes: Sizes, n_groups: int) -> Ints:
    """Refuse arrays that contradict each other, and return the rows of every class."""
    n_classes, row_classes = sizes.classes, arrays["row_classes"]
    demand(bool(row_classes.max(initial=0) < n_classes), "row_classes has more classes than the header")
    weights = arrays.get("row_weights")
    if weights is not None:
        # As floats: the sum of whole numbers might wrap around.
        demand(float(weights.sum(dtype=np.float64)) <= MAX_ROWS, "row_weights adds up to more rows than fit")
    rows = np.bincount(row_classes, weights, minlength=n_classes).astype(np.int64)
    demand(bool((rows > 0).all()), "a class has no rows")
    if "row_groups" in arrays:
        demand(bool(arrays["row_groups"].max(initial=0) < n_groups), "row_groups has more groups than the header")
    _check_items(arrays, sizes)
    for name in ("item_counts_", "noise_counts_", "usage_counts_", "carrier_counts_", "all_counts_", "most_counts_"):
        if name in arrays:
            demand(not bool((arrays[name] > rows[:, None]).any()), f"{name} counts more rows than a class has")
    if "_added_rows" in arrays:
        demand(not bool((arrays["_added_rows"] > rows.sum()).any()), "_added_rows counts more rows than there are")
    demand(n_classes > 1 or bool(np.isnan(arrays["use_q_values_"]).all()), "use_q_values_ compares a single class")
    _check_hits(arrays, rows)
    return rows


def _check_items(arrays: Mapping[str, NDArray[Any]], sizes: Sizes) -> None:
    """Check the item of every column, and that no item and no pattern is without a column."""
    item_of, n_items = arrays["item_of"], sizes.items
    is_place = item_of.min(initial=-1) >= -1 and item_of.max(initial=-1) < n_items
    demand(bool(is_place), "the items of the columns differ")
    columns = np.bincount(item_of[item_of >= 0], minlength=n_items)
    demand(bool((columns > 0).all()), "an item has no column")
    shared, added = arrays["components_"], arrays["alterations_"]
    demand(bool((shared.any(axis=1) | added.any(axis=(0, 2))).all()), "a pattern has no items")
    demand(not bool((added & (shared | added.all(axis=0))).any()), "a class adds what all classes have")


def _check_hits(arrays: Mapping[str, NDArray[Any]], rows: Ints) -> None:
    """Check how often the items of patterns occur in the rows that use these."""
    pattern, item, _ = entries(arrays["components_"], arrays["alterations_"])
    demand(arrays["_hits"].shape[1] == len(pattern), "_hits has another number of items than the patterns")
    for a in range(len(rows)):
        hits = arrays["_hits"][a].astype(np.int64)
        used, had = arrays["usage_counts_"][a, pattern], arrays["item_counts_"][a, item]
        # Of the rows that do not use the pattern, no more have the item than there are.
        fits = (hits <= used) & (hits <= had) & (had - hits <= rows[a] - used)
        demand(bool(fits.all()), "_hits differs from usage_counts_ and item_counts_")


def n_table_rows(items: ItemCounts, use_q_values: Floats, level: float) -> int:
    """Return a bound on the rows of the pattern table.

    A row per pattern and item; those of a pattern that belongs to classes are there once for each of them.
    """
    columns = np.bincount(items.item_of[items.item_of >= 0], minlength=items.components.shape[1])
    owners = np.maximum((use_q_values <= level).sum(axis=0), 1)
    # One pattern at a time: a product would make numbers of all entries at once.
    shared = sum(int(columns @ part) * int(n) for part, n in zip(items.components, owners, strict=True))
    return shared + sum(int(columns @ part) for part in _each(items.alterations))


def n_overlaps(items: ItemCounts) -> int:
    """Return a bound on the pairs of patterns that have items in common."""
    r = len(items.components)
    of_item = (items.components | items.alterations.any(axis=0)).sum(axis=0, dtype=np.int64)
    return min(r * r, int(of_item @ of_item))


def _each(alterations: Bools) -> Iterator[Bools]:
    return (part for of_class in alterations for part in of_class)


def demand(holds: bool, otherwise: str) -> None:
    """Raise an error with the sentence if something does not hold."""
    if not holds:
        raise ValueError(otherwise)
