"""AnnData and VCF/BCF files: what was written comes back, and broken files are refused in one sentence."""

import gzip
import lzma
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from saltmine.io import read
from tests.helpers.paths import shared_path
from tests.helpers.reading import refusal

h5py = pytest.importorskip("h5py")
cyvcf2 = pytest.importorskip("cyvcf2")


def dense(table):
    return table.X.toarray() if sp.issparse(table.X) else table.X


# ---------------------------------------------------------------------------------------------------------- AnnData

CELLS = ["AAC-1", "AAG-1", "CCA-1", "GTT-1"]
GENES = ["CD4", "CD8A", "MKI67"]
COUNTS = np.array([[0, 2, 0], [1, 0, 0], [0, 0, 0], [5, 1, 1]], dtype=np.float32)
TISSUES = pd.Categorical(["blood", "skin", "skin", "blood"])


def write_h5ad(path, X=COUNTS, obs=None, cells=CELLS, genes=GENES):
    """Write an AnnData file as its format is described, without the library."""
    with h5py.File(path, "w") as file:
        if X is not None:
            write_matrix(file, X)
        write_frame(file.create_group("obs"), cells, {"tissue": TISSUES} if obs is None else obs)
        write_frame(file.create_group("var"), genes, {})
    return path


def write_matrix(file, X):
    if not sp.issparse(X):
        file["X"] = X
        return
    group = file.create_group("X")
    group.attrs["encoding-type"] = f"{X.format}_matrix"
    group.attrs["shape"] = X.shape
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(X, part)


def write_frame(group, names, columns):
    group.attrs["encoding-type"] = "dataframe"
    group.attrs["_index"] = "barcode"
    write_column(group, "barcode", np.array(names, dtype=object))
    for name, values in columns.items():
        write_column(group, name, values)


def write_column(group, name, values):
    if isinstance(values, pd.Categorical):
        inner = group.create_group(name)
        inner["codes"] = values.codes
        write_column(inner, "categories", np.asarray(values.categories))
    elif isinstance(values, pd.api.extensions.ExtensionArray):
        inner = group.create_group(name)
        inner["mask"] = values.isna()
        write_column(inner, "values", values.fillna(values[0]).to_numpy())
    elif np.asarray(values).dtype.kind in "OU":
        group.create_dataset(name, data=np.asarray(values, dtype=object), dtype=h5py.string_dtype())
    else:
        group[name] = values


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "dtype"),
    [
        (np.asarray, np.float32),
        (np.asarray, bool),
        (sp.csr_array, np.int64),
        (sp.csr_array, bool),
        (sp.csc_array, np.float32),
        (sp.csc_array, np.int64),
    ],
)
def test_matrix_of_an_anndata_file_comes_back(tmp_path, form, dtype):
    X = COUNTS.astype(dtype)
    table = read(write_h5ad(tmp_path / "cells.h5ad", form(X)))
    np.testing.assert_array_equal(dense(table), X)
    assert sp.issparse(table.X) == (form is not np.asarray)
    assert getattr(table.X, "format", "csr") == "csr"
    assert table.y is None
    assert table.row_names.tolist() == CELLS
    assert table.item_names.tolist() == GENES


def wide_pointers(file):
    pointers = np.array(file["X/indptr"], dtype=np.int64)
    del file["X/indptr"]
    file["X/indptr"] = pointers


@pytest.mark.slow
def test_pointers_of_more_bits_do_not_double_the_indices(tmp_path):
    path = write_h5ad(tmp_path / "cells.h5ad", sp.csr_array(COUNTS))
    with h5py.File(path, "a") as file:
        wide_pointers(file)
        assert file["X/indices"].dtype == np.int32
    table = read(path)
    np.testing.assert_array_equal(dense(table), COUNTS)
    assert table.X.indices.dtype == table.X.indptr.dtype == np.int32


