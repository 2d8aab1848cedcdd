"""Files with which something went wrong once: each in a folder of ``tests/io/regressions``, with how it is read."""

from __future__ import annotations

import json
from pathlib import Path

from fuzz.cases import Case, File, Format
from fuzz.formats import FORMATS

FOLDER = Path(__file__).parents[1] / "tests" / "io" / "regressions"
#: How the file is read, and what went wrong.
ABOUT = "case.json"


def save(case: Case, form: Format, was: str, folder: Path) -> None:
    """Write the files of a case, with what went wrong, into a new folder."""
    folder.mkdir(parents=True)
    case.write(folder)
    about = {
        "format": form.name,
        "was": was,
        "path": case.path,
        "options": {name: value for name, value in case.options.items() if not isinstance(value, File)},
        "files": {name: value for name, value in case.options.items() if isinstance(value, File)},
    }
    (folder / ABOUT).write_text(json.dumps(about, indent=2) + "\n", "utf-8")


def load(folder: Path) -> tuple[Case, Format]:
    """Return the case of a folder and its format."""
    about = json.loads((folder / ABOUT).read_text("utf-8"))
    options = {**about["options"], **{name: File(value) for name, value in about["files"].items()}}
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ABOUT]
    contents = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    return Case(contents, about["path"], options), FORMATS[about["format"]]


def saved(folder: Path = FOLDER) -> list[Path]:
    """Return the folders of all cases."""
    return sorted(path.parent for path in folder.glob(f"*/{ABOUT}"))
