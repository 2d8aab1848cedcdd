"""Small files that are made to fill the memory or to take for ever, and what reading them takes.

    python -m fuzz.bombs               # writes each, reads it in a process of its own, and prints a table
    python -m fuzz.bombs "csv" "npz"   # only those whose name begins so

None may take more than 2 GB or 20 seconds, and all but the harmless ones must end in one sentence.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

MB, GB = 1 << 20, 1 << 30
MAX_BYTES, MAX_SECONDS = 2 * GB, 20.0
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@dataclass(frozen=True)
class Bomb:
    """A file that is made to do harm.

    Attributes
    ----------
    name : str
    file : str
        Name of the file or folder, which tells the format.
    write : callable
        ``write(path)`` writes the file and returns what it is, in a few words.
    options : dict
        Further arguments of `saltmine.read`; a value ``"beside"`` is the path of a file that ``write`` writes too.
    """

    name: str
    file: str
    write: Callable[[Path], str]
    options: dict[str, Any] = field(default_factory=dict)


# ----------------------------------------------------------------------------------------------------- text, compressed


def repeated(begin: bytes, unit: bytes, size: int, end: bytes = b"") -> Callable[[Path], str]:
    """Return a writer of compressed text: a begin, a unit as often as ``size`` bytes need, and an end."""

    def write(path: Path) -> str:
        compress = _COMPRESS.get(path.suffix, bytes)
        # Compressed files may be put one after another, so the unit is compressed once.
        block = unit * max(1, min(size, 16 * MB) // len(unit))
        compressed = compress(block)
        with path.open("wb") as file:
            file.write(compress(begin))
            for _ in range(max(1, size // len(block))):
                file.write(compressed)
            file.write(compress(end))
        return f"{size / MB:,.0f} MB of {unit[:20]!r} in {path.stat().st_size / 1024:,.0f} KB"

    return write


def wide_csv(n_columns: int, cell: str) -> Callable[[Path], str]:
    """Return a writer of a table of two rows and very many columns."""

    def write(path: Path) -> str:
        header = ",".join(["class", *(f"c{k}" for k in range(n_columns))])
        lines = [header, *(",".join([label, *[cell] * n_columns]) for label in "ab")]
        path.write_bytes(_COMPRESS.get(path.suffix, bytes)(("\n".join(lines) + "\n").encode()))
        return f"{n_columns:,} columns of {cell!r}"

    return write


# ------------------------------------------------------------------------------------------------------------- archives


def npy_header(shape: tuple[int, ...], dtype: str) -> bytes:
    """Return the header of a npy file."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def zeros_npz(method: int, **arrays: tuple[tuple[int, ...], str, int]) -> Callable[[Path], str]:
    """Return a writer of an archive of arrays of zeros: their shapes, types, and how many bytes are really there."""

    def write(path: Path) -> str:
        block = bytes(16 * MB)
        with zipfile.ZipFile(path, "w", method) as archive:
            for name, (shape, dtype, size) in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    member.write(npy_header(shape, dtype))
                    for begin in range(0, size, len(block)):
                        member.write(block[: size - begin])
        shapes = ", ".join(f"{name} {dtype} of {shape}" for name, (shape, dtype, _) in arrays.items())
        return f"{shapes} in {path.stat().st_size / 1024:,.0f} KB"

    return write


def sparse_npz(form: str, shape: tuple[int, int], **arrays: Any) -> Callable[[Path], str]:
    """Return a writer of a sparse matrix with a shape of its own."""

    def write(path: Path) -> str:
        np.savez_compressed(path, format=form.encode(), shape=np.array(shape), **arrays)
        return f"{form} of shape {shape} with {arrays['data'].size} values"

    return write


def many_members(path: Path) -> str:
    """Write an archive of very many tiny arrays."""
    with zipfile.ZipFile(path, "w") as archive:
        content = npy_header((2, 2), "|i1") + bytes(4)
        for k in range(20_000):
            archive.writestr(f"a{k}.npy", content)
    return "20,000 arrays of 2 x 2"