@pytest.mark.slow
@pytest.mark.parametrize("end", [2**32 + 9, -1, 2**62])
def test_pointers_that_fit_no_smaller_type_are_refused_and_not_cut(tmp_path, end):
    path = write_h5ad(tmp_path / "cells.h5ad", sp.csr_array(COUNTS))
    with h5py.File(path, "a") as file:
        wide_pointers(file)
        file["X/indptr"][-1] = end
    assert "damaged" in refusal(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "storage", "userblock"),
    [
        *((dtype, {}, 0) for dtype in ("<f8", ">f8", "<f4", ">i2", "|u1", "<i8")),
        *((dtype, {"chunks": (2, 2)}, 0) for dtype in ("<f4", ">i2")),
        *((dtype, {"compression": "gzip"}, 0) for dtype in (">f8", "|u1")),
        (">f8", {}, 512),
        ("|u1", {}, 512),
        ("<i8", {"chunks": (2, 2)}, 512),
        ("<f4", {"compression": "gzip"}, 512),
    ],
    ids=str,
)
def test_numbers_come_back_from_wherever_the_file_has_them(tmp_path, dtype, storage, userblock):
    path = write_h5ad(tmp_path / "cells.h5ad", X=None)
    with h5py.File(path) as file, h5py.File(tmp_path / "again.h5ad", "w", userblock_size=userblock) as again:
        for name in ("obs", "var"):
            file.copy(name, again)
        again.create_dataset("X", data=COUNTS.astype(dtype), **storage)
    np.testing.assert_array_equal(read(tmp_path / "again.h5ad").X, COUNTS)


@pytest.mark.slow
def test_numbers_of_a_width_that_numpy_does_not_have_come_back(tmp_path):
    path = write_h5ad(tmp_path / "cells.h5ad", X=None)
    narrow = h5py.h5t.STD_I16LE.copy()
    narrow.set_precision(5)
    narrow.set_offset(3)
    with h5py.File(path, "a") as file:
        node = h5py.h5d.create(file.id, b"X", narrow, h5py.h5s.create_simple(COUNTS.shape))
        node.write(h5py.h5s.ALL, h5py.h5s.ALL, COUNTS.astype(np.int16))
    np.testing.assert_array_equal(read(path).X, COUNTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (TISSUES, ["blood", "skin", "skin", "blood"]),
        (pd.Categorical([7, 3, 3, 7]), [7, 3, 3, 7]),
        (["ill", "well", "ill", "gesünder"], ["ill", "well", "ill", "gesünder"]),
        (np.array([2, 1, 1, 2], dtype=np.uint8), [2, 1, 1, 2]),
        (np.array([True, False, False, True]), [True, False, False, True]),
        (pd.array([2, 1, 1, 2], dtype="Int64"), [2, 1, 1, 2]),
        (pd.array([True, False, True, True], dtype="boolean"), [True, False, True, True]),
        (pd.array(["a", "b", "a", "b"], dtype="string"), ["a", "b", "a", "b"]),
    ],
    ids=["categories", "numbered categories", "text", "numbers", "truth", "Int64", "boolean", "string"],
)
def test_labels_of_cells_come_back_however_they_are_stored(tmp_path, column, labels):
    path = write_h5ad(tmp_path / "cells.h5ad", obs={"state": column, "donor": ["d1", "d1", "d2", "d2"]})
    table = read(path, target="state", group="donor")
    assert table.y.tolist() == labels
    assert table.groups.tolist() == ["d1", "d1", "d2", "d2"]


@pytest.mark.slow
def test_categories_and_sparse_matrices_of_older_anndata_files_come_back(tmp_path):
    path = write_h5ad(tmp_path / "old.h5ad", sp.csr_array(COUNTS), obs={"tissue": TISSUES.codes})
    with h5py.File(path, "a") as file:
        categories = file["obs"].create_dataset(
            "__categories/tissue", data=["blood", "skin"], dtype=h5py.string_dtype()
        )
        file["obs/tissue"].attrs["categories"] = categories.ref
        del file["X"].attrs["encoding-type"], file["X"].attrs["shape"]
        file["X"].attrs["h5sparse_format"], file["X"].attrs["h5sparse_shape"] = "csr", COUNTS.shape
    table = read(path, target="tissue")
    assert table.y.tolist() == list(TISSUES)
    np.testing.assert_array_equal(dense(table), COUNTS)
    assert "__categories" not in refusal(path, target="age")


