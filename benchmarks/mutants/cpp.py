"""Mutants of the C++ sources: ``<`` becomes ``<=``, ``+`` becomes ``-``, a condition is turned around, and the like.

Only the sources are compiled again that see a change and that the tests of the group come by. Then these tests run
until the first one fails; a crash and a run that takes far too long count as noticed too.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.mutants.groups import (
    CALLED,
    FAST,
    GROUPS,
    INVALID,
    KILLED,
    PIPES,
    ROOT,
    SURVIVED,
    TIMES,
    copy_project,
)

NATIVE = ROOT / "native"

# Quick to compile; the tests are the same.
_FLAGS = ["-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-w"]
_SWAPS = {
    **{" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == "},
    **{" && ": " || ", " || ": " && ", " + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " % ": " / "},
    **{" & ": " | ", " | ": " & ", " ^ ": " & ", " << ": " >> ", " >> ": " << ", " += ": " -= ", " -= ": " += "},
    **{"true": "false", "false": "true", "std::min": "std::max", "std::max": "std::min", "continue;": "break;"},
}
_SWAPPED = re.compile("|".join(rf"\b{re.escape(k)}" if k[0].isalpha() else re.escape(k) for k in _SWAPS))
_NUMBER = re.compile(r"(?<![\w.\[<])\d+(?:\.\d+)?(?![\w.])")
_CONDITION = re.compile(r"\b(?:if|while) \(")
# Text, comments, and lines that hold nothing that is computed.
_NO_CODE = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//.*')
_SKIPPED = re.compile(r"\s*(#|template|using|static_assert|namespace|SALTMINE_EXPORT|//)")


@dataclass(frozen=True)
class Mutant:
    """A change of one place of a source."""

    file: str
    line: int
    begin: int
    end: int
    text: str

    def apply(self, source: str) -> str:
        """Return the changed source."""
        lines = source.split("\n")
        old = lines[self.line]
        lines[self.line] = old[: self.begin] + self.text + old[self.end :]
        return "\n".join(lines)

    def describe(self, source: str) -> str:
        """Return the place, the line as it was and as it is."""
        before, after = (text.split("\n")[self.line].strip() for text in (source, self.apply(source)))
        return f"{self.file}:{self.line + 1}: {before}\n    becomes {after}"


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    r"""Yield all mutants of a source.

    Examples
    --------
    >>> source = "int half(int n) {\n    return n / 2;  // or less\n}"
    >>> [mutant.apply(source).split("\n")[1] for mutant in mutants_of("half.cpp", source)]
    ['    return n * 2;  // or less', '    return n / 3;  // or less']
    """
    for number, line in enumerate(source.split("\n")):
        if _SKIPPED.match(line):
            continue
        code = _NO_CODE.sub(lambda found: " " * len(found[0]), line)
        for found in _SWAPPED.finditer(code):
            yield Mutant(file, number, found.start(), found.end(), _SWAPS[found[0]])
        for found in _NUMBER.finditer(code):
            more = f"{float(found[0]) + 1}" if "." in found[0] else f"{int(found[0]) + 1}"
            yield Mutant(file, number, found.start(), found.end(), more)
        for found in _CONDITION.finditer(code):
            end = _closing(code, found.end() - 1)
            if end is not None:
                yield Mutant(file, number, found.end(), end, f"!({line[found.end() : end]})")


def _closing(code: str, opening: int) -> int | None:
    """Return where the bracket is closed that opens at a place, if it is on the same line."""
    depth = 0
    for place in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if not depth:
            return place
    return None


class Tree:
    """A copy of the project, whose library is built of changed sources and tested."""

    def __init__(self, folder: Path, tests: Sequence[str]) -> None:
        self.folder = folder
        copy_project(folder)
        build = _module(folder / "native" / "build.py")
        self._compiler = build.find_compiler() or sys.exit(build.NO_COMPILER)
        self._library = folder / "src" / "saltmine" / build.NAME
        self._native = folder / "native"
        self._units = sorted(self._native.glob("*.cpp"))
        self._seen_by = {unit: self._includes(unit) for unit in self._units}
        self._objects = {unit: _unchanged() / f"{unit.stem}.o" for unit in self._units}
        self._reached = set(self._units)
        self._start(tests)

    def source(self, file: str) -> str:
        """Return a source as it is in the project."""
        return (NATIVE / file).read_text("utf-8")

    def build(self, mutant: Mutant | None = None) -> bool:
        """Build the library, as it is or with a change; return whether it could be compiled."""
        if mutant is None:
            todo = {unit: made for unit, made in self._objects.items() if not made.exists()}
            return all(map(self._compile, todo, todo.values())) and self._link(self._objects.values())
        changed = self._native / mutant.file
        units = [unit for unit in self._units if changed in self._seen_by[unit] and unit in self._reached]
        changed.write_text(mutant.apply(self.source(mutant.file)), "utf-8")
        try:
            objects = {unit: self.folder / f"{unit.stem}.o" for unit in units}
            if not all(self._compile(unit, made) for unit, made in objects.items()):
                return False
        finally:
            changed.write_text(self.source(mutant.file), "utf-8")
        # Of a function that several sources have, the first one is linked.
        return self._link([*objects.values(), *(self._objects[unit] for unit in self._units if unit not in units)])

    def test(self, of_processor: float, of_clock: float) -> bool:
        """Return whether the tests pass within so many seconds of the processor and of the clock."""
        code = self._ask(of_processor, of_clock)
        # The machine may have had other things to do.
        return (self._ask(of_processor, of_clock) if code == -signal.SIGALRM else code) == 0

    def usual(self) -> float:
        """Return the seconds that all tests take without a change, after which only what they reach is built again."""
        times = json.loads((self.folder / TIMES).read_text("utf-8"))
        self._reached = self._reach(set(json.loads((self.folder / CALLED).read_text("utf-8"))))
        return float(sum(times.values()))

    def close(self) -> None:
        """End the process of the tests."""
        self._requests.close()
        self._server.wait()
        self._answers.close()

    def _start(self, tests: Sequence[str]) -> None:
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "benchmarks.mutants.server", *FAST, *tests]
        (requests, ours), (theirs, answers) = os.pipe(), os.pipe()
        paths = [str(self.folder / "src"), str(self.folder)]
        self._server = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), PIPES: f"{requests} {answers}"},
            pass_fds=(requests, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(requests)
        os.close(answers)
        self._requests, self._answers = os.fdopen(ours, "w"), os.fdopen(theirs)

    def _ask(self, of_processor: float, of_clock: float) -> int:
        print(of_processor, of_clock, file=self._requests, flush=True)
        if not (answer := self._answers.readline()):
            sys.exit("pytest cannot collect the tests; mend them first.")
        return int(answer)

    def _compile(self, unit: Path, made: Path) -> bool:
        return self._run("-c", str(unit), "-o", str(made))

    def _link(self, objects: Iterable[Path]) -> bool:
        # The library may be in use: it is replaced, never written to.
        linked = self._library.with_suffix(".new")
        done = self._run("-shared", "-pthread", *map(str, objects), "-o", str(linked))
        if done:
            os.replace(linked, self._library)
        return done

    def _run(self, *arguments: str) -> bool:
        return subprocess.run([*self._compiler, *_FLAGS, *arguments], capture_output=True).returncode == 0

    def _includes(self, unit: Path) -> set[Path]:
        """Return a source and all headers that it sees."""
        seen, todo = set[Path](), [unit]
        while todo:
            file = todo.pop()
            if file not in seen and file.exists():
                seen.add(file)
                todo += [self._native / name for name in re.findall(r'#include "([^"]+)"', file.read_text("utf-8"))]
        return seen

    def _reach(self, called: set[str]) -> set[Path]:
        """Return the sources that these functions come by, or all where the system cannot list symbols."""
        if not shutil.which("nm"):
            return set(self._units)
        symbols = {unit: _symbols(made) for unit, made in self._objects.items()}
        wanted, reached = {f"saltmine_{name}" for name in called}, set[Path]()
        while found := {unit for unit in self._units if unit not in reached and symbols[unit][0] & wanted}:
            reached |= found
            wanted = wanted.union(*(symbols[unit][1] for unit in found))
        return reached


@cache
def _unchanged() -> Path:
    """Return the folder of the objects of the sources as they are, which all groups share."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return Path(folder)


