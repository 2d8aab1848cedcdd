"""What it costs to parse a large file in a process of its own, against the same parser in this process."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import saltmine
from experiments.experiment import Row, SkipTask
from experiments.measuring import alternating_times
from saltmine.io.parser_process import IN_PARSER

ROUNDS = 5
ROWS_AT_A_TIME = 5000


def write_vcf(path: Path, rng: np.random.Generator, n_samples: int = 200, n_records: int = 100_000) -> None:
    """Write genotypes whose alleles are rare, as they are."""
    genotypes = np.array([f"{a}|{b}" for a in (0, 1) for b in (0, 1)])
    frequencies = rng.beta(0.3, 2, n_records)
    samples = "\t".join(f"s{k}" for k in range(n_samples))
    with path.open("w") as file:
        file.write('##fileformat=VCFv4.2\n##contig=<ID=chr1>\n##FORMAT=<ID=GT,Number=1,Type=String,Description="G">\n')
        file.write(f"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{samples}\n")
        for number, frequency in enumerate(frequencies):
            alleles = rng.random((2, n_samples)) < frequency
            file.write(f"chr1\t{100 + 7 * number}\t.\tA\tG\t.\tPASS\t.\tGT\t")
            file.write("\t".join(genotypes[2 * alleles[0] + alleles[1]]) + "\n")


def write_h5ad(
    path: Path,
    rng: np.random.Generator,
    n_rows: int = 100_000,
    n_columns: int = 20_000,
    density: float = 0.05,
    compression: str | None = None,
) -> None:
    """Write counts of which a share is not zero, the same number in every row."""
    import h5py

    in_row = int(n_columns * density)
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", (n_rows, n_columns)
        group.create_dataset("indptr", data=np.arange(n_rows + 1) * in_row)
        size = n_rows * in_row
        data = group.create_dataset("data", shape=size, dtype=np.float32, compression=compression)
        indices = group.create_dataset("indices", shape=size, dtype=np.int32, compression=compression)
        for begin in range(0, n_rows, ROWS_AT_A_TIME):
            shape = min(ROWS_AT_A_TIME, n_rows - begin), in_row
            part = slice(begin * in_row, begin * in_row + shape[0] * in_row)
            indices[part] = np.cumsum(rng.integers(1, n_columns // in_row, shape, endpoint=True), axis=1).ravel() - 1
            data[part] = 1 + rng.poisson(1.5, shape).ravel()
        for name, length in (("obs", n_rows), ("var", n_columns)):
            frame = file.create_group(name)
            frame.attrs["_index"] = "index"
            frame.create_dataset("index", data=[f"{name}{k}" for k in range(length)], dtype=h5py.string_dtype())


def write_parquet(path: Path, rng: np.random.Generator, n_rows: int = 400_000, n_columns: int = 200) -> None:
    """Write columns of zeros and ones, and one of classes."""
    cells = (rng.random((n_rows, n_columns)) < 0.1).astype(np.int64)
    frame = pd.DataFrame(cells, columns=[f"item{k}" for k in range(n_columns)])
    frame.assign(shop=rng.choice(["Mainz", "Trier"], n_rows)).to_parquet(path)


Writer = Callable[[Path, np.random.Generator], None]
_FILES: dict[str, tuple[str, Writer]] = {
    "VCF, 200 x 100,000": ("calls.vcf", write_vcf),
    "h5ad, 100,000 x 20,000": ("cells.h5ad", write_h5ad),
    "h5ad, 300,000 x 20,000": ("cells.h5ad", partial(write_h5ad, n_rows=300_000)),
    "h5ad, compressed": ("cells.h5ad", partial(write_h5ad, compression="gzip")),
    "Parquet, 400,000 x 200": ("baskets.parquet", write_parquet),
    "VCF, 2 x 10": ("calls.vcf", partial(write_vcf, n_samples=2, n_records=10)),
    "h5ad, 20 x 100": ("cells.h5ad", partial(write_h5ad, n_rows=20, n_columns=100)),
}
CASES = list(_FILES)
QUICK = CASES[-2:]


def child_cost(name: str, seed: int, data: Path) -> Row:
    """Compare the seconds of reading a file in a process of its own with those of reading it in this one."""
    file, write = _FILES[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, file)
        try:
            write(path, np.random.default_rng(seed))
        except ImportError as error:
            raise SkipTask(str(error)) from None
        works = [partial(saltmine.read, path), partial(_read_here, path)]
        for work in works:  # libraries are imported, and the file is in the cache of the system
            work()
        apart, here = (min(seconds) for seconds in alternating_times(works, ROUNDS))
        size = path.stat().st_size
    return {"megabytes": round(size / 1e6, 1), "apart": round(apart, 3), "here": round(here, 3)}


def _read_here(path: Path) -> saltmine.Table:
    with _without_process():
        return saltmine.read(path)


@contextmanager
def _without_process() -> Iterator[None]:
    # A process that is a parser itself starts no other one.
    os.environ[IN_PARSER] = "1"
    try:
        yield
    finally:
        del os.environ[IN_PARSER]
