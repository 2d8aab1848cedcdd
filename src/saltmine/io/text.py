"""Text documents: rows are documents, items are the words in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import normalize

import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.extras import needing
from saltmine.io.documents import Fields, file_documents, folder_documents
from saltmine.io.files import ReadError, load_lines
from saltmine.io.labels import with_labels
from saltmine.io.table import WORDS, ColumnArg, PathArg, Table, matrix_of_lists
from saltmine.names import as_text

#: The language of documents whose words are kept as they are.
NO_LANGUAGE = "none"
#: Some languages of simplemma, for the error message.
SOME_LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pl", "pt", "ru", "sv")

_WORD = re.compile(r"[^\W\d_]{3,}")


def read_text(
    path: Path,
    *,
    target: ColumnArg = None,
    text: str | None = None,
    row_names: str | None = None,
    group: ColumnArg = None,
    labels: PathArg = None,
    drop_unlabelled: bool = False,
    language: str = "en",
    stop_words: PathArg = None,
    min_docs: int = 20,
    encoding: str = "utf-8",
    separator: str | None = None,
) -> Table:
    r"""Read which words occur in which documents.

    Words have three or more letters and are in lower case and in the basic form that simplemma finds; stop words are
    removed before and after. A document without any of the words is a row without items.

    To read new documents for a fitted model, use ``min_docs=1`` and select the items by name.

    Parameters
    ----------
    path : Path
        A folder whose sub-folders are classes, with the documents as files at any depth below; a file with one JSON
        object per line (.jsonl, .ndjson); or a table (.csv, .tsv, .tab, .txt) with a header.
    target, text, row_names, group : str, optional
        Fields or columns with the class, the document, its name, and its group. By default the class is in "label",
        the document in "text" or the only field with text, and the name in "id".
    labels : path, optional
        File with the classes instead; ``target`` and ``group`` are then columns of it.
    drop_unlabelled : bool
        Leave out documents without a class.
    language : str
        Code such as "en" or "de", or "none" to keep the words as they are.
    stop_words : path, optional
        File with words to leave out, one per line. By default scikit-learn's list for English, and none otherwise.
    min_docs : int
        Leave out words that are in fewer documents.
    encoding : str
    separator : str, optional
        Of a table; by default comma, semicolon or tab for .csv, and else tab.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pets.csv"
    >>> _ = path.write_text("text,label\nA dog barks.,dog\nDogs and cats,dog\nCats purr,cat\n")
    >>> table = read_text(path, min_docs=2)
    >>> table.item_names.tolist(), table.X.toarray().tolist()
    (['cat', 'dog'], [[0, 1], [1, 1], [1, 0]])
    """
    if isinstance(min_docs, bool) or not isinstance(min_docs, int) or min_docs < 1:
        raise ReadError(f"min_docs is {min_docs!r}, but it must be a whole number of at least 1.")
    named = {"text": text, "target": target, "row_names": row_names, "group": group}
    if path.is_dir():
        for name, value in (named | {"labels": labels, "separator": separator}).items():
            if value is not None:
                raise ReadError(f"a folder of classes takes no {name} ({value!r}); leave it out.")
        documents = folder_documents(path, encoding)
    else:
        here = named if labels is None else named | {"target": None, "group": None}
        fields = Fields(**{what: None if name is None else str(name) for what, name in here.items()})
        documents = file_documents(path, encoding, separator, fields, labels is None, drop_unlabelled)
    language = language.lower()
    words = document_words(documents.texts, language, stop_words_of(language, stop_words))
    X, item_names = word_matrix(words, min_docs)
    table = Table(X, documents.y, documents.row_names, item_names, documents.groups, WORDS, notes=documents.notes)
    table = replace(table, group_name=None if documents.groups is None else str(group))
    return table if labels is None else with_labels(table, labels, target, group, drop_unlabelled=drop_unlabelled)


def stop_words_of(language: str, path: PathArg) -> frozenset[str]:
    """Return the words to leave out: those of a file with one word per line, or scikit-learn's list for English."""
    if path is not None:
        words = frozenset(line.lower() for line in load_lines(path)) - {""}
        if not words:
            raise ReadError("there are no stop words; write one word per line.", path=path)
        return words
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # slow to import

    return ENGLISH_STOP_WORDS if language == "en" else frozenset()


def document_words(texts: Iterable[str], language: str, stop_words: frozenset[str]) -> list[set[str]]:
    """Return the words of every document, in their basic form, without stop words.

    Examples
    --------
    >>> sorted(document_words(["The cats sat on 2 mats."], "en", frozenset({"the"}))[0])
    ['cat', 'mat', 'sit']
    >>> sorted(document_words(["The cats sat on 2 mats."], "none", frozenset())[0])
    ['cats', 'mats', 'sat', 'the']
    """
    lemmatize = _lemmatizer(language)

    @cache
    def basic_form(token: str) -> str:
        word = "" if token in stop_words else lemmatize(token).lower()
        return "" if word in stop_words else word

    return [set(map(basic_form, set(_WORD.findall(normalize("NFC", text).lower())))) - {""} for text in texts]


def _lemmatizer(language: str) -> Callable[[str], str]:
    if language == NO_LANGUAGE:
        return str
    as_they_are = f"or keep the words as they are with language={NO_LANGUAGE!r} (--language {NO_LANGUAGE})"
    with needing("text", "The basic form of words", f", {as_they_are}"):
        import simplemma
    try:
        simplemma.lemmatize("word", lang=language)
    except ValueError:
        problem = f"the language {language!r} is not known; some known ones are {', '.join(SOME_LANGUAGES)}"
        raise ReadError(f"{problem}; {as_they_are}.") from None
    return lambda token: simplemma.lemmatize(token, lang=language)


def word_matrix(
    documents: list[set[str]], min_docs: int, source: str | None = None
) -> tuple[sp.csr_array, NDArray[Any]]:
    """Return documents by words, and the words: those in at least ``min_docs`` documents, in alphabetical order.

    Errors name the ``source``.

    Examples
    --------
    >>> X, words = word_matrix([{"cat", "mat"}, {"cat"}], min_docs=2)
    >>> X.toarray().tolist(), words.tolist()
    ([[1], [1]], ['cat'])
    """
    counts = Counter(word for words in documents for word in words)
    if not counts:
        raise ReadError("the documents have no words of three or more letters that are not stop words.", path=source)
    vocabulary = sorted(word for word, count in counts.items() if count >= min_docs)
    if not vocabulary:
        [(word, count)] = counts.most_common(1)
        most = f"the most frequent, {word!r}, is in {count} of {len(documents)}"
        remedy = f"so min_docs (--min-docs) can be at most {count}."
        raise ReadError(f"no word is in at least {min_docs} documents; {most}, {remedy}", path=source)
    number = {word: column for column, word in enumerate(vocabulary)}
    found = [[number[word] for word in words if word in number] for words in documents]
    return matrix_of_lists(found, len(vocabulary)), as_text(vocabulary)
