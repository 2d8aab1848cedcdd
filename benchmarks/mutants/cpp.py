"""Mutants of the C++ sources: ``<`` becomes ``<=``, ``+`` becomes ``-``, a condition is turned around, and the like.

CMake compiles what a change reaches. Then the tests of the group run until the first one fails; a crash and a run that
takes far too long count as noticed too.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.mutants.groups import FAST, GROUPS, INVALID, KILLED, ROOT, SURVIVED, copy_project
from experiments.measuring import timed

CORE = ROOT / "core"
# A mutant that takes memory without end must not take that of others.
MAX_BYTES = 8 << 30

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
_SKIPPED = re.compile(r"\s*(#|template|using|static_assert|namespace|//)")


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
    """A copy of the project, whose module is built of changed sources and tested."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = copy_project(folder)
        self._changed: str | None = None
        find = [sys.executable, "-m", "nanobind", "--cmake_dir"]
        settings = {
            # Quick to compile; the tests are the same.
            **{"CMAKE_BUILD_TYPE": "None", "CMAKE_CXX_FLAGS": "-O1 -w"},
            **{"Python_EXECUTABLE": sys.executable, "nanobind_DIR": subprocess.check_output(find, text=True).strip()},
            "CMAKE_LIBRARY_OUTPUT_DIRECTORY": folder / "src" / "saltmine",
        }
        options = [f"-D{name}={value}" for name, value in settings.items()]
        configure = ["cmake", "-S", str(folder), "-B", str(folder / "build"), *options]
        subprocess.run(configure, check=True, stdout=subprocess.PIPE)

    def build(self, mutant: Mutant | None = None) -> bool:
        """Build the module, as it is or with a change; return whether it could be compiled."""
        if self._changed and (mutant is None or mutant.file != self._changed):
            self._write(self._changed, source_of(self._changed))
            self._changed = None
        if mutant is not None:
            self._write(mutant.file, mutant.apply(source_of(mutant.file)))
            self._changed = mutant.file
        build = ["cmake", "--build", str(self._folder / "build"), "--parallel", str(os.cpu_count())]
        return subprocess.run(build, capture_output=True).returncode == 0

    def test(self, tests: tuple[str, ...], seconds: int) -> bool:
        """Return whether the tests pass within so many seconds of the processor, or twice as many of the clock."""

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))

        # Every mutant sees the same examples, and none that another one failed at.
        options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=ci", *FAST, *tests]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=limit,
        )
        try:
            return process.wait(2 * seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            # A search without end may have children.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _write(self, file: str, text: str) -> None:
        (self._folder / "core" / file).write_text(text, "utf-8")


def source_of(file: str) -> str:
    """Return a source as it is in the project."""
    return (CORE / file).read_text("utf-8")


def try_cpp(name: str, sample: int, seed: int) -> Iterator[dict[str, Any]]:
    """Try a sample of the mutants of a group; yield what became of each."""
    everything = [mutant for file in GROUPS[name].cpp for mutant in mutants_of(file, source_of(file))]
    chosen = Random(f"{seed} {name}").sample(everything, min(sample, len(everything)))
    print(f"{name}: {len(everything):,} mutants of C++", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        tree, tests = Tree(Path(scratch)), GROUPS[name].tests
        passes, usual = timed(lambda: tree.test(tests, 3600)) if tree.build() else (False, 0.0)
        if not passes:
            sys.exit(f"The tests of {name} fail without any change; mend them first.")
        # By files: what includes a header is compiled again when the header is changed, and when it is as before.
        for mutant in sorted(chosen, key=lambda mutant: mutant.file):
            end = INVALID
            if tree.build(mutant):
                end = SURVIVED if tree.test(tests, int(30 + 5 * usual)) else KILLED
            place = f"{mutant.file}:{mutant.line + 1}:{mutant.begin + 1}"
            change = mutant.describe(source_of(mutant.file))
            yield {"end": end, "mutant": place, "change": change, "of": len(everything)}
