"""Whether a VCF or BCF file is whole.

htslib takes a file that is cut off for a shorter one, says little about one that is broken, and may end the process
over it. So the file is read through before htslib sees it.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

from numpy.typing import NDArray

from saltmine.io.files import opened
from saltmine.io.table import ReadError, as_names, demand_distinct

_Stream: TypeAlias = "IO[bytes] | gzip.GzipFile"

_COLUMNS = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
_GZIP = b"\x1f\x8b"
_BCF = b"BCF\2"
# Every bgzip file ends in a block without data.
_LAST_BLOCK = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def check_variants(path: Path) -> NDArray[Any]:
    """Read the file through and return its samples, or say what is wrong with it and where."""
    if path.suffix.lower() in (".xz", ".bz2"):
        raise ReadError(
            f"{path}: a VCF file is compressed with bgzip or gzip, not {path.suffix[1:]}; compress it anew."
        )
    with _decompressed(path) as stream:
        if _starts_with(stream, _BCF):
            samples = _check_bcf(stream, path)
        elif _starts_with(stream, b"##fileformat=VCF"):
            samples = _check_vcf(stream, path)
        else:
            raise ReadError(
                f"{path} is no VCF or BCF file: it does not begin with '##fileformat=VCF'; check the format."
            )
    _check_blocks(path)
    if not len(samples):
        raise ReadError(f"{path} has no samples, only sites; a file with genotypes is needed.")
    demand_distinct(samples, "samples", str(path))
    return samples


@contextmanager
def _decompressed(path: Path) -> Iterator[_Stream]:
    """Open the file, decompressed by its contents: a BCF file has no suffix of compression."""
    with opened(path) as stream:
        if _starts_with(stream, _GZIP):
            with gzip.open(stream) as inner:
                yield inner
        else:
            yield stream


def _starts_with(stream: _Stream, magic: bytes) -> bool:
    stream.seek(0)
    start = stream.read(len(magic))
    stream.seek(0)
    return start == magic


def _check_vcf(stream: _Stream, path: Path) -> NDArray[Any]:
    samples, n_tabs = None, 0
    for number, line in enumerate(stream, start=1):
        if samples is None:
            if not line.startswith(b"##"):
                samples, n_tabs = _samples(line, f"{path}, line {number}"), line.count(b"\t")
        elif line.count(b"\t") != n_tabs or line.startswith(b"#"):
            raise ReadError(f"{path}, line {number}: {_wrong_with(line, n_tabs)}; mend or remove the line.")
    if samples is None:
        raise ReadError(f"{path} ends within its header, before the line #CHROM; get the file again.")
    return samples


def _wrong_with(line: bytes, n_tabs: int) -> str:
    if not line.strip():
        return "the line is empty"
    if line.startswith(b"#"):
        return "there is a header line among the records"
    n_columns = line.count(b"\t") + 1
    return f"{n_columns} columns where the header has {n_tabs + 1}"


def _check_bcf(stream: _Stream, path: Path) -> NDArray[Any]:
    stream.seek(5)
    size = int.from_bytes(stream.read(4), "little")
    header = stream.read(size)
    if len(header) < size:
        raise ReadError(f"{path} ends within its header; get the file again.")
    while stream.read(1 << 20):
        pass
    for line in header.rstrip(b"\0").split(b"\n"):
        if line.startswith(b"#") and not line.startswith(b"##"):
            return _samples(line, str(path))
    raise ReadError(f"{path} has no line #CHROM in its header; write the file again, for example with bcftools.")


def _samples(line: bytes, place: str) -> NDArray[Any]:
    """Return the names of the samples in the line that names the columns."""
    try:
        columns = line.decode().rstrip("\r\n").split("\t")
    except UnicodeDecodeError:
        raise ReadError(f"{place}: the names of the samples are not UTF-8 text; rename the samples.") from None
    if columns[:9] != _COLUMNS[: len(columns)] or len(columns) < 8:
        raise ReadError(
            f"{place}: this is neither a header line ('## ...') nor that of the column names ('#CHROM POS ID REF ALT "
            "QUAL FILTER INFO FORMAT' and samples, with tabs between); mend the header."
        )
    if "" in columns:
        raise ReadError(f"{place}: a sample has no name; name it, or remove the tab at the end of the line.")
    return as_names(columns[9:])


def _check_blocks(path: Path) -> None:
    """Refuse a bgzip file that was cut off between two blocks, and BCF that is not bgzip and so has no checksums."""
    with path.open("rb") as stream:
        start = stream.read(18)
        stream.seek(max(0, path.stat().st_size - len(_LAST_BLOCK)))
        end = stream.read()
    if start.startswith(_BCF):
        # Damage would go unnoticed, and some kinds of it end the whole process within htslib.
        raise ReadError(f"{path}: BCF without compression cannot be checked for damage; compress it with bgzip.")
    is_bgzip = start.startswith(_GZIP) and start[12:14] == b"BC"
    if is_bgzip and end != _LAST_BLOCK:
        raise ReadError(f"{path}: the bgzip data is cut off, its last block is missing; get the file again.")