def test_cells_take_their_classes_from_a_label_file(tmp_path):
    path = write_h5ad(tmp_path / "cells.h5ad", obs={"donor": ["d1", "d1", "d2", "d2"]})
    sheet = tmp_path / "sheet.tsv"
    sheet.write_text("cell\tstate\n" + "".join(f"{cell}\t{cell[:2]}\n" for cell in reversed(CELLS)))
    table = read(path, labels=sheet, target="state", group="donor")
    assert table.y.tolist() == ["AA", "AA", "CC", "GT"]
    assert table.groups.tolist() == ["d1", "d1", "d2", "d2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(["a", "b", None, "a"]),
        pd.array([1, 2, None, 1], dtype="Int64"),
        np.array([1, 2, np.nan, 1]),
        ["a", "b", "", "a"],
        pd.Categorical.from_codes([-1] * 4, ["a"]),
    ],
    ids=["category", "masked", "NaN", "empty text", "none at all"],
)
def test_a_cell_without_a_label_is_named(tmp_path, column):
    message = refusal(write_h5ad(tmp_path / "cells.h5ad", obs={"state": column}), target="state")
    assert "'state'" in message
    assert "'CCA-1'" in message or "'AAC-1'" in message


def damaged(change):
    """Return a function that writes an AnnData file and then changes it."""

    def write(path):
        write_h5ad(path, sp.csr_array(COUNTS))
        with h5py.File(path, "a") as file:
            change(file)

    return write


def replaced(file, name, value):
    del file[name]
    file[name] = value


