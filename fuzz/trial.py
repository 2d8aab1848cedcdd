"""What reading a file may do: return a consistent table, or refuse the file with one sentence."""

from __future__ import annotations

import re
import shutil
import traceback
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import saltmine
from fuzz.cases import Case
from saltmine import CSalt, Prepare, Primp
from saltmine.fitted.model_file import ModelFileError
from saltmine.io import ReadError, Table

READ, REFUSED = "read", "refused"
#: What must not happen. Crashes, hangs and memory are seen from outside of the process.
CRASH, HANG, MEMORY, EXCEPTION, UNCLEAR = "crash", "hang", "memory", "exception", "unclear"
FINDINGS = (CRASH, HANG, MEMORY, EXCEPTION, UNCLEAR)

_MAX_MESSAGE = 1500
# Line breaks, control characters, which terminals obey, marks that turn the direction of writing, half code points.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MAX_CELLS = 3000


class Outcome(NamedTuple):
    """How a trial ended, and what was said."""

    kind: str
    said: str = ""

    @property
    def is_finding(self) -> bool:
        """Whether this must not happen."""
        return self.kind not in (READ, REFUSED)


class Inconsistent(Exception):
    """A table or a message that is not as documented."""


def attempt(case: Case, folder: Path, is_model: bool = False, thorough: bool = False) -> Outcome:
    """Write the files of a case into an empty folder and read them.

    Parameters
    ----------
    thorough : bool
        Also use what was read: prepare and fit small tables, ask loaded models.
    """
    folder.mkdir()
    path, options = case.write(folder)
    try:
        return attempt_path(path, options, is_model, thorough)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def attempt_path(path: Path, options: dict[str, Any], is_model: bool = False, thorough: bool = False) -> Outcome:
    """Read a file and tell how it ended."""
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            said = _load(path, thorough) if is_model else _read(path, options, thorough)
        # What libraries warn of is nothing that a user could act on.
        foreign = [str(warning.message) for warning in warned if "saltmine" not in warning.filename]
        if foreign and not thorough:
            raise Inconsistent(f"a library warned: {foreign[0]}")
    except Inconsistent as problem:
        return Outcome(UNCLEAR, str(problem))
    except KeyboardInterrupt:
        raise
    except BaseException:  # also exits, and panics of compiled libraries
        return Outcome(EXCEPTION, traceback.format_exc())
    return Outcome(READ) if said is None else Outcome(REFUSED, said)


def _read(path: Path, options: dict[str, Any], thorough: bool) -> str | None:
    try:
        table = saltmine.read(path, **options)
    except ReadError as error:
        # A label file is named instead where it is what is wrong.
        named = [path, *(value for value in options.values() if isinstance(value, Path))]
        return check_sentence(str(error), named)
    check_table(table)
    if thorough and np.prod(table.shape) <= _MAX_CELLS:
        _fit(table)
    return None


def _load(path: Path, thorough: bool) -> str | None:
    try:
        model = saltmine.load(path)
    except ModelFileError as error:
        return check_sentence(str(error), [path])
    if thorough:
        model.patterns()
        model.summary()
        if model.n_features_in_ <= _MAX_CELLS:
            model.transform(np.zeros((2, model.n_features_in_), dtype=bool))
    return None


def _fit(table: Table) -> None:
    """Prepare and fit a table as the command line does; data that cannot be fitted is refused with a sentence."""
    try:
        items, names = table.X, table.item_names
        if table.frame is not None:
            items = Prepare(missing="item").fit_transform(table.X)
            names = None
        options: dict[str, Any] = {"item_names": names, "row_names": table.row_names, "groups": table.groups}
        model = (Primp if table.y is None else CSalt)(random_state=0, max_iter=20)
        model.fit(items, table.y, **options)
    except ValueError as error:
        check_sentence(str(error), [])
        return
    model.patterns()
    model.summary()


# ---------------------------------------------------------------------- what is documented


def check_sentence(said: str, paths: Iterable[Path]) -> str:
    """Return a message after checking that it is one sentence that names a file; names of files do not count."""
    rest = said
    names = [str(path) for path in paths]
    for name in names:
        # As it is, or quoted.
        for form in (name, repr(name)[1:-1]):
            rest = rest.replace(form, "FILE")
    if names and "FILE" not in rest:
        raise Inconsistent(f"the message names no file: {said!r}")
    if _UNSAFE.search(rest):
        raise Inconsistent(f"the message is not one printable line: {said!r}")
    if not rest.endswith(".") or len(rest) > _MAX_MESSAGE:
        raise Inconsistent(f"the message is not one short sentence: {said!r}")
    return said


def check_table(table: Table) -> None:
    """Check that lengths agree, names are distinct text, and cells of matrices are numbers."""
    n_rows, n_items = table.shape
    lengths = {"y": n_rows, "row_names": n_rows, "groups": n_rows, "item_names": n_items}
    for name, length in lengths.items():
        values = getattr(table, name)
        if values is None:
            continue
        if values.shape != (length,):
            raise Inconsistent(f"{name} has the shape {values.shape}, but the table has {table.shape}")
        _check_text(name, values)
        if name in ("row_names", "item_names") and len(set(values.tolist())) < length:
            raise Inconsistent(f"{name} are not distinct: {values.tolist()[:20]}")
    for note in table.notes:
        if _UNSAFE.search(note) or not note.endswith("."):
            raise Inconsistent(f"a note is not one printable sentence: {note!r}")
    if sp.issparse(table.X):
        assert isinstance(table.X, sp.csr_array)
        table.X.check_format(full_check=True)
    if table.frame is None:
        cells: Any = table.X.data if sp.issparse(table.X) else table.X
        if cells.dtype.kind not in "biuf":
            raise Inconsistent(f"the values are {cells.dtype}, not numbers")
    repr(table)
    table._repr_html_()


def _check_text(name: str, values: Any) -> None:
    for value in values.tolist():
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                raise Inconsistent(f"{name} have broken code points: {value!r}") from None
