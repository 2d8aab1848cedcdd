"""Documents become 0/1 rows: a word, in its basic form, occurs in the document or not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saltmine.io.files import lines_of, read_text
from saltmine.io.table import ReadError, as_names

#: The language of documents whose words are taken as they are.
NO_LANGUAGE = "none"
#: Some languages, for the error message; simplemma knows many more.
SOME_LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pl", "pt", "ru", "sv")

_THREE_LETTERS = re.compile(r"[^\W\d_]{3,}")


def stop_words_of(language: str, path: str | PathLike[str] | None) -> frozenset[str]:
    """Return the words to leave out: those of a file with one word per line, else scikit-learn's for English."""
    if path is not None:
        lines = lines_of(read_text(Path(path)).lower())
        words = frozenset(line.strip() for line in lines) - {""}
        if not words:
            raise ReadError(f"{path} has no stop words in it; put one word on each line, or leave the file out.")
        return words
    if language == "en":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    return frozenset()


def document_words(texts: Iterable[str], language: str, stop_words: frozenset[str]) -> list[set[str]]:
    """Return the words of every document, in their basic form, without stop words.

    Examples
    --------
    >>> sorted(document_words(["The cats sat on 2 mats."], "en", frozenset({"the"}))[0])
    ['cat', 'mat', 'sit']
    >>> sorted(document_words(["The cats sat on 2 mats."], "none", frozenset())[0])
    ['cats', 'mats', 'sat', 'the']
    """
    forms = _BasicForms(_lemmatizer(language), stop_words)
    documents = []
    for text in texts:
        tokens = set(_THREE_LETTERS.findall(normalize("NFC", text).lower()))
        documents.append({forms[token] for token in tokens} - {""})
    return documents


class _BasicForms(dict[str, str]):
    """The basic form of every token met so far; empty for a stop word."""

    def __init__(self, lemmatize: Callable[[str], str], stop_words: frozenset[str]) -> None:
        self._lemmatize = lemmatize
        self._stop_words = stop_words

    def __missing__(self, token: str) -> str:
        word = "" if token in self._stop_words else self._lemmatize(token).lower()
        self[token] = "" if word in self._stop_words else word
        return self[token]


def _lemmatizer(language: str) -> Callable[[str], str]:
    if language == NO_LANGUAGE:
        return str
    try:
        import simplemma
    except ImportError:
        raise ReadError(
            "Basic forms of words need the library simplemma; pip install 'saltmine[text]', or take words as they are "
            f"with language={NO_LANGUAGE!r} (--language {NO_LANGUAGE})."
        ) from None
    try:
        simplemma.lemmatize("word", lang=language)
    except ValueError:
        raise ReadError(
            f"The language {language!r} is not known; some that are: {', '.join(SOME_LANGUAGES)}; or take the words as "
            f"they are with language={NO_LANGUAGE!r} (--language {NO_LANGUAGE})."
        ) from None
    return lambda token: simplemma.lemmatize(token, lang=language)


def word_matrix(documents: list[set[str]], min_docs: int, source: str) -> tuple[sp.csr_array, NDArray[Any]]:
    """Return documents by words, and the words: those in at least ``min_docs`` documents, in alphabetical order.

    Examples
    --------
    >>> X, words = word_matrix([{"cat", "mat"}, {"cat"}], 2, "animals")
    >>> X.toarray().tolist(), words.tolist()
    ([[1], [1]], ['cat'])
    """
    counts = Counter(word for words in documents for word in words)
    if not counts:
        raise ReadError(f"{source}: the documents have no words of three or more letters, stop words aside.")
    vocabulary = sorted(word for word, count in counts.items() if count >= min_docs)
    if not vocabulary:
        (word, most), *_ = counts.most_common(1)
        raise ReadError(
            f"{source}: no word is in at least {min_docs} documents; the most frequent, {word!r}, is in {most} of "
            f"{len(documents)}, so min_docs (--min-docs) can be {most} at most."
        )
    number = {word: column for column, word in enumerate(vocabulary)}
    rows = [sorted(number[word] for word in words if word in number) for words in documents]
    starts = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column in row], dtype=np.int32)
    ones = np.ones(len(columns), dtype=np.int8)
    return sp.csr_array((ones, columns, starts), shape=(len(documents), len(vocabulary))), as_names(vocabulary)
