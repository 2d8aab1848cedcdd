"""The checkpoint of a fit: what makes two fits the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from saltmine.checkpoint import Checkpoint, digest
from saltmine.data.stacking import Labels
from saltmine.data.validation import BinaryMatrix
from saltmine.parameters import is_whole
from saltmine.solver.executor import BlockExecutor
from saltmine.solver.item_block import ItemBlock
from saltmine.solver.row_block import RowBlock

if TYPE_CHECKING:
    # The module imports this one.
    from saltmine.estimators.csalt import MdlEstimator

# Parameters that a model depends on; data is made binary before its digest is taken.
PARAMETERS = (
    "algorithm",
    "alpha",
    "max_rank",
    "rank_step",
    "max_iter",
    "tol",
    "n_restarts",
    "fold",
    "storage",
    "device",
    "max_memory",
)


def open_checkpoint(model: MdlEstimator, labels: Labels, digest_data: Callable[[], str]) -> Checkpoint | None:
    """Return the checkpoint of a fit that has one: that of an earlier run of the same fit, or a new one."""
    if model.checkpoint is None:
        return None
    seeds = model._seeds()
    # Without a seed the random numbers of the first run count.
    chosen = model.random_state if model.random_state is None or is_whole(model.random_state) else seeds
    identity = {
        "method": type(model).__name__,
        "data": digest_data(),
        "labels": digest(np.asarray(labels.numbers, dtype=np.int64)),
        **{name: getattr(model, name) for name in PARAMETERS},
        "random_state": chosen if chosen is None or isinstance(chosen, list) else int(chosen),
    }
    return Checkpoint(model.checkpoint, identity, {"seeds": seeds})


def digest_rows(rows: BinaryMatrix) -> str:
    """Return a text that is another one for other data.

    Examples
    --------
    >>> digest_rows(np.eye(2, dtype=bool)) == digest_rows(np.ones((2, 2), dtype=bool))
    False
    """
    if isinstance(rows, np.ndarray):
        return digest(np.array(rows.shape), np.packbits(rows))
    parts = (np.array(rows.shape), rows.indptr, rows.indices)
    return digest(*(np.asarray(part, dtype=np.int64) for part in parts))


def digest_blocks(executor: BlockExecutor[Any], kind: type[ItemBlock] | type[RowBlock]) -> str:
    """Return the same for data that only blocks of this kind have, however it is cut into them."""
    given = executor.query(kind.given)
    firsts = [(first,) for first in np.cumsum([0, *given[:-1]]).tolist()]
    return f"{sum(given)} {sum(executor.query_each(kind.digest, firsts)) % 2**64:x}"
