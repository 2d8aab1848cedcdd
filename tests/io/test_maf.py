"""MAF files: what was written comes back, what is left out is said, and broken files are refused in one sentence."""

import gzip
import re

import numpy as np
import pandas as pd
import pytest

from saltmine.io import read
from tests.helpers.paths import ROOT, shared_path
from tests.helpers.reading import refusal

MAF_COLUMNS = [
    "Hugo_Symbol",
    "Chromosome",
    "Start_Position",
    "Reference_Allele",
    "Tumor_Seq_Allele2",
    "Tumor_Sample_Barcode",
    "Centre",
]
MUTATIONS = [
    ["TP53", "17", "7577120", "C", "T", "s2", "Trier"],
    ["TP53", "17", "7577538", "C", "T", "s2", "Trier"],
    ["KRAS", "12", "25398284", "C", "A", "s1", "Mainz"],
    ["Unknown", "chr1", "100", "-", "AT", "s1", "Mainz"],
    ["TP53", "17", "7577120", "C", "T", "s3", "Mainz"],
]


def maf(mutations=MUTATIONS, columns=MAF_COLUMNS, comment="#version 2.4\n"):
    return comment + "".join("\t".join(fields) + "\n" for fields in [columns, *mutations])


def changed(row, column, value):
    mutations = [list(fields) for fields in MUTATIONS]
    mutations[row][MAF_COLUMNS.index(column)] = value
    return mutations


def with_effects(effects):
    mutations = [[*fields, effect] for fields, effect in zip(MUTATIONS, effects, strict=True)]
    return maf(mutations, [*MAF_COLUMNS, "Variant_Classification"])


@pytest.fixture
def maf_path(tmp_path):
    path = tmp_path / "mutations.maf"
    path.write_text(maf())
    return path


def test_mutated_genes_of_every_sample(maf_path):
    table = read(maf_path)
    assert table.kind == "items"
    assert table.row_names.tolist() == ["s2", "s1", "s3"]
    assert table.item_names.tolist() == ["TP53", "KRAS"]
    assert table.X.toarray().tolist() == [[1, 0], [0, 1], [1, 0]]
    assert table.y is None


