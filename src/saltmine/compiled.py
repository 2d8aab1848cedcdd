"""How functions are compiled: without the interpreter lock, and kept on disk where there is a place for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Return a decorator that compiles a function at its first call.

    numba keeps the result beside the source or in the user's cache folder, so that the next process starts at once.
    Where it may write to neither it refuses to decorate at all; then every process compiles for itself.
    """

    def decorate(function: Function) -> Function:
        # What numba returns is Any to a type checker; it is called as the function was.
        try:
            return njit(cache=True, nogil=True, **options)(function)  # type: ignore[no-any-return]
        except RuntimeError:
            return njit(nogil=True, **options)(function)  # type: ignore[no-any-return]

    return decorate
