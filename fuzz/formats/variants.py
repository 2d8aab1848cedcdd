"""VCF and BCF files: headers, records, genotypes; plain, in bgzip and in gzip."""

from __future__ import annotations

import gzip
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from fuzz.cases import Case, File, Format
from fuzz.compression import in_bgzip
from fuzz.damage import NUMBERS, damaged, text_value, whole_number
from fuzz.text import changed_lines

_FIXED = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
_HEADER = """##fileformat=VCFv4.2
##FILTER=<ID=PASS,Description="All filters passed">
##FILTER=<ID=q10,Description="Low quality">
##contig=<ID=chr1>
##contig=<ID=2,length=1000000>
##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency">
##INFO=<ID=DB,Number=0,Type=Flag,Description="Known">
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Depth">
"""
_GENOTYPES = ["0/0", "0/1", "1/1", "./.", "0|1", "1", ".", "0/1/1", "0/2"]
_MAGIC = b"BCF\2\2"


def _vcf(random: Random) -> bytes:
    samples = [f"s{k}" for k in range(random.choice((1, 2, 5)))]
    lines = ["\t".join([*_FIXED, *samples])]
    for k in range(random.choice((1, 3, 12))):
        alternatives = random.choice(("G", "G", "T,C", "<DEL>", "*", "GATTACA,<*>"))
        genotypes = _GENOTYPES if "," in alternatives else _GENOTYPES[:8]
        has_depth = random.random() < 0.4
        info = random.choice((".", "AF=0.5", "DB", "AF=0.1,0.2;DB" if "," in alternatives else "DB;AF=1"))
        quality, passed = random.choice(("30", ".", "9.5")), random.choice(("PASS", "q10", "."))
        locus = [random.choice(("chr1", "2")), str(100 + 7 * k), random.choice((".", "rs1")), "A", alternatives]
        calls = [random.choice(genotypes) + (":7" if has_depth else "") for _ in samples]
        lines.append("\t".join([*locus, quality, passed, info, "GT:DP" if has_depth else "GT", *calls]))
    return (_HEADER + "\n".join(lines) + "\n").encode()


def _case(random: Random, name: str, data: bytes) -> Case:
    if random.random() < 0.7:
        return Case({name: data}, name, {"min_samples": 2} if random.random() < 0.1 else {})
    sheet = "".join(f"s{k}\tp{k % 2}\t{random.choice('ab')}\n" for k in range(5)).encode()
    return Case({name: data, "sheet.tsv": sheet}, name, {"labels": File("sheet.tsv"), "drop_unlabelled": True})


def _make_vcf(random: Random) -> Case:
    return _case(random, "calls.vcf", _vcf(random))


def _make_vcf_gz(random: Random) -> Case:
    return _case(random, "calls.vcf.gz", _vcf(random))


def _make_bcf(random: Random) -> Case:
    return _case(random, "calls.bcf", bcf_of(_vcf(random)))


def bcf_of(vcf: bytes) -> bytes:
    """Return a VCF file as BCF without compression."""
    from cyvcf2 import VCF, Writer

    with tempfile.TemporaryDirectory() as folder:
        plain, written = Path(folder) / "plain.vcf", Path(folder) / "calls.bcf"
        plain.write_bytes(vcf)
        source = VCF(str(plain))
        writer = Writer(str(written), source, "wb")
        writer.write_header()
        for variant in source:
            writer.write_record(variant)
        writer.close()
        source.close()
        return gzip.decompress(written.read_bytes())


# ---------------------------------------------------------------------- changes


def _change_vcf(random: Random, data: bytes) -> bytes:
    """Change lines and fields of the table, or the definitions above it."""
    if random.random() < 0.7:
        head, mark, table = data.partition(b"#CHROM")
        if random.random() < 0.7:
            return head + changed_lines(random, mark + table)
        return _changed_definitions(random, head) + mark + table
    return changed_lines(random, data)


def _changed_definitions(random: Random, head: bytes) -> bytes:
    lines = head.split(b"\n")
    k = random.randrange(len(lines))
    how = random.random()
    if how < 0.2:
        del lines[k]
    elif how < 0.4:
        lines.insert(k, random.choice(lines))
    elif how < 0.6:
        value = f"={text_value(random)}".encode()
        lines[k] = lines[k].replace(
            b"=" + random.choice((b"1", b"GT", b"String", b"A", b"chr1", b"<ID", b"Integer")), value
        )
    elif how < 0.75:
        kinds = [b"Integer", b"Float", b"Flag", b"String", b"Character", b"Odd"]
        lines[k] = lines[k].replace(b"String", random.choice(kinds)).replace(b"Number=1", b"Number=" + _number(random))
    elif how < 0.9:
        name = random.choice((b"GT", b"DP", b"PASS", b"XY", b"chr1"))
        kind = random.choice((b"INFO", b"FORMAT", b"FILTER", b"contig"))
        lines.insert(k, b"##" + kind + b"=<ID=" + name + b",IDX=" + _number(random) + b",Number=1,Type=Integer>")
    else:
        lines[k] = damaged(random, lines[k])
    return b"\n".join(lines)


