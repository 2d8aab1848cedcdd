"""One file per class: rows are stacked, items are matched by name, and what does not fit is refused in one sentence."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import saltmine
from saltmine.io import read
from tests.helpers.reading import refusal

HEADER = "Hugo_Symbol\tVariant_Classification\tTumor_Sample_Barcode\n"
PRIMARY = HEADER + "TP53\tMissense_Mutation\ta1\nKRAS\tSilent\ta2\nFLT3\tNonsense_Mutation\ta3\n"
RELAPSE = HEADER + "PML\tMissense_Mutation\tb1\nTP53\tMissense_Mutation\tb1\n"
SHEET = "sample,patient,class\na1,p,primary\na2,q,primary\na3,r,primary\nb1,p,relapse\nb2,q,relapse\nn1,p,normal\n"


@pytest.fixture
def files(written):
    return {"primary": written("a.maf", PRIMARY), "relapse": written("b.maf", RELAPSE)}


def test_rows_are_stacked_and_items_matched_by_name(files):
    table = saltmine.read(files)
    assert table.y.tolist() == ["primary", "primary", "primary", "relapse"]
    assert table.row_names.tolist() == ["a1", "a2", "a3", "b1"]
    assert table.item_names.tolist() == ["TP53", "FLT3", "PML"]
    assert table.X.toarray().tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0], [1, 0, 1]]
    assert table.groups is None
    assert table.notes == ("a.maf: left out 1 silent mutation; --all-mutations (nonsilent=False) keeps them.",)


def test_the_sheet_gives_groups_and_the_samples_without_mutations(files, written):
    table = read(files, labels=written("samples.csv", SHEET))
    assert table.row_names.tolist() == ["a1", "a2", "a3", "b1", "b2"]
    assert table.y.tolist() == ["primary"] * 3 + ["relapse"] * 2
    assert table.groups.tolist() == ["p", "q", "r", "p", "q"]
    assert table.group_name == "patient"
    assert table.X[[4]].nnz == 0
    assert table.notes[1:] == (
        "Left out 1 sample of samples.csv whose class is not primary or relapse.",
        "Kept 1 sample of samples.csv without any mutation in the data, as a row without items.",
    )


def test_a_sheet_that_disagrees_is_refused(files, written):
    sheet = written("samples.csv", SHEET.replace("a3,r,primary", "a3,r,relapse"))
    said = refusal(files, labels=sheet)
    assert f"{sheet}, line 4: the row 'a3' has the class 'relapse' here, but is in the file of 'primary'" in said


def test_items_are_counted_over_all_files(files):
    assert read(files, min_samples=2).item_names.tolist() == ["TP53"]
    assert "a.maf and " in refusal(files, min_samples=3)


def test_a_class_without_any_item_stays(files, written):
    files["other"] = written("c.maf", HEADER + "TTN\tSilent\tc1\n")
    table = read(files)
    assert table.y.tolist()[-1] == "other"
    assert table.X[[4]].nnz == 0


def test_no_item_in_any_file(written):
    files = {name: written(f"{name}.maf", HEADER + f"TTN\tSilent\t{name}1\n") for name in "xy"}
    said = refusal(files)
    assert f"{files['x']} and {files['y']}: no items are left. x.maf: left out 1 silent mutation" in said


def test_tables_are_stacked_by_the_names_of_their_columns(written):
    files = {
        "Mainz": written("m.csv", "id,bread,age,note\nm1,1,30,\nm2,0,40,\n"),
        "Trier": written("t.csv", "age,id,bread,note\n50,t1,1,x\n61.5,t2,1,y\n"),
    }
    table = read(files, row_names="id")
    assert table.y.tolist() == ["Mainz", "Mainz", "Trier", "Trier"]
    assert table.row_names.tolist() == ["m1", "m2", "t1", "t2"]
    expected = {"bread": [1, 0, 1, 1], "age": [30, 40, 50, 61.5], "note": [None, None, "x", "y"]}
    pd.testing.assert_frame_equal(table.frame, pd.DataFrame(expected), check_dtype=False)
    groups = read(files, group="id")
    assert groups.groups.tolist() == ["m1", "m2", "t1", "t2"]
    assert groups.group_name == "id"


def test_truth_values_in_one_table_are_numbers_beside_those_of_another(written):
    files = {"x": written("x.csv", "a,b\nTrue,3\nFalse,4\n"), "y": written("y.csv", "a,b\n1,3\n0,3\n")}
    assert read(files).frame["a"].tolist() == [1, 0, 1, 0]


def test_rows_that_are_only_counted_have_no_names(tmp_path):
    frame = pd.DataFrame({"bread": [1, 0], "milk": [1, 1]})
    for name in "xy":
        frame.to_csv(tmp_path / f"{name}.csv")
    table = read({name: tmp_path / f"{name}.csv" for name in "xy"})
    assert table.row_names is None
    assert table.shape == (4, 2)


def test_transactions_matrices_and_documents(written, tmp_path):
    table = read({"x": written("x.dat", "1 2\n3\n"), "y": written("y.dat", "3 7\n")})
    assert table.X.toarray().tolist() == [[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    for name, columns in (("x", ["a", "b"]), ("y", ["b", "a"])):
        np.savez(tmp_path / f"{name}.npz", X=np.array([[1, 0]]), item_names=columns)
    assert read({name: tmp_path / f"{name}.npz" for name in "xy"}).X.toarray().tolist() == [[1, 0], [0, 1]]
    dogs = [json.dumps({"text": text}) for text in ("dog barks", "dog cat")]
    files = {"dogs": written("d.jsonl", "\n".join(dogs)), "cats": written("c.jsonl", '{"text": "cat purrs"}')}
    table = read(files, min_docs=2, language="none")
    assert dict(zip(table.item_names, table.X.sum(axis=0), strict=True)) == {"dog": 2, "cat": 2}
    assert table.kind == "words"
    assert "no item is in at least 20 rows; the most frequent" in refusal(files, language="none")


def test_what_does_not_fit_together_is_refused(files, written, tmp_path):
    a, b = files["primary"], files["relapse"]
    again = written("again.maf", RELAPSE.replace("b1", "a1"))
    assert refusal({"primary": a, "relapse": again}) == (
        f"The row 'a1' is in {a} and in {again}; remove it from one of them."
    )
    table = written("t.csv", "bread,milk\n1,0\n")
    said = refusal({"x": a, "y": table})
    assert said.startswith(f"{a} is read as MAF file, but {table} as comma- or tab-separated table; give files")
    other = written("o.csv", "bread,jam,tea\n1,0,1\n")
    assert refusal({"x": table, "y": other}).startswith(f"{other} lacks the column 'milk' of {table}; all files need")
    assert refusal({"x": other, "y": written("u.csv", "bread\n1\n")}).startswith(
        f"{tmp_path / 'u.csv'} lacks the column 'jam' (and 1 more) of {other}"
    )
    assert refusal({"x": written("u.csv", "bread\n1\n"), "y": other}).startswith(
        f"{tmp_path / 'u.csv'} lacks the column 'jam' (and 1 more) of {other}"
    )
    words = written("w.csv", "bread,milk\nrye,0\n")
    assert refusal({"x": table, "y": words}) == (
        f"The column 'bread' holds numbers in {table} and text in {words}; give it one kind of values."
    )
    assert refusal({"x": a, "y": tmp_path / "none.maf"}).startswith("There is no file")
    assert "takes no text" in refusal({"x": a, "y": b}, format="maf", text="x")
    assert "leave target ('class', --target) out" in refusal(files, target="class")
    assert "Every file needs a class with a name of its own" in refusal({})
    assert "Every file needs a class with a name of its own" in refusal({1: a, "1": b})


def test_files_with_classes_or_without_names_are_refused(tmp_path, written):
    for name in "xy":
        np.savez(tmp_path / f"{name}.npz", X=np.eye(2), y=[0, 1], item_names=["a", "b"])
        sp.save_npz(tmp_path / f"{name}s.npz", sp.csr_array(np.eye(2)))
    said = refusal({name: tmp_path / f"{name}.npz" for name in "xy"})
    assert said == f"{tmp_path / 'x.npz'}: the file has classes of its own; give it alone, without the class 'x'."
    nameless = {name: tmp_path / f"{name}s.npz" for name in "xy"}
    assert f"{nameless['x']}: the items have no names by which files are matched; name them" in refusal(nameless)
    assert read(nameless, items=written("items.txt", "a\nb\n")).shape == (4, 2)