BROKEN_H5AD = {
    "text": (lambda path: path.write_text("cell,CD4\nAAC-1,0\n"), "not HDF5"),
    "empty": (lambda path: path.write_bytes(b""), "not HDF5"),
    "compressed": (lambda path: path.write_bytes(gzip.compress(write_h5ad(path).read_bytes())), "decompress"),
    "cut off": (lambda path: path.write_bytes(write_h5ad(path).read_bytes()[:3000]), "damaged"),
    "no X": (lambda path: write_h5ad(path, None), "no matrix X"),
    "X of text": (damaged(lambda file: replaced(file, "X", "none")), "not a matrix of numbers"),
    "X of one dimension": (damaged(lambda file: replaced(file, "X", np.ones(4))), "not a matrix of numbers"),
    "no cells": (lambda path: write_h5ad(path, np.ones((0, 3)), {"tissue": []}, cells=[]), "no data"),
    "unknown form": (damaged(lambda file: file["X"].attrs.modify("encoding-type", "coo")), "stored as 'coo'"),
    "no shape": (damaged(lambda file: file["X"].attrs.pop("shape")), "stored as"),
    "no data": (damaged(lambda file: file["X"].pop("data")), "data"),
    "index beyond": (damaged(lambda file: file["X/indices"].__setitem__(0, 99)), "damaged"),
    "pointers beyond": (damaged(lambda file: file["X/indptr"].__setitem__(-1, 99)), "damaged"),
    "no obs": (damaged(lambda file: file.pop("obs")), "obs"),
    "obs of before 0.7": (damaged(lambda file: replaced(file, "obs", np.zeros(4))), "since 0.7"),
    "no index": (damaged(lambda file: file["var"].pop("barcode")), "var has no index 'barcode'"),
    "too few cells": (
        lambda path: write_h5ad(path, obs={"tissue": TISSUES[:3]}, cells=CELLS[:3]),
        "X is 4 x 3, but obs has 3 rows and var 3",
    ),
    "too many genes": (
        lambda path: write_h5ad(path, genes=[*GENES, "TP53"]),
        "X is 4 x 3, but obs has 4 rows and var 4",
    ),
    "two cells of a name": (lambda path: write_h5ad(path, cells=["a", "b", "a", "c"]), "'a' is the name of two cells"),
    "two genes of a name": (lambda path: write_h5ad(path, genes=["a", "b", "a"]), "'a' is the name of two variables"),
    "column too short": (damaged(lambda file: replaced(file, "obs/tissue", [1, 2])), "2 values for 4 cells"),
    "unknown category": (damaged(lambda file: file["obs/tissue/codes"].__setitem__(0, 9)), "category 9 of 2"),
    "no codes": (damaged(lambda file: file["obs/tissue"].pop("codes")), "cannot be read"),
    "no such column": (damaged(lambda file: file["obs"].move("tissue", "Tissue_1")), "did you mean 'Tissue_1'"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BROKEN_H5AD)
def test_a_broken_anndata_file_is_refused(tmp_path, case):
    write, complaint = BROKEN_H5AD[case]
    path = tmp_path / "cells.h5ad"
    write(path)
    message = refusal(path, target="tissue")
    assert str(path) in message
    assert complaint in message


def test_a_folder_is_no_anndata_file(tmp_path):
    assert "is a folder" in refusal(tmp_path, format="h5ad")


# -------------------------------------------------------------------------------------------------------------- VCF

HEADER = '##fileformat=VCFv4.2\n##contig=<ID=chr1>\n##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT"


def record(*genotypes, position=10, alternatives="G", chromosome="chr1", reference="A", format="GT"):
    fixed = [chromosome, str(position), ".", reference, alternatives, ".", "PASS", ".", format]
    return "\t".join([*fixed, *genotypes]) + "\n"


def vcf(*records, samples=("s1", "s2")):
    return HEADER + "\t".join([COLUMNS, *samples]) + "\n" + "".join(records)


def write_vcf(path, content):
    """Write a VCF file; as BCF or compressed with bgzip if the suffix says so."""
    if path.suffix == ".vcf":
        path.write_text(content)
        return path
    plain = path.with_name("plain.vcf")
    plain.write_text(content)
    source = cyvcf2.VCF(plain)
    writer = cyvcf2.Writer(path, source, "wb" if path.suffix == ".bcf" else "wz")
    writer.write_header()
    for variant in source:
        writer.write_record(variant)
    writer.close()
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["calls.vcf", "calls.vcf.gz", "calls.bcf"])
def test_carriers_of_every_allele_come_back(tmp_path, name):
    rng = np.random.default_rng(0)
    samples = [f"s{k}" for k in range(7)]
    records, expected = [], {}
    for position in range(100, 150):
        alleles = rng.choice(["C", "G", "T", "AT", "<DEL>"], size=rng.integers(1, 4), replace=False)
        genotypes = [rng.choice([-1, *range(len(alleles) + 1)], size=rng.integers(1, 4)) for _ in samples]
        texts = [rng.choice(["/", "|"]).join("." if k < 0 else str(k) for k in genotype) for genotype in genotypes]
        records.append(record(*texts, position=position, alternatives=",".join(alleles)))
        for number, allele in enumerate(alleles, start=1):
            expected[f"chr1:{position} A>{allele}"] = [number in genotype for genotype in genotypes]
    table = read(write_vcf(tmp_path / name, vcf(*records, samples=samples)))
    assert table.kind == "loci"
    assert table.row_names.tolist() == samples
    assert table.item_names.tolist() == list(expected)
    np.testing.assert_array_equal(table.X.toarray().T, list(expected.values()))
    assert table.X.has_canonical_format
    assert table.y is None


def test_records_of_the_same_alteration_are_one_item(tmp_path):
    same = record("0/1", "0/0"), record("0/0", "./."), record("1/1", "1/1", position=20), record("0/0", "0/1")
    table = read(write_vcf(tmp_path / "calls.vcf", vcf(*same)))
    assert table.item_names.tolist() == ["chr1:10 A>G", "chr1:20 A>G"]
    assert table.X.toarray().tolist() == [[1, 1], [1, 1]]


