"""Build the library that holds the inner loops: ``python native/build.py``.

It needs a C++ compiler: the one that CXX names, else the system's, else that of the package ``ziglang``, which an
installation fetches where there is none. The library is used through ctypes, so one build serves every version of
Python.

``SALTMINE_ARCH`` names the processor to build for; by default it is the one of this machine, and the library refuses
to be loaded on a lesser one. A wheel that is to run elsewhere is built with ``SALTMINE_ARCH=x86-64-v3``.

As a command it keeps what it compiled in ``build/native`` and compiles what has changed since; ``--all`` compiles
everything, and ``--check`` only says which compiler would be used.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
ROOT = SOURCES.parent
TARGET = ROOT / "src" / "saltmine"
OBJECTS = ROOT / "build" / "native"
NAME = {"Windows": "_native.dll", "Darwin": "_native.dylib"}.get(platform.system(), "_native.so")
FLAGS = [
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
]
# Where the sources lie must not show in the library: two builds of the same sources are the same bytes.
NO_PATHS = [f"-ffile-prefix-map={SOURCES}=native"]
# Rounding does not matter in the descent, where multiplying and adding at once takes half the time.
MORE_FLAGS = {"step_kernels": ["-ffp-contract=fast"]}
WARNINGS = ["-Wall", "-Wextra", "-Wno-unknown-pragmas"]
# Another C++ library may be loaded already, for instance an older one that came with Python: this one has its own.
ALONE = ["-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL"]
# A package that carries a compiler, for where there is none.
PACKAGE = "ziglang"
NO_COMPILER = (
    "saltmine needs a C++ compiler to be built: install g++ or clang, name one in CXX, or run `pip install ziglang`"
)


class BuildError(Exception):
    """The library could not be built; the message says why."""


def find_compiler() -> list[str] | None:
    """Return the command of a C++ compiler, or None."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    for name in ("c++", "g++", "clang++"):
        if path := shutil.which(name):
            return [path]
    if importlib.util.find_spec(PACKAGE):
        return [sys.executable, "-m", PACKAGE, "c++"]
    return None


def requirements() -> list[str]:
    """Return the packages that an installation has to fetch first: one with a compiler, where there is none."""
    return [] if find_compiler() else [PACKAGE]


def build(target: Path = TARGET, objects: Path | None = None) -> Path:
    """Compile the sources side by side, link them and put the library into `target`; return its path.

    With a folder `objects`, only what has changed since the last build there is compiled.
    """
    compiler = find_compiler()
    if compiler is None:
        raise BuildError(NO_COMPILER)
    with tempfile.TemporaryDirectory() as scratch:
        folder = objects or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        made = _compile(compiler, folder)
        linked = Path(scratch) / NAME
        _link(compiler, made, linked)
        library = target / NAME
        # In one step: a library that is in use is replaced, never written to.
        waiting = library.with_name(f"{NAME}.{os.getpid()}")
        shutil.copyfile(linked, waiting)
        os.replace(waiting, library)
    return library


def _compile(compiler: list[str], folder: Path) -> list[Path]:
    """Return an object file for every source; those that are there already are not made again."""
    command = [*compiler, *FLAGS, *NO_PATHS, *WARNINGS, *_arch_flags(compiler)]
    units = sorted(SOURCES.glob("*.cpp"))
    same = [shlex.join(command).encode(), *(file.read_bytes() for file in sorted(SOURCES.glob("*.hpp")))]
    objects = [folder / f"{unit.stem}-{_digest(*same, unit.read_bytes())}.o" for unit in units]

    def make(unit: Path, made: Path) -> None:
        waiting = made.with_suffix(f".{os.getpid()}")
        try:
            more = MORE_FLAGS.get(unit.stem, [])
            _run([*command, *more, "-c", str(unit), "-o", str(waiting)], f"{unit.name} could not be compiled")
            os.replace(waiting, made)
        finally:
            waiting.unlink(missing_ok=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        todo = [(unit, made) for unit, made in zip(units, objects, strict=True) if not made.is_file()]
        list(pool.map(make, *zip(*todo, strict=True)) if todo else [])
    for old in set(folder.glob("*.o")) - set(objects):
        old.unlink()
    return objects


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _link(compiler: list[str], objects: list[Path], library: Path) -> None:
    command = [*compiler, "-O3", "-shared", "-pthread", *map(str, objects), "-o", str(library)]
    can_stand_alone = platform.system() == "Linux" and not _is_zig(compiler)
    # Not every system has the archives for it, so this may fail where the plain way does not.
    if can_stand_alone and subprocess.run([*command, *ALONE], capture_output=True).returncode == 0:
        return
    _run(command, f"{NAME} could not be linked")


def _arch_flags(compiler: list[str]) -> list[str]:
    """Return the flags that choose the processor to build for."""
    arch = os.environ.get("SALTMINE_ARCH") or "native"
    if platform.machine().lower() in ("x86_64", "amd64", "x86"):
        # zig takes what follows a hyphen for a feature of the processor.
        return [f"-march={arch.replace('-', '_') if _is_zig(compiler) else arch}"]
    return [f"-mcpu={arch}"]


def _is_zig(compiler: list[str]) -> bool:
    return any(part in (PACKAGE, "zig") for part in (*compiler[1:], Path(compiler[0]).stem))


def _run(command: list[str], problem: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise BuildError(f"{problem}: {command[0]} cannot be started ({error.strerror}); is CXX right?") from None
    sys.stderr.write(done.stderr)
    if done.returncode:
        raise BuildError(f"{problem}: {shlex.join(command)} ended with exit code {done.returncode}")


def main() -> None:
    """Build the library into the sources, where an installation with ``pip install -e`` looks for it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--all", action="store_true", help="compile everything, changed or not")
    parser.add_argument("--check", action="store_true", help="only say which compiler would be used")
    options = parser.parse_args()
    if options.check:
        print(shlex.join(find_compiler() or sys.exit(NO_COMPILER)))
        return
    begin = time.perf_counter()
    try:
        library = build(objects=None if options.all else OBJECTS)
    except BuildError as problem:
        sys.exit(str(problem))
    print(f"built {library.relative_to(ROOT)} in {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
