"""Reading within a limit of memory: what needs more is refused before it is read, and real files are not refused."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fuzz.bombs import BOMBS, MAX_BYTES, Bomb, read_bomb
from saltmine.io import ReadError, read
from saltmine.io.limits import (
    FREE,
    FREE_DATA,
    MAX_EXPANSION,
    MAX_RATIO,
    allowed_memory,
    check_expansion,
    check_memory,
    check_shape,
    keep_memory,
    out_of_memory,
    reading_within,
)
from saltmine.io.vcf import _n_alleles
from saltmine.io.wide import WIDE, wide_frame
from tests.helpers.command_line import refused, run
from tests.helpers.reading import refusal, refusal_of_file
from tests.io.test_bio import record, vcf, write_h5ad, write_vcf

RNG = np.random.default_rng(0)
CELLS = (RNG.random((300, 40)) < 0.3).astype(np.int8)
MAF = "Hugo_Symbol\tTumor_Sample_Barcode\n" + "".join(f"G{k % 50}\ts{k % 70}\n" for k in range(2000))


def write(path):
    """Write a file of about ten kilobytes in the format that its suffix tells."""
    frame = pd.DataFrame(CELLS, columns=[f"item{k}" for k in range(CELLS.shape[1])])
    writers = {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".gz": lambda: frame.to_csv(path, index=False),
        ".parquet": lambda: frame.to_parquet(path),
        ".npz": lambda: sp.save_npz(path, sp.csr_array(CELLS)),
        ".mtx": lambda: path.write_text(
            f"%%MatrixMarket matrix array integer general\n{CELLS.shape[0]} {CELLS.shape[1]}\n"
            + "\n".join(map(str, CELLS.T.ravel()))
        ),
        ".dat": lambda: path.write_text("".join(" ".join(map(str, np.flatnonzero(row))) + "\n" for row in CELLS)),
        ".h5ad": lambda: write_h5ad(path, CELLS, {}, [f"c{k}" for k in range(300)], [f"g{k}" for k in range(40)]),
        ".vcf": lambda: write_vcf(path, vcf(*(record("0/1", "1/1", position=k) for k in range(300)))),
        ".maf": lambda: path.write_text(MAF),
        ".jsonl": lambda: path.write_text('{"text": "bread and butter", "label": "a"}\n' * 300),
    }
    writers[path.suffix]()
    return path


NAMES = ["a.csv", "a.csv.gz", "a.parquet", "a.npz", "a.mtx", "a.dat", "a.h5ad", "a.vcf", "a.maf", "a.jsonl"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_format_keeps_to_a_limit_that_is_given(tmp_path, name):
    path = write(tmp_path / name)
    read(path)
    read(path, max_memory="1G")
    said = refusal_of_file(path, max_memory=5000)
    assert "may be used" in said or "of memory" in said
    assert "--max-memory" in said
    assert "max_memory='" in said


def test_labels_and_names_of_items_keep_to_the_limit(tmp_path):
    data = tmp_path / "a.npz"
    sp.save_npz(data, sp.csr_array(np.ones((2, 3), dtype=np.int8)))
    labels, names = tmp_path / "labels.txt", tmp_path / "names.txt"
    labels.write_text("a\nb\n" + "c" * 5000)
    names.write_text("x\ny\n" + "z" * 5000)
    said = refusal(data, labels=labels, max_memory=20_000)
    assert f"{labels}: the text takes more than" in said
    assert str(names) in refusal(data, items=names, max_memory=10_000)


def test_the_sum_of_all_files_keeps_to_the_limit(tmp_path):
    paths = {}
    for label in "abcd":
        paths[label] = tmp_path / f"{label}.npz"
        np.savez(paths[label], X=CELLS, item_names=np.array([f"i{k}" for k in range(40)]))
    # One fits, and so do three, but not one more.
    assert read(paths["a"], max_memory=40_000).shape == (300, 40)
    assert "b.npz" in refusal({"a": paths["a"], "b": paths["b"]}, max_memory=40_000)
    assert read({"a": paths["a"], "b": paths["b"]}, max_memory="1M").shape == (600, 40)
    assert "d.npz" in refusal(paths, max_memory=125_000)


@pytest.mark.slow
def test_records_of_a_vcf_are_counted_before_htslib_reads_them(tmp_path):
    path = write_vcf(tmp_path / "calls.vcf", vcf(*(record("0/1", "1|1", position=k) for k in range(1, 20_001))))
    assert "a file with so many records takes more than" in refusal_of_file(path, max_memory="2M")
    assert read(path).shape == (2, 20_000)
    fields = b"chr1\t1\t.\tA\t%s\t.\t.\t.\tGT\t0/1\n"
    alleles = {b"G": 1, b".": 0, b"<NON_REF>": 0, b"G,C": 2, b"G,<NON_REF>": 1, b"*,<*>": 0, b"<DEL>": 1}
    assert {allele: _n_alleles(fields % allele) for allele in alleles} == alleles


def test_documents_of_a_folder_count_together(tmp_path):
    for k in range(50):
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "a" / f"{k}.txt").write_text("bread and butter " * 20)
    assert "the text takes more than" in refusal(tmp_path, max_memory=50_000)
    assert read(tmp_path, max_memory="10M").shape[0] == 50


@pytest.mark.parametrize("size", ["much", "0", -1])
def test_a_wrong_limit_is_refused(tmp_path, size):
    assert "max_memory (--max-memory): " in refusal(write(tmp_path / "a.csv"), max_memory=size)


def test_the_command_line_has_the_limit(tmp_path):
    path = write(tmp_path / "a.csv")
    assert "--max-memory" in refused("fit", path, "--method", "primp", "--max-memory", "5000", "-o", tmp_path / "out")
    result = run("fit", path, "--max-memory", "much", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "'much' is not a size of memory; write it as 500M or 2G." in result.stderr


# -------------------------------------------------------------------------------------------------------- small files


def test_a_small_file_may_take_what_every_file_may_and_a_large_one_more():
    with reading_within(None, share=1):
        assert allowed_memory(100) == FREE
        assert allowed_memory(FREE // MAX_RATIO * 2) > FREE
        assert allowed_memory(None) > FREE
    with reading_within("5T"):
        assert allowed_memory(100) == 5 << 40


def test_the_sentences_name_what_is_needed_and_the_way_out():
    with reading_within(None, share=1):
        with pytest.raises(ReadError) as caught:
            check_memory(2 * FREE, "a table", 1000)
        way_out = "allow it with --max-memory 3G (max_memory='3G')"
        assert str(caught.value) == (
            f"a table takes about 2 GB of memory, but the file has only 1,000 bytes; if that is right, {way_out}."
        )
        with pytest.raises(ReadError, match=r"more than 2 GB of memory, .*allow it with --max-memory 10G"):
            check_memory(2 * FREE, "the text", 1000, in_part=True)
        with pytest.raises(
            ReadError, match=r"250 KB of the file become 256 MB when they are decompressed, as data hardly"
        ):
            check_expansion(FREE_DATA + 1, 250 * 1024, "the file")
    with reading_within(10_000):
        with pytest.raises(ReadError) as caught:
            check_shape(100, 100, 0, 10)
        limit = "9.8 KB may be used; read less at a time, or raise the limit with --max-memory 1M (max_memory='1M')"
        needed = "a matrix of 100 rows and 100 columns takes about 12.5 KB of memory"
        assert str(caught.value) == f"{needed}, but only {limit}."
        assert "takes more than 9.8 KB of memory; if that is right, allow more with" in str(out_of_memory(10))
        keep_memory(9000)
        with pytest.raises(ReadError, match="only 1,000 bytes may be used"):
            check_memory(2000, "it", None)
    with reading_within(None), pytest.raises(ReadError, match=r", 50% of what is available; read less at a time"):
        check_memory(1e18, "it", None)


def test_real_files_are_not_refused():
    with reading_within("100G"):
        check_expansion(1 << 40, 10, "the file")
    with reading_within(None, share=1):
        # 56 genomes with 3.7 million columns, of which a tenth are carried, in 60 MB.
        check_shape(56, 3_700_000, 4 * 5 * 20_000_000, 60 << 20)
        # A table of zeros and ones that gzip makes 475 times smaller.
        check_expansion(4 << 30, (4 << 30) // 475, "the file")
        # Data that is all the same, but not much of it.
        check_expansion(FREE_DATA, 1000, "the file")
        check_expansion(MAX_EXPANSION << 20, 1 << 20, "the file")


@pytest.mark.slow
def test_a_sparse_table_in_a_thousand_times_smaller_file_is_read(tmp_path):
    cells = RNG.random((2000, 5000)) < 0.001
    lines = [",".join(f"i{k}" for k in range(5000)), *(",".join("01"[int(cell)] for cell in row) for row in cells)]
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert path.stat().st_size * 250 < len("\n".join(lines))
    np.testing.assert_array_equal(read(path).X.to_numpy(), cells)


# ------------------------------------------------------------------------------------------------------------ archives


def member(header, data, method=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        content = io.BytesIO()
        np.lib.format.write_array_header_1_0(content, header)
        archive.writestr("X.npy", content.getvalue() + data)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("contents", "complaint"),
    [
        (
            member({"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}, bytes(80)),
            "the array 'X' has the shape (1000000, 1000000), but the file has fewer values",
        ),
        (
            member({"descr": "|i1", "fortran_order": False, "shape": (2, 2)}, bytes(4), zipfile.ZIP_BZIP2),
            "the archive is compressed in a way that numpy does not",
        ),
    ],
    # The archives have the time in them.
    ids=["shape", "compression"],
)
def test_archives_that_lie_are_refused(written, contents, complaint):
    assert complaint in refusal_of_file(written("a.npz", contents))


@pytest.mark.parametrize("code", [0xD800, 0xDFFF, 0x110000, 0xFFFFFFFF])
@pytest.mark.parametrize("order", ["<", ">"])
def test_text_with_broken_characters_is_refused(tmp_path, code, order):
    labels = np.array(["Mainz", "Trier"]).astype(f"{order}U5")
    labels.view(f"{order}u4")[7] = code
    np.savez(tmp_path / "a.npz", X=np.eye(2, dtype=np.int8), y=labels)
    assert "value 2 of the array 'y' has a broken character" in refusal_of_file(tmp_path / "a.npz")


def test_json_with_half_a_character_is_refused(written):
    lines = '{"text": "bread", "label": "a"}\n{"text": "bread", "label": "\\ud800"}\n'
    said = refusal_of_file(written("a.jsonl", lines), min_docs=1)
    assert "row 2: the class '\\ud800' has a broken character" in said


def test_truth_values_other_than_0_and_1_are_mended(tmp_path):
    cells = np.array([[0, 1], [1, 1]], dtype=bool)
    cells.view(np.uint8)[0, 1] = 2
    np.savez(tmp_path / "a.npz", X=cells)
    assert read(tmp_path / "a.npz").X.view(np.uint8).tolist() == [[0, 1], [1, 1]]


def test_a_pipe_in_a_folder_of_documents_is_refused(tmp_path):
    import os

    (tmp_path / "a.txt").write_text("bread")
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no named pipes")
    os.mkfifo(tmp_path / "b.txt")
    assert "b.txt: this is not a file" in refusal(tmp_path)


# --------------------------------------------------------------------------------------------------------- wide tables

MARKERS = ["?", "", "NA", "nan"]


@pytest.mark.parametrize("seed", range(5))
def test_wide_tables_are_read_as_pandas_does(seed):
    rng = np.random.default_rng(seed)
    kinds = {
        "w": lambda: rng.integers(0, 2, 6),
        "n": lambda: rng.integers(-5, 5, 6),
        "f": lambda: rng.normal(size=6).round(3),
        "g": lambda: rng.choice(["1", "2.5", "NA", "", "?"], 6),
        "t": lambda: rng.choice(["red", "blue"], 6),
    }
    columns = {f"{kind}{k}": kinds[kind]() for k, kind in enumerate(rng.choice(list(kinds), 40))}
    text = pd.DataFrame(columns).to_csv(index=False)
    expected = pd.read_csv(io.StringIO(text), na_values=["?"])
    found = wide_frame(text.encode(), ",", list(columns), MARKERS, na_values=["?"])
    if found is None:
        # A column whose first value is a number or missing and that holds text further on.
        assert any(column.dtype.kind not in "if" for _, column in expected.items())
    else:
        pd.testing.assert_frame_equal(found, expected)


@pytest.mark.slow
def test_a_wide_table_of_numbers_with_a_class_is_read(tmp_path):
    n = WIDE + 5
    cells = RNG.integers(0, 2, (3, n))
    header = ",".join(["sample", *(f"c{k}" for k in range(n)), "class"])
    rows = [f"s{k}," + ",".join(map(str, row)) + f",{'ab'[k % 2]}" for k, row in enumerate(cells)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    table = read(path, target="class", row_names="sample")
    np.testing.assert_array_equal(table.X.to_numpy(), cells)
    assert (table.y.tolist(), table.row_names.tolist()) == (["a", "b", "a"], ["s0", "s1", "s2"])
    path.write_text("\n".join([header, rows[0], rows[1] + ",1"]) + "\n")
    assert f"line 3: {n + 3} fields where there are {n + 2} columns" in refusal_of_file(path, target="class")


@pytest.mark.slow
def test_very_many_columns_of_text_are_refused(tmp_path):
    header = ",".join(f"c{k}" for k in range(100_001))
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n" + (",".join(["x"] * 100_001) + "\n") * 2)
    assert "100,001 columns that are not all numbers, for which pandas takes very long; write" in refusal_of_file(path)


# --------------------------------------------------------------------------------------------------------------- bombs


def test_there_are_bombs_of_every_kind():
    assert len(BOMBS) >= 33
    assert len({bomb.name for bomb in BOMBS}) == len(BOMBS)


# One of every kind of file; ``python -m fuzz.bombs`` and ``make bench-trust`` read all. Tables are read alike whatever
# separates their columns, and whole files unpacked alike whatever is in them.
LEFT_OUT = {"a.csv", "a.tsv.gz", "a.parquet.gz", "Parquet of many columns"}
CHOSEN = {bomb.file: bomb for bomb in BOMBS if not {bomb.file, bomb.name} & LEFT_OUT}.values()


@pytest.mark.slow
@pytest.mark.parametrize("bomb", CHOSEN, ids=lambda bomb: bomb.name)
def test_a_bomb_is_refused_in_one_sentence(tmp_path, bomb: Bomb):
    _, outcome = read_bomb(bomb, tmp_path)
    assert outcome.said.startswith(("refused: ", "read: ")), outcome.said
    assert "\n" not in outcome.said
    assert outcome.n_bytes <= MAX_BYTES
