"""Many measurements, several at a time, each written to a csv file as it comes."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed


def run_all(
    measure: Callable[..., dict[str, Any]], todo: Sequence[tuple[Any, ...]], jobs: int, path: Path
) -> Iterator[dict[str, Any]]:
    """Yield ``measure(*arguments)`` for all arguments, in the order in which they are ready."""
    path.parent.mkdir(parents=True, exist_ok=True)
    results = Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(measure)(*args) for args in todo)
    with path.open("w", newline="") as stream:
        writer = None
        for row in results:
            if writer is None:
                writer = csv.DictWriter(stream, row)
                writer.writeheader()
            writer.writerow(row)
            stream.flush()
            yield row
