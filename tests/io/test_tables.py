"""Tables: csv, tsv and their kin, and Parquet."""

import bz2
import gzip
import lzma
import os
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.io import ReadError, read
from saltmine.io.registry import formats
from tests.helpers.reading import refusal_of_file as refusal

COMPRESSORS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}


@pytest.fixture
def shops():
    return pd.DataFrame(
        {
            "bread": [1, 0, 1, 1],
            "colour": ["red", "dark, very", 'so "blue"', "two\nlines"],
            "price": [0.5, 1.25, -3.0, np.nan],
            "open": [True, False, True, True],
            "shop": ["Mainz", "Trier", "Mainz", "Köln"],
        }
    )


def assert_same_frame(one, two):
    pd.testing.assert_frame_equal(one, two, check_dtype=True)


class TestCsv:
    @pytest.mark.slow
    @pytest.mark.parametrize("compression", COMPRESSORS)
    @pytest.mark.parametrize("suffix", SEPARATORS)
    def test_what_pandas_writes_comes_back(self, written, shops, suffix, compression):
        text = shops.to_csv(index=False, sep=SEPARATORS[suffix])
        path = written(f"shops{suffix}{compression}", COMPRESSORS[compression](text.encode()))
        table = read(path, target="shop")
        assert table.y.tolist() == shops["shop"].tolist()
        assert_same_frame(table.X, shops.drop(columns="shop"))
        assert table.item_names.tolist() == ["bread", "colour", "price", "open"]
        assert table.shape == (4, 4)
        assert table.row_names is None
        assert table.groups is None

    @pytest.mark.slow
    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_any_table_comes_back(self, tmp_path_factory, data):
        names = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1).map(str.strip)
        columns = data.draw(
            st.lists(names.filter(lambda name: name[:1].isalpha()), min_size=2, max_size=5, unique=True)
        )
        rows = data.draw(st.integers(1, 6))
        kinds = [
            st.integers(-(2**53), 2**53),
            st.floats(width=32, allow_nan=False, allow_infinity=False),
            st.sampled_from(["red", "gr,een", 'bl"ue', "gelb;", "two\nlines", "é"]),
        ]
        frame = pd.DataFrame(
            {
                name: data.draw(st.lists(data.draw(st.sampled_from(kinds)), min_size=rows, max_size=rows))
                for name in columns
            }
        )
        path = tmp_path_factory.mktemp("any") / "table.csv"
        frame.to_csv(path, index=False)
        table = read(path, target=columns[0], separator=",")
        assert_same_frame(table.X, frame.drop(columns=columns[0]))
        pd.testing.assert_series_equal(pd.Series(table.y), frame[columns[0]], check_dtype=False, check_names=False)

    def test_classes_are_optional(self, written):
        assert read(written("a.csv", "a,b\n1,0\n0,1\n")).y is None

    def test_numbers_as_classes_stay_numbers(self, written):
        y = read(written("a.csv", "a,b,class\n1,0,2\n0,1,7\n"), target="class").y
        assert y.dtype.kind == "i"
        assert y.tolist() == [2, 7]

    def test_names_and_groups_keep_their_spelling(self, written):
        path = written("a.csv", "id,a,patient,class\n007,1,01,x\n7,0,1,y\n")
        table = read(path, target="class", row_names="id", group="patient")
        assert table.row_names.tolist() == ["007", "7"]
        assert table.groups.tolist() == ["01", "1"]
        assert table.item_names.tolist() == ["a"]

    def test_missing_values_stay_missing(self, written):
        table = read(written("a.csv", "a,b,c,class\n1,,x,p\nNA,2,,q\n0,NaN,z,q\n"), target="class")
        assert table.X.isna().to_numpy().tolist() == [
            [False, True, False],
            [True, False, True],
            [False, True, False],
        ]

    @pytest.mark.parametrize("marker", ["?", "NA", "N/A", "n/a", "NaN", "", " ", " ?", "? ", " NA ", "null", "None"])
    def test_every_marker_is_missing_in_numbers_and_in_text(self, written, marker):
        table = read(written("a.csv", f"x,colour\n1,red\n{marker},{marker}\n2.5,blue\n"))
        assert table.frame["x"].isna().tolist() == table.frame["colour"].isna().tolist() == [False, True, False]
        assert table.frame["x"].dtype == float

    def test_rows_without_a_class_can_be_left_out(self, written):
        path = written("a.csv", ",a,class,who\nr,1,3,p\ns,0,?,\nt,0,4,q\n")
        table = read(path, target="class", group="who", drop_unlabelled=True)
        assert table.y.tolist() == [3, 4]
        assert table.y.dtype.kind == "i"
        assert table.row_names.tolist() == ["r", "t"]
        assert (table.groups.tolist(), table.group_name) == (["p", "q"], "who")
        assert table.frame["a"].tolist() == [1, 0]
        assert table.notes == ("Left out 1 row without a class.",)
        # Lines of other errors are those of the file.
        path = written("a.csv", "a,class,who\n1,3,p\n0,?,p\n0,4,\n")
        with pytest.raises(ReadError, match="line 4: the group in column 'who' is missing"):
            read(path, target="class", group="who", drop_unlabelled=True)
        path = written("a.csv", "a,class\n1,NA\n0,?\n")
        with pytest.raises(ReadError, match="no row has a class in column 'class'; name another column"):
            read(path, target="class", drop_unlabelled=True)

    def test_rows_without_a_class_in_a_label_file_can_be_left_out(self, written):
        path = written("a.csv", ",a,who\nr,1,p\ns,0,q\nt,0,r\n")
        sheet = written("y.csv", "id,class\nt,x\nr,NA\ns,y\n")
        table = read(path, labels=sheet, group="who", drop_unlabelled=True)
        assert table.y.tolist() == ["y", "x"]
        assert table.groups.tolist() == ["q", "r"]
        assert table.frame["a"].tolist() == [0, 0]

    def test_question_marks_and_other_markers_are_missing(self, written):
        table = read(written("a.csv", "a,b,class\n?,x,p\n3,n/a,q\n4, ?,q\n"), target="class")
        assert table.X.isna().to_numpy().tolist() == [[True, False], [False, True], [False, True]]
        assert table.X["a"].dtype.kind == "f"
        with pytest.raises(ReadError, match=r"line 3: the label in column 'class' is missing \(empty, NA or \?\)"):
            read(written("b.csv", "a,class\n1,p\n0,?\n"), target="class")

    def test_index_of_pandas_names_the_rows(self, tmp_path, shops):
        shops.index = ["one", "two", "03", "4"]
        shops.to_csv(tmp_path / "shops.csv")
        table = read(tmp_path / "shops.csv", target="shop")
        assert table.row_names.tolist() == ["one", "two", "03", "4"]
        assert table.item_names.tolist() == ["bread", "colour", "price", "open"]

    def test_table_of_r_has_a_header_that_is_one_shorter(self, written):
        table = read(written("r.txt", '"a"\t"class"\n"r1"\t1\t"x"\n"r2"\t0\t"y"\n'), target="class")
        assert table.row_names.tolist() == ["r1", "r2"]
        assert table.X["a"].tolist() == [1, 0]

    def test_semicolons_and_decimal_commas_as_excel_writes_them(self, written):
        path = written("excel.csv", "gewicht, kg;rot;klasse\n1,5;1;a\n2,25;0;b\n-3;1;b\n")
        table = read(path, target="klasse")
        assert table.item_names.tolist() == ["gewicht, kg", "rot"]
        assert table.X["gewicht, kg"].tolist() == [1.5, 2.25, -3.0]

    def test_semicolons_with_decimal_points(self, written):
        table = read(written("a.csv", "a;b;class\n1.5;1,2;x\n2.5;2;y\n"), target="class")
        assert table.X["a"].tolist() == [1.5, 2.5]
        assert table.X["b"].tolist() == ["1,2", "2"]

    @pytest.mark.parametrize("separator", ["\t", ",", ";"])
    def test_separator_of_txt_is_found(self, written, separator):
        text = "a,b,class\n1,0,x\n0,1,y\n".replace(",", separator)
        assert read(written("a.txt", text), target="class").item_names.tolist() == ["a", "b"]

    @pytest.mark.parametrize(("given", "used"), [("|", "|"), ("\\t", "\t"), (" ", " ")])
    def test_separator_can_be_given(self, written, given, used):
        table = read(written("a.csv", f"a{used}class\n1{used}x\n0{used}y\n"), target="class", separator=given)
        assert table.X["a"].tolist() == [1, 0]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_line_ends_and_blank_lines(self, written, end):
        text = end.join(["", "a,class", "1,x", "", "  ", "0,y", "", ""])
        table = read(written("a.csv", text), target="class")
        assert table.X["a"].tolist() == [1, 0]
        assert table.y.tolist() == ["x", "y"]

    def test_blanks_after_separators_do_not_count(self, written):
        table = read(written("adult.csv", 'age, job, class\n39, "a, b", <=50K\n50, c, >50K\n'), target="class")
        assert table.y.tolist() == ["<=50K", ">50K"]
        assert table.X["job"].tolist() == ["a, b", "c"]

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
    def test_encodings(self, written, encoding):
        path = written("a.csv", "größe,class\n1,Köln\n0,Trier\n".encode(encoding))
        # The mark at the beginning of a file is found without being told.
        table = read(path, target="class", encoding=None if encoding.startswith("utf-8") else encoding)
        assert table.item_names.tolist() == ["größe"]
        assert table.y.tolist() == ["Köln", "Trier"]

    def test_columns_that_count_may_head_a_table(self, tmp_path):
        pd.DataFrame(np.eye(4, dtype=int)).to_csv(tmp_path / "eye.csv", index=False)
        assert read(tmp_path / "eye.csv").item_names.tolist() == ["0", "1", "2", "3"]

    def test_numbers_may_head_a_table_with_row_names(self, written):
        assert read(written("genes.csv", ",7157,672\np1,1,0\np2,0,1\n")).item_names.tolist() == ["7157", "672"]

    @pytest.mark.slow
    def test_one_column_has_one_type_however_large_the_file(self, tmp_path):
        # Enough rows for pandas to read the file in parts, of which only the last has text.
        n_rows = 400_000
        frame = pd.DataFrame({"code": ["007"] * (n_rows - 1) + ["x"], "a": 1, "long": "some text to make it longer"})
        frame.to_csv(tmp_path / "large.csv", index=False)
        table = read(tmp_path / "large.csv")
        assert_same_frame(table.X, frame)

    def test_label_file_in_place_of_a_column(self, written):
        data = written("a.csv", ",a,b\nr1,1,0\nr2,0,1\n")
        sheet = written("classes.tsv", "id\tpatient\tclass\nr2\tp1\ty\nr1\tp2\tx\n")
        table = read(data, labels=sheet)
        assert table.y.tolist() == ["x", "y"]
        assert table.groups.tolist() == ["p2", "p1"]
        assert table.row_names.tolist() == ["r1", "r2"]

    def test_group_in_the_data_and_classes_in_a_label_file(self, written):
        data = written("a.csv", "a,patient\n1,p1\n0,p2\n")
        table = read(data, labels=written("y.txt", "x\ny\n"), group="patient")
        assert table.y.tolist() == ["x", "y"]
        assert table.groups.tolist() == ["p1", "p2"]
        assert table.item_names.tolist() == ["a"]