def test_alterations_are_called_as_in_vcf_files(maf_path):
    table = read(maf_path, unit="alteration")
    assert table.kind == "loci"
    assert table.item_names.tolist() == [
        "chr17:7577120 C>T",
        "chr17:7577538 C>T",
        "chr12:25398284 C>A",
        "chr1:100 ->AT",
    ]
    assert table.X.toarray().tolist() == [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_capitals_line_ends_comments_and_compression_make_no_difference(tmp_path, maf_path, end):
    other = tmp_path / "other.maf.gz"
    content = maf(columns=[name.lower() for name in MAF_COLUMNS], comment="\ufeff") + "# end\n\n"
    other.write_bytes(gzip.compress(content.replace("\n", end).encode()))
    one, two = read(maf_path), read(other)
    np.testing.assert_array_equal(one.X.toarray(), two.X.toarray())
    assert one.row_names.tolist() == two.row_names.tolist()
    assert one.item_names.tolist() == two.item_names.tolist()


def test_classes_from_a_column_or_from_a_sheet(tmp_path, maf_path):
    table = read(maf_path, target="centre", group="Tumor_Sample_Barcode")
    assert table.y.tolist() == ["Trier", "Mainz", "Mainz"]
    assert table.groups.tolist() == ["s2", "s1", "s3"]
    sheet = tmp_path / "samples.csv"
    sheet.write_text("sample,stage,patient\ns1,II,P1\ns2,III,P1\ns3,II,P2\ns4,I,P3\n")
    table = read(maf_path, labels=sheet)
    assert table.y.tolist() == ["III", "II", "II", "I"]
    assert table.groups.tolist() == ["P1", "P1", "P2", "P3"]
    assert table.group_name == "patient"


def test_samples_of_the_sheet_without_mutations_are_rows_without_items(tmp_path, maf_path):
    sheet = tmp_path / "samples.tsv"
    sheet.write_text("sample\tclass\ns4\tx\ns1\tx\ns2\ty\ns3\ty\ns5\ty\n")
    table = read(maf_path, labels=sheet)
    assert table.row_names.tolist() == ["s2", "s1", "s3", "s4", "s5"]
    assert table.y.tolist() == ["y", "x", "y", "x", "y"]
    assert table.X.toarray().tolist() == [[1, 0], [0, 1], [1, 0], [0, 0], [0, 0]]
    assert "Kept 2 samples of samples.tsv without any mutation in the data, as rows without items." in table.notes
    more = "".join(f"t{k}\tz\n" for k in range(5))
    sheet.write_text(f"sample\tclass\ns1\tx\ns2\ty\ns3\ty\n{more}")
    empty = "none of the 5 samples of the class 'z' has a mutation in the data; give its file too, as z=FILE, or remove"
    assert empty in refusal(maf_path, labels=sheet)
    sheet.write_text("sample\tclass\ns4\tx\ns1\tx\ns2\ty\ns3\ty\n")
    one = "Kept 1 sample of samples.tsv without any mutation in the data, as a row without items."
    assert one in read(maf_path, labels=sheet).notes


def test_samples_without_a_class_can_be_left_out(tmp_path, maf_path):
    sheet = tmp_path / "samples.tsv"
    sheet.write_text("sample\tclass\ns1\tNA\ns2\tx\ns4\t?\n")
    assert "line 2: the label of the row 's1' is 'NA'; give it a class" in refusal(maf_path, labels=sheet)
    table = read(maf_path, labels=sheet, drop_unlabelled=True)
    assert table.row_names.tolist() == ["s2"]
    # KRAS is an item of s1 alone.
    assert table.item_names.tolist() == ["TP53"]
    assert "Left out 3 rows without a class." in table.notes
    path = tmp_path / "some.maf"
    path.write_text(maf(changed(2, "Centre", "")).replace("-\tAT\ts1\tMainz", "-\tAT\ts1\t"))
    table = read(path, target="Centre", drop_unlabelled=True)
    assert table.row_names.tolist() == ["s2", "s3"]
    assert table.y.tolist() == ["Trier", "Mainz"]


def test_silent_mutations_do_not_count_for_genes(tmp_path):
    path = tmp_path / "mutations.maf"
    path.write_text(with_effects(["Missense_Mutation", "Silent", "3'UTR", "IGR", "Splice_Site"]))
    table = read(path)
    assert table.item_names.tolist() == ["TP53"]
    # The mutations of s1 are all silent; it is a row all the same.
    assert table.row_names.tolist() == ["s2", "s1", "s3"]
    assert table.X.toarray().tolist() == [[1], [0], [1]]
    assert table.notes == ("Left out 3 silent mutations; --all-mutations (nonsilent=False) keeps them.",)
    every = read(path, nonsilent=False)
    assert every.item_names.tolist() == ["TP53", "KRAS"]
    assert every.notes == ("Left out 1 mutation outside of genes; --unit alteration (unit='alteration') keeps them.",)
    alterations = read(path, unit="alteration")
    assert alterations.shape == (3, 4)
    assert alterations.notes == ()
    assert read(path, unit="alteration", nonsilent=True).item_names.tolist() == ["chr17:7577120 C>T"]


SILENT = ["Silent", "silent", "Intron", "3'UTR", "5'UTR", "3\u2019UTR", "IGR", "RNA", "lincRNA", "3'Flank", "5'Flank"]
SILENT_IN_OTHER_WORDS = ["Synonymous_Mutation", "synonymous_variant", "intron_variant", "3_prime_UTR_variant"]


@pytest.mark.parametrize("effect", [*SILENT, *SILENT_IN_OTHER_WORDS])
def test_effects_that_are_silent(tmp_path, effect):
    path = tmp_path / "mutations.maf"
    path.write_text(with_effects([effect, effect, "Missense_Mutation", "", "Nonsense_Mutation"]))
    assert read(path).notes[0].startswith("Left out 2 silent mutations")


def test_all_mutations_count_if_the_file_does_not_tell_silent_ones(maf_path):
    note = "There is no column Variant_Classification, so all mutations count, also silent ones."
    assert note in read(maf_path).notes
    assert read(maf_path, nonsilent=False).notes == read(maf_path).notes[1:]


def test_items_in_few_samples_can_be_left_out(maf_path):
    table = read(maf_path, min_samples=2)
    assert table.item_names.tolist() == ["TP53"]
    assert table.shape == (3, 1)
    assert table.notes[-1] == "Left out 1 item in fewer than 2 rows (min_samples, --min-samples)."


@pytest.mark.parametrize("position", ["", ".", "-", "Unknown", "0", "1e6", "-5", "x"])
def test_mutations_without_a_known_position_are_counted(tmp_path, position):
    path = tmp_path / "mutations.maf"
    path.write_text(maf(changed(2, "Start_Position", position)))
    table = read(path, unit="alteration")
    assert table.item_names.tolist() == ["chr17:7577120 C>T", "chr17:7577538 C>T", "chr1:100 ->AT"]
    assert table.notes[0].startswith("Left out 1 mutation without a known position or allele (Chromosome,")


@pytest.mark.parametrize(
    ("column", "value"), [("Chromosome", "Unknown"), ("Chromosome", ""), ("Tumor_Seq_Allele2", "")]
)
def test_mutations_without_a_known_chromosome_or_allele_are_counted(tmp_path, column, value):
    path = tmp_path / "mutations.maf"
    path.write_text(maf(changed(2, column, value)))
    assert read(path, unit="alteration").shape == (3, 3)


def test_positions_as_pandas_writes_them_beside_missing_ones(tmp_path):
    path = tmp_path / "mutations.maf"
    path.write_text(maf(changed(2, "Start_Position", "25398284.0")))
    assert read(path, unit="alteration").item_names[2] == "chr12:25398284 C>A"


BROKEN_MAF = {
    "empty": ("", {}, "no mutations"),
    "comments only": ("#version 2.4\n", {}, "no mutations"),
    "no mutations": (maf([]), {}, "no mutations below the header"),
    "another format": ("bread,milk\n1,0\n", {}, "no column 'Tumor_Sample_Barcode'"),
    "no header": (maf(columns=MUTATIONS[0]), {}, "no column 'Tumor_Sample_Barcode'"),
    "commas": (maf().replace("\t", ","), {}, "no column 'Tumor_Sample_Barcode'"),
    "gene missing": (maf(columns=["Symbol", *MAF_COLUMNS[1:]]), {}, "no column 'Hugo_Symbol'"),
    "misspelt": (maf(columns=["Hugo_Symbl", *MAF_COLUMNS[1:]]), {}, "did you mean 'Hugo_Symbl'"),
    "column twice": (maf(columns=[*MAF_COLUMNS[:-1], "hugo_symbol"]), {}, "'Hugo_Symbol' is the name of two columns"),
    "ragged": (maf([*MUTATIONS, ["TP53", "17"]]), {}, "line 8: 2 fields where the header has 7"),
    "cut off": (maf()[:-20], {}, "line 7: 3 fields"),
    "header twice": (maf() + maf(comment=""), {}, "line 8: this is the header again"),
    "no sample": (maf(changed(1, "Tumor_Sample_Barcode", " ")), {}, "line 4: Tumor_Sample_Barcode is empty"),
    "no genes": (maf(MUTATIONS[3:4]), {}, "no items are left. There is no column Variant_Classification"),
    "no positions": (
        maf([[*MUTATIONS[0][:2], "?", *MUTATIONS[0][3:]]]),
        {"unit": "alteration"},
        "no items are left. Left out 1 mutation without a known position",
    ),
    "all silent": (
        with_effects(["Silent"] * 5),
        {},
        "no items are left. Left out 5 silent mutations; --all-mutations (nonsilent=False) keeps them.",
    ),
    "no effects": (maf(), {"nonsilent": True}, "no column 'Variant_Classification' that tells silent mutations"),
    "too few samples": (
        maf(),
        {"min_samples": 3},
        "no item is in at least 3 rows; the most frequent, 'TP53', is in 2 of 3, so min_samples (--min-samples) can",
    ),
    "no number of samples": (
        maf(),
        {"min_samples": 0},
        "min_samples is 0, but it must be a whole number of at least 1",
    ),
    "no group": (maf(changed(2, "Centre", "")), {"group": "Centre"}, "line 5: the group is missing; fill it in"),
    "no classes": (
        maf([[*fields[:-1], "NA"] for fields in MUTATIONS]),
        {"target": "Centre", "drop_unlabelled": True},
        "no row has a class",
    ),
    "no such class": (maf(), {"target": "center"}, "did you mean 'Centre'"),
    "two classes": (
        maf(changed(1, "Centre", "Mainz")),
        {"target": "Centre"},
        "line 4: sample 's2' has the target 'Mainz'",
    ),
    "no class": (maf(changed(2, "Centre", "")), {"target": "Centre"}, "line 5: the target is missing; fill it in"),
}


@pytest.mark.parametrize("case", BROKEN_MAF)
def test_a_broken_maf_file_is_refused(tmp_path, case):
    content, options, complaint = BROKEN_MAF[case]
    path = tmp_path / "mutations.maf"
    path.write_text(content)
    message = refusal(path, **options)
    assert str(path) in message
    assert complaint in message


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("mutations.maf", maf().encode("utf-16"), "line 1: this is not UTF-8"),
        ("mutations.maf", maf(changed(0, "Hugo_Symbol", "TPé3")).encode("latin-1"), "line 3: this is not UTF-8"),
        ("mutations.maf.gz", maf().encode(), "damaged"),
        ("mutations.maf.gz", gzip.compress(maf().encode())[:-30], "truncated"),
        ("mutations.maf", gzip.compress(maf().encode()), "mutations.maf"),
        ("mutations.maf", bytes(500), "mutations.maf"),
    ],
    ids=["UTF-16", "Latin-1", "not compressed", "cut off", "compressed in secret", "zeros"],
)
def test_a_damaged_maf_file_is_refused(tmp_path, name, data, complaint):
    path = tmp_path / name
    path.write_bytes(data)
    message = refusal(path)
    assert message.isprintable()
    assert complaint in message


