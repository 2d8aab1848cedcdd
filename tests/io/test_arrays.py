"""Matrices: npz archives, MatrixMarket files and FIMI transactions."""

import gzip
import io
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import mmwrite

from saltmine.io import read
from tests.helpers.reading import refusal_of_file as refusal


@pytest.fixture
def matrix():
    """Return counts of 12 rows and 6 columns, most of them 0."""
    rng = np.random.default_rng(1)
    return rng.integers(0, 3, (12, 6)) * (rng.random((12, 6)) < 0.4)


def assert_same_matrix(X, expected):
    assert isinstance(X, sp.csr_array)
    assert X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), expected)


class TestNpz:
    @pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
    @pytest.mark.parametrize("kind", ["matrix", "array"])
    def test_every_sparse_format_comes_back(self, tmp_path, matrix, form, kind):
        stored = getattr(sp, f"{form}_{kind}")(matrix)
        sp.save_npz(tmp_path / "X.npz", stored)
        table = read(tmp_path / "X.npz")
        assert_same_matrix(table.X, matrix)
        assert table.X.dtype == matrix.dtype
        assert table.y is None
        assert table.item_names is None

    def test_cells_stored_twice_add_up(self, tmp_path):
        sp.save_npz(tmp_path / "X.npz", sp.coo_array(([1, 2, 1], ([0, 0, 1], [1, 1, 0])), shape=(2, 2)))
        assert_same_matrix(read(tmp_path / "X.npz").X, [[0, 3], [1, 0]])

    def test_files_beside_a_sparse_matrix(self, tmp_path, matrix, written):
        sp.save_npz(tmp_path / "X.npz", sp.csr_array(matrix))
        rows = written("rows.tsv", "".join(f"{'xy'[k % 2]}\tdocument {k}\n" for k in range(12)))
        vocabulary = written("vocabulary.txt", "\n".join("abcdef"))
        table = read(tmp_path / "X.npz", labels=rows, target=1, items=vocabulary)
        assert "".join(table.y) == "xy" * 6
        assert table.row_names[:2].tolist() == ["document 0", "document 1"]
        assert "".join(table.item_names) == "abcdef"

    @pytest.mark.parametrize("name", ["X", "x", "data", "arr_0", "anything"])
    def test_dense_data_is_found_by_name_or_shape(self, tmp_path, matrix, name):
        y = np.array(["x", "y"] * 6)
        np.savez_compressed(tmp_path / "a.npz", **{name: matrix}, y=y, note=np.array("seen in May"))
        table = read(tmp_path / "a.npz")
        np.testing.assert_array_equal(table.X, matrix)
        assert table.y.tolist() == y.tolist()

    def test_name_goes_before_shape(self, tmp_path, matrix):
        np.savez(tmp_path / "a.npz", other=np.zeros((2, 2)), X=matrix)
        np.testing.assert_array_equal(read(tmp_path / "a.npz").X, matrix)

    @pytest.mark.slow
    @settings(max_examples=40, deadline=None)
    @given(
        hnp.arrays(
            st.sampled_from([np.bool_, np.int8, np.uint16, np.float32]),
            hnp.array_shapes(min_dims=2, max_dims=2),
            elements=st.sampled_from([0, 1]),
        )
    )
    def test_any_array_comes_back(self, tmp_path_factory, array):
        folder = tmp_path_factory.mktemp("any")
        np.savez(folder / "dense.npz", X=array)
        sp.save_npz(folder / "sparse.npz", sp.csr_array(array))
        dense, sparse = read(folder / "dense.npz"), read(folder / "sparse.npz")
        np.testing.assert_array_equal(dense.X, array)
        assert dense.X.dtype == array.dtype
        assert_same_matrix(sparse.X, array)

    @pytest.mark.parametrize("names", ["item_names", "feature_names", "columns"])
    @pytest.mark.parametrize("kind", [str, bytes])
    def test_names_in_the_archive(self, tmp_path, matrix, names, kind):
        called = np.array(["bread", "milk", "k\u00e4se", "tea", "jam", "nuts"])
        called = called if kind is str else np.char.encode(called, "utf-8")
        np.savez(tmp_path / "a.npz", X=matrix, row_names=np.arange(12), **{names: called})
        table = read(tmp_path / "a.npz")
        assert table.item_names.tolist() == ["bread", "milk", "käse", "tea", "jam", "nuts"]
        assert table.row_names.tolist() == [str(k) for k in range(12)]

    def test_target_and_group_are_arrays(self, tmp_path, matrix):
        np.savez(tmp_path / "a.npz", X=matrix, y=np.zeros(12), tissue=np.arange(12), patient=np.arange(12) // 2)
        table = read(tmp_path / "a.npz", target="tissue", group="patient")
        assert table.y.tolist() == list(range(12))
        assert table.groups.tolist() == [str(k // 2) for k in range(12)]

    def test_label_file_goes_before_arrays(self, tmp_path, matrix, written):
        np.savez(tmp_path / "a.npz", X=matrix, y=np.zeros(12), item_names=np.array(list("abcdef")))
        table = read(
            tmp_path / "a.npz", labels=written("y.txt", "u\nv\n" * 6), items=written("items.txt", "\n".join("ghijkl"))
        )
        assert "".join(table.y) == "uv" * 6
        assert "".join(table.item_names) == "ghijkl"


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def sparse_npz(**changes):
    """Return a file that scipy wrote, with some of its arrays changed."""
    stream = io.BytesIO()
    sp.save_npz(stream, sp.csr_array(np.eye(3)))
    stream.seek(0)
    with np.load(stream) as stored:
        return npz(**(dict(stored) | changes))


def zipped(name, contents):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, contents)
    return stream.getvalue()


X = np.eye(3)
OBJECTS = np.array(["a", "b", None], dtype=object)
MUCH = np.full((2, 3), 1.0)
MUCH[1, 2] = np.inf

BROKEN_NPZ = {
    "empty": (b"", {}, ["not an npz archive"]),
    "text": (b"1,0\n0,1\n", {}, ["not an npz archive"]),
    "one array": (npz(X=X)[:0] + b"\x93NUMPY\x01\0", {}, ["not an npz archive"]),
    "pickle": (pickle.dumps({"X": X}), {}, ["not an npz archive"]),
    "cut off": (npz(X=X)[:-30], {}, ["truncated"]),
    "damaged": (npz(X=X).replace(b"NUMPY", b"NUMPI"), {}, ["not a valid npz archive, or it is damaged"]),
    "other archive": (zipped("notes.txt", "hello"), {}, ["'notes.txt' in it is not an array"]),
    "text called like an array": (zipped("X.npy", "hello"), {}, ["'X' in it is not an array"]),
    "empty archive": (npz(), {}, ["0 arrays with two dimensions"]),
    "pickle inside": (npz(X=X, y=OBJECTS), {}, ["'y' holds Python objects", "astype(str)"]),
    "pickled sparse matrix inside": (npz(X=sp.csr_array(X)), {}, ["'X' holds Python objects", "scipy.sparse.save_npz"]),
    "nothing with two dimensions": (npz(X=np.ones(3), y=np.ones(3)), {}, ["0 arrays", "X, y", "name the one"]),
    "two candidates": (npz(a=X, b=X), {}, ["2 arrays with two dimensions", "a, b"]),
    "no rows": (npz(X=np.ones((0, 3))), {}, ["0 rows and 3 columns"]),
    "text as data": (npz(X=np.array([["a", "b"]])), {}, ["<U1", "numbers"]),
    "complex numbers": (npz(X=X * 1j), {}, ["complex128", "numbers"]),
    "not finite": (npz(X=MUCH), {}, ["row 2, column 3 is inf"]),
    "no such target": (npz(X=X, y=np.ones(3)), {"target": "z"}, ["no array 'z' for target", "X, y"]),
    "no such group": (npz(X=X, y=np.ones(3)), {"group": "z"}, ["no array 'z' for group", "X, y"]),
    "too few labels": (npz(X=X, y=np.ones(2)), {}, ["'y' has the shape (2,)", "3 rows"]),
    "label missing": (npz(X=X, y=np.array([1, np.nan, 1])), {}, ["'y'", "row 2 has no value"]),
    "label empty": (npz(X=X, y=np.array(["a", "b", ""])), {}, ["'y'", "row 3 has no value"]),
    "labels of a strange type": (npz(X=X, y=np.ones(3) * 1j), {}, ["'y' holds complex128"]),
    "text that is not UTF-8": (
        npz(X=X, y=np.array([b"\xff", b"a", b"b"])),
        {},
        ["not a valid archive of text in UTF-8"],
    ),
    "names twice": (npz(X=X, columns=np.array(["a", "b", "a"])), {}, ["'columns'", "'a' is the name of two columns"]),
    "too many names": (npz(X=X, row_names=np.arange(4)), {}, ["'row_names'", "(4,)", "3 rows"]),
    "sparse, part missing": (npz(format=b"csr", shape=[3, 3], data=np.ones(3)), {}, ["not a valid sparse matrix"]),
    "sparse, unknown format": (sparse_npz(format=b"xyz"), {}, ["not a valid sparse matrix"]),
    "sparse, one dimension": (sparse_npz(shape=[3]), {}, ["not a valid sparse matrix"]),
    "sparse, index too large": (sparse_npz(indices=[0, 1, 9]), {}, ["its indices holds 9, but there are 3 columns"]),
    "sparse, index below zero": (sparse_npz(indices=[0, 1, -1]), {}, ["not a valid sparse matrix"]),
    "sparse, pointer decreases": (sparse_npz(indptr=[0, 1, 2, 0]), {}, ["its indptr falls from 2 to 0 at place 3"]),
    "sparse, not finite": (sparse_npz(data=[1.0, np.nan, 1.0]), {}, ["row 2, column 2 is nan"]),
    "sparse, target without label file": (sparse_npz(), {"target": "y"}, ["no column 'y' for target", "--labels"]),
    "option of another format": (npz(X=X), {"row_names": "id"}, ["takes no row_names"]),
}


@pytest.mark.parametrize("case", BROKEN_NPZ)
def test_broken_npz(written, case):
    contents, options, words = BROKEN_NPZ[case]
    said = refusal(written("data.npz", contents), **options)
    for word in words:
        assert word in said


def test_nothing_is_unpickled(written):
    class Spy:
        def __reduce__(self):
            return (list.append, (ran, "code"))

    ran = []
    path = written("data.npz", npz(X=X, y=np.array([Spy(), 1, 2], dtype=object)))
    assert "Python objects" in refusal(path)
    assert ran == []


class TestMatrixMarket:
    @pytest.mark.parametrize(
        ("form", "field"),
        [(form, field) for form in ("coordinate", "array") for field in ("integer", "real")]
        + [("coordinate", "pattern")],
    )
    @pytest.mark.parametrize("symmetry", ["general", "symmetric"])
    @pytest.mark.parametrize("suffix", [".mtx", ".mtx.gz"])
    def test_every_kind_comes_back(self, tmp_path, matrix, field, symmetry, form, suffix):
        stored = matrix.T @ matrix if symmetry == "symmetric" else matrix
        stored = (stored > 0).astype(int) if field == "pattern" else stored
        stream = io.BytesIO()
        mmwrite(stream, stored if form == "array" else sp.coo_array(stored), field=field, symmetry=symmetry)
        path = tmp_path / f"a{suffix}"
        path.write_bytes(gzip.compress(stream.getvalue()) if suffix.endswith("gz") else stream.getvalue())
        X = read(path).X
        if form == "array":
            assert isinstance(X, np.ndarray)
            np.testing.assert_array_equal(X, stored)
        else:
            assert_same_matrix(X, stored)

    @pytest.mark.slow
    @settings(max_examples=40, deadline=None)
    @given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.integers(-9, 9).map(float)))
    def test_any_matrix_comes_back(self, tmp_path_factory, array):
        folder = tmp_path_factory.mktemp("any")
        # Else it may choose the form for skew-symmetric matrices, which hold no yes and no.
        symmetry = "symmetric" if array.shape[0] == array.shape[1] and (array == array.T).all() else "general"
        mmwrite(folder / "dense.mtx", array, symmetry=symmetry)
        mmwrite(folder / "sparse.mtx", sp.coo_array(array), symmetry=symmetry)
        np.testing.assert_array_equal(read(folder / "dense.mtx").X, array)
        assert_same_matrix(read(folder / "sparse.mtx").X, array)

    def test_comments_blank_lines_and_entries_stored_twice(self, written):
        text = "%%MatrixMarket matrix coordinate integer general\n% seen in May\n\n2 3 3\n1 1 1\n\n2 3 4\n 1  1 2\n"
        assert_same_matrix(read(written("a.mtx", text)).X, [[3, 0, 0], [0, 0, 4]])

    def test_matrix_of_zeros(self, written):
        text = "%%MatrixMarket matrix coordinate real general\n2 2 0\n"
        assert_same_matrix(read(written("a.mtx", text)).X, np.zeros((2, 2)))

    def test_files_beside_it(self, written):
        path = written("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 2 2\n1 1\n3 2\n")
        sheet = written("classes.csv", "patient,tissue\np1,liver\np1,lung\np2,lung\n")
        items = written("genes.txt", "TP53\r\nKRAS\r\n")
        table = read(path, labels=sheet, target="tissue", group="patient", items=items)
        assert table.y.tolist() == ["liver", "lung", "lung"]
        assert table.groups.tolist() == ["p1", "p1", "p2"]
        assert table.item_names.tolist() == ["TP53", "KRAS"]