GOOD = b"bread,milk,class\n1,0,x\n0,1,y\n"

BROKEN_CSV = {
    "empty": ("a.csv", b"", {}, ["is empty"]),
    "only blank lines": ("a.csv", b"\n \n", {}, ["is empty"]),
    "header only": ("a.csv", b"a,b\n", {}, ["no rows below it"]),
    "no header": ("a.csv", b"0,1,1\n1,0,0\n", {}, ["line 1", "needs a header"]),
    "no header, numbers that differ": ("a.csv", b"5.1,3.5,1.4\n4.9,3.0,1.3\n", {}, ["line 1", "needs a header"]),
    "no header, with classes": ("a.csv", b"1,1,0,x\n1,0,1,y\n", {}, ["line 1", "needs a header"]),
    "same name twice": ("a.csv", b"a,b,a\n1,0,1\n", {}, ["'a' is the name of two columns (1 and 3)"]),
    "column without a name": ("a.csv", b"a,,b\n1,0,1\n", {}, ["column 2 has no name"]),
    "separator at the end of every line": ("a.csv", b"a,b,\n1,0,\n", {}, ["column 3 has no name"]),
    "separator at the end of rows": ("a.csv", b"a,b\n1,0,\n0,1,\n", {}, ["line 2: 3 fields", "2 columns"]),
    "names of rows repeat": ("a.csv", b",a\nr,1\nr,0\n", {}, ["first column has no name", "repeat"]),
    "name of a row missing": ("a.csv", b",a\nr,1\n,0\n", {}, ["first column has no name", "missing"]),
    "too few fields in the first row": ("a.csv", b"a,b,c\n1,0\n1,0,1\n", {}, ["line 2: 2 fields", "3 columns"]),
    "too few fields": ("a.csv", b"a,b,c\n1,0,1\n\n1,0\n", {}, ["line 4: 2 fields", "3 columns"]),
    "too few fields, with quotes": ("a.csv", b'a,b,c\n1,"0\n",1\n1,0\n', {}, ["line 4: 2 fields", "3 columns"]),
    "too many fields": ("a.csv", b"a,b,c\n1,0,1\n1,0,1,1\n", {}, ["line 3: 4 fields", "3 columns"]),
    "too many fields in the first row": ("a.csv", b"a,b\n1,0,1,1\n1,0\n", {}, ["line 2: 4 fields", "2 columns"]),
    "quote never closed": ("a.csv", b'a,b\n1,0\n1,"0\n0,1\n', {}, ["line 3", "quote", "never closed"]),
    "zero byte": ("a.csv", b"a,b\n1,0\n1,\0\n", {}, ["line 3", "zero byte"]),
    "wrong encoding": ("a.csv", "a,b\n1,0\n1,Köln\n".encode("latin-1"), {}, ["line 3", "0xf6", "encoding='latin-1'"]),
    "UTF-16": ("a.csv", "a,b\n1,0\n".encode("utf-16"), {}, ["UTF-16", "encoding='utf-16'"]),
    "not UTF-16": ("a.csv", b"a,b\n1,0", {"encoding": "utf-16"}, ["not utf-16 text"]),
    "no such encoding": ("a.csv", GOOD, {"encoding": "utf-7000"}, ["no encoding 'utf-7000'"]),
    "binary file": ("a.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", {}, ["zero byte", "not a text file"]),
    "garbage in .gz": ("a.csv.gz", b"no gzip at all", {}, ["gz data is damaged"]),
    "garbage in .xz": ("a.csv.xz", b"no xz at all", {}, ["xz data is damaged"]),
    "garbage in .bz2": ("a.csv.bz2", b"no bz2 at all", {}, ["Invalid data stream"]),
    "cut off .gz": ("a.csv.gz", gzip.compress(GOOD)[:-9], {}, ["gz data is damaged or truncated"]),
    "cut off .xz": ("a.csv.xz", lzma.compress(GOOD)[:-9], {}, ["xz data is damaged or truncated"]),
    "no such target": ("a.csv", GOOD, {"target": "Clas"}, ["'Clas' for target", "mean 'class'", "bread, milk, class"]),
    "no such group": ("a.csv", GOOD, {"group": "shop"}, ["no column 'shop' for group"]),
    "no such row names": ("a.csv", GOOD, {"row_names": "id"}, ["no column 'id' for row_names"]),
    "column used twice": ("a.csv", GOOD, {"target": "class", "group": "class"}, ["cannot be both target and group"]),
    "nothing but classes": ("a.csv", b"class\nx\ny\n", {"target": "class"}, ["no columns besides the classes"]),
    "label missing": (
        "a.csv",
        b'a,class\n"1\n",x\n\n0,NA\n',
        {"target": "class"},
        ["line 5", "label", "'class'", "missing"],
    ),
    "group missing": ("a.csv", b"a,who\n1,p\n0,\n", {"group": "who"}, ["line 3", "group in column 'who' is missing"]),
    "row name missing": ("a.csv", b"a,id\n1,\n0,r\n", {"row_names": "id"}, ["line 2", "name of the row", "missing"]),
    "row name twice": ("a.csv", b"a,id\n1,r\n0,r\n", {"row_names": "id"}, ["'r' is the name of two rows (1 and 2)"]),
    "option of another format": ("a.csv", GOOD, {"min_docs": 3}, ["takes no min_docs (3)"]),
}


