"""Label files with the classes of the rows, and files with the names of the items."""

import numpy as np
import pytest

from saltmine.io import ReadError
from saltmine.io.labels import read_labels, read_names
from saltmine.names import as_text

ROWS = as_text(["r1", "r2", "r3"])


def one_line(caught, path):
    said = str(caught.value)
    assert "\n" not in said
    assert str(path) in said
    return said


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n"])
def test_one_label_per_line(written, end, last):
    labels = read_labels(written("y.txt", end.join(["big, red", "small", "big, red"]) + last), 3)
    assert labels.y.tolist() == ["big, red", "small", "big, red"]
    assert labels.groups is None
    assert labels.row_names is None


def test_one_label_per_line_keeps_the_names_of_the_data(written):
    labels = read_labels(written("y.txt", "x\ny\nx\n"), 3, ROWS)
    assert labels.row_names.tolist() == ROWS.tolist()


def test_header_of_a_list_of_labels(written):
    assert read_labels(written("y.txt", "class\nx\ny\n"), 2).y.tolist() == ["x", "y"]
    assert read_labels(written("y.txt", "class\nx\ny\n"), 3).y.tolist() == ["class", "x", "y"]


@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".csv", ";"), (".tsv", "\t"), (".txt", "\t")])
def test_rows_are_found_by_name(written, suffix, separator):
    lines = ["id,where,tissue", "r3,p1,lung", "other,p9,brain", "r1,p2,liver", "r2,p1,lung"]
    path = written(f"rows{suffix}", "\n".join(lines).replace(",", separator))
    labels = read_labels(path, 3, ROWS, target="tissue", group="where")
    assert labels.y.tolist() == ["liver", "lung", "lung"]
    assert labels.groups.tolist() == ["p2", "p1", "p1"]
    assert labels.row_names.tolist() == ["r1", "r2", "r3"]


def test_rows_are_found_by_name_without_a_header(written):
    labels = read_labels(written("rows.tsv", "r2\tx\nr1\ty\nr3\tx\n"), 3, ROWS)
    assert labels.y.tolist() == ["y", "x", "x"]


def test_class_may_stand_before_the_name(written):
    path = written("rows.tsv", "x\tr2\ny\tr1\nx\tr3\n")
    assert read_labels(path, 3, ROWS, target=1).y.tolist() == ["y", "x", "x"]
    in_order = read_labels(path, 3, target=1)
    assert in_order.y.tolist() == ["x", "y", "x"]
    assert in_order.row_names.tolist() == ["r2", "r1", "r3"]


def test_usual_names_of_columns_are_known(written):
    labels = read_labels(written("rows.csv", "sample,Class,age,Patient\ns1,x,30,p\n\ns2,y,40,p\n"), 2)
    assert labels.y.tolist() == ["x", "y"]
    assert labels.groups.tolist() == ["p", "p"]
    assert labels.row_names.tolist() == ["s1", "s2"]


def test_three_columns_without_header_are_name_group_and_class(written):
    labels = read_labels(written("rows.tsv", "s1\tp\tx\ns2\tp\ty\n"), 2)
    assert labels.y.tolist() == ["x", "y"]
    assert labels.groups.tolist() == ["p", "p"]


def test_names_that_repeat_are_no_names(written):
    assert read_labels(written("rows.tsv", "s\tx\ns\ty\n"), 2).row_names is None


def test_quoted_fields(written):
    labels = read_labels(written("rows.csv", '"s, 1",x\n"s ""2""","y, z"\n'), 2)
    assert labels.y.tolist() == ["x", "y, z"]
    assert labels.row_names.tolist() == ["s, 1", 's "2"']