SPARSE = "%%MatrixMarket matrix coordinate integer general\n"
DENSE = "%%MatrixMarket matrix array real general\n"

BROKEN_MTX = {
    "empty": ("", {}, ["not a MatrixMarket file"]),
    "other text": ("1 2 3\n", {}, ["not a MatrixMarket file", "first line"]),
    "vector": ("%%MatrixMarket vector coordinate real general\n3 1\n1 1\n", {}, ["not a MatrixMarket file"]),
    "complex": (
        SPARSE.replace("integer", "complex") + "1 1 1\n1 1 1 0\n",
        {},
        ["coordinate complex general", "cannot be read"],
    ),
    "skew": (SPARSE.replace("general", "skew-symmetric") + "2 2 1\n2 1 1\n", {}, ["skew-symmetric", "cannot be read"]),
    "array of a pattern": (
        DENSE.replace("real", "pattern") + "1 1\n1\n",
        {},
        ["array pattern general", "cannot be read"],
    ),
    "no sizes": (SPARSE + "% nothing\n", {}, ["line 3", "numbers of rows"]),
    "sizes are words": (SPARSE + "two 2 1\n1 1 1\n", {}, ["line 2", "numbers of rows"]),
    "size missing": (SPARSE + "2 2\n1 1 1\n", {}, ["line 2", "numbers of rows"]),
    "cut off": (SPARSE + "2 2 3\n1 1 1\n", {}, ["there are 1 entries", "line 2", "3"]),
    "too long": (SPARSE + "2 2 1\n1 1 1\n2 2 1\n", {}, ["there are more than 1 entries", "not 1 as in line 2"]),
    "row too large": (SPARSE + "2 2 1\n3 1 1\n", {}, ["line 3", "row 3 and column 1 are outside of 2 rows"]),
    "counted from 0": (SPARSE + "2 2 2\n1 1 1\n1 0 1\n", {}, ["line 4", "column 0 are outside"]),
    "word for a value": (SPARSE + "2 2 2\n1 1 1\n2 2 x\n", {}, ["line 4", "'x' is not a whole number"]),
    "infinite column": (SPARSE + "2 2 1\n1 inf 1\n", {}, ["line 3", "'inf' is not a whole number"]),
    "fraction in integers": (SPARSE + "2 2 1\n1 1 1.5\n", {}, ["line 3", "'1.5' is not a whole number"]),
    "value missing": (SPARSE + "2 2 2\n1 1 1\n2 2\n", {}, ["line 4", "2 fields where there should be 3"]),
    "value too much": (SPARSE + "2 2 2\n1 1 1 1\n2 2 1\n", {}, ["line 3", "4 fields where there should be 3"]),
    "not finite": (DENSE + "2 1\n1\nnan\n", {}, ["nan"]),
    "too large": (DENSE + "2 1\n1\n1e999\n", {}, ["finite number"]),
    "array, word for a value": (DENSE + "2 1\n1\nx\n", {}, ["line 4", "'x' is not a finite number"]),
    "array, cut off": (DENSE + "2 2\n1\n0\n", {}, ["there are 2 entries", "4"]),
    "array, two in a line": (DENSE + "2 1\n1 0\n", {}, ["line 3", "2 fields"]),
    "symmetric, not square": (
        DENSE.replace("general", "symmetric") + "1 2\n1\n",
        {},
        ["1 rows and 2 columns", "symmetric"],
    ),
    "no rows": (SPARSE + "0 2 0\n", {}, ["0 rows and 2 columns"]),
    "zero byte": (DENSE + "2 1\n1\n\0\n", {}, ["line 4", "zero byte"]),
    "target without label file": (SPARSE + "1 1 1\n1 1 1\n", {"target": "y"}, ["no column 'y' for target", "--labels"]),
}


