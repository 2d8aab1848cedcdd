"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from saltmine.cli.errors import WrongUse
from saltmine.io.class_files import ClassFiles
from saltmine.io.registry import formats
from saltmine.memory import parse_size
from saltmine.names import quoted

Command = Callable[..., Any]
PATH, COUNT = click.Path(path_type=Path), click.IntRange(min=1)


def parse_thresholds(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, list[float]]:
    """Return the numbers of each column from texts such as age=18,60."""
    thresholds: dict[str, list[float]] = {}
    for text in given:
        column, separator, numbers = text.rpartition("=")
        try:
            thresholds[column] = thresholds.get(column, []) + [float(number) for number in numbers.split(",")]
        except ValueError:
            separator = ""
        if not separator or not column:
            raise click.BadParameter(f"{quoted(text)} is not COLUMN=NUMBERS, as age=18,60.")
    return thresholds


def parse_ranks(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | int | None:
    """Return numbers of patterns from text such as 8 or 8,4,4."""
    if value is None:
        return None
    numbers = value.split(",")
    if not all(number.strip().isdecimal() for number in numbers):
        raise click.BadParameter(f"{quoted(value)} is not a list of numbers of patterns, as 8,4,4.")
    return tuple(int(number) for number in numbers) if len(numbers) > 1 else int(value)


def parse_image(ctx: click.Context, param: click.Parameter, value: str | None) -> list[int] | None:
    """Return height and width from text such as 28x28."""
    if value is None:
        return None
    sides = value.lower().split("x")
    if len(sides) != 2 or not all(side.isdecimal() and int(side) > 0 for side in sides):
        raise click.BadParameter(f"{quoted(value)} is not HEIGHTxWIDTH, as 28x28.")
    return [int(side) for side in sides]


def parse_memory(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Return bytes from text such as 500M or 2G."""
    try:
        return None if value is None else parse_size(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def parse_data(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> Path | ClassFiles:
    """Return the file to read, or several with their classes, as primary=a.maf relapse=b.maf."""
    # The name of a file may have a "=" itself.
    pairs = [("", "", text) if Path(text).exists() else text.partition("=") for text in given]
    plain = [text for text, (_, separator, _) in zip(given, pairs, strict=True) if not separator]
    if plain:
        if len(given) > 1:
            raise WrongUse(f"{plain[0]} has no class; of several files each needs one, as primary=a.maf relapse=b.maf.")
        return Path(plain[0])
    files: dict[str, str] = {}
    for label, _, path in pairs:
        if not label or not path:
            raise WrongUse(f"'{label}={path}' is not CLASS=FILE, as primary=a.maf.")
        if label in files:
            raise WrongUse(f"The class {quoted(label)} has two files, {files[label]} and {path}; put them into one.")
        files[label] = path
    return ClassFiles(files)


def output_option(default: str | None, text: str) -> Callable[[Command], Command]:
    """Return the option that names the file or folder to write."""
    return click.option("-o", "--output", type=PATH, default=None if default is None else Path(default), help=text)


def choice(name: str, values: Iterable[str], default: str | None, text: str) -> Callable[[Command], Command]:
    """Return an option that takes one of these values."""
    return click.option(name, type=click.Choice(list(values)), default=default, help=text)


DATA = click.argument("data", nargs=-1, required=True, callback=parse_data)
MODEL = click.argument("model", type=PATH)

MAX_MEMORY = """Memory that reading, and then a fit of csalt, primp or paper, may take, as 500M or 2G. If not given,
reading may take half of what is available."""
NONSILENT = "Whether silent mutations of a MAF file are left out; they are for genes if not given."
#: Options of `saltmine.read`.
READING = (
    click.option("--target", metavar="COLUMN", help="Column that holds the classes."),
    click.option("--labels", type=PATH, help="File with the class of every row, or a sample sheet."),
    click.option("--group", metavar="COLUMN", help="Column of groups, such as patients; tests then count groups."),
    click.option("--items", type=PATH, help="File with the item names, one per line (npz, mtx, dat)."),
    click.option("--row-names", metavar="COLUMN", help="Column that names the rows."),
    click.option("--format", type=click.Choice(list(formats())), help="File format, if the suffix does not say it."),
    click.option("--separator", metavar="CHARACTER", help="Character between the fields of a csv file."),
    click.option("--encoding", help="Encoding of text files, such as latin-1; UTF-8 by default."),
    click.option("--text", metavar="COLUMN", help="Column that holds documents; words become items."),
    click.option("--language", metavar="CODE", help="Language of documents, en by default; none keeps word forms."),
    click.option("--stop-words", type=PATH, help="File with stop words, one per line, instead of the usual ones."),
    click.option("--min-docs", type=COUNT, help="Leave out words in fewer documents; 20 by default."),
    click.option("--unit", type=click.Choice(["gene", "alteration"]), help="Items of a MAF file: genes or variants."),
    click.option("--nonsilent/--all-mutations", default=None, help=NONSILENT),
    click.option("--min-samples", type=COUNT, help="Leave out genes and variants in fewer samples (vcf, maf)."),
    click.option("--drop-unlabelled", is_flag=True, default=None, help="Leave out rows without a class."),
    click.option("--max-memory", metavar="SIZE", callback=parse_memory, help=MAX_MEMORY),
)

THRESHOLD = "Where to cut a numeric column, as age=18,60; may be given several times."
CUTS = "Items of a numeric column: one per interval, or one per cut for all values from there on, as age>=60."
MISSING = "What a missing value is: an error, an item of its own, or no item."
#: Options of `saltmine.Prepare`, and which columns it sees.
PREPARING = (
    click.option("--ignore", metavar="COLUMN", multiple=True, help="Leave a column out; may be given several times."),
    click.option("--bins", type=click.IntRange(min=2), default=4, help="Number of intervals of a numeric column."),
    click.option(
        "--threshold", "thresholds", metavar="COLUMN=NUMBERS", multiple=True, callback=parse_thresholds, help=THRESHOLD
    ),
    choice("--cuts", ("intervals", "cumulative"), "intervals", CUTS),
    choice("--missing", ("error", "item", "ignore"), "error", MISSING),
)

JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, for scripts.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
SEED = click.option("--seed", type=click.IntRange(min=0), default=0, help="The same seed gives the same result.")
ONES = "Values of a matrix above this number become ones, for example 0 for counts."
BINARIZE = click.option("--binarize", type=float, metavar="NUMBER", help=ONES)
FORCE = click.option("--force", is_flag=True, help="Replace files in the folder that are not from an earlier run.")
MAX_PATTERNS = """Maximum number of patterns: shared ones, then those of each class, as 8,4,4 (8,4 is 4 for every
class), for dbssl, jsmf, rjsnmf and jnmf; asso and inmf take the sum. The other methods find the number themselves."""
RANKS = click.option("--ranks", metavar="NUMBERS", callback=parse_ranks, help=MAX_PATTERNS)
STARTS = """Independent runs with different random numbers; the best model is kept. csalt and primp try several
starts in every run."""
RESTARTS = click.option("--restarts", type=COUNT, default=1, show_default=True, help=STARTS)
TRUTH = click.option("--truth", type=PATH, help="File of planted data; DATA itself if it is one.")
POSITIVE = click.FloatRange(min=0, min_open=True)
TIME_LIMIT = """Time limit of a fit, without reading; it then ends with the best model so far. For csalt, primp,
paper and diffnorm."""
MAX_TIME = click.option("--max-time", type=POSITIVE, metavar="SECONDS", help=TIME_LIMIT)


def add_options(*groups: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds options in the order in which the help shows them."""

    def apply(command: Command) -> Command:
        for option in reversed(groups):
            command = option(command)
        return command

    return apply