@pytest.mark.parametrize("header", ["id,age,Label", "id,label,age", "label,id,age", "id,tissue", "id,patient,tissue"])
def test_the_class_is_in_the_column_called_so_or_in_the_only_one_left(written, header):
    values = {"id": ["r1", "r2", "r3"], "age": ["30", "40", "50"], "patient": ["p", "p", "q"]}
    columns = [values.get(name, ["x", "y", "x"]) for name in header.split(",")]
    lines = [header, *(",".join(fields) for fields in zip(*columns, strict=True))]
    assert read_labels(written("rows.csv", "\n".join(lines)), 3, ROWS).y.tolist() == ["x", "y", "x"]


def test_the_name_of_the_group_is_kept(written):
    path = written("rows.csv", "id,Patient,where,class\nr1,p,a,x\nr2,p,b,x\nr3,q,a,y\n")
    assert read_labels(path, 3, ROWS).group_name == "Patient"
    assert read_labels(path, 3, ROWS, group="where").group_name == "where"
    assert read_labels(path, 3, ROWS, group=3).group_name == "where"
    assert read_labels(written("rows.tsv", "r1\tp\tx\nr2\tp\tx\nr3\tq\ty\n"), 3, ROWS).group_name is None
    assert read_labels(written("rows.csv", "id,class\nr1,x\nr2,x\nr3,y\n"), 3, ROWS).group_name is None


def test_a_sheet_of_names_and_groups_alone_has_the_classes_in_the_groups(written):
    labels = read_labels(written("rows.csv", "id,group\nr1,case\nr2,control\nr3,case\n"), 3, ROWS)
    assert labels.y.tolist() == ["case", "control", "case"]
    assert labels.groups is None


@pytest.mark.parametrize("missing", ["", "NA", "N/A", "n/a", "NaN", "nan", "?", "null", "NULL", "<NA>", "None"])
def test_rows_without_a_class_are_refused_or_left_out(written, missing):
    path = written("rows.csv", f"id,patient,class\nr1,p,x\nr3,,{missing}\nr2,p,y\n")
    with pytest.raises(ReadError) as caught:
        read_labels(path, 3, ROWS)
    said = one_line(caught, path)
    assert "line 3: the label of the row 'r3' is " in said
    assert "give it a class, or leave such rows out with --drop-unlabelled (drop_unlabelled=True)." in said
    labels = read_labels(path, 3, ROWS, drop_unlabelled=True)
    assert labels.y.tolist() == ["x", "y"]
    assert labels.groups.tolist() == ["p", "p"]
    assert labels.row_names.tolist() == ["r1", "r2"]
    assert labels.rows.tolist() == [0, 1]
    assert labels.notes == ("Left out 1 row without a class.",)


def test_a_class_may_be_called_none(written):
    assert read_labels(written("y.txt", "none\ndrug\nnone\n"), 3).y.tolist() == ["none", "drug", "none"]


def test_rows_of_a_list_and_rows_without_a_line_can_be_left_out(written):
    labels = read_labels(written("y.txt", "x\nNA\ny\n"), 3, drop_unlabelled=True)
    assert labels.rows.tolist() == [0, 2]
    assert labels.row_names is None
    labels = read_labels(written("rows.csv", "id,class\nr3,y\n"), 3, ROWS, drop_unlabelled=True)
    assert labels.row_names.tolist() == ["r3"]
    assert labels.notes == ("Left out 2 rows without a class.",)


KNOWN = np.array(["x", "x", "y"])


def test_classes_that_are_known_must_agree(written):
    path = written("rows.csv", "id,class\nr1,x\nr2,NA\nr3,y\n")
    assert read_labels(path, 3, ROWS, classes=KNOWN).y.tolist() == ["x", "x", "y"]
    path = written("rows.csv", "id,class\nr1,x\nr2,y\nr3,y\n")
    with pytest.raises(ReadError, match="line 3: the row 'r2' has the class 'y' here, but is in the file of 'x'; corr"):
        read_labels(path, 3, ROWS, classes=KNOWN)