def overlapping_members(path: Path) -> str:
    """Write an archive whose list has the same large array under many names."""
    block = npy_header((1 << 26,), "|i1") + bytes(1 << 26)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a0000.npy", block)
    data = path.read_bytes()
    end = data.index(b"PK\5\6")
    begin = data.index(b"PK\1\2")
    entries = b"".join(data[begin:end].replace(b"a0000", f"a{k:04}".encode()) for k in range(1000))
    tail = bytearray(data[end:])
    struct.pack_into("<HHII", tail, 8, 1000, 1000, len(entries), begin)
    path.write_bytes(data[:begin] + entries + bytes(tail))
    return "an array of 64 MB under 1,000 names"


# -------------------------------------------------------------------------------------------------------------- Parquet


def parquet_zeros(n_rows: int, n_columns: int, **options: Any) -> Callable[[Path], str]:
    """Return a writer of a table of zeros."""

    def write(path: Path) -> str:
        import pyarrow as pa
        import pyarrow.parquet as pq

        zeros = pa.array(np.zeros(min(n_rows, 20_000_000), dtype=np.int64))
        table = pa.table({f"c{k}": zeros for k in range(n_columns)})
        with pq.ParquetWriter(path, table.schema, **options) as writer:
            for _ in range(max(1, n_rows // len(zeros))):
                writer.write_table(table, row_group_size=len(zeros))
        return f"{n_rows:,} rows and {n_columns} columns of zeros in {path.stat().st_size / 1024:,.0f} KB"

    return write


def parquet_text(path: Path) -> str:
    """Write a table that repeats one long text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, dtype=np.int32)), pa.array(["x" * MB]))
    pq.write_table(pa.table({"text": text}), path, store_schema=False)
    return f"a text of 1 MB in 20,000 rows in {path.stat().st_size / 1024:,.0f} KB"


def parquet_wide(path: Path) -> str:
    """Write a table of one row and very many columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({f"c{k}": [0] for k in range(30_000)}), path)
    return "30,000 columns of one row"


# -------------------------------------------------------------------------------------------------------------- AnnData


def h5ad(fill: Callable[[Any], str]) -> Callable[[Path], str]:
    """Return a writer of an AnnData file; ``fill(file)`` writes X, and obs and var if they are not small ones."""

    def write(path: Path) -> str:
        import h5py

        with h5py.File(path, "w") as file:
            what = fill(file)
            for name in ("obs", "var"):
                if name not in file:
                    _frame(file, name, np.arange(2))
        return f"{what} in {path.stat().st_size / 1024:,.0f} KB"

    return write


def _frame(file: Any, name: str, index: Any, **options: Any) -> None:
    group = file.create_group(name)
    group.attrs["_index"] = "index"
    group.create_dataset("index", data=index, **options)


def declared_dense(file: Any) -> str:
    """Declare a large dense matrix with names, but store nothing of it."""
    for name in ("obs", "var"):
        _frame(file, name, np.arange(30_000), compression="gzip")
    file.create_dataset("X", (30_000, 30_000), np.float64, chunks=(100, 1000))
    return "X of 30,000 x 30,000 without values"


def declared_sparse(file: Any) -> str:
    """Declare a sparse matrix with very many values, but store nothing of it."""
    group = file.create_group("X")
    group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", (2, 2)
    for name, length in (("data", 10**9), ("indices", 10**9), ("indptr", 3)):
        group.create_dataset(name, (length,), np.int32, chunks=(1000,) if length > 3 else None)
    return "X with a billion values of which none is stored"


def compressed_dense(file: Any) -> str:
    """Store a large matrix of zeros, compressed."""
    for name in ("obs", "var"):
        _frame(file, name, np.arange(16_000), compression="gzip")
    X = file.create_dataset("X", (16_000, 16_000), np.float64, chunks=(1000, 16_000), compression="gzip")
    X[:1000] = 0
    for chunk in range(1, 16):
        X.id.write_direct_chunk((1000 * chunk, 0), X.id.read_direct_chunk((0, 0))[1])
    return "X of 2 GB of zeros"


def one_chunk(file: Any) -> str:
    """Store a matrix in a single compressed chunk of almost 4 GB."""
    for name in ("obs", "var"):
        _frame(file, name, np.arange(20_000), compression="gzip")
    import zlib

    file.create_dataset("X", (20_000, 20_000), np.float64, chunks=(20_000, 20_000), compression="gzip")
    file["X"].id.write_direct_chunk((0, 0), zlib.compress(bytes(100 * MB)))
    return "X in one chunk of 3 GB of which 100 MB are there"


def many_names(file: Any) -> str:
    """Declare very many names of cells, but store none."""
    import h5py

    group = file.create_group("obs")
    group.attrs["_index"] = "index"
    group.create_dataset("index", (10**9,), h5py.string_dtype(), chunks=(1000,))
    file.create_dataset("X", (10**9, 2), np.int8, chunks=(1000, 2))
    return "a billion names of cells without values"


def many_codes(file: Any) -> str:
    """Declare a column with very many categories."""
    _frame(file, "obs", np.arange(2))
    column = file["obs"].create_group("state")
    column["codes"] = np.zeros(2, dtype=np.int8)
    column.create_dataset("categories", (10**10,), np.float64, chunks=(1000,))
    file["X"] = np.zeros((2, 2))
    return "ten billion categories without values"


# ------------------------------------------------------------------------------------------------------------------ VCF

_VCF = b'##fileformat=VCFv4.2\n##contig=<ID=1>\n##FORMAT=<ID=GT,Number=1,Type=String,Description="G">\n'
_COLUMNS = b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT"
_RECORD = b"1\t%d\t.\tA\t%s\t.\t.\t.\tGT"


def many_samples(path: Path) -> str:
    """Write the header of a VCF file with very many samples."""
    samples = b"".join(b"\ts%d" % k for k in range(5_000_000))
    path.write_bytes(gzip.compress(_VCF + _COLUMNS + samples + b"\n"))
    return f"5,000,000 samples in {path.stat().st_size / 1024:,.0f} KB"


def many_alleles(path: Path) -> str:
    """Write a record with very many alternative alleles."""
    alleles = b",".join([b"ACGT"] * 20_000_000)
    lines = _VCF + _COLUMNS + b"\ts\n" + _RECORD % (1, alleles) + b"\t0/1\n"
    path.write_bytes(gzip.compress(lines))
    return f"20,000,000 alleles of a record in {path.stat().st_size / 1024:,.0f} KB"


def bcf_header(path: Path) -> str:
    """Write a BCF file that says that its header has 4 GB."""
    path.write_bytes(gzip.compress(b"BCF\2\2" + struct.pack("<I", 0xFFFFFFF0) + bytes(300 * MB)))
    return f"a header of 4 GB in {path.stat().st_size / 1024:,.0f} KB"


# --------------------------------------------------------------------------------------------- folders and files beside


def text_folder(path: Path) -> str:
    """Write a folder of documents that are compressed."""
    for label in "ab":
        (path / label).mkdir(parents=True)
        repeated(b"", b"word ", GB)(path / label / "document.txt.gz")
    return "2 documents of 1 GB"


def beside(write: Callable[[Path], str], data: str) -> Callable[[Path], str]:
    """Return a writer of small data, with a file of labels or names beside it that is a bomb."""

    def write_both(path: Path) -> str:
        path.write_text(data)
        return write(path.with_name("beside.txt.gz"))

    return write_both


_JSON_LISTS = (b'{"text": "a b", "label": "x", "more": [', b"[],", 400 * MB, b"[]]}\n")
_MAF = b"Hugo_Symbol\tTumor_Sample_Barcode\n"

BOMBS: tuple[Bomb, ...] = (
    Bomb("csv of line ends", "a.csv.gz", repeated(b"a,b\n1,0\n", b"\n", 200 * MB)),
    Bomb("csv of zeros", "a.csv.gz", repeated(b"a,b,c,d,e\n", b"0,0,0,0,0\n", GB)),
    Bomb("csv of zeros, below what is always allowed", "a.csv.gz", repeated(b"a,b,c,d,e\n", b"0,0,0,0,0\n", 250 * MB)),
    Bomb("csv of zeros, xz", "a.csv.xz", repeated(b"a,b,c,d,e\n", b"0,0,0,0,0\n", 4 * GB)),
    Bomb("csv of zeros, bz2", "a.csv.bz2", repeated(b"a,b,c,d,e\n", b"0,0,0,0,0\n", 4 * GB)),
    Bomb("csv of one line", "a.csv.gz", repeated(b"", b"a", GB)),
    Bomb("csv of separators", "a.csv.gz", repeated(b"a", b",", 500 * MB)),
    Bomb("csv of short rows", "a.csv.gz", repeated(b"a\n", b"1\n", 200 * MB)),
    Bomb("csv of equal text", "a.csv.gz", repeated(b"a,b\n", b"x,y\n", 500 * MB)),
    Bomb("csv with an open quote", "a.csv.gz", repeated(b'a,b\n1,"', b"x\n", 500 * MB)),
    Bomb("csv of a million columns", "a.csv", wide_csv(1_000_000, "0"), {"target": "class"}),
    Bomb("csv of a million columns of text", "a.csv.gz", wide_csv(1_000_000, "x"), {"target": "class"}),
    Bomb("tsv of zero bytes", "a.tsv.gz", repeated(b"a\tb\n", b"\0", 4 * GB)),
    Bomb("Parquet of zeros", "a.parquet", parquet_zeros(400_000_000, 1)),
    Bomb(
        "Parquet of zeros, plain", "a.parquet", parquet_zeros(200_000_000, 1, use_dictionary=False, compression="zstd")
    ),
    Bomb("Parquet of a long text", "a.parquet", parquet_text),
    Bomb("Parquet of many columns", "a.parquet", parquet_wide),
    Bomb("Parquet in gzip", "a.parquet.gz", repeated(b"PAR1", b"\0", 4 * GB, b"PAR1")),
    Bomb("npz of zeros", "a.npz", zeros_npz(zipfile.ZIP_DEFLATED, X=((60_000, 50_000), "|i1", 3 * 10**9))),
    Bomb("npz of zeros, bz2", "a.npz", zeros_npz(zipfile.ZIP_BZIP2, X=((10_000, 50_000), "<f8", 4 * 10**9))),
    Bomb("npz of zeros, xz", "a.npz", zeros_npz(zipfile.ZIP_LZMA, X=((30_000, 50_000), "|i1", 15 * 10**8))),
    Bomb("npz whose header lies", "a.npz", zeros_npz(zipfile.ZIP_STORED, X=((10**6, 10**6), "<f8", 80))),
    Bomb("npz of long labels", "a.npz", zeros_npz(8, X=((999, 3), "|i1", 2997), y=((999,), "<U500000", 1998 * 10**6))),
    Bomb("npz of many arrays", "a.npz", many_members),
    Bomb("npz of one array by many names", "a.npz", overlapping_members),
    Bomb("npz in gzip", "a.npz.gz", repeated(b"PK\3\4", b"\0", 4 * GB)),
    Bomb("sparse npz of many rows", "a.npz", sparse_npz("coo", (10**9, 10**9), data=np.ones(1), row=[0], col=[0])),
    Bomb(
        "sparse npz of many columns",
        "a.npz",
        sparse_npz("csr", (1, 10**10), data=np.ones(1), indices=[0], indptr=[0, 1]),
    ),
    Bomb(
        "sparse npz of columns, CSC",
        "a.npz",
        sparse_npz("csr", (10**8, 2), data=np.ones(1), indices=[0], indptr=[0, 1]),
    ),
    Bomb("sparse npz of diagonals", "a.npz", sparse_npz("dia", (10**9, 10**9), data=np.ones((1, 9)), offsets=[0])),
    Bomb(
        "sparse npz of blocks",
        "a.npz",
        sparse_npz("bsr", (8000, 8000), data=np.ones((1, 8000, 8000), np.int8), indices=[0], indptr=[0, 1]),
    ),
    Bomb(
        "mtx of many rows",
        "a.mtx",
        repeated(b"%%MatrixMarket matrix coordinate real general\n999999999 999999999 1\n", b"1 1 1\n", 6),
    ),
    Bomb(
        "mtx, dense and symmetric",
        "a.mtx",
        repeated(b"%%MatrixMarket matrix array real symmetric\n60000 60000\n", b"1\n", 2),
    ),
    Bomb("mtx of comments", "a.mtx.gz", repeated(b"%%MatrixMarket matrix coordinate real general\n", b"%\n", GB)),
    Bomb(
        "mtx of line ends", "a.mtx.gz", repeated(b"%%MatrixMarket matrix coordinate real general\n2 2 1\n", b"\n", GB)
    ),
    Bomb(
        "mtx of the same entry",
        "a.mtx.gz",
        repeated(b"%%MatrixMarket matrix coordinate real general\n2 2 9\n", b"1 1 1\n", 500 * MB),
    ),
    Bomb("transactions of line ends", "a.dat.gz", repeated(b"1 2\n", b"\n", 200 * MB)),
    Bomb("transactions of one line", "a.dat.gz", repeated(b"1 2\n", b"3 ", 500 * MB)),
    Bomb("transactions of one item", "a.dat.gz", repeated(b"1 2\n", b"1\n", 200 * MB)),
    Bomb("JSON of empty lists", "a.jsonl.gz", repeated(*_JSON_LISTS)),
    Bomb("JSON, deeply nested", "a.jsonl.gz", repeated(b'{"text": ', b"[", 300 * MB)),
    Bomb("JSON of empty objects", "a.jsonl.gz", repeated(b"", b"{}\n", 300 * MB)),
    Bomb(
        "JSON of one word",
        "a.jsonl.gz",
        repeated(b'{"label": "a", "text": "', b"word ", 500 * MB, b'"}\n'),
        {"min_docs": 1},
    ),
    Bomb("documents in a csv", "a.csv.gz", repeated(b"text,label\n", b"word,a\n", 300 * MB), {"text": "text"}),
    Bomb("folder of documents", "texts", text_folder, {"min_docs": 1}),
    Bomb("MAF of comments", "a.maf.gz", repeated(b"#version 2.4\n", b"#\n", 200 * MB, _MAF + b"TP53\ts1\n")),
    Bomb("MAF of tabs", "a.maf.gz", repeated(_MAF, b"\t", 500 * MB)),
    Bomb("MAF of one mutation", "a.maf.gz", repeated(_MAF, b"TP53\ts1\n", 500 * MB)),
    Bomb("labels of line ends", "a.dat", beside(repeated(b"a\n", b"\n", 300 * MB), "1 2\n"), {"labels": "beside"}),
    Bomb("sample sheet of tabs", "a.dat", beside(repeated(b"a\n", b"\t", 300 * MB), "1 2\n"), {"labels": "beside"}),
    Bomb("names of items", "a.dat", beside(repeated(b"a\n", b"x\n", 300 * MB), "0 1\n"), {"items": "beside"}),
    Bomb("h5ad, declared dense", "a.h5ad", h5ad(declared_dense)),
    Bomb("h5ad, declared sparse", "a.h5ad", h5ad(declared_sparse)),
    Bomb("h5ad of zeros", "a.h5ad", h5ad(compressed_dense)),
    Bomb("h5ad of one chunk", "a.h5ad", h5ad(one_chunk)),
    Bomb("h5ad of many names", "a.h5ad", h5ad(many_names)),
    Bomb("h5ad of many categories", "a.h5ad", h5ad(many_codes), {"target": "state"}),
    Bomb("VCF of header lines", "a.vcf.gz", repeated(_VCF, b"##x=1\n", 500 * MB, _COLUMNS + b"\ts1\n")),
    Bomb("VCF of one long line", "a.vcf.gz", repeated(_VCF + _COLUMNS + b"\ts1\n" + _RECORD % (1, b"C"), b"\t", GB)),
    Bomb("VCF of many samples", "a.vcf.gz", many_samples),
    Bomb("VCF of many alleles", "a.vcf.gz", many_alleles),
    Bomb(
        "VCF of one record",
        "a.vcf.gz",
        repeated(_VCF + _COLUMNS + b"\ts\n", _RECORD % (1, b"C") + b"\t0/1\n", 300 * MB),
    ),
    Bomb("BCF with a long header", "a.bcf", bcf_header),
)


# ------------------------------------------------------------------------------------------------------------ measuring


@dataclass(frozen=True)
class Outcome:
    """What reading a bomb took: seconds, the most bytes of all processes together, and what was said."""

    seconds: float
    n_bytes: int
    said: str

    @property
    def is_bounded(self) -> bool:
        """Whether it stayed within bounds and ended with a sentence, or with data."""
        is_sentence = self.said.startswith(("read: ", "refused: ")) and "\n" not in self.said
        return is_sentence and self.n_bytes <= MAX_BYTES and self.seconds <= MAX_SECONDS


_READ = """
import json, sys
import saltmine
path, options = json.loads(sys.argv[1])
try:
    print("read:", saltmine.read(path, **options))
except saltmine.ReadError as error:
    print("refused:", error)
"""


def read_bomb(bomb: Bomb, folder: Path) -> tuple[str, Outcome]:
    """Write a bomb into a folder, read it in a process of its own, and return what it is and what that took."""
    path = folder / bomb.file
    what = bomb.write(path)
    options = {
        name: str(folder / "beside.txt.gz") if value == "beside" else value for name, value in bomb.options.items()
    }
    begin = time.perf_counter()
    command = [sys.executable, "-c", _READ, json.dumps([str(path), options])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    most = 0
    while process.poll() is None and time.perf_counter() - begin < 10 * MAX_SECONDS:
        most = max(most, _tree_bytes(process.pid))
        time.sleep(0.02)
    process.kill()
    seconds = time.perf_counter() - begin
    said, _ = process.communicate()
    said = said.strip() or f"nothing (exit code {process.returncode})"
    return what, Outcome(seconds, most, said.replace(str(path), bomb.file))


def _tree_bytes(pid: int) -> int:
    """Return the memory of a process and of those it has started."""
    total = 0
    try:
        total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(_tree_bytes(int(child)) for child in (task / "children").read_text().split())
    except OSError:
        pass  # it has ended
    return total


def main(names: Sequence[str]) -> int:
    """Read all bombs, or those whose names begin as given; print a line for each, and return how many are too large."""
    failed = 0
    for bomb in BOMBS:
        if names and not bomb.name.startswith(tuple(names)):
            continue
        with tempfile.TemporaryDirectory() as folder:
            what, outcome = read_bomb(bomb, Path(folder))
        failed += not outcome.is_bounded
        mark = "ok  " if outcome.is_bounded else "FAIL"
        print(f"{mark} {outcome.n_bytes / MB:6,.0f} MB {outcome.seconds:5.1f} s  {bomb.name} ({what})")
        print(f"       {outcome.said[:300]}", flush=True)
    bounds = f"{MAX_BYTES / GB:g} GB or {MAX_SECONDS:g} s"
    print(f"{failed} of {len(BOMBS)} took more than {bounds}, or ended without a sentence")
    return failed


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:])))
