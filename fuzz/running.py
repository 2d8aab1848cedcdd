"""Try files of all formats for some time, count how the trials end, and keep what must not happen."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from fuzz.cases import Case, Format
from fuzz.formats import FORMATS
from fuzz.trial import FINDINGS, Outcome
from fuzz.worker import MAX_SECONDS, Trial, Worker
from saltmine.io.text import document_words

#: Files of a format that are tried in a row.
_BATCH = 200
#: What was read is also prepared and fitted once in so many files.
_THOROUGH = 10
#: Files are parsed in a process of its own once in so many files, and whenever something goes wrong without one.
_APART = 50
_MAX_KEPT = 3

_PLACE = re.compile(r'File "[^"]*?(?:src/)?(saltmine/[^"]+)", line (\d+)')


@dataclass
class Counts:
    """How the trials of a format ended, and how often what must not happen happened where."""

    kinds: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)

    @property
    def tried(self) -> int:
        """Number of files."""
        return sum(self.kinds.values())

    @property
    def n_findings(self) -> int:
        """Number of files with which something happened that must not happen."""
        return sum(self.kinds[kind] for kind in FINDINGS)


def run(
    names: Iterable[str],
    *,
    seed: int = 0,
    seconds: float | None = None,
    files: int | None = None,
    jobs: int = 1,
    keep: Path | None = None,
    max_seconds: float = MAX_SECONDS,
) -> dict[str, Counts]:
    """Try changed files of formats in turns, until the time is over or so many files of each were tried.

    Parameters
    ----------
    names : names of formats
    seed : int
        The same seed gives the same files.
    seconds : float, optional
    files : int, optional
        Files of every format.
    jobs : int
        Processes.
    keep : Path, optional
        Folder for files with which something happened that must not happen.
    max_seconds : float
        Reading a file may take so long.
    """
    counts = {name: Counts() for name in names}
    # Before the processes are forked, which share them.
    document_words(["words"], "en", frozenset())
    for name in counts:
        FORMATS[name].pool(seed)
    batches = _batches(list(counts), files)
    ends = time.monotonic() + (seconds or float("inf"))
    busy: dict[Worker, str] = {}
    workers = [Worker(max_seconds) for _ in range(jobs)]
    try:
        while True:
            for worker in workers:
                if worker not in busy and time.monotonic() < ends and (batch := next(batches, None)):
                    busy[worker], numbers = batch
                    worker.start(partial(trial, FORMATS[batch[0]], seed), numbers)
            if not busy:
                return counts
            for worker, name in list(busy.items()):
                for number, outcome in worker.poll():
                    _count(counts[name], FORMATS[name], seed, number, outcome, keep)
                if not worker.is_busy:
                    del busy[worker]
            if not any(worker.has_news for worker in busy):
                time.sleep(0.005)
    finally:
        for worker in workers:
            worker.close()


def trial(form: Format, seed: int, number: int) -> Trial:
    """Return a case and how it is tried; the same for the same seed and number."""
    random = Random(f"{seed} {form.name} {number} trial")
    thorough, apart = random.randrange(_THOROUGH) == 0, random.randrange(_APART) == 0
    return Trial(form.case(seed, number), form.is_model, thorough, apart)


def _batches(names: list[str], files: int | None) -> Iterator[tuple[str, list[int]]]:
    """Yield a format and numbers of its cases, formats in turns."""
    begin = 0
    while files is None or begin < files:
        end = begin + _BATCH if files is None else min(begin + _BATCH, files)
        for name in names:
            yield name, list(range(begin, end))
        begin = end


def _count(counts: Counts, form: Format, seed: int, number: int, outcome: Outcome, keep: Path | None) -> None:
    counts.kinds[outcome.kind] += 1
    if not outcome.is_finding:
        return
    where = signature(outcome)
    counts.findings[where] += 1
    if keep is not None and counts.findings[where] <= _MAX_KEPT:
        keep_finding(keep, form, seed, number, outcome)


def signature(outcome: Outcome) -> str:
    """Return the kind of a finding with its place in the code, by which findings of the same cause are recognised."""
    lines = outcome.said.strip().splitlines()
    places = _PLACE.findall(outcome.said)
    last = re.sub(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"", "#", lines[-1] if lines else "")[:120]
    if outcome.kind in ("crash", "hang"):
        return f"{outcome.kind} {':'.join(places[0]) if places else ''}"
    return f"{outcome.kind} {':'.join(places[-1]) if places else ''} {last}"


def keep_finding(folder: Path, form: Format, seed: int, number: int, outcome: Outcome) -> Path:
    """Write the files of a finding, what was said, and how to try it again."""
    case: Case = form.case(seed, number)
    place = folder / f"{form.name}-{outcome.kind}-{seed}-{number}"
    place.mkdir(parents=True, exist_ok=True)
    case.write(place)
    again = f"python -m fuzz --case {form.name}:{number} --seed {seed}"
    about = f"{again}\nread {case.path!r} with {case.options}\n\n{outcome.kind}: {outcome.said}\n"
    (place / "finding.txt").write_text(about, "utf-8", "backslashreplace")
    return place
