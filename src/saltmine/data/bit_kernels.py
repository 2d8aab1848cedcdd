"""Words of 64 rows, for compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from saltmine.compiled import compiled

ONE = np.uint64(1)
ZERO = np.uint64(0)


# Some versions of numba have types for this decorator, some have none.
@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def popcount(typing: Any, word: Any) -> Any:
    """Count the ones of a word."""
    return types.int64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def lowest(typing: Any, word: Any) -> Any:
    """Return the place of the lowest one of a word that is not zero."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), codegen


@compiled()
def count_ones(word: np.uint64) -> int:
    """Count the ones of a word."""
    return int(popcount(word))


@compiled()
def lowest_one(word: np.uint64) -> int:
    """Return the place of the lowest one of a word that is not zero."""
    return int(lowest(word))