@pytest.mark.parametrize("case", BROKEN_CSV)
def test_broken_csv(written, case):
    name, contents, options, words = BROKEN_CSV[case]
    said = refusal(written(name, contents), **options)
    for word in words:
        assert word in said


@pytest.mark.parametrize("separator", ["", "ab", '"', "\n", "ß"])
def test_separator_has_to_be_one_character(written, separator):
    with pytest.raises(ReadError, match="not one character"):
        read(written("a.csv", GOOD), separator=separator)


def test_many_columns_are_not_all_listed(written):
    path = written("wide.csv", ",".join(f"c{k}" for k in range(500)) + "\n" + ",".join("0" * 500) + "\n")
    said = refusal(path, target="class")
    assert "c0, c1" in said
    assert "c499" not in said


@pytest.mark.slow
def test_ragged_line_far_down_in_a_large_file(written):
    # Large enough for pandas to read it on several threads.
    lines = [b"1,0,1,0,1,0,1,0,1,0"] * 400_000
    lines[300_000] = b"1,0,1,0,1,0,1,0,1"
    header = b"a,b,c,d,e,f,g,h,i,j\n"
    assert "line 300002: 9 fields" in refusal(written("a.csv", header + b"\n".join(lines)))
    lines[300_000] = b"1,0,1,0,1,0,1,0,1,0,1"
    assert "line 300002: 11 fields" in refusal(written("a.csv", header + b"\n".join(lines)))


