"""A search on blocks: of data that is read lazily, or that a cluster shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.data.bits import Layout
from saltmine.data.lazy import LazyMatrix
from saltmine.data.threads import ThreadTeam, cut
from saltmine.data.validation import BinaryMatrix
from saltmine.distributed.columns import ColumnBlock
from saltmine.distributed.connect import connect
from saltmine.distributed.executor import Crew, DaskCrew, LocalCrew
from saltmine.solver.items import ItemFigures
from saltmine.solver.mdl_search import Settings, Solution
from saltmine.solver.wide import BLOCK_CELLS, MakeOperator, Rows, is_wide, sample_size, search_wide


@dataclass(frozen=True)
class Labels:
    """The classes of the rows."""

    numbers: NDArray[np.intp]
    n_classes: int

    def rows(self) -> Rows:
        """Return the rows class by class, as every block has them."""
        edges = np.concatenate([[0], np.cumsum(np.bincount(self.numbers, minlength=self.n_classes))]).tolist()
        blocks = [slice(begin, end) for begin, end in pairwise(edges)]
        weights = np.ones(len(self.numbers), dtype=np.int64)
        return Rows(blocks, weights, Layout(blocks, weights))


@dataclass(frozen=True)
class Found:
    """A model of all blocks: the solution, what it knows of the items, and who carries its patterns, (c, r)."""

    solution: Solution
    items: ItemFigures
    carrier_counts: NDArray[np.int64]
    null_length: float


@contextmanager
def open_client(client: Any) -> Iterator[Any]:
    """Reach the cluster that is named, or the one that is open already, or none."""
    if client is None:
        client = _current_client()
    if client is None:
        yield None
    else:
        with connect(client) as reached:
            yield reached


def _current_client() -> Any:
    try:
        from distributed import Client

        return Client.current()
    except (ImportError, ValueError):
        return None


def is_small(shape: tuple[int, int]) -> bool:
    """Say whether a search would look at all the data, so that one memory may hold it."""
    return not is_wide(shape)


def read_whole(data: LazyMatrix, binarize: float | None, client: Any) -> BinaryMatrix:
    """Read data that is small into this memory."""
    from dask import compute

    sources = data.sources(0, data.edges(0), binarize)
    here = client is None
    parts = compute(*sources, scheduler="threads") if here else client.gather(client.compute(sources))
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts]))


@contextmanager
def open_crew(
    data: LazyMatrix | BinaryMatrix, labels: Labels, client: Any, team: ThreadTeam, binarize: float | None
) -> Iterator[Crew]:
    """Put blocks of columns to the workers of a cluster, or into this process where there is none."""
    make_block = partial(ColumnBlock, numbers=labels.numbers, n_classes=labels.n_classes)
    n_threads = (team.n_threads or 1) if client is None else max(1, sum(client.nthreads().values()))
    with make_crew(make_block, _sources(data, n_threads, binarize), client, team) as crew:
        yield crew


@contextmanager
def make_crew(
    make_block: Callable[[Any], Any], sources: Sequence[Any], client: Any, team: ThreadTeam
) -> Iterator[Crew]:
    """Have the workers of a cluster make a block of every source, or this process where there is none."""
    if client is not None:
        with DaskCrew(client, make_block, sources) as crew:
            yield crew
    else:
        # One after the other: only what is packed stays in memory.
        with LocalCrew([make_block(_read(source)) for source in sources], team) as crew:
            yield crew


def _read(source: Any) -> Any:
    """Return what a block is made of; data in memory does without Dask."""
    return source.compute(scheduler="threads") if hasattr(source, "dask") else source


def _sources(data: LazyMatrix | BinaryMatrix, n_threads: int, binarize: float | None) -> Sequence[Any]:
    if isinstance(data, LazyMatrix):
        return data.sources(1, data.edges(1, n_threads), binarize)
    m, n = data.shape
    parts = cut(n, m, max(1, min(64 * BLOCK_CELLS, m * n // n_threads)))
    columns = data if isinstance(data, np.ndarray) else sp.csc_array(data)
    return [columns[:, part] if isinstance(data, np.ndarray) else sp.csr_array(columns[:, part]) for part in parts]


def search_blocks(
    crew: Crew,
    labels: Labels,
    settings: Settings,
    make_operator: MakeOperator,
    team: ThreadTeam,
    rng: np.random.Generator,
) -> Found:
    """Search a sample of all columns, extend what is found to all of them, and collect it."""
    rows = labels.rows()
    present = crew.run("n_present")
    edges = np.concatenate([[0], np.cumsum(present)])
    size = min(sample_size(len(labels.numbers)), int(edges[-1]))
    ranks = np.sort(rng.choice(int(edges[-1]), size, replace=False))
    own = [(ranks[(begin <= ranks) & (ranks < end)] - begin,) for begin, end in pairwise(edges.tolist())]
    sample = np.concatenate(crew.run_each("sample", own))
    extension, solution = search_wide(sample, rows, crew, settings, make_operator, team, rng)
    kept = extension.kept[: solution.model.rank]
    carriers = extension.find_carriers()[:, kept]
    usage = solution.model.Y
    items = ItemFigures.joined(crew.run("figures", kept, usage, carriers))
    carrier_counts = np.stack([carriers[block].sum(axis=0) for block in rows.blocks])
    return Found(solution, items, carrier_counts, extension.null_length())