def test_alleles_that_say_nothing_are_no_items(tmp_path):
    records = (
        record("1/2", "3/4", alternatives="*,<DEL>,<*>,<NON_REF>"),
        record("0/0", "./.", position=20, alternatives="."),
    )
    table = read(write_vcf(tmp_path / "calls.vcf", vcf(*records)))
    assert table.item_names.tolist() == ["chr1:10 A><DEL>"]
    assert table.X.toarray().tolist() == [[1], [0]]


def test_chromosomes_are_called_the_same_in_all_files(tmp_path):
    records = [record("0/1", "0/0", chromosome=name) for name in ("7", "X", "MT", "chr7", "GL000192.1")]
    table = read(write_vcf(tmp_path / "calls.vcf", vcf(*records)))
    assert table.item_names.tolist() == ["chr7:10 A>G", "chrX:10 A>G", "chrMT:10 A>G", "GL000192.1:10 A>G"]


def test_samples_take_classes_and_patients_from_a_sheet(tmp_path):
    path = write_vcf(tmp_path / "calls.vcf", vcf(record("0/1", "0/0")))
    sheet = tmp_path / "samples.tsv"
    sheet.write_text("s2\tP1\ttumour\ns9\tP9\ttumour\ns1\tP1\tnormal\n")
    table = read(path, labels=sheet)
    assert table.y.tolist() == ["normal", "tumour"]
    assert table.groups.tolist() == ["P1", "P1"]
    sheet.write_text("s2\tP1\ttumour\n")
    assert "'s1'" in refusal(path, labels=sheet)


@pytest.mark.slow
def test_htslib_writes_nothing_to_the_terminal(tmp_path, capfd):
    # Neither the chromosome nor GT is defined in the header, which it would warn of.
    content = vcf(record("0/1", "0/0", chromosome="chr9")).replace(HEADER, "##fileformat=VCFv4.2\n")
    table = read(write_vcf(tmp_path / "calls.vcf", content))
    refusal(write_vcf(tmp_path / "bad.vcf", vcf(record("0/1", "nonsense"))))
    assert table.shape == (2, 1)
    assert capfd.readouterr() == ("", "")


def test_gzip_in_place_of_bgzip_is_read(tmp_path):
    path = tmp_path / "calls.vcf.gz"
    path.write_bytes(gzip.compress(vcf(record("0/1", "0/0")).encode()))
    assert read(path).X.toarray().tolist() == [[1], [0]]