class TestAnyFile:
    """What goes wrong before a reader has seen a byte."""

    def test_no_such_file(self, tmp_path):
        assert "There is no file" in refusal(tmp_path / "nothing.csv")

    def test_unknown_suffix(self, written):
        said = refusal(written("data.xlsx", b""))
        assert "'.xlsx'" in said
        assert ".parquet" in said

    def test_unknown_format(self, written):
        with pytest.raises(ReadError, match=r"no format 'excel'.*csv, parquet"):
            read(written("a.csv", GOOD), format="excel")

    @pytest.mark.parametrize("format", ["csv", "parquet", "npz", "mtx", "dat"])
    def test_folder_in_place_of_a_file(self, tmp_path, format):
        assert format in formats()
        path = tmp_path / f"data.{format}"
        path.mkdir()
        assert "Is a directory" in refusal(path, format=format)

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
    def test_no_right_to_read(self, written):
        path = written("a.csv", GOOD)
        path.chmod(0)
        assert "Permission denied" in refusal(path)


class TestParquet:
    @pytest.fixture(autouse=True)
    def _needs_pyarrow(self):
        pytest.importorskip("pyarrow")

    def test_what_pandas_writes_comes_back(self, tmp_path, shops):
        shops.to_parquet(tmp_path / "shops.parquet")
        table = read(tmp_path / "shops.parquet", target="shop")
        assert table.y.tolist() == shops["shop"].tolist()
        assert_same_frame(table.X, shops.drop(columns="shop"))
        assert table.item_names.tolist() == ["bread", "colour", "price", "open"]
        assert table.row_names is None

    @pytest.mark.slow
    def test_compressed_once_more(self, tmp_path, shops):
        path = tmp_path / "shops.parquet.gz"
        path.write_bytes(gzip.compress(shops.to_parquet()))
        assert_same_frame(read(path).X, shops)

    @pytest.mark.slow
    @pytest.mark.parametrize("suffix", [".parquet", ".pq"])
    def test_index_names_the_rows(self, tmp_path, shops, suffix):
        shops.index = ["a", "b", "c", "d"]
        shops.to_parquet(tmp_path / f"shops{suffix}")
        table = read(tmp_path / f"shops{suffix}", target="shop")
        assert table.row_names.tolist() == ["a", "b", "c", "d"]
        assert table.shape == (4, 4)

    @pytest.mark.slow
    @pytest.mark.parametrize("index", [range(4), range(7, 11), [0, 1, 2, 3], [0, 0, 1, 1]])
    def test_index_that_only_counts_or_repeats_names_nothing(self, tmp_path, shops, index):
        shops.index = index if isinstance(index, range) else pd.Index(index)
        shops.to_parquet(tmp_path / "shops.parquet")
        table = read(tmp_path / "shops.parquet", target="shop")
        assert table.row_names is None
        assert table.item_names.tolist() == ["bread", "colour", "price", "open"]

    @pytest.mark.slow
    def test_index_of_two_columns(self, tmp_path, shops):
        shops.index = pd.MultiIndex.from_product([["p", "q"], [1, 2]], names=["patient", "sample"])
        shops.to_parquet(tmp_path / "shops.parquet")
        table = read(tmp_path / "shops.parquet")
        assert table.row_names.tolist() == ["p 1", "p 2", "q 1", "q 2"]
        assert table.shape == (4, 5)

    @pytest.mark.slow
    def test_index_may_be_the_class_or_the_group(self, tmp_path, shops):
        shops.set_index("shop").to_parquet(tmp_path / "shops.parquet")
        assert read(tmp_path / "shops.parquet", target="shop").y.tolist() == shops["shop"].tolist()
        assert read(tmp_path / "shops.parquet", group="shop").groups.tolist() == shops["shop"].tolist()

    def test_columns_called_by_numbers(self, tmp_path):
        pd.DataFrame(np.eye(3, dtype=int)).to_parquet(tmp_path / "eye.parquet")
        table = read(tmp_path / "eye.parquet", target="2")
        assert table.item_names.tolist() == ["0", "1"]
        assert table.y.tolist() == [0, 0, 1]

    @pytest.mark.slow
    def test_categories_and_decimals(self, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {
            "price": pa.array([1, None, 3]).cast(pa.decimal128(21, 2)),
            "colour": pa.array(["red", "blue", "red"]).dictionary_encode(),
            "class": pa.array(["x", "y", "x"]).dictionary_encode(),
        }
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        table = read(tmp_path / "a.parquet", target="class")
        assert table.y.tolist() == ["x", "y", "x"]
        assert table.X["colour"].tolist() == ["red", "blue", "red"]
        np.testing.assert_array_equal(table.X["price"], [1.0, np.nan, 3.0])

    def test_label_file(self, tmp_path, shops, written):
        shops.to_parquet(tmp_path / "shops.parquet")
        assert read(tmp_path / "shops.parquet", labels=written("y.txt", "a\nb\nb\na\n")).y.tolist() == list("abba")

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("column", "words"),
        [
            ([[1, 2], [3]], ["'strange'", "list"]),
            ([{"a": 1}, {"a": 2}], ["'strange'", "struct"]),
            ([b"\0\1", b"\2"], ["'strange'", "binary"]),
        ],
        ids=["list", "struct", "binary"],
    )
    def test_columns_that_are_no_numbers_or_text(self, tmp_path, column, words):
        path = tmp_path / "a.parquet"
        pd.DataFrame({"a": [1, 2], "strange": column}).to_parquet(path)
        said = refusal(path)
        for word in words:
            assert word in said

    def test_same_name_twice(self, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = tmp_path / "a.parquet"
        pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
        assert "'a' is the name of two columns (1 and 2)" in refusal(path)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("damage", "options", "words"),
        [
            (lambda data: b"", {}, ["not a valid Parquet file"]),
            (lambda data: b"a,b\n1,0\n", {}, ["not a valid Parquet file"]),
            (lambda data: data[: len(data) // 2], {}, ["not a valid Parquet file, or it is damaged"]),
            (lambda data: data[:-200] + data[-100:], {}, ["not a valid Parquet file, or it is damaged"]),
            (lambda data: data, {"target": "Shop"}, ["no column 'Shop' for target", "mean 'shop'"]),
            (lambda data: data, {"target": "price"}, ["row 4", "label in column 'price' is missing"]),
            (lambda data: data, {"row_names": "bread"}, ["'1' is the name of two rows (1 and 3)"]),
            (lambda data: data, {"separator": ";"}, ["takes no separator"]),
        ],
        ids=["empty", "text", "cut off", "part lost", "no target", "label missing", "name twice", "separator"],
    )
    def test_broken(self, tmp_path, shops, damage, options, words):
        path = tmp_path / "shops.parquet"
        path.write_bytes(damage(shops.to_parquet()))
        said = refusal(path, **options)
        for word in words:
            assert word in said

    def test_no_rows(self, tmp_path, shops):
        shops[:0].to_parquet(tmp_path / "a.parquet")
        assert "there are no rows" in refusal(tmp_path / "a.parquet")

    def test_library_that_is_not_installed(self, tmp_path, shops, monkeypatch):
        shops.to_parquet(tmp_path / "a.parquet")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(ImportError, match=r"pip install 'saltmine\[parquet\]'"):
            read(tmp_path / "a.parquet")

    @pytest.mark.slow
    def test_no_columns(self, tmp_path):
        pd.DataFrame(index=["a", "b"]).to_parquet(tmp_path / "a.parquet")
        assert "no columns" in refusal(tmp_path / "a.parquet")
