"""Build the library that holds the inner loops: ``python native/build.py``.

It needs a C++ compiler: the one that CXX names, else the system's, else that of the package ``ziglang``, which an
installation fetches where there is none. The library is used through ctypes, so one build serves every version of
Python.

``SALTMINE_ARCH`` names the processor to build for; by default it is the one of this machine, and the library refuses
to be loaded on a lesser one. A wheel that is to run elsewhere is built with ``SALTMINE_ARCH=x86-64-v3``.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = Path(__file__).parent
TARGET = SOURCES.parent / "src" / "saltmine"
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
# Rounding does not matter in the descent, where multiplying and adding at once takes half the time.
MORE_FLAGS = {"step_kernels": ["-ffp-contract=fast"]}
WARNINGS = ["-Wall", "-Wextra", "-Wno-unknown-pragmas"]


def find_compiler() -> list[str] | None:
    """Return the command of a C++ compiler, or None."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    for name in ("c++", "g++", "clang++"):
        if path := shutil.which(name):
            return [path]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "c++"]
    return None


def arch_flags() -> list[str]:
    """Return the flags that choose the processor to build for."""
    arch = os.environ.get("SALTMINE_ARCH", "native")
    if platform.machine().lower() in ("x86_64", "amd64", "x86"):
        return [f"-march={arch}"]
    return [f"-mcpu={arch}"] if arch == "native" else []


def build(target: Path = TARGET) -> Path:
    """Compile all sources, side by side, and link them into the package; return the library."""
    compiler = find_compiler()
    if compiler is None:
        raise SystemExit(
            "saltmine needs a C++ compiler to be installed from its sources: install g++ or clang, or name one in CXX"
        )
    library = target / NAME
    with tempfile.TemporaryDirectory() as folder:
        units = sorted(SOURCES.glob("*.cpp"))
        objects = [Path(folder) / f"{unit.stem}.o" for unit in units]
        commands = [
            [
                *compiler,
                *FLAGS,
                *MORE_FLAGS.get(unit.stem, []),
                *WARNINGS,
                *arch_flags(),
                "-c",
                str(unit),
                "-o",
                str(made),
            ]
            for unit, made in zip(units, objects, strict=True)
        ]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(_run, commands))
        made = Path(folder) / NAME
        _run([*compiler, "-shared", "-pthread", *map(str, objects), "-o", str(made)])
        # In one step: a library that is in use is replaced, never written to.
        waiting = library.with_name(f"{NAME}.{os.getpid()}")
        shutil.copyfile(made, waiting)
        os.replace(waiting, library)
    return library


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)} failed with exit code {done.returncode}")


if __name__ == "__main__":
    print(f"built {build().relative_to(SOURCES.parent)}")
