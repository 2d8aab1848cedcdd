"""A few numbers side by side in one register of the processor, for compiled sums of rows.

numba's compiler vectorises loops over many numbers, not the short ones over the patterns of one row, and keeps a
running sum of rows in memory; that takes three times as long. `Lanes` says what is meant: begin a sum (`nothing`), add
a piece of a row to it (`plus`), put it away (`put`). All three are for compiled functions only.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]  # llvmlite ships no types
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

# What numba and llvmlite hand to the functions that write instructions.
Handle = Any

# Numbers in one sum; where the processor has shorter registers, the compiler takes several.
LANES = 8


class Lanes(types.Type):
    """``LANES`` numbers of one kind."""

    def __init__(self, dtype: Handle) -> None:
        super().__init__(name=f"Lanes({dtype})")
        self.dtype = dtype


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Handle, lanes: Lanes) -> None:
        vector = ir.VectorType(manager.lookup(lanes.dtype).get_value_type(), LANES)
        super().__init__(manager, lanes, vector)  # type: ignore[no-untyped-call]  # numba ships few types


@intrinsic
def nothing(_: Handle, array: Handle) -> Handle:
    """Return lanes of zeros, of the kind of number that ``array`` has."""

    def write(context: Handle, builder: Handle, signature: Handle, arguments: Handle) -> Handle:
        return ir.Constant(context.get_value_type(signature.return_type), None)

    return Lanes(array.dtype)(array), write


@intrinsic
def plus(_: Handle, lanes: Handle, array: Handle, row: Handle, column: Handle) -> Handle:
    """Return ``lanes + array[row, column : column + LANES]``."""

    def write(context: Handle, builder: Handle, signature: Handle, arguments: Handle) -> Handle:
        address = _address(context, builder, signature.args[1], *arguments[1:])
        return builder.fadd(arguments[0], builder.load(address, align=_alignment(signature.args[1])))

    return lanes(lanes, array, types.intp, types.intp), write


@intrinsic
def put(_: Handle, lanes: Handle, array: Handle, row: Handle, column: Handle) -> Handle:
    """``array[row, column : column + LANES] = lanes``."""

    def write(context: Handle, builder: Handle, signature: Handle, arguments: Handle) -> Handle:
        address = _address(context, builder, signature.args[1], *arguments[1:])
        builder.store(arguments[0], address, align=_alignment(signature.args[1]))
        return context.get_dummy_value()

    return types.void(lanes, array, types.intp, types.intp), write


def _address(context: Handle, builder: Handle, kind: Handle, array: Handle, row: Handle, column: Handle) -> Handle:
    """Return where ``array[row, column]`` stands, as a pointer to lanes."""
    if kind.layout != "C":
        raise TypeError("lanes need a contiguous array")
    array = context.make_array(kind)(context, builder, array)
    width = cgutils.unpack_tuple(builder, array.shape)[1]  # type: ignore[no-untyped-call]  # numba ships few types
    first = builder.gep(array.data, [builder.add(builder.mul(row, width), column)])
    return builder.bitcast(first, context.get_value_type(Lanes(kind.dtype)).as_pointer())


def _alignment(kind: Handle) -> int:
    """Return the bytes of one number: a row may begin anywhere, not only at multiples of a register."""
    return int(kind.dtype.bitwidth) // 8