@pytest.mark.parametrize("columns", ["patient", "patient,age", "patient,age,sex"])
def test_a_sheet_beside_known_classes_may_have_none(written, columns):
    fields = ",".join(["p", "30", "f"][: columns.count(",") + 1])
    path = written("rows.csv", f"id,{columns}\nr1,{fields}\nr2,{fields}\nr9,{fields}\nr3,{fields}\n")
    labels = read_labels(path, 3, ROWS, classes=KNOWN, add_rows=True)
    assert labels.y.tolist() == ["x", "x", "y"]
    assert labels.groups.tolist() == ["p", "p", "p"]
    assert labels.notes == ("Left out 1 sample of rows.csv that no file has.",)


def test_rows_that_only_the_sheet_has_are_added_if_their_class_is_wanted(written):
    path = written("rows.csv", "id,tissue\nr7,y\nr1,x\nr2,x\nr8,z\nr3,y\nr9,x\n")
    every = read_labels(path, 3, ROWS, add_rows=True)
    assert every.row_names.tolist() == ["r1", "r2", "r3", "r7", "r8", "r9"]
    assert every.rows.tolist() == [0, 1, 2, -1, -1, -1]
    assert every.y.tolist() == ["x", "x", "y", "y", "z", "x"]
    known = read_labels(path, 3, ROWS, classes=KNOWN, add_rows=True)
    assert known.row_names.tolist() == ["r1", "r2", "r3", "r7", "r9"]
    assert known.notes[0] == "Left out 1 sample of rows.csv whose class is not x or y."


BROKEN_LABEL_FILES = {
    "which column": (
        "y.csv",
        b"id,patient,age,sex,stage\nr1,p,30,f,I\nr2,p,31,m,I\nr3,q,30,f,II\n",
        {"row_names": ROWS},
        ["the classes may be in any of the columns age, sex, stage; say which with --target (target)."],
    ),
    "which of many columns": (
        "y.csv",
        ("id," + ",".join(f"c{k}" for k in range(12)) + "".join(f"\nr{k}" + ",1" * 12 for k in (1, 2, 3))).encode(),
        {"row_names": ROWS},
        ["c8, c9, ...; say which"],
    ),
    "two columns called so": (
        "y.csv",
        b"id,class,label\nr1,x,y\nr2,x,y\nr3,z,y\n",
        {"row_names": ROWS},
        ["any of the columns class, label;"],
    ),
    "which column without header": (
        "y.tsv",
        b"r1\tp\tx\t3\nr2\tp\tx\t4\nr3\tp\ty\t5\n",
        {},
        ["there are 4 columns and no header; say which holds the classes with --target (target), counted from 1."],
    ),
    "no column for classes": (
        "y.csv",
        b"id,who\nr1,p\nr2,p\nr3,q\n",
        {"row_names": ROWS, "group": "who"},
        ["there is no column for the classes beside names and groups; add one."],
    ),
    "group NA": ("y.tsv", b"r1\tp\tx\nr2\tNA\tx\nr3\tp\ty\n", {}, ["line 2", "'r2' is 'NA'; give it one"]),
    "nothing left": (
        "y.csv",
        b"id,class\nr7,x\nr8,y\n",
        {"row_names": ROWS, "drop_unlabelled": True},
        ["no row of the data has a class here"],
    ),
    "one label": ("y.txt", b"x\n", {}, ["there is 1 label, but the data has 3 rows"]),
    "empty": ("y.txt", b"", {}, ["is empty", "label of every row"]),
    "blank": ("y.txt", b"\n\n", {}, ["is empty"]),
    "header only": ("y.tsv", b"id\ttissue\n", {"target": "tissue"}, ["no rows below the header"]),
    "too few labels": ("y.txt", b"x\ny\n", {}, ["2 labels", "3 rows"]),
    "too many labels": ("y.txt", b"x\ny\nx\ny\n", {}, ["4 labels", "3 rows"]),
    "label empty": ("y.txt", b"x\n\ny\n", {}, ["line 2", "the label of the row '2' is empty", "--drop-unlabelled"]),
    "label empty in a table": ("y.tsv", b"r1\tx\nr3\ty\n\nr2\t\n", {"row_names": ROWS}, ["line 4", "'r2' is empty"]),
    "group empty": ("y.tsv", b"r1\tp\tx\nr2\t\tx\nr3\tp\ty\n", {}, ["line 2", "the group of the row 'r2' is empty"]),
    "ragged": ("y.tsv", b"r1\tx\nr2\nr3\ty\n", {}, ["line 2", "1 fields", "2"]),
    "row without label": (
        "y.tsv",
        b"r1\tx\nr2\tx\n",
        {"row_names": ROWS},
        ["no line for the row 'r3'", "--drop-unlabelled"],
    ),
    "row with two labels": ("y.tsv", b"r1\tx\nr1\ty\n", {"row_names": ROWS}, ["line 2", "'r1' has a label already"]),
    "no such column": ("y.csv", b"id,class\nr1,x\n", {"row_names": ROWS, "target": "clas"}, ["'clas'", "mean 'class'"]),
    "no such number": (
        "y.tsv",
        b"r1\tx\nr2\tx\nr3\ty\n",
        {"target": 3},
        ["'3' for target", "without a header", "1 to 2"],
    ),
    "no such group": ("y.tsv", b"r1\tx\nr2\tx\nr3\ty\n", {"group": "who"}, ["'who' for group"]),
    "quote never closed": ("y.csv", b'r1,x\n"r2,x\nr3,y\n', {}, ["line 2", "check the quotes"]),
    "not UTF-8": ("y.txt", b"x\ny\n\xe4\n", {}, ["line 3", "0xe4"]),
    "zero byte": ("y.txt", b"x\n\0\ny\n", {}, ["line 2", "zero byte"]),
    "garbage in .gz": ("y.txt.gz", b"garbage", {}, ["gz data is damaged"]),
}


