"""What users give to the command line: files by class, sample sheets, mutations, and what is said about them."""

import json

import pandas as pd
import pytest

from saltmine import load
from tests.helpers.command_line import refused, run

HEADER = "Hugo_Symbol\tVariant_Classification\tTumor_Sample_Barcode\n"


def write_maf(path, name, genes, effect="Missense_Mutation", n_samples=12):
    lines = [f"{gene}\t{effect}\t{name}{k}\n" for k in range(n_samples) for gene in (genes if k % 3 else genes[:1])]
    path.write_text(HEADER + "".join(lines))
    return path


@pytest.fixture
def mafs(tmp_path):
    primary = write_maf(tmp_path / "a.maf", "a", ["TP53", "FLT3", "KIT"])
    relapse = write_maf(tmp_path / "b.maf", "b", ["PML", "TP53", "RARA"])
    return primary, relapse


def fit(tmp_path, *arguments):
    result = run("fit", *arguments, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.slow
def test_fit_of_one_file_per_class(mafs, tmp_path):
    primary, relapse = mafs
    with primary.open("a") as file:
        file.write("TTN\tSilent\ta0\nTTN\tIntron\ta99\n")
    sheet = tmp_path / "samples.tsv"
    names = [*(f"a{k}" for k in (*range(12), 99)), *(f"b{k}" for k in range(14))]
    rows = [f"{name}\tp{name[1:]}\t{'primary' if name[0] == 'a' else 'relapse'}\n" for name in names]
    sheet.write_text("sample\tpatient\tclass\n" + "".join(rows))
    result = fit(tmp_path, f"primary={primary}", f"relapse={relapse}", "--labels", sheet)
    assert result.stderr.splitlines()[:4] == [
        f"Reading {primary} and {relapse} ...",
        "a.maf: left out 2 silent mutations; --all-mutations (nonsilent=False) keeps them.",
        "Kept 2 samples of samples.tsv without any mutation in the data, as rows without items.",
        "27 rows of 15 patients, which tests count, 5 items, 2 classes: primary 13, relapse 14.",
    ]
    usage = pd.read_csv(tmp_path / "out" / "usage.csv")
    assert usage["class"].value_counts().to_dict() == {"primary": 13, "relapse": 14}
    assert usage["group"].tolist()[:2] == ["p0", "p1"]
    assert load(tmp_path / "out" / "model.salt").about_["source"] == "a.maf and b.maf"
    every = fit(tmp_path, f"primary={primary}", f"relapse={relapse}", "--all-mutations", "--min-samples", "3")
    assert "25 rows, 5 items, 2 classes: primary 13, relapse 12." in every.stderr
    assert "Left out 1 item in fewer than 3 rows (min_samples, --min-samples)." in every.stderr


@pytest.mark.slow
def test_other_commands_take_one_file_per_class_too(mafs, tmp_path):
    primary, relapse = mafs
    files = (f"primary={primary}", f"relapse={relapse}")
    fit(tmp_path, *files, "--all-mutations")
    model = tmp_path / "out" / "model.salt"
    assert load(model).about_["reading"] == {"nonsilent": False}
    score = run("score", model, *files, "--json")
    assert score.exit_code == 0, score.output
    assert "accuracy" in json.loads(score.stdout)
    predicted = run("predict", model, *files)
    assert "of the rows are given their own class" in predicted.stderr
    assert run("transform", model, primary).stdout.startswith("row,")
    compared = run("compare", *files, "--methods", "csalt", "-o", tmp_path / "compare")
    assert compared.exit_code == 0, compared.output


@pytest.mark.slow
def test_new_data_may_have_fewer_samples_than_the_sheet(mafs, tmp_path):
    primary, relapse = mafs
    sheet = tmp_path / "samples.tsv"
    names = [*(f"a{k}" for k in range(12)), *(f"b{k}" for k in range(14))]
    rows = [f"{name}\tp{name[1:]}\t{'primary' if name[0] == 'a' else 'relapse'}\n" for name in names]
    sheet.write_text("sample\tpatient\tclass\n" + "".join(rows))
    both = tmp_path / "both.maf"
    both.write_text(primary.read_text() + relapse.read_text().removeprefix(HEADER))
    fit(tmp_path, both, "--labels", sheet)
    model = tmp_path / "out" / "model.salt"
    for command in ("predict", "transform"):
        for data in (primary, f"primary={primary}"):
            result = run(command, model, data, "--labels", sheet)
            assert result.exit_code == 0, result.output
            assert "Ignored 14 lines of samples.tsv about rows that the data does not have." in result.stderr
            assert [line.split(",")[0] for line in result.stdout.splitlines()] == ["row", *names[:12]]
    assert "of the rows are given their own class" in run("predict", model, primary, "--labels", sheet).stderr
    # The samples of the fit include those without mutations.
    assert run("score", model, both, "--labels", sheet).exit_code == 0
    assert "none of the 14 samples of the class 'relapse'" in refused("score", model, primary, "--labels", sheet)
    sheet.write_text("sample\tpatient\tclass\n" + "".join(rows[1:]))
    assert "there is no line for the row 'a0'" in refused("predict", model, primary, "--labels", sheet)
    dropped = run("predict", model, primary, "--labels", sheet, "--drop-unlabelled")
    assert dropped.stdout.splitlines()[1].startswith("a1,")


@pytest.mark.slow
def test_a_path_with_an_equals_sign_is_a_path(tmp_path):
    path = tmp_path / "lr=1.csv"
    path.write_text("bread,milk,shop\n" + "1,0,x\n0,1,y\n" * 10)
    assert "20 rows, 2 items, 2 classes: x 10, y 10." in fit(tmp_path, path, "--target", "shop").stderr
    only_items = tmp_path / "a=b.csv"
    only_items.write_text("bread,milk\n" + "1,0\n0,1\n" * 10)
    assert "2 classes: x 20, y 20." in fit(tmp_path, f"x={only_items}", f"y={only_items}").stderr


def test_wrong_files_are_explained(mafs, tmp_path):
    primary, relapse = mafs
    out = ("-o", tmp_path / "out")
    assert refused("fit", f"x={primary}", relapse, *out) == (
        f"Error: {relapse} has no class; of several files each needs one, as primary=a.maf relapse=b.maf."
    )
    assert f"{primary} has no class" in refused("fit", primary, relapse, *out)
    assert refused("fit", f"x={primary}", f"x={relapse}", *out) == (
        f"Error: The class 'x' has two files, {primary} and {relapse}; put them into one."
    )
    assert refused("fit", "x=", *out) == "Error: 'x=' is not CLASS=FILE, as primary=a.maf."
    assert refused("fit", "=x", *out) == "Error: '=x' is not CLASS=FILE, as primary=a.maf."
    same = f"Two classes have the same file, {primary}; give each class its own."
    assert same in refused("fit", f"x={primary}", f"y={primary}", *out)
    assert refused("fit", primary, *out) == (
        f"Error: {primary} holds no classes; name a file that does with --labels, give one file per class as "
        "CLASS=FILE, or look for patterns without classes with --method primp."
    )
    assert "with --labels, or give one file per class as CLASS=FILE." in refused("compare", primary, *out)
    table = tmp_path / "t.csv"
    table.write_text("bread\n1\n")
    assert "give files of the same format" in refused("fit", f"x={primary}", f"y={table}", *out)
    assert "There is no file 'none.csv'" in refused("fit", "x=none.csv", f"y={table}", *out)
    assert "--cuts and --missing are for tables" in refused(
        "fit", f"x={primary}", f"y={relapse}", "--cuts", "cumulative", *out
    )


def test_numbers_agree_with_nouns_and_many_classes_are_cut_short(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("bread,milk,shop\n" + "".join(f"{k % 2},1,s{k % 12:02d}\n{1 - k % 2},0,s00\n" for k in range(60)))
    said = fit(tmp_path, path, "--target", "shop", "--ignore", "milk").stderr
    assert "120 rows, 1 item, 12 classes (the largest): s00 65, s01 5, s02 5" in said
    assert "s10" not in said


def test_rows_without_a_class_are_refused_or_left_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("bread,milk,shop\n" + "1,0,1\n0,1,2\n1,1,NA\n" * 8)
    said = refused("fit", path, "--target", "shop", "-o", tmp_path / "out")
    assert "line 4: the label in column 'shop' is missing" in said
    assert "leave such rows out with --drop-unlabelled" in said
    said = fit(tmp_path, path, "--target", "shop", "--drop-unlabelled").stderr
    assert "Left out 8 rows without a class." in said
    assert "16 rows, 2 items, 2 classes: 1 8, 2 8." in said


@pytest.mark.parametrize(
    ("column", "remedy"),
    [
        ([f"p{k}" for k in range(30)], "name it with --row-names, else leave it out with --ignore."),
        ([10**17 + k for k in range(30)], "name it with --row-names, else leave it out with --ignore."),
        (["?", *(k / 7 for k in range(29))], "choose --missing item for an item of its own or --missing ignore for"),
        (["old", *(k / 7 for k in range(29))], "or leave the column out with --ignore."),
    ],
)
def test_columns_that_cannot_be_items_have_options(tmp_path, column, remedy):
    path = tmp_path / "t.csv"
    pd.DataFrame({"c": column, "milk": [0, 1] * 15, "shop": ["x", "y"] * 15}).to_csv(path, index=False)
    assert remedy in refused("fit", path, "--target", "shop", "-o", tmp_path / "out")


def test_values_that_are_neither_yes_nor_no_are_noted(tmp_path):
    path, new = tmp_path / "t.csv", tmp_path / "new.csv"
    path.write_text("smoker,milk,shop\n" + "yes,0,x\nno,1,y\n" * 10)
    fit(tmp_path, path, "--target", "shop")
    new.write_text("smoker,milk\nYES,0\nmaybe,1\nNo,1\nmaybe,0\n")
    result = run("predict", tmp_path / "out" / "model.salt", new)
    assert result.exit_code == 0, result.output
    note = "'maybe' in column 'smoker' was not in the fit; 2 rows have no item of it, like 'no'."
    assert result.stderr.splitlines() == [note]
    assert run("predict", tmp_path / "out" / "model.salt", new, "-q").stderr == ""


def test_cumulative_cuts_are_kept_in_the_model(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,shop\n" + "".join(f"{age},{'x' if age > 50 else 'y'}\n" for age in range(20, 80)))
    fit(tmp_path, path, "--target", "shop", "--threshold", "age=36,60", "--cuts", "cumulative")
    model = load(tmp_path / "out" / "model.salt")
    assert list(model.preparation_.item_names_) == ["age>=36", "age>=60"]
    assert model.preparation_.cuts == "cumulative"
    assert run("predict", tmp_path / "out" / "model.salt", path).exit_code == 0