def _symbols(made: Path) -> tuple[set[str], set[str]]:
    """Return the symbols that an object file defines by itself, and those that it wants from others."""
    lines = subprocess.run(["nm", str(made)], capture_output=True, text=True, check=True).stdout.splitlines()
    kinds = [line.split()[-2:] for line in lines]
    # Functions of headers are in every object that calls them, so nobody has to be reached for those.
    return {name for kind, name in kinds if kind in "TDB"}, {name for kind, name in kinds if kind == "U"}


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def try_native(name: str, sample: int, seed: int) -> Iterator[dict[str, Any]]:
    """Try a sample of the mutants of a group; yield what became of each."""
    with tempfile.TemporaryDirectory() as scratch, closing(Tree(Path(scratch), GROUPS[name].tests)) as tree:
        everything = [mutant for file in GROUPS[name].native for mutant in mutants_of(file, tree.source(file))]
        begin = time.perf_counter()
        if not (tree.build() and tree.test(3600, 7200)):
            sys.exit(f"The tests of {name} fail without any change; mend them first.")
        usual, by_clock = tree.usual(), time.perf_counter() - begin
        print(f"{name}: {len(everything):,} mutants of C++", file=sys.stderr, flush=True)
        n_tried = 0
        for mutant in Random(f"{seed} {name}").sample(everything, len(everything)):
            if n_tried == sample:
                return
            end = INVALID
            if tree.build(mutant):
                n_tried += 1
                end = SURVIVED if tree.test(10 + 3 * usual, 60 + 10 * by_clock) else KILLED
            name = f"{mutant.file}:{mutant.line + 1}:{mutant.begin + 1}"
            change = mutant.describe(tree.source(mutant.file))
            yield {"end": end, "mutant": name, "change": change, "of": len(everything)}
