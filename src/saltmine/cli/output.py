"""Write results whole or not at all, and say what happens on standard error."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from saltmine.cli.errors import WrongUse, user_mistakes

#: What `saltmine fit` writes.
MODEL, PATTERNS, USAGE, SUMMARY, REPORT = "model.salt", "patterns.csv", "usage.csv", "summary.json", "report.html"
FILES = (MODEL, PATTERNS, USAGE, SUMMARY, REPORT)
#: By what an earlier run is known: a model is a zip archive.
SIGN = (MODEL, b"PK")


class Notes:
    """Remarks for the person at the terminal: on standard error, so that standard output has the result alone."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def say(self, text: str) -> None:
        """Say it, unless silence was asked for."""
        if not self.quiet:
            click.echo(text, err=True)


@contextmanager
def whole_folder(folder: Path, names: tuple[str, ...], sign: tuple[str, bytes], force: bool) -> Iterator[Path]:
    """Give a folder to write files into, which move to their place when all of them are there.

    Files of these names that are already there are replaced if one of them is the ``sign`` of an earlier run, by its
    name and its first bytes. Else they are somebody's own, and only ``force`` replaces them.
    """
    if folder.exists() and not folder.is_dir():
        raise WrongUse(f"{folder} is a file; name a folder for the results.")
    there = [name for name in names if (folder / name).exists()]
    if there and not force and not _begins(folder / sign[0], sign[1]):
        raise WrongUse(f"{folder / there[0]} is not of an earlier run; choose another folder, or --force replaces it.")
    made = _make(folder)
    aside = folder / f".saltmine-{uuid.uuid4().hex}.part"
    try:
        with user_mistakes(f"The results cannot be written to {folder}: "):
            aside.mkdir()
        yield aside
        with user_mistakes(f"The results cannot be written to {folder}: "):
            written = sorted(path.name for path in aside.iterdir())
            for name in written:
                os.replace(aside / name, folder / name)
            for name in set(names) - set(written):
                # Of an earlier run; beside the new ones it would be taken for theirs.
                (folder / name).unlink(missing_ok=True)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        for empty in made:
            # A folder that was made for results that never came goes again; one with results in it stays.
            if empty.is_dir() and not any(empty.iterdir()):
                empty.rmdir()


def _begins(path: Path, first: bytes) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(len(first)) == first
    except OSError:
        return False


def _make(folder: Path) -> list[Path]:
    """Make a folder and those above it; return what was made, the innermost first."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUse(f"The folder {folder} cannot be made: {error.strerror or error}.") from error
    return missing