def test_what_a_maf_file_cannot_have_is_refused(tmp_path, maf_path):
    assert "'gene' or 'alteration'" in refusal(maf_path, unit="exon")
    assert "takes no text" in refusal(maf_path, format="maf", text="Centre")
    assert "cannot be read" in refusal(tmp_path, format="maf")


def test_mutations_of_a_breast_cancer():
    path = shared_path("genome/brca.maf.gz")
    frame = pd.read_csv(path, sep="\t", comment="#")
    genes, alterations = read(path, nonsilent=False), read(path, unit="alteration")
    assert set(genes.item_names) == set(frame["Hugo_Symbol"]) - {"Unknown"}
    assert set(read(path).item_names) < set(genes.item_names)
    assert set(genes.row_names) == set(frame["Tumor_Sample_Barcode"])
    assert alterations.X.nnz == len(frame.drop_duplicates(["Chromosome", "Start_Position", "Tumor_Seq_Allele2"]))


def test_published_files_with_the_line_ends_of_old_macs():
    files = {name: shared_path(f"data/apl/APL_{name}.maf.gz") for name in ("primary", "relapse")}
    frames = [pd.read_csv(path, sep="\t", lineterminator="\r") for path in files.values()]
    table = read(files, labels=shared_path("data/apl/samples.tsv"))
    assert set(table.item_names) == set(pd.concat(frames)["Hugo_Symbol"])
    assert table.shape[0] == sum(frame["Tumor_Sample_Barcode"].nunique() for frame in frames)
    assert table.group_name == "patient"
    assert len(set(table.groups)) < table.shape[0]


FORMATS_PAGE = ROOT / "docs" / "reference" / "formats.md"


@pytest.mark.parametrize(("unit", "cell"), [("gene", 1), ("alteration", 2)])
def test_the_columns_that_the_page_calls_required_are_required(tmp_path, unit, cell):
    lines = [line.strip("| ").split(" | ") for line in FORMATS_PAGE.read_text().splitlines() if line.startswith("| `")]
    of_page = {name: cells[cell] for cells in lines if len(cells) == 3 for name in re.findall(r"`(\w+)`", cells[0])}
    known = [*MAF_COLUMNS[:-1], "Variant_Classification"]
    assert sorted(of_page) == sorted(known)
    for name in known:
        kept = [k for k, column in enumerate(known) if column != name]
        rows = [[[*fields[:-1], "Missense_Mutation"][k] for k in kept] for fields in MUTATIONS]
        path = tmp_path / f"{name}.maf"
        path.write_text(maf(rows, [known[k] for k in kept]))
        if of_page[name] == "required":
            assert f"no column '{name}'" in refusal(path, unit=unit)
        else:
            assert read(path, unit=unit).shape[0] == 3