@pytest.mark.parametrize("case", BROKEN_MTX)
def test_broken_mtx(written, case):
    contents, options, words = BROKEN_MTX[case]
    said = refusal(written("data.mtx", contents), **options)
    for word in words:
        assert word in said


class TestTransactions:
    @pytest.mark.parametrize("name", ["a.dat", "a.fimi", "a.dat.gz"])
    def test_numbers_are_ordered_by_value(self, written, name):
        text = b"10 2\n\n2 30 2\r\n"
        table = read(written(name, gzip.compress(text) if name.endswith("gz") else text))
        assert table.item_names.tolist() == ["2", "10", "30"]
        assert_same_matrix(table.X, [[1, 1, 0], [0, 0, 0], [1, 0, 1]])

    def test_words_are_sorted(self, written):
        table = read(written("a.dat", "milk  bread\nmilk 7\t\n"))
        assert table.item_names.tolist() == ["7", "bread", "milk"]
        assert_same_matrix(table.X, [[0, 1, 1], [1, 0, 1]])

    @pytest.mark.slow
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.sets(st.integers(0, 10**20)), min_size=1).filter(any))
    def test_any_transactions_come_back(self, tmp_path_factory, baskets):
        path = tmp_path_factory.mktemp("any") / "a.dat"
        path.write_text("".join(" ".join(map(str, basket)) + "\n" for basket in baskets))
        table = read(path)
        found = [{int(table.item_names[item]) for item in table.X[[row]].indices} for row in range(table.shape[0])]
        assert found == baskets
        assert set(table.X.data) == {1}

    def test_names_are_counted_from_0(self, written):
        items = written("items.txt", "bread\nmilk\ntea\n")
        table = read(written("a.dat", "2 0\n0\n"), items=items)
        assert table.item_names.tolist() == ["bread", "milk", "tea"]
        assert_same_matrix(table.X, [[1, 0, 1], [1, 0, 0]])

    def test_label_file(self, written):
        table = read(written("a.dat", "1\n2\n\n"), labels=written("y.txt", "x\ny\nx\n"))
        assert table.y.tolist() == ["x", "y", "x"]