BROKEN_VCF = {
    "empty": ("", "not a VCF or BCF file"),
    "another format": ("sample,chr1:10\ns1,1\n", "not a VCF or BCF file"),
    "no ##fileformat": (vcf(record("0/1", "0/0")).removeprefix("##fileformat=VCFv4.2\n"), "##fileformat=VCF"),
    "no column names": (HEADER + record("0/1", "0/0"), "line 4: this is neither a header line"),
    "spaces for tabs": (vcf(record("0/1", "0/0")).replace("\t", " "), "line 4: this is neither a header line"),
    "no FORMAT": (vcf(record("0/1", "0/0")).replace("\tFORMAT", ""), "line 4: this is neither a header line"),
    "header only in part": (HEADER, "ends within its header"),
    "no samples": (HEADER + COLUMNS.removesuffix("\tFORMAT") + "\n", "no samples"),
    "two samples of a name": (vcf(record("0/1", "0/0"), samples=["s1", "s1"]), "'s1' is the name of two samples"),
    "no records": (vcf(), "no records"),
    "no alterations": (vcf(record("0/0", "0/0", alternatives=".")), "no records with an alternative allele"),
    "too few columns": (vcf(record("0/1", "0/0"), record("0/1")), "line 6: 10 columns where the header has 11"),
    "too many columns": (vcf(record("0/1", "0/0", "1/1")), "line 5: 12 columns where the header has 11"),
    "empty line": (vcf(record("0/1", "0/0"), "\n", record("0/1", "0/0")), "line 6: the line is empty"),
    "two files in one": (vcf(record("0/1", "0/0")) * 2, "line 6: there is a header line"),
    "bad position": (vcf(record("0/1", "0/0"), record("0/1", "0/0", position="ten")), "record 2"),
    "bad genotype": (vcf(record("0/1", "yes")), "record 1"),
    "sample without a name": (vcf(record("0/1", "0/0"), samples=["s1", ""]), "line 4: a sample has no name"),
    "allele beyond": (vcf(record("0/1", "0/3")), "sample 's2' has allele 3 at chr1:10"),
    "no genotypes": (vcf(record("7", "9", format="DP")), "chr1:10 has no genotypes"),
    "genotypes left out": (vcf(record("7", "9", format="DP:GT")), "chr1:10 has no genotypes"),
    "no FORMAT in a record": (vcf(record(".", ".", format=".")), "chr1:10 has no genotypes"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BROKEN_VCF)
@pytest.mark.parametrize("suffix", [".vcf", ".vcf.gz"])
def test_a_broken_vcf_file_is_refused(tmp_path, case, suffix, capfd):
    content, complaint = BROKEN_VCF[case]
    path = tmp_path / f"calls{suffix}"
    path.write_bytes(gzip.compress(content.encode()) if suffix == ".vcf.gz" else content.encode())
    message = refusal(path)
    assert str(path) in message
    assert complaint in message
    assert capfd.readouterr().err == ""


def cut(data, share):
    return data[: int(len(data) * share)]


BROKEN_BYTES = {
    "cut off": ("calls.vcf.gz", lambda data: cut(data, 0.7), "truncated"),
    "cut off between blocks": ("calls.vcf.gz", lambda data: data[:-28], "last block is missing"),
    "BCF cut off": ("calls.bcf", lambda data: cut(data, 0.7), "truncated"),
    "BCF cut off between blocks": ("calls.bcf", lambda data: data[:-28], "last block is missing"),
    "BCF without compression": ("calls.bcf", gzip.decompress, "without compression"),
    "BCF with half a header": ("calls.bcf", lambda data: gzip.compress(gzip.decompress(data)[:40]), "its header"),
    "BCF with half a record": ("calls.bcf", lambda data: gzip.compress(gzip.decompress(data)[:-3]), "record"),
    "BCF without column names": (
        "calls.bcf",
        lambda data: gzip.compress(gzip.decompress(data).replace(b"#CHROM", b"##HROM")),
        "no line #CHROM",
    ),
    "a byte changed": ("calls.vcf.gz", lambda data: data[:60] + bytes([data[60] ^ 255]) + data[61:], "damaged"),
    "garbage after gzip's magic": ("calls.vcf.gz", lambda data: b"\x1f\x8b" + b"garbage" * 9, "damaged"),
    "not compressed at all": ("calls.vcf.gz", gzip.decompress, "damaged"),
    "xz": ("calls.vcf.xz", lzma.compress, "not xz"),
    "samples in another encoding": ("calls.vcf", lambda data: data.replace(b"s1", b"s\xe9"), "not UTF-8"),
    "alleles in another encoding": ("calls.vcf", lambda data: data.replace(b"\tG\t", b"\t\xe9\t"), "record 1"),
    "zeros": ("calls.vcf", lambda data: bytes(1000), "not a VCF or BCF file"),
    "a zero in the header": ("calls.vcf", lambda data: data.replace(b"ID=GT", b"ID=\0"), "header cannot be read"),
}


@pytest.mark.parametrize("case", BROKEN_BYTES)
def test_a_damaged_variant_file_is_refused(tmp_path, case, capfd):
    name, damage, complaint = BROKEN_BYTES[case]
    content = vcf(*(record("0/1", "0/0", position=k) for k in range(10, 400)))
    path = tmp_path / name
    whole = write_vcf(tmp_path / f"whole{'.bcf' if name.endswith('.bcf') else '.vcf.gz'}", content)
    path.write_bytes(damage(content.encode() if name in ("calls.vcf", "calls.vcf.xz") else whole.read_bytes()))
    message = refusal(path)
    assert str(path) in message
    assert complaint in message
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_no_way_to_cut_a_bgzip_file_off_goes_unnoticed(tmp_path):
    whole = write_vcf(tmp_path / "whole.vcf.gz", vcf(record("0/1", "0/0"))).read_bytes()
    path = tmp_path / "calls.vcf.gz"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert str(path) in refusal(path)


def test_what_a_vcf_file_cannot_have_is_refused(tmp_path):
    path = write_vcf(tmp_path / "calls.vcf", vcf(record("0/1", "0/0")))
    assert "'tissue' for target" in refusal(path, target="tissue")
    assert "takes no separator" in refusal(path, separator=",")
    assert "cannot be read" in refusal(tmp_path, format="vcf")


@pytest.mark.parametrize(("library", "name"), [("cyvcf2", "calls.vcf"), ("h5py", "cells.h5ad")], ids=["cyvcf2", "h5py"])
def test_a_missing_library_is_named(tmp_path, monkeypatch, library, name):
    monkeypatch.setitem(sys.modules, library, None)
    path = tmp_path / name
    path.touch()
    with pytest.raises(ImportError, match=rf"the library {library}; pip install 'saltmine\[bio\]'"):
        read(path)


# ------------------------------------------------------------------------------------------- rows and items left out


@pytest.mark.slow
def test_cells_without_a_class_can_be_left_out(tmp_path):
    states = np.array(["on", "nan", "off", ""], dtype=object)
    path = write_h5ad(tmp_path / "cells.h5ad", obs={"state": states, "donor": np.array(list("abcd"), dtype=object)})
    said = refusal(path, target="state")
    assert "the cell 'AAG-1' has no 'state'; add it, or leave such rows out with --drop-unlabelled" in said
    table = read(path, target="state", group="donor", drop_unlabelled=True)
    assert table.y.tolist() == ["on", "off"]
    assert table.row_names.tolist() == ["AAC-1", "CCA-1"]
    np.testing.assert_array_equal(dense(table), COUNTS[[0, 2]])
    assert (table.groups.tolist(), table.group_name) == (["a", "c"], "donor")
    assert table.notes == ("Left out 2 rows without a class.",)


@pytest.mark.slow
def test_samples_without_a_class_and_rare_alterations_can_be_left_out(tmp_path):
    records = record("0/1", "0/0"), record("1/1", "0/1", position=20)
    path = write_vcf(tmp_path / "calls.vcf", vcf(*records))
    table = read(path, min_samples=2)
    assert table.item_names.tolist() == ["chr1:20 A>G"]
    assert table.notes == ("Left out 1 item in fewer than 2 rows (min_samples, --min-samples).",)
    sheet = tmp_path / "samples.csv"
    sheet.write_text(f"sample,class\n{table.row_names[0]},NA\n{table.row_names[1]},x\n")
    table = read(path, labels=sheet, drop_unlabelled=True)
    assert table.X.toarray().tolist() == [[0, 1]]
    assert table.y.tolist() == ["x"]


# -------------------------------------------------------------------------------------------------------- real files


def test_a_simulated_genome_has_its_samples_and_patients():
    path = shared_path("genome/small/subset.vcf.gz")
    table = read(path, labels=path.with_name("samples.tsv"))
    n_records = gzip.decompress(path.read_bytes()).count(b"\nchr")
    assert 0 < table.shape[1] <= n_records
    assert len(table.y) == len(table.groups) == table.shape[0]
    assert len(set(table.groups)) < len(table.groups)
    assert all(name.startswith("chr") for name in table.item_names)
    assert 0.1 < table.X.nnz / np.prod(table.shape) < 0.6
