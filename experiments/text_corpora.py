"""The documents of the paper's text experiment: two pairs of newsgroups, and movie reviews."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from saltmine.io.documents import Documents, Fields, file_documents
from saltmine.io.files import ReadError
from saltmine.io.table import WORDS, Table
from saltmine.io.text import document_words, stop_words_of, word_matrix

NEWS, REVIEWS = "news4.jsonl.xz", "movie.jsonl.xz"
#: Words to leave out, where the folder of the documents has such a list.
STOP_WORDS = "smart_stopwords.txt"


@dataclass(frozen=True)
class Corpus:
    """Documents of two classes, and the size of the paper's matrix of them.

    Attributes
    ----------
    title, file : str
    classes : (str, str)
        Labels of the first and the second class, in the paper's order.
    min_docs : int
        Leave out words that are in fewer documents. The paper says 20, which with our words gives too few columns; this
        comes near to its number of columns.
    paper_rows, paper_columns, paper_density
        Documents of each class, words, and percent of ones in the paper's matrix.
    """

    title: str
    file: str
    classes: tuple[str, str]
    min_docs: int
    paper_rows: tuple[int, int]
    paper_columns: int
    paper_density: float

    @property
    def paper_ones(self) -> float:
        """Ones in the paper's matrix, as its rounded density tells."""
        return sum(self.paper_rows) * self.paper_columns * self.paper_density / 100

    @property
    def is_news(self) -> bool:
        """Whether the documents are posts with headers, which scikit-learn can fetch."""
        return self.file == NEWS


CORPORA = {
    "space": Corpus("Space-Rel", NEWS, ("talk.religion.misc", "sci.space"), 13, (622, 980), 2244, 2.27),
    "politics": Corpus("Politics", NEWS, ("talk.politics.mideast", "talk.politics.misc"), 13, (936, 775), 2985, 2.64),
    "movie": Corpus("Movie", REVIEWS, ("neg", "pos"), 16, (998, 997), 4442, 3.68),
}


@lru_cache
def corpus_table(name: str, data: Path | None) -> Table:
    """Return documents by words, without empty and repeated rows; the labels are 0 and 1, in the paper's order.

    Parameters
    ----------
    name : {"space", "politics", "movie"}
    data : Path or None
        Folder with the files, or with a folder ``text`` that has them. None fetches the news by scikit-learn.
    """
    corpus = CORPORA[name]
    folder = None if data is None else _text_folder(data, corpus.file)
    documents = fetched_news(corpus.classes) if folder is None else _stored(folder / corpus.file, corpus)
    labels = np.asarray(documents.y)
    chosen = np.flatnonzero(np.isin(labels, corpus.classes))
    texts = [documents.texts[k] for k in chosen]
    said = [subject_and_body(post) for post in texts] if corpus.is_news else texts
    words = document_words(said, "en", _stop_words(folder))
    X, names = word_matrix(words, corpus.min_docs, corpus.title)
    rows = distinct_rows(X)
    y = np.where(labels[chosen] == corpus.classes[0], 0, 1)
    return Table(X[rows], y[rows], item_names=names, kind=WORDS)


def require_documents(data: Path | None) -> None:
    """Find the files, or let scikit-learn fetch the news: once, as several processes would be in each other's way."""
    try:
        import simplemma  # noqa: F401  # only whether it is there
    except ImportError:
        raise ReadError("Basic forms of words need simplemma; pip install 'saltmine[text]'.") from None
    for corpus in CORPORA.values():
        if data is not None:
            _text_folder(data, corpus.file)
        elif corpus.is_news:
            fetched_news(corpus.classes)


def subject_and_body(post: str) -> str:
    r"""Return what a newsgroup post says, without the lines above it but for its subject.

    Examples
    --------
    >>> subject_and_body("From: me\nSubject: Orbits\nLines: 1\n\nThey decay.")
    'Orbits\nThey decay.'
    """
    header, _, body = post.partition("\n\n")
    subjects = [line[len("subject:") :].strip() for line in header.splitlines() if line.lower().startswith("subject:")]
    return "\n".join([*subjects, body])


def distinct_rows(X: sp.csr_array) -> list[int]:
    """Return the rows that have ones and equal no earlier row.

    Examples
    --------
    >>> distinct_rows(sp.csr_array([[1, 0], [0, 0], [1, 0], [1, 1]]))
    [0, 3]
    """
    first: dict[bytes, int] = {}
    for row, (begin, end) in enumerate(zip(X.indptr[:-1], X.indptr[1:], strict=True)):
        if end > begin:
            first.setdefault(X.indices[begin:end].tobytes(), row)
    return list(first.values())


def fetched_news(
    classes: tuple[str, str], data_home: str | PathLike[str] | None = None, download: bool = True
) -> Documents:
    """Return the posts of two newsgroups from scikit-learn, which keeps them in its own folder."""
    from sklearn.datasets import fetch_20newsgroups

    try:
        found = fetch_20newsgroups(
            subset="all", categories=list(classes), data_home=data_home, download_if_missing=download, shuffle=False
        )
    except OSError as error:
        reason = " ".join(str(error).split())
        raise ReadError(
            f"scikit-learn could not fetch the 20 newsgroups ({reason}); name a folder that has text/{NEWS} (--data)."
        ) from error
    return Documents(list(found.data), np.array(found.target_names)[found.target])


def _text_folder(data: Path, file: str) -> Path:
    """Return the folder that holds the file: this one, or its sub-folder for texts."""
    for folder in (data / "text", data):
        if (folder / file).is_file():
            return folder
    if not data.is_dir():
        raise ReadError(
            f"{data} is {'a file' if data.exists() else 'not there'}; name the folder that has text/{file} (--data)."
        )
    raise ReadError(f"{data} has neither text/{file} nor {file}; name the folder that has it (--data).")


def _stored(path: Path, corpus: Corpus) -> Documents:
    documents = file_documents(path, "utf-8", None, Fields())
    labels = set() if documents.y is None else set(documents.y.tolist())
    for label in corpus.classes:
        if label not in labels:
            raise ReadError(f"{path} has no documents with the label {label!r}, which {corpus.title} consists of.")
    return documents


def _stop_words(folder: Path | None) -> frozenset[str]:
    """Return the list beside the documents, else scikit-learn's, which is shorter."""
    listed = None if folder is None else folder / STOP_WORDS
    return stop_words_of("en", listed if listed is not None and listed.is_file() else None)