def _number(random: Random) -> bytes:
    return random.choice(NUMBERS).encode()


def _change_bcf(random: Random, data: bytes) -> bytes:
    """Change the header or records of a BCF file, mostly with lengths that fit."""
    size = int.from_bytes(data[5:9], "little")
    text, body = data[9 : 9 + size], data[9 + size :]
    if random.random() < 0.25:
        text = _change_vcf(random, text.rstrip(b"\0")) + b"\0"
    else:
        records = _records(body)
        for _ in range(random.choice((1, 1, 2, 4))):
            if records:
                random.choice(_RECORD_CHANGES)(random, records)
        body = b"".join(struct.pack("<II", *lengths) + shared + calls for lengths, shared, calls in records)
    size = len(text) if random.random() < 0.95 else whole_number(random) % (1 << 32)
    return _MAGIC + struct.pack("<I", size) + text + body


_Record = tuple[tuple[int, int], bytes, bytes]
_RecordChange = Callable[[Random, list[_Record]], None]
# Fields of a record at fixed places: chromosome, position, length, quality, numbers of info and alleles, of samples.
_PLACES = [(0, 4), (4, 4), (8, 4), (12, 4), (16, 2), (18, 2), (20, 3), (23, 1)]


def _records(body: bytes) -> list[_Record]:
    records, place = [], 0
    while place + 8 <= len(body):
        shared, calls = struct.unpack_from("<II", body, place)
        middle = place + 8 + shared
        records.append(((shared, calls), body[place + 8 : middle], body[middle : middle + calls]))
        place = middle + calls
    return records


def _set(records: list[_Record], k: int, shared: bytes, calls: bytes) -> None:
    records[k] = ((len(shared), len(calls)), shared, calls)


def _set_place(random: Random, records: list[_Record]) -> None:
    k = random.randrange(len(records))
    _, shared, calls = records[k]
    place, width = random.choice(_PLACES)
    value = (whole_number(random) % (1 << 8 * width)).to_bytes(width, "little")
    _set(records, k, shared[:place] + value + shared[place + width :], calls)


def _damage_shared(random: Random, records: list[_Record]) -> None:
    k = random.randrange(len(records))
    _set(records, k, records[k][1][:24] + damaged(random, records[k][1][24:]), records[k][2])


def _damage_calls(random: Random, records: list[_Record]) -> None:
    k = random.randrange(len(records))
    _set(records, k, records[k][1], damaged(random, records[k][2]))


def _set_descriptor(random: Random, records: list[_Record]) -> None:
    """Change a byte that may say the type and the number of values that follow."""
    k = random.randrange(len(records))
    _, shared, calls = records[k]
    value = bytes([random.choice((0, 1, 2, 3, 5, 7)) + 16 * random.choice((0, 1, 2, 14, 15))])
    place = random.randrange(24, len(shared)) if len(shared) > 24 and random.random() < 0.5 else None
    if place is not None:
        _set(records, k, shared[:place] + value + shared[place + 1 :], calls)
    elif calls:
        place = random.randrange(min(len(calls), 8))
        _set(records, k, shared, calls[:place] + value + calls[place + 1 :])


def _set_lengths(random: Random, records: list[_Record]) -> None:
    k = random.randrange(len(records))
    lengths = [*records[k][0]]
    lengths[random.randrange(2)] = random.choice(
        (whole_number(random) % (1 << 32), lengths[0] + 1, lengths[1] - 1 & 0xFF)
    )
    records[k] = ((lengths[0], lengths[1]), *records[k][1:])


def _copy_record(random: Random, records: list[_Record]) -> None:
    records.insert(random.randrange(len(records)), random.choice(records))


_RECORD_CHANGES: list[_RecordChange] = [
    *(
        _set_place,
        _set_place,
        _damage_shared,
        _damage_calls,
        _set_descriptor,
        _set_descriptor,
        _set_lengths,
        _copy_record,
    ),
]


FORMATS = [
    Format("vcf", _make_vcf, _change_vcf),
    Format("vcf.gz", _make_vcf_gz, _change_vcf, in_bgzip),
    Format("bcf", _make_bcf, _change_bcf, in_bgzip),
]