@pytest.mark.parametrize("case", BROKEN_LABEL_FILES)
def test_broken_label_file(written, case):
    name, contents, options, words = BROKEN_LABEL_FILES[case]
    path = written(name, contents)
    with pytest.raises(ReadError) as caught:
        read_labels(path, 3, **options)
    said = one_line(caught, path)
    for word in words:
        assert word in said


def test_no_such_label_file(tmp_path):
    with pytest.raises(ReadError, match="No such file"):
        read_labels(tmp_path / "nothing.txt", 3)


def test_names_one_per_line(written):
    path = written("items.txt", "\ufeffbread\r\n a\u2028b \r\n7\r\n\r\n")
    assert read_names(path, 3).tolist() == ["bread", "a\u2028b", "7"]
    np.testing.assert_array_equal(read_names(path), read_names(path, 3))


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ("a\nb\n", ["2 names", "3 columns"]),
        ("a\nb\nc\nd\n", ["4 names", "3 columns"]),
        ("a\n\nc\n", ["line 2", "empty"]),
        ("a\nb\na\n", ["'a' is the name of two items (1 and 3)"]),
        ("", ["0 names", "3 columns"]),
    ],
    ids=["too few", "too many", "empty name", "twice", "empty file"],
)
def test_broken_names(written, contents, words):
    path = written("items.txt", contents)
    with pytest.raises(ReadError) as caught:
        read_names(path, 3)
    said = one_line(caught, path)
    for word in words:
        assert word in said


def test_a_first_line_about_a_row_that_the_data_does_not_have_is_no_header(written):
    path = written("samples.tsv", "r9\tP9\tsick\nr1\tP1\tsick\nr2\tP1\twell\nr3\tP2\twell\n")
    labels = read_labels(path, 3, ROWS)
    assert labels.y.tolist() == ["sick", "well", "well"]
    assert labels.groups.tolist() == ["P1", "P1", "P2"]
