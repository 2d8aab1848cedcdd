"""Documents from folders, lines of JSON and tables: which words occur in which of them."""

import bz2
import csv
import gzip
import json
import lzma
import sys

import numpy as np
import pytest

from saltmine.io import read
from saltmine.io.text import SOME_LANGUAGES
from tests.helpers.paths import shared_path
from tests.helpers.reading import refusal

pytest.importorskip("simplemma")

PETS = [
    {"id": "a", "label": "dog", "text": "The dogs were barking."},
    {"id": "b", "label": "cat", "text": "A cat purrs; cats purr!"},
    {"id": "c", "label": "dog", "text": "Dog and cat"},
    {"id": "d", "label": "cat", "text": "42 is it"},
]
WORDS_OF_PETS = [{"dog", "bark"}, {"cat", "purr"}, {"dog", "cat"}, set()]


def words(table):
    return [set(table.item_names[row.indices]) for row in table.X]


def write_folder(path, documents=PETS):
    for document in documents:
        file = path / document["label"] / "deep" / f"{document['id']}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(document["text"])
    return path


def write_jsonl(path, documents=PETS):
    content = "".join(json.dumps(document) + "\n" for document in documents).encode()
    compress = {".xz": lzma.compress, ".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)
    path.write_bytes(compress(content))
    return path


def write_table(path, documents=PETS, separator=None):
    separator = separator or ("," if path.suffix == ".csv" else "\t")
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(documents[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(documents)
    return path


# ------------------------------------------------------------------------------------------------------------ words


@pytest.mark.parametrize(
    "name", ["pets.jsonl", "pets.ndjson", "pets.jsonl.xz", "pets.jsonl.gz", "pets.jsonl.bz2", "pets.csv", "pets.tsv"]
)
def test_files_of_documents_become_words(tmp_path, name):
    write = write_jsonl if "json" in name else write_table
    table = read(write(tmp_path / name), format="text", min_docs=1)
    assert table.kind == "words"
    assert words(table) == WORDS_OF_PETS
    assert table.item_names.tolist() == sorted(set().union(*WORDS_OF_PETS))
    assert set(table.X.data) == {1}
    assert table.y.tolist() == ["dog", "cat", "dog", "cat"]
    assert table.row_names.tolist() == ["a", "b", "c", "d"]


def test_a_folder_of_classes_becomes_words(tmp_path):
    write_folder(tmp_path)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "cat" / ".notes.txt").write_text("hidden zebra")
    (tmp_path / "dog" / ".git").mkdir()
    (tmp_path / "dog" / ".git" / "config").write_text("hidden zebra")
    table = read(tmp_path, min_docs=1)
    assert table.row_names.tolist() == ["cat/deep/b.txt", "cat/deep/d.txt", "dog/deep/a.txt", "dog/deep/c.txt"]
    assert table.y.tolist() == ["cat", "cat", "dog", "dog"]
    assert words(table) == [WORDS_OF_PETS[row] for row in (1, 3, 0, 2)]


@pytest.mark.parametrize("min_docs", [1, 2, 3])
def test_rare_words_are_left_out_and_rows_stay(tmp_path, min_docs):
    documents = [{"text": " ".join(f"{letter * 4}" for letter in letters)} for letters in ("abc", "ab", "a", "", "bcd")]
    table = read(write_jsonl(tmp_path / "letters.jsonl", documents), language="none", min_docs=min_docs)
    texts = [set(document["text"].split()) for document in documents]
    frequent = {word for word in set().union(*texts) if sum(word in text for text in texts) >= min_docs}
    assert words(table) == [text & frequent for text in texts]
    assert table.shape == (5, len(frequent))
    assert table.y is None
    assert table.row_names is None


def test_words_have_three_letters_of_any_alphabet(tmp_path):
    # The e with its accent comes as one character and as two.
    text = "Straße ÉCOLE e\u0301te\u0301 ab x2yz snake_case слово don't 日本語"
    table = read(write_jsonl(tmp_path / "words.jsonl", [{"text": text}]), language="none", min_docs=1)
    assert words(table) == [{"straße", "école", "été", "snake", "case", "слово", "don", "日本語"}]


def test_stop_words_go_before_and_after_the_basic_form_is_found(tmp_path):
    path = write_jsonl(tmp_path / "pets.jsonl", [{"text": "Seriously, the mice were running; mouse and rat"}])
    assert words(read(path, min_docs=1)) == [{"seriously", "mouse", "run", "rat"}]
    stop_words = tmp_path / "stop.txt"
    stop_words.write_text("MOUSE\nrunning\n\nthe\nand\n")
    # "mice" goes as its basic form is a stop word, "running" as it is one itself; "were" is no stop word of this list.
    assert words(read(path, min_docs=1, stop_words=stop_words)) == [{"seriously", "be", "rat"}]
    assert words(read(path, min_docs=1, stop_words=stop_words, language="none")) == [
        {"seriously", "mice", "were", "rat"}
    ]


@pytest.mark.slow
def test_other_languages_have_their_basic_forms_and_no_stop_words(tmp_path):
    path = write_jsonl(tmp_path / "tiere.jsonl", [{"text": "Die Hunde und die Katzen liefen"}])
    assert words(read(path, language="DE", min_docs=1)) == [{"der", "hund", "und", "katze", "laufen"}]


def test_languages_that_the_error_message_names_are_known():
    dictionaries = pytest.importorskip("simplemma.strategies.dictionaries.dictionary_factory")
    assert set(SOME_LANGUAGES) <= set(dictionaries.SUPPORTED_LANGUAGES)


def test_new_documents_have_the_same_words(tmp_path):
    """What a model with fixed items needs: a document has the same words, whatever other documents there are."""
    all_pets = read(write_jsonl(tmp_path / "all.jsonl"), min_docs=1)
    for document, expected in zip(PETS[:3], words(all_pets), strict=False):
        alone = read(write_jsonl(tmp_path / "one.jsonl", [document]), min_docs=1)
        assert words(alone) == [expected]


# ----------------------------------------------------------------------------------------------------------- fields


@pytest.mark.parametrize("write", [write_jsonl, write_table])
def test_fields_are_found_by_name_or_taken_as_named(tmp_path, write):
    documents = [{"key": "k1", "forum": "x", "post": "zebra", "user": "u1", "id": "i"}]
    documents += [{"key": "k2", "forum": "y", "post": "lion", "user": "u1", "id": "i"}]
    path = write(tmp_path / f"posts.{'jsonl' if write is write_jsonl else 'csv'}", documents)
    table = read(path, text="post", target="forum", row_names="key", group="user", min_docs=1)
    assert words(table) == [{"zebra"}, {"lion"}]
    assert table.y.tolist() == ["x", "y"]
    assert table.row_names.tolist() == ["k1", "k2"]
    assert table.groups.tolist() == ["u1", "u1"]
    # Only one text is left once the others are named.
    assert words(read(path, format="text", target="forum", row_names="key", group="user", min_docs=1)) == words(table)
    # These ids are all the same, so they name nothing.
    assert read(path, text="post", min_docs=1).row_names is None
    assert read(path, text="post", min_docs=1).y is None


@pytest.mark.parametrize("labels", [[3, 1], [True, False], ["x", "y"], [0.5, 1.5]])
def test_labels_keep_their_kind(tmp_path, labels):
    documents = [{"text": "zebra", "label": label} for label in labels]
    assert read(write_jsonl(tmp_path / "posts.jsonl", documents), min_docs=1).y.tolist() == labels


def test_classes_from_a_label_file(tmp_path):
    documents = [document | {"label": None} for document in PETS]
    path = write_jsonl(tmp_path / "pets.jsonl", documents)
    sheet = tmp_path / "sheet.tsv"
    sheet.write_text("name\tkind\tdonor\n" + "".join(f"{name}\tk{name}\tx\n" for name in "dcba"))
    table = read(path, labels=sheet, target="kind", group="donor", min_docs=1)
    assert table.y.tolist() == ["ka", "kb", "kc", "kd"]
    assert table.groups.tolist() == ["x"] * 4
    assert table.row_names.tolist() == list("abcd")


def test_tables_may_have_long_documents_line_ends_and_other_separators(tmp_path):
    long = "zebra " * 100_000
    documents = [{"label": "x", "text": f'{long}\n"quoted"'}, {"label": "y", "text": "lion; tiger"}]
    expected = [{"zebra", "quote"}, {"lion", "tiger"}]
    limit = csv.field_size_limit()
    for name, separator in (("a.csv", ","), ("a.tsv", "\t"), ("b.csv", ";")):
        assert words(read(write_table(tmp_path / name, documents, separator), text="text", min_docs=1)) == expected
    path = write_table(tmp_path / "c.txt", documents, "|")
    assert words(read(path, text="text", separator="|", min_docs=1)) == expected
    assert words(read(tmp_path / "a.tsv", text="text", separator="\\t", min_docs=1)) == expected
    assert csv.field_size_limit() == limit


def test_documents_in_another_encoding(tmp_path):
    (tmp_path / "corpus" / "fr").mkdir(parents=True)
    (tmp_path / "corpus" / "fr" / "a.txt").write_bytes("école".encode("latin-1"))
    table = read(tmp_path / "corpus", encoding="latin-1", language="none", min_docs=1)
    assert words(table) == [{"école"}]


# ----------------------------------------------------------------------------------------------------- broken files


def lines(*lines):
    return "".join(line + "\n" for line in lines).encode()


GOOD = '{"text": "zebra", "label": "x", "id": 1}'

BROKEN_FILES = {
    "empty": ("a.jsonl", b"", {}, "no documents"),
    "blank lines only": ("a.jsonl", b"\n \n", {}, "no documents"),
    "no JSON": ("a.jsonl", lines(GOOD, "{'text': 1}"), {}, "line 2: this is not JSON"),
    "cut off": ("a.jsonl", lines(GOOD, GOOD)[:-20], {}, "line 2: this is not JSON"),
    "deeply nested": ("a.jsonl", lines("[" * 100_000), {}, "line 1: this is not JSON"),
    "a list": ("a.jsonl", lines(GOOD, '["zebra"]'), {}, "line 2: this is a list"),
    "a bare number": ("a.jsonl", lines("7"), {}, "line 1: this is a number"),
    "null": ("a.jsonl", lines("null"), {}, "line 1: this is nothing"),
    "text is a number": (
        "a.jsonl",
        lines(GOOD, '{"text": 7, "label": "x"}'),
        {},
        "line 2: 'text' is a number, not text",
    ),
    "text is a list": ("a.jsonl", lines('{"text": ["a"]}'), {}, "line 1: 'text' is a list, not text"),
    "text is null": ("a.jsonl", lines(GOOD, "", '{"text": null}'), {}, "line 3: there is no 'text'"),
    "text is missing": ("a.jsonl", lines(GOOD, '{"label": "x"}'), {}, "line 2: there is no 'text'"),
    "label is missing": ("a.jsonl", lines(GOOD, '{"text": "x"}'), {}, "line 2: 'label' is missing or empty"),
    "label is empty": ("a.jsonl", lines('{"text": "x", "label": ""}'), {}, "line 1: 'label' is missing or empty"),
    "label is NaN": ("a.jsonl", lines('{"text": "x", "label": NaN}'), {}, "line 1: 'label' is missing or empty"),
    "label is a list": ("a.jsonl", lines('{"text": "x", "label": []}'), {}, "line 1: 'label' is a list"),
    "labels of two kinds": ("a.jsonl", lines(GOOD, GOOD.replace('"x"', "1")), {}, "line 2: 'label' is 1, of another"),
    "no such class": ("a.jsonl", lines(GOOD), {"target": "labels"}, "did you mean 'label'"),
    "no such text": ("a.jsonl", lines(GOOD), {"text": "body"}, "no column 'body' for text"),
    "no such name": ("a.jsonl", lines(GOOD), {"row_names": "name"}, "no column 'name' for row_names"),
    "no such group": ("a.jsonl", lines(GOOD), {"group": "user"}, "no column 'user' for group"),
    "names twice": ("a.jsonl", lines(GOOD, GOOD), {"row_names": "id"}, "'1' is the name of two documents"),
    "name is an object": ("a.jsonl", lines('{"text": "x", "n": {}}'), {"row_names": "n"}, "line 1: 'n' is an object"),
    "two texts": ("a.jsonl", lines('{"title": "x", "body": "y"}'), {}, "name it as text"),
    "no text at all": ("a.jsonl", lines('{"label": "x", "n": 7}'), {}, "name it as text"),
    "JSON with a separator": ("a.jsonl", lines(GOOD), {"separator": ","}, "takes no separator"),
    "another encoding": ("a.jsonl", lines(GOOD) + "{é}".encode("latin-1"), {}, "line 2: the byte 0xe9"),
    "UTF-16": ("a.jsonl", GOOD.encode("utf-16"), {}, "utf-16"),
    "unknown encoding": ("a.jsonl", lines(GOOD), {"encoding": "klingon"}, "no encoding 'klingon'"),
    "binary": ("a.jsonl", bytes(100), {}, "zero byte"),
    "xz garbage": ("a.jsonl.xz", b"garbage", {}, "damaged"),
    "xz cut off": ("a.jsonl.xz", lzma.compress(lines(GOOD))[:-20], {}, "truncated"),
    "gz cut off": ("a.jsonl.gz", gzip.compress(lines(GOOD))[:-10], {}, "truncated"),
    "bz2 garbage": ("a.jsonl.bz2", b"garbage", {}, "cannot be read"),
    "ragged table": ("a.csv", lines("text,label", "zebra,x", "lion"), {}, "line 3: 1 fields where the header has 2"),
    "unquoted comma": ("a.csv", lines("text,label", "zebra, lion,x"), {}, "line 2: 3 fields where the header has 2"),
    "open quote": ("a.csv", lines("text,label", "lion,x", '"zebra,x'), {}, "line 3: unexpected end of data"),
    "table without rows": ("a.csv", lines("text,label"), {}, "no documents"),
    "empty table": ("a.csv", b"", {}, "no documents"),
    "columns twice": ("a.csv", lines("text,text", "a,b"), {}, "'text' is the name of two columns"),
    "table without a label": ("a.csv", lines("text,label", "zebra,"), {}, "line 2: 'label' is missing or empty"),
    "long separator": ("a.csv", lines("text,label", "zebra,x"), {"separator": "::"}, "the separator '::'"),
    "another format": ("a.npz", b"PK", {"format": "text"}, "not '.npz'"),
    "only stop words": ("a.jsonl", lines('{"text": "the and is 12 xy"}'), {}, "no words"),
    "fewer documents": ("a.jsonl", lines(GOOD, GOOD, GOOD), {"min_docs": 20}, "'zebra', is in 3 of 3"),
    "no language": ("a.jsonl", lines(GOOD), {"language": "xx"}, "language 'xx' is not known; some known ones are en"),
    "min_docs of none": ("a.jsonl", lines(GOOD), {"min_docs": 0}, "min_docs is 0"),
    "half a min_docs": ("a.jsonl", lines(GOOD), {"min_docs": 0.5}, "min_docs is 0.5"),
    "unit": ("a.jsonl", lines(GOOD), {"unit": "gene"}, "takes no unit"),
}
ABOUT_OPTIONS = {"unknown encoding", "long separator", "no language", "min_docs of none", "half a min_docs"}


@pytest.mark.parametrize("case", BROKEN_FILES)
def test_a_broken_file_of_documents_is_refused(tmp_path, case):
    name, data, options, complaint = BROKEN_FILES[case]
    path = tmp_path / name
    path.write_bytes(data)
    message = refusal(path, **{"format": "text", "min_docs": 1} | options)
    assert str(path) in message or case in ABOUT_OPTIONS
    assert complaint in message


def file_beside(folder):
    write_folder(folder)
    (folder / "README.txt").write_text("zebra")


def empty_class(folder):
    write_folder(folder)
    (folder / "fish" / "deep").mkdir(parents=True)


def other_encoding(folder):
    write_folder(folder)
    (folder / "dog" / "latin.txt").write_bytes(b"one\ntwo\ncaf\xe9\n")


def binary_document(folder):
    write_folder(folder)
    (folder / "dog" / "photo.jpg").write_bytes(b"zebra\0\0\0")


def broken_archive(folder):
    write_folder(folder)
    (folder / "dog" / "z.txt.gz").write_bytes(b"zebra")


def empty_documents(folder):
    write_folder(folder, [{"id": "a", "label": "dog", "text": ""}])


def test_documents_in_a_folder_without_classes_have_none(tmp_path):
    (tmp_path / "a.txt").write_text("zebra")
    (tmp_path / "b.txt").write_text("zebra giraffe")
    table = read(tmp_path, min_docs=1)
    assert table.y is None
    assert table.row_names.tolist() == ["a.txt", "b.txt"]
    assert table.item_names.tolist() == ["giraffe", "zebra"]


BROKEN_FOLDERS = {
    "empty": (lambda folder: None, {}, "is empty; it should have a sub-folder for each class"),
    "hidden class": (lambda folder: write_folder(folder / ".git"), {}, "is empty"),
    "a file beside": (file_beside, {}, "'README.txt' is in no class"),
    "an empty class": (empty_class, {}, "fish: there are no documents"),
    "another encoding": (other_encoding, {}, "latin.txt, line 3: the byte 0xe9"),
    "binary": (binary_document, {}, "photo.jpg, line 1: there is a zero byte"),
    "broken archive": (broken_archive, {}, "z.txt.gz: the gz data is damaged"),
    "empty documents": (empty_documents, {}, "no words"),
    "rare words only": (write_folder, {"min_docs": 3}, "is in 2 of 4"),
    "target": (write_folder, {"target": "label"}, "takes no target"),
    "labels": (write_folder, {"labels": "sheet.tsv"}, "takes no labels"),
    "separator": (write_folder, {"separator": ","}, "takes no separator"),
}


@pytest.mark.parametrize("case", BROKEN_FOLDERS)
def test_a_broken_folder_of_documents_is_refused(tmp_path, case):
    write, options, complaint = BROKEN_FOLDERS[case]
    folder = tmp_path / "corpus"
    folder.mkdir()
    write(folder)
    message = refusal(folder, **{"min_docs": 1} | options)
    assert str(folder) in message
    assert complaint in message


@pytest.mark.parametrize(
    ("data", "complaint"),
    [(b"\n\n", "no stop words"), (b"caf\xe9\n", "line 1: the byte 0xe9"), (None, "No such file")],
    ids=["empty", "another encoding", "not there"],
)
def test_a_broken_list_of_stop_words_is_refused(tmp_path, data, complaint):
    stop_words = tmp_path / "stop.txt"
    if data is not None:
        stop_words.write_bytes(data)
    message = refusal(write_jsonl(tmp_path / "pets.jsonl"), stop_words=stop_words)
    assert str(stop_words) in message
    assert complaint in message


def test_without_simplemma_words_can_be_taken_as_they_are(tmp_path, monkeypatch):
    path = write_jsonl(tmp_path / "pets.jsonl")
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(ImportError, match=r"simplemma; pip install 'saltmine\[text\]', or .* language='none'"):
        read(path, min_docs=1)
    assert "dogs" in read(path, language="none", min_docs=1).item_names


# -------------------------------------------------------------------------------------------------------- real texts


@pytest.mark.slow
def test_movie_reviews_have_the_words_of_the_recipe():
    table = read(shared_path("data/text/movie.jsonl.xz"))
    labels, counts = np.unique(table.y, return_counts=True)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {"neg": 1000, "pos": 1000}
    # The notes beside the data say so of this recipe; other versions of simplemma differ in some words.
    assert table.shape[1] == pytest.approx(3834, rel=0.01)
    assert table.X.sum(axis=0).min() >= 20
    assert len(set(table.row_names)) == 2000


def test_documents_without_a_class_can_be_left_out(written):
    path = written("a.jsonl", '{"text": "zebra", "label": 1}\n{"text": "lion"}\n{"text": "zebra", "label": 2}\n')
    table = read(path, min_docs=1, language="none", drop_unlabelled=True)
    assert table.y.tolist() == [1, 2]
    assert table.item_names.tolist() == ["zebra"]
    assert table.notes == ("Left out 1 row without a class.",)
    path = written("a.csv", "text,label\nzebra,NA\n")
    assert "no document has a class in 'label'" in refusal(path, text="text", language="none", drop_unlabelled=True)
