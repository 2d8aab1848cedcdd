"""Compiled products with sparse data, held as CSR without values: every stored entry is a one.

The inner loops add rows of a factor with SIMD vectors: several numbers side by side in one register of the processor.
numba's compiler vectorises loops over many numbers, not the short ones over the patterns of one row, and keeps a
running sum of rows in memory, which takes three times as long. So the first part of this file teaches numba a type for
a SIMD vector and three functions of it, for compiled functions only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # llvmlite ships no types
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

from saltmine.compiled import compiled

Floats = NDArray[np.floating]
Integers = NDArray[np.integer]
# Arguments that numba and llvmlite pass to functions that generate code.
Codegen = Any

# Numbers in one SIMD vector; where the processor has shorter registers, the compiler uses several.
SIMD_WIDTH = 8


class SimdVector(types.Type):
    """``SIMD_WIDTH`` numbers of one type."""

    def __init__(self, dtype: Codegen) -> None:
        super().__init__(name=f"SimdVector({dtype})")
        self.dtype = dtype


@register_model(SimdVector)
class _SimdVectorModel(models.PrimitiveModel):
    def __init__(self, manager: Codegen, vector: SimdVector) -> None:
        llvm_type = ir.VectorType(manager.lookup(vector.dtype).get_value_type(), SIMD_WIDTH)
        super().__init__(manager, vector, llvm_type)  # type: ignore[no-untyped-call]  # numba ships few types


@intrinsic
def simd_zeros(_: Codegen, array: Codegen) -> Codegen:
    """Return a vector of zeros of the type of ``array``."""

    def generate(context: Codegen, builder: Codegen, signature: Codegen, arguments: Codegen) -> Codegen:
        return ir.Constant(context.get_value_type(signature.return_type), None)

    return SimdVector(array.dtype)(array), generate


@intrinsic
def simd_add(_: Codegen, vector: Codegen, array: Codegen, row: Codegen, column: Codegen) -> Codegen:
    """Return ``vector + array[row, column : column + SIMD_WIDTH]``."""

    def generate(context: Codegen, builder: Codegen, signature: Codegen, arguments: Codegen) -> Codegen:
        address = _address(context, builder, signature.args[1], *arguments[1:])
        return builder.fadd(arguments[0], builder.load(address, align=_alignment(signature.args[1])))

    return vector(vector, array, types.intp, types.intp), generate


@intrinsic
def simd_store(_: Codegen, vector: Codegen, array: Codegen, row: Codegen, column: Codegen) -> Codegen:
    """``array[row, column : column + SIMD_WIDTH] = vector``."""

    def generate(context: Codegen, builder: Codegen, signature: Codegen, arguments: Codegen) -> Codegen:
        address = _address(context, builder, signature.args[1], *arguments[1:])
        builder.store(arguments[0], address, align=_alignment(signature.args[1]))
        return context.get_dummy_value()

    return types.void(vector, array, types.intp, types.intp), generate


def _address(context: Codegen, builder: Codegen, array_type: Codegen, *place: Codegen) -> Codegen:
    """Return the address of ``array[row, column]``, as a pointer to a vector; ``place`` has all three."""
    if array_type.layout != "C":
        raise TypeError("SIMD vectors need a contiguous array")
    array, row, column = place
    array = context.make_array(array_type)(context, builder, array)
    width = cgutils.unpack_tuple(builder, array.shape)[1]  # type: ignore[no-untyped-call]  # numba ships few types
    first = builder.gep(array.data, [builder.add(builder.mul(row, width), column)])
    return builder.bitcast(first, context.get_value_type(SimdVector(array_type.dtype)).as_pointer())


def _alignment(array_type: Codegen) -> int:
    """Return the bytes of one number: a row may begin anywhere, not only at multiples of a register."""
    return int(array_type.dtype.bitwidth) // 8


@compiled()
def multiply_rows(starts: Integers, ends: Integers, indices: Integers, factor: Floats, out: Floats) -> None:
    """Multiply rows of the data with ``factor``: ``out[i]`` is the sum of ``factor[j]`` over the ones j of row i.

    The ones of row i are ``indices[starts[i] : ends[i]]``.
    """
    width = factor.shape[1]
    if width < SIMD_WIDTH:
        _multiply_rows_narrow(starts, ends, indices, factor, out)
        return
    last = width - SIMD_WIDTH
    for i in range(len(starts)):
        # Four sums at a time keep the processor busy. At the right edge they overlap: the same numbers, twice.
        for s in range(0, width, 4 * SIMD_WIDTH):
            s1, s2 = min(s, last), min(s + SIMD_WIDTH, last)
            s3, s4 = min(s + 2 * SIMD_WIDTH, last), min(s + 3 * SIMD_WIDTH, last)
            zero: SimdVector = simd_zeros(factor)  # type: ignore[call-arg]  # numba adds the first argument
            sum1 = sum2 = sum3 = sum4 = zero
            for k in range(starts[i], ends[i]):
                j = indices[k]
                sum1, sum2 = simd_add(sum1, factor, j, s1), simd_add(sum2, factor, j, s2)
                sum3, sum4 = simd_add(sum3, factor, j, s3), simd_add(sum4, factor, j, s4)
            simd_store(sum1, out, i, s1)
            simd_store(sum2, out, i, s2)
            simd_store(sum3, out, i, s3)
            simd_store(sum4, out, i, s4)


@compiled()
def _multiply_rows_narrow(starts: Integers, ends: Integers, indices: Integers, factor: Floats, out: Floats) -> None:
    for i in range(len(starts)):
        for s in range(factor.shape[1]):
            total = factor.dtype.type(0)
            for k in range(starts[i], ends[i]):
                total += factor[indices[k], s]
            out[i, s] = total


@compiled()
def multiply_by_strips(
    strip_starts: Integers, indices: Integers, factor: Floats, begin: int, end: int, out: Floats
) -> None:
    """Multiply rows strip by strip of the items, so that a strip of ``factor`` stays in the cache for all of them.

    The ones of row i in strip b are ``indices[strip_starts[b, i] : strip_starts[b + 1, i]]``.
    """
    out[begin:end] = 0
    part = np.empty((end - begin, factor.shape[1]), dtype=factor.dtype)
    for b in range(len(strip_starts) - 1):
        multiply_rows(strip_starts[b, begin:end], strip_starts[b + 1, begin:end], indices, factor, part)
        for i in range(begin, end):
            for s in range(factor.shape[1]):
                out[i, s] += part[i - begin, s]


@compiled()
def find_strip_starts(starts: Integers, indices: Integers, width: int, strip_starts: Integers) -> None:
    """Find where every strip of ``width`` items begins in rows with sorted items, and where the last one ends."""
    for i in range(strip_starts.shape[1]):
        k = starts[i]
        for b in range(len(strip_starts) - 1):
            while k < starts[i + 1] and indices[k] < b * width:
                k += 1
            strip_starts[b, i] = k
        strip_starts[-1, i] = starts[i + 1]


@compiled()
def count_items(
    starts: Integers, indices: Integers, row_weights: Integers, begin: int, end: int, ones: Integers, weighted: Integers
) -> None:
    """Count the ones of every item in rows of one class, unweighted (``ones``) and with the weights of the rows."""
    for j in range(begin, end):
        for k in range(starts[j], starts[j + 1]):
            ones[indices[k]] += 1
            weighted[indices[k]] += row_weights[j]


@compiled()
def transpose(starts: Integers, indices: Integers, begin: int, end: int, ends: Integers, rows: Integers) -> None:
    """Write the rows of every item in one class to ``rows``.

    ``ends`` are the positions where the rows of every item begin; they are moved to where these end.
    """
    for j in range(begin, end):
        for k in range(starts[j], starts[j + 1]):
            i = indices[k]
            rows[ends[i]] = j
            ends[i] += 1
