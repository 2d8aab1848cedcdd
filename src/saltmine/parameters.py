"""Checks of parameter values: each says in one sentence what a parameter may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_count(name: str, value: Any, least: int = 1, or_none: bool = False) -> None:
    """Demand a whole number.

    Examples
    --------
    >>> check_count("rank", 0)
    Traceback (most recent call last):
    ValueError: rank must be a whole number of at least 1, not 0.
    """
    if value is None and or_none:
        return
    if not is_whole(value) or value < least:
        none = ", or None" if or_none else ""
        raise ValueError(f"{name} must be a whole number of at least {least}{none}, not {value!r}.")


def check_number(name: str, value: Any, least: float = 0.0, or_none: bool = False) -> None:
    """Demand a finite number that is not too small."""
    if value is None and or_none:
        return
    if not is_real(value) or not least <= value < np.inf:
        none = ", or None" if or_none else ""
        raise ValueError(f"{name} must be a finite number of at least {least:g}{none}, not {value!r}.")


def check_share(name: str, value: Any, or_none: bool = False) -> None:
    """Demand a number above 0 and at most 1."""
    if value is None and or_none:
        return
    if not is_real(value) or not 0 < value <= 1:
        none = ", or None" if or_none else ""
        raise ValueError(f"{name} must be above 0 and at most 1{none}, not {value!r}.")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Demand one of a few names."""
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be {' or '.join(repr(choice) for choice in known)}, not {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Demand True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, not {value!r}.")


def check_binarize(value: Any) -> None:
    """Demand a number to cut at."""
    if value is not None and not (is_real(value) and np.isfinite(value)):
        raise ValueError(f"binarize must be a number (values above it become ones) or None, not {value!r}.")


def check_starts(n_restarts: Any, n_jobs: Any, random_state: Any) -> None:
    """Check what random starts are made from."""
    check_count("n_restarts", n_restarts)
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be a whole number other than 0, or None, not {n_jobs!r}.")
    whole = isinstance(random_state, Integral) and int(random_state) >= 0
    if not (random_state is None or whole or isinstance(random_state, np.random.RandomState)):
        raise ValueError(
            f"random_state must be a whole number of at least 0, a numpy RandomState or None, not {random_state!r}."
        )


def check_listening(verbose: Any, callback: Any) -> None:
    """Check who is told how far a fit is."""
    if not isinstance(verbose, Integral) or verbose < 0:
        raise ValueError(f"verbose must be a whole number, 0 for a quiet fit, not {verbose!r}.")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of one Progress argument or None, not {callback!r}.")


def check_ranks(ranks: Any, name: str = "ranks", or_none: bool = True) -> None:
    """Demand numbers of shared patterns and of patterns of each class; `spread_ranks` says how they are given."""
    if (ranks is None and or_none) or (is_whole(ranks) and ranks >= 0):
        return
    listed = isinstance(ranks, Sequence) and not isinstance(ranks, str)
    if not listed or len(ranks) < 2 or not all(is_whole(rank) and rank >= 0 for rank in ranks):
        raise ValueError(
            f"{name} must be the number of shared patterns, or a tuple of it and the numbers of patterns of each class "
            f"as (8, 4, 4){', or None' if or_none else ''}, not {ranks!r}."
        )


def spread_ranks(ranks: Any, n_classes: int, name: str = "ranks") -> tuple[int, ...]:
    """Return the number of shared patterns and of those of every class, (r0, r1, ..., rc).

    Parameters
    ----------
    ranks : int or tuple
        r0 alone, (r0, r) with the same r for every class, or all of them.

    Examples
    --------
    >>> spread_ranks(8, 2), spread_ranks((8, 4), 3), spread_ranks((8, 4, 2), 2)
    ((8, 0, 0), (8, 4, 4, 4), (8, 4, 2))
    """
    if is_whole(ranks):
        return (int(ranks),) + (0,) * n_classes
    if len(ranks) == 2:
        return (int(ranks[0]),) + (int(ranks[1]),) * n_classes
    if len(ranks) != 1 + n_classes:
        raise ValueError(
            f"{name} has {len(ranks)} entries, but {n_classes} classes need {1 + n_classes} (shared patterns, then "
            f"those of each class), or 2 (the same for every class): {ranks!r}."
        )
    return tuple(int(rank) for rank in ranks)


def is_whole(value: Any) -> bool:
    """Say whether a value is a whole number; truth values are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Say whether a value is a number; truth values are none."""
    return isinstance(value, Real) and not isinstance(value, bool)
