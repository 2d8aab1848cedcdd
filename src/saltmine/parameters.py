"""Checks of parameter values: each error says in one sentence which values are allowed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from saltmine.names import quoted

#: Parameters that belong to a run and not to a model: where it runs, how long, and what it tells meanwhile. They are
#: not stored in model files, and a file that has one is refused: it could name the cluster that a later fit connects
#: to.
RUN_PARAMETERS = frozenset(
    {"client", "device", "n_jobs", "verbose", "callback", "checkpoint", "max_time", "max_memory"}
)


def check_count(name: str, value: Any, least: int = 1, or_none: bool = False) -> None:
    """Refuse values other than whole numbers of at least ``least``.

    Examples
    --------
    >>> check_count("rank", 0)
    Traceback (most recent call last):
    ValueError: rank must be a whole number of at least 1, not 0.
    """
    _check(is_whole(value) and value >= least, name, f"a whole number of at least {least}", value, or_none)


def check_number(name: str, value: Any, least: float = 0.0, or_none: bool = False) -> None:
    """Refuse values other than finite numbers of at least ``least``."""
    _check(is_real(value) and least <= value < np.inf, name, f"a finite number of at least {least:g}", value, or_none)


def check_share(name: str, value: Any, or_none: bool = False) -> None:
    """Refuse values other than numbers above 0 and at most 1."""
    _check(is_real(value) and 0 < value <= 1, name, "above 0 and at most 1", value, or_none)


def check_max_time(value: Any) -> None:
    """Refuse time limits other than a number of seconds."""
    _check(is_real(value) and value > 0, "max_time", "a number of seconds above 0", value, or_none=True)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Refuse values other than the given names."""
    known = list(choices)
    _check(isinstance(value, str) and value in known, name, " or ".join(map(repr, known)), value)


def check_flag(name: str, value: Any) -> None:
    """Refuse values other than True and False."""
    _check(isinstance(value, (bool, np.bool_)), name, "True or False", value)


def check_binarize(value: Any) -> None:
    """Refuse thresholds other than finite numbers and None."""
    is_valid = value is None or (is_real(value) and bool(np.isfinite(value)))
    _check(is_valid, "binarize", "a number (values above it become ones) or None", value)


def check_starts(n_restarts: Any, n_jobs: Any, random_state: Any) -> None:
    """Check the parameters of random starts."""
    check_count("n_restarts", n_restarts)
    is_valid = n_jobs is None or (isinstance(n_jobs, Integral) and n_jobs != 0)
    _check(is_valid, "n_jobs", "a whole number other than 0, or None", n_jobs)
    is_seed = isinstance(random_state, Integral) and int(random_state) >= 0
    is_valid = random_state is None or is_seed or isinstance(random_state, np.random.RandomState)
    _check(is_valid, "random_state", "a whole number of at least 0, a numpy RandomState or None", random_state)


def check_listening(verbose: Any, callback: Any) -> None:
    """Check the parameters that report the progress of a fit."""
    is_count = isinstance(verbose, Integral) and int(verbose) >= 0
    _check(is_count, "verbose", "a whole number, 0 for a quiet fit", verbose)
    _check(callback is None or callable(callback), "callback", "a function of one Progress argument or None", callback)


def check_ranks(ranks: Any, name: str = "ranks", or_none: bool = True) -> None:
    """Refuse values other than numbers of shared patterns and of patterns of each class, as in `spread_ranks`."""
    is_list = isinstance(ranks, Sequence) and len(ranks) >= 2
    is_valid = all(is_whole(rank) and rank >= 0 for rank in (ranks if is_list else [ranks]))
    listed = "a tuple of it and the numbers of patterns of each class as (8, 4, 4)"
    _check(is_valid, name, f"the number of shared patterns, or {listed}", ranks, or_none)


def spread_ranks(ranks: Any, n_classes: int, name: str = "ranks") -> tuple[int, ...]:
    """Return the number of shared patterns and the numbers of patterns of every class, (r0, r1, ..., rc).

    Parameters
    ----------
    ranks : int or tuple
        r0 alone, (r0, r) with the same r for every class, or all numbers.

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
        needed = f"{1 + n_classes} (shared patterns, then those of each class), or 2 (the same for every class)"
        raise ValueError(f"{name} has {len(ranks)} entries, but {n_classes} classes need {needed}: {ranks!r}.")
    return tuple(int(rank) for rank in ranks)


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number; truth values are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Return whether a value is a number; truth values are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _check(is_valid: bool, name: str, allowed: str, value: Any, or_none: bool = False) -> None:
    if not is_valid and not (or_none and value is None):
        raise ValueError(f"{name} must be {allowed}{', or None' if or_none else ''}, not {quoted(value)}.")
