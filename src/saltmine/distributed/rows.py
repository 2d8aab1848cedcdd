"""A search on blocks of rows: of data in memory, read lazily, or shared by a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltmine.data.binary_model import BinaryModel
from saltmine.data.lazy import LazyMatrix
from saltmine.data.threads import ThreadTeam, cut
from saltmine.data.validation import BinaryMatrix
from saltmine.distributed.executor import Crew
from saltmine.distributed.fitting import Found, Labels, make_crew
from saltmine.solver.items import ItemFigures
from saltmine.solver.mdl_search import Settings
from saltmine.solver.row_block import RowBlock
from saltmine.solver.tall import Sample, sample_rows, sample_size, search_tall
from saltmine.solver.tall_extension import TallExtension
from saltmine.solver.wide import MakeOperator

# Cells of a block in this process: a few of them for every thread.
BLOCK_CELLS = 1 << 23


@contextmanager
def open_row_crew(
    data: LazyMatrix | BinaryMatrix,
    labels: Labels,
    client: Any,
    team: ThreadTeam,
    binarize: float | None,
    as_one: bool = False,
) -> Iterator[Crew]:
    """Put blocks of rows to the workers of a cluster, or into this process where there is none.

    ``as_one`` makes the search take all classes for one.
    """
    edges = _edges(data, client)
    make_block = partial(make_row_block, n_classes=labels.n_classes, as_one=as_one)
    # The smallest type that holds the classes: the numbers travel with the rows.
    numbers = labels.numbers.astype(np.min_scalar_type(labels.n_classes))
    sources = _sources(data, edges, numbers, binarize)
    with make_crew(make_block, sources, client, team) as crew:
        yield crew


def make_row_block(source: tuple[BinaryMatrix, NDArray[np.integer[Any]]], n_classes: int, as_one: bool) -> RowBlock:
    """Make a block of some rows and their class numbers."""
    matrix, numbers = source
    return RowBlock(matrix, numbers.astype(np.intp), n_classes, as_one)


def _edges(data: LazyMatrix | BinaryMatrix, client: Any) -> list[int]:
    n_threads = 1 if client is None else max(1, sum(client.nthreads().values()))
    if isinstance(data, LazyMatrix):
        return data.edges(0, n_threads)
    m, n = data.shape
    return [0, *(part.stop for part in cut(m, n, min(BLOCK_CELLS, max(1, m * n // n_threads))))]


def _sources(
    data: LazyMatrix | BinaryMatrix, edges: Sequence[int], numbers: NDArray[np.integer[Any]], binarize: float | None
) -> Sequence[Any]:
    """Return the rows between the edges with their class numbers, delayed where they are read lazily."""
    classes = [numbers[begin:end] for begin, end in pairwise(edges)]
    if not isinstance(data, LazyMatrix):
        return [(data[begin:end], of) for (begin, end), of in zip(pairwise(edges), classes, strict=True)]
    from dask import delayed

    parts = data.sources(0, edges, binarize)
    return [delayed(tuple)([part, of]) for part, of in zip(parts, classes, strict=True)]


def search_row_blocks(
    crew: Crew,
    labels: Labels,
    settings: Settings,
    make_operator: MakeOperator,
    team: ThreadTeam,
    rng: np.random.Generator,
    as_one: bool = False,
) -> Found:
    """Search a sample of all rows, extend what is found to all of them, and collect it."""
    sample = _sample(crew, labels, rng, as_one)
    extension, solution = search_tall(sample, crew, settings, make_operator, team, rng)
    # A search that took all classes for one found nothing that a class has alone.
    model = solution.model
    if as_one:
        model = BinaryModel(model.X, np.zeros((labels.n_classes, *model.X.shape), dtype=bool), model.Y)
    stacked = np.argsort(labels.numbers, kind="stable")
    model = replace(model, Y=extension.usage()[stacked])
    items, carrier_counts = _collect(extension, model, len(labels.numbers))
    return Found(replace(solution, model=model), items, carrier_counts, extension.null_length())


def _sample(crew: Crew, labels: Labels, rng: np.random.Generator, as_one: bool) -> Sample:
    """Draw a sample of the rows of all blocks."""
    numbers = np.zeros_like(labels.numbers) if as_one else labels.numbers
    counts = crew.run("count")
    edges = np.concatenate([[0], np.cumsum([sizes.sum() for sizes, _ in counts])]).tolist()
    drawn = sample_rows(numbers, sample_size(len(counts[0][1])), rng)
    own = [(drawn[(begin <= drawn) & (drawn < end)] - begin,) for begin, end in pairwise(edges)]
    rows = np.concatenate(crew.run_each("sample", own))
    return Sample(rows, numbers[drawn], np.bincount(numbers))


def _collect(extension: TallExtension, model: BinaryModel, n_rows: int) -> tuple[ItemFigures, NDArray[np.int64]]:
    """Return what the model knows of the items, and who carries its patterns, (c, r)."""
    found = extension.figures(replace(model, Y=model.Y[:0]), extension.told_by())
    occurs = extension.item_counts > 0
    small = np.min_scalar_type(-n_rows - 1)
    items = ItemFigures(
        np.where(occurs, np.cumsum(occurs) - 1, -1),
        np.ascontiguousarray(model.X[occurs].T),
        model.V[:, occurs].transpose(0, 2, 1).copy(),
        found.item_counts[:, occurs].astype(small),
        found.noise_counts[:, occurs].astype(small),
        found.hits.astype(small),
        found.carrier_hits.astype(small),
    )
    return items, found.carrier_counts