BROKEN_DAT = {
    "empty": (b"", {}, ["is empty"]),
    "no items": (b"\n\n", {}, ["2 transactions", "no items"]),
    "commas": (b"1,2,3\n2,3\n", {}, ["commas", "blanks"]),
    "zero byte": (b"1 2\n\0\n", {}, ["line 2", "zero byte"]),
    "not UTF-8": (b"1 2\n\xff\n", {}, ["line 2", "0xff"]),
    "target without label file": (b"1 2\n", {"target": "y"}, ["no column 'y' for target", "--labels"]),
    "group without label file": (b"1 2\n", {"group": "y"}, ["no column 'y' for group", "--labels"]),
    "item without a name": (b"1 0\n1 2\n", {"items": "bread\nmilk\n"}, ["line 2", "'2' has no name", "0 to 1"]),
    "item that is no number": (b"1 bread\n", {"items": "bread\nmilk\n"}, ["line 1", "'bread' has no name"]),
    "option of another format": (b"1 2\n", {"separator": ","}, ["takes no separator"]),
}


@pytest.mark.parametrize("case", BROKEN_DAT)
def test_broken_dat(written, case):
    contents, options, words = BROKEN_DAT[case]
    if "items" in options:
        options = {"items": written("items.txt", options["items"])}
    said = refusal(written("data.dat", contents), **options)
    for word in words:
        assert word in said


