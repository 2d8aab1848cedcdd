"""What a search needs of memory, estimated before it begins, and the sample that fits a limit.

The estimates are on the safe side: `benchmarks.trust estimate` compares them with the peaks of fits.
"""

from __future__ import annotations

from math import prod

from saltmine.data.blocks import ROW_BLOCK_CELLS
from saltmine.data.lazy import LazyMatrix
from saltmine.data.validation import BinaryMatrix
from saltmine.memory import MemoryLimitError, enough_memory, format_size
from saltmine.solver import tall, wide
from saltmine.solver.mdl_search import FEW_ROWS
from saltmine.solver.relaxed_start import MANY_ALTERATIONS, MANY_CLASSES
from saltmine.solver.starts import count_starts

# Bytes of a search in memory: at least, for a cell, and for a cell where the relaxed solve is left out; in double
# precision, as the published algorithm has it, so many times more.
AT_LEAST, PER_CELL, PER_CELL_OF_FEW_ROWS, DOUBLE = 6 << 20, 12, 4, 2.0
# Patterns that a search begins with, as a rule, and that it ends with; bytes for an entry of a factor of the former.
PATTERNS_AT_FIRST, PATTERNS, PER_FACTOR_ENTRY = 64, 20, 20
# Bytes for a row of tall and for a column of wide data; for an entry of the patterns, whose classes each have some; and
# for a cell that a block has packed, and one that is being packed, of two blocks at a time.
PER_ROW, PER_COLUMN, PER_USE, PER_CARRIED, PER_PACKED_CELL, PER_NEW_CELL = 150, 150, 2, 5, 0.25, 3
# How often the limit of cells of a sample is halved.
MAX_HALVINGS = 8


def sample_cells(
    data: LazyMatrix | BinaryMatrix, n_classes: int, limit: int, has_sample: bool = True, is_shared: bool = False
) -> int:
    """Return the cells that a sample may have for the search to take so many bytes; raise if there is no such sample.

    The answer does not depend on the number of threads, as the model depends on it.

    Parameters
    ----------
    data : matrix or LazyMatrix
    n_classes : int
        Classes that the search tells apart.
    limit : int
        Bytes that the fit may take, beside its input.
    has_sample : bool
        False for the published algorithm, which has none.
    is_shared : bool
        Whether a cluster has the data.
    """
    cells = [max(wide.SAMPLE_CELLS, tall.SAMPLE_CELLS) >> k for k in range(MAX_HALVINGS + 1)]
    needs = [estimate(data, n_classes, of, has_sample, is_shared) for of in (cells if has_sample else cells[:1])]
    for of, needed in zip(cells, needs, strict=False):
        if needed <= limit:
            return of
    m, n = data.shape
    problem = f"the search in {m:,} rows and {n:,} columns takes about {format_size(min(needs))} of memory"
    remedy = f"leave out rows or columns, or raise the limit with {enough_memory(min(needs))}"
    raise MemoryLimitError(f"{problem}, but only {format_size(limit)} may be used; {remedy}.")


def estimate(
    data: LazyMatrix | BinaryMatrix, n_classes: int, cells: int, has_sample: bool = True, is_shared: bool = False
) -> int:
    """Return the bytes that a fit takes beside its input, where a sample has so many cells at most."""
    m, n = data.shape
    if not has_sample:
        return int(DOUBLE * _in_memory(m, n, n_classes)) + _read_bytes(data)
    if tall.is_tall(data.shape, cells):
        blocks = m * (PER_ROW + PER_PACKED_CELL * n + PER_USE * PATTERNS) + _copied_bytes(data)
        blocks += PER_NEW_CELL * min(m * n, 2 * ROW_BLOCK_CELLS)
        # What rows use comes back from a cluster, nothing else.
        blocks = m * (PER_ROW + PER_USE * PATTERNS) if is_shared else blocks
        return int(blocks) + _in_memory(min(m, tall.sample_size(n, cells)), n, n_classes)
    if wide.is_wide(data.shape, cells):
        carried = PER_CARRIED * (1 + n_classes) * PATTERNS
        blocks = n * (carried if is_shared else PER_COLUMN + carried + PER_PACKED_CELL * m)
        return int(blocks) + _in_memory(m, min(n, wide.sample_size(m, cells)), n_classes)
    return _in_memory(m, n, n_classes) + _read_bytes(data)


def _in_memory(m: int, n: int, n_classes: int) -> int:
    """Return the bytes of a search in memory."""
    if n > FEW_ROWS * m:
        return AT_LEAST + PER_CELL_OF_FEW_ROWS * m * n
    rank = min(m, n, PATTERNS_AT_FIRST)
    altered = n_classes if n_classes < MANY_CLASSES or n_classes * n < MANY_ALTERATIONS else 1
    factors = PER_FACTOR_ENTRY * rank * (m + n + altered * n)
    return AT_LEAST + PER_CELL * m * n + factors * (1 + count_starts(m, n, n_classes)) // 2


def _read_bytes(data: LazyMatrix | BinaryMatrix) -> int:
    """Return the bytes of data that is read as a whole."""
    return prod(data.shape) if isinstance(data, LazyMatrix) else 0


def _copied_bytes(data: LazyMatrix | BinaryMatrix) -> int:
    """Return the bytes of rows that are copied into blocks."""
    if isinstance(data, LazyMatrix):
        return 0
    return 0 if not hasattr(data, "indices") else int(data.indices.nbytes + data.data.nbytes)
