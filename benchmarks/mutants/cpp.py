"""Mutants of the C++ sources: ``<`` becomes ``<=``, ``+`` becomes ``-``, a condition is turned around, and the like.

Only the sources that see a change are compiled again. Then the tests of the group run until the first one fails; a
crash and a run that takes far too long count as noticed too.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.mutants.groups import FAST, GROUPS, INVALID, KILLED, ROOT, SURVIVED, copy_project

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

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        copy_project(folder)
        build = _module(folder / "native" / "build.py")
        self._compiler = build.find_compiler() or sys.exit(build.NO_COMPILER)
        self._library = folder / "src" / "saltmine" / build.NAME
        self._native = folder / "native"
        self._units = sorted(self._native.glob("*.cpp"))
        self._seen_by = {unit: self._includes(unit) for unit in self._units}
        self._objects = {unit: folder / f"{unit.stem}.o" for unit in self._units}

    def source(self, file: str) -> str:
        """Return a source as it is in the project."""
        return (NATIVE / file).read_text("utf-8")

    def build(self, mutant: Mutant | None = None) -> bool:
        """Build the library, as it is or with a change; return whether it could be compiled."""
        objects = dict(self._objects)
        if mutant is not None:
            (self._native / mutant.file).write_text(mutant.apply(self.source(mutant.file)), "utf-8")
        try:
            for unit in self._units:
                if mutant is None or self._native / mutant.file in self._seen_by[unit]:
                    objects[unit] = self._objects[unit].with_suffix(".mutant.o" if mutant else ".o")
                    if self._run("-c", str(unit), "-o", str(objects[unit])):
                        return False
            return not self._run("-shared", "-pthread", *map(str, objects.values()), "-o", str(self._library))
        finally:
            if mutant is not None:
                (self._native / mutant.file).write_text(self.source(mutant.file), "utf-8")

    def test(self, tests: list[str], seconds: float) -> bool:
        """Return whether the tests pass in time; they run in a process of their own, where crashes stay."""
        options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *FAST, *tests]
        done = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder / "src")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return done.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            # A search without end may have threads and children.
            with suppress(ProcessLookupError):
                os.killpg(done.pid, signal.SIGKILL)
            done.wait()

    def _run(self, *arguments: str) -> int:
        return subprocess.run([*self._compiler, *_FLAGS, *arguments], capture_output=True).returncode

    def _includes(self, unit: Path) -> set[Path]:
        """Return a source and all headers that it sees."""
        seen, todo = set[Path](), [unit]
        while todo:
            file = todo.pop()
            if file not in seen and file.exists():
                seen.add(file)
                todo += [self._native / name for name in re.findall(r'#include "([^"]+)"', file.read_text("utf-8"))]
        return seen


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def try_native(name: str, sample: int, seed: int) -> Iterator[dict[str, Any]]:
    """Try a sample of the mutants of a group; yield what became of each."""
    with tempfile.TemporaryDirectory() as scratch:
        tree, tests = Tree(Path(scratch)), list(GROUPS[name].tests)
        everything = [mutant for file in GROUPS[name].native for mutant in mutants_of(file, tree.source(file))]
        begin = time.perf_counter()
        if not (tree.build() and tree.test(tests, 3600)):
            sys.exit(f"The tests of {name} fail without any change; mend them first.")
        usual = time.perf_counter() - begin
        print(f"{name}: {len(everything):,} mutants of C++", file=sys.stderr, flush=True)
        n_tried = 0
        for mutant in Random(f"{seed} {name}").sample(everything, len(everything)):
            if n_tried == sample:
                return
            end = INVALID
            if tree.build(mutant):
                n_tried += 1
                end = SURVIVED if tree.test(tests, 60 + 3 * usual) else KILLED
            place = mutant.describe(tree.source(mutant.file))
            yield {"end": end, "mutant": f"{mutant.file}:{mutant.line + 1}", "change": place, "of": len(everything)}
