"""Output of the command line: the folder of results, JSON, tables for terminal and markdown, notes."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table as Grid

from saltmine.atomic import atomic_files
from saltmine.cli.errors import Interrupted, WrongUse, writing_to
from saltmine.names import printable_lines, shorten_message


class Notes:
    """Notes for the person at the terminal: on standard error, so that standard output has the result alone."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def say(self, text: str) -> None:
        """Print a note, unless the user wants quiet."""
        if not self.quiet:
            click.echo(shorten_message(text), err=True)


def as_json(values: Any) -> str:
    """Return plain values as JSON; numbers that are not finite become null.

    Examples
    --------
    >>> print(as_json([float("nan")]))
    [
     null
    ]
    """
    # Python writes them as NaN and Infinity, which it calls constants; JSON has no such thing.
    return json.dumps(json.loads(json.dumps(values), parse_constant=lambda _: None), indent=1)


def terminal_width(otherwise: int) -> int:
    """Return the width of the terminal, or another width where the output goes to a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else otherwise


def print_rich(*parts: RenderableType, width: int) -> None:
    """Print texts and tables through click, which handles closed pipes."""
    text = io.StringIO()
    console = Console(file=text, width=width, highlight=False)
    for part in parts:
        console.print(part)
    click.echo(printable_lines(text.getvalue()), nl=False)


def simple_grid(**options: Any) -> Grid:
    """Return an empty table with a line below the headings."""
    return Grid(box=box.SIMPLE_HEAD, pad_edge=False, **options)


def markdown_table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write a table whose columns also stand one below the other where markdown is read as it is.

    Examples
    --------
    >>> print(markdown_table(["method", "F"], [["C-Salt", "0.999"], ["Primp", "0.9"]]))
    | method | F     |
    |--------|-------|
    | C-Salt | 0.999 |
    | Primp  | 0.9   |
    """
    cells = [list(headings), *(list(line) for line in lines)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(headings))]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in cells]
    rows = ["| " + " | ".join(line) + " |" for line in padded]
    return "\n".join([rows[0], rule, *rows[1:]])


@contextmanager
def atomic_folder(folder: Path, names: Sequence[str], sign: tuple[str, bytes], force: bool) -> Iterator[Path]:
    """Give a folder to write files into; in the end they take their place in ``folder`` all at once.

    Existing files of these names are replaced if the folder holds the ``sign`` of an earlier run, a file given by its
    name and its first bytes. Otherwise they may be the user's own, and only ``force`` replaces them.
    """
    if folder.exists() and not folder.is_dir():
        raise WrongUse(f"{folder} is a file; name a folder for the results.")
    for name in names:
        if (folder / name).is_dir():
            raise WrongUse(f"{folder / name} is a folder, but a file of that name is to be written; rename it.")
    there = [name for name in names if (folder / name).exists()]
    if there and not force and not _starts_with(folder / sign[0], sign[1]):
        raise WrongUse(f"{folder / there[0]} is not of an earlier run; choose another folder, or --force replaces it.")
    made = _make_folder(folder)
    complete = False
    try:
        with writing_to(folder), atomic_files(folder, names) as aside:
            yield aside
            complete = True
    except KeyboardInterrupt:
        if not complete:
            raise
        # In the moment of the change: both are possible.
        raise Interrupted(f"Interrupted; {folder} has all results of this run, or all that it had before.") from None
    finally:
        for empty in made:
            # Remove folders that were made for results that never came.
            if empty.is_dir() and not any(empty.iterdir()):
                empty.rmdir()


def _starts_with(path: Path, first: bytes) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(len(first)) == first
    except OSError:
        return False


def _make_folder(folder: Path) -> list[Path]:
    """Make a folder and its parents; return the new ones, the innermost first."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    with writing_to(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            # The problem may be with a folder above.
            raise OSError(error.errno, error.strerror, str(folder)) from error
    return missing
