"""Text documents: rows are documents, items are the words in them."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from saltmine.io.documents import Fields, file_documents, folder_documents
from saltmine.io.sheets import labelled
from saltmine.io.table import WORDS, ReadError, Table
from saltmine.io.words import document_words, stop_words_of, word_matrix


def read_text(
    path: Path,
    *,
    target: str | int | None = None,
    text: str | None = None,
    row_names: str | None = None,
    group: str | int | None = None,
    labels: str | PathLike[str] | None = None,
    language: str = "en",
    stop_words: str | PathLike[str] | None = None,
    min_docs: int = 20,
    encoding: str = "utf-8",
    separator: str | None = None,
) -> Table:
    r"""Read documents and say which words occur in them.

    Words have three or more letters, are in lower case and in their basic form, as simplemma finds it; stop words are
    left out before and after that. A document without any of the words is a row without items.

    To read new documents for a model that has its items already, take ``min_docs=1`` and pick the items by name.

    Parameters
    ----------
    path : Path
        A folder whose sub-folders are classes, with the documents as files at any depth below; a file with one JSON
        object per line (.jsonl, .ndjson); or a table (.csv, .tsv, .tab, .txt) with a header.
    target, text, row_names, group : str, optional
        Fields or columns that hold the class, the document, its name, and what documents belong together. By default
        the class is in "label", the document in "text", or the only field that could be one, and the name in "id".
    labels : path, optional
        File with the classes instead; ``target`` and ``group`` are then columns of it.
    language : str
        Code such as "en" or "de", or "none" to take the words as they are.
    stop_words : path, optional
        File with words to leave out, one per line. By default scikit-learn's list for English, and none otherwise.
    min_docs : int
        Leave out words that are in fewer documents.
    encoding : str
    separator : str, optional
        Of a table; comma for .csv, and else tab.

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
        raise ReadError(f"min_docs is {min_docs!r}, but it should be a whole number of 1 or more.")
    named = {"text": text, "target": target, "row_names": row_names, "group": group}
    if path.is_dir():
        _refuse(path, named | {"labels": labels, "separator": separator})
        documents = folder_documents(path, encoding)
    else:
        here = named if labels is None else named | {"target": None, "group": None}
        fields = Fields(**{what: None if name is None else str(name) for what, name in here.items()})
        documents = file_documents(path, encoding, separator, fields, has_classes=labels is None)
    language = language.lower()
    words = document_words(documents.texts, language, stop_words_of(language, stop_words))
    X, item_names = word_matrix(words, min_docs, str(path))
    table = Table(X, documents.y, documents.row_names, item_names, documents.groups, WORDS)
    return table if labels is None else labelled(table, path, labels, target, group)


def _refuse(path: Path, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value is not None:
            raise ReadError(
                f"{path} is a folder, whose sub-folders are the classes, and takes no {name} ({value!r}); leave it out."
            )