@pytest.mark.parametrize("name", ["a.mtx.gz", "a.dat.gz", "a.npz.gz"])
def test_damaged_compression(written, name):
    assert "gz data is damaged" in refusal(written(name, b"no gzip at all"))
    assert "truncated" in refusal(written(name, gzip.compress(b"1 2 3\n" * 99)[:-9]))


def test_rows_without_a_class_can_be_left_out(tmp_path, written):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.eye(3), y=["x", "NA", "y"], who=["p", "", "q"], row_names=["r1", "r2", "r3"])
    said = refusal(path)
    assert "row 2 has no value; give the row a class, or leave such rows out with --drop-unlabelled" in said
    table = read(path, drop_unlabelled=True, group="who")
    assert table.y.tolist() == ["x", "y"]
    assert table.X.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert table.row_names.tolist() == ["r1", "r3"]
    assert (table.groups.tolist(), table.group_name) == (["p", "q"], "who")
    assert table.notes == ("Left out 1 row without a class.",)
    matrix = written("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 2 3\n1 1\n2 2\n3 2\n")
    labels = written("y.txt", "x\n?\ny\n")
    assert read(matrix, labels=labels, drop_unlabelled=True).X.toarray().tolist() == [[1, 0], [0, 1]]
    baskets = written("a.dat", "1\n2\n3 1\n")
    assert read(baskets, labels=labels, drop_unlabelled=True).X.toarray().tolist() == [[1, 0, 0], [1, 0, 1]]
    np.savez(path, X=np.eye(2), y=["?", "NA"])
    assert "no row has a class" in refusal(path, drop_unlabelled=True)
