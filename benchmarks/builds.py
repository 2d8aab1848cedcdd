"""The core built in other ways than an installation does: by other compilers, without optimization, with sanitizers.

    python -m benchmarks.builds gcc clang zig O0 lto      # each fits, and gives the models of the installation
    python -m benchmarks.builds arm                       # loops for ARM, emulated, give the same numbers
    python -m benchmarks.builds address thread            # each runs the tests of the core, and finds nothing
    python -m benchmarks.builds coverage                  # prints which lines of the core the tests run

A compiler that is not there is left out, and that is said. What is built stays in ``out/builds``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import nanobind

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "out" / "builds"
TESTS = ["tests/core/test_shapes.py"]
# Sanitizers know no code but ours: Python keeps some memory until the end, and OpenBLAS has locks of its own.
QUIET = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "report_signal_unsafe=0:die_after_fork=0",
    "OPENBLAS_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class Build:
    """How the core is built, and what is done with it."""

    compiler: str | None = None  # None: the package ziglang
    flags: str = ""
    options: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


BUILDS = {
    "gcc": Build("g++"),
    "clang": Build("clang++"),
    "zig": Build(None),
    "O0": Build("g++", options=("-DCMAKE_BUILD_TYPE=Debug",)),
    "lto": Build("g++", flags="-flto=2 -Wodr -Wlto-type-mismatch"),
    "address": Build("g++", "-O1", ("-DSALTMINE_SANITIZE=address,undefined",), ("libasan.so", "libubsan.so"), QUIET),
    "thread": Build("g++", "-O1", ("-DSALTMINE_SANITIZE=thread",), ("libtsan.so",), QUIET),
    "coverage": Build("g++", "-O1 --coverage"),
}


def build(name: str) -> Path | None:
    """Build the core into a folder of its own and return the module, or None where there is no such compiler."""
    how, folder = BUILDS[name], FOLDER / name
    environment = {**os.environ, "CXXFLAGS": how.flags}
    options = [*how.options]
    if how.compiler is None:
        if find_spec("ziglang") is None:
            return None
        environment["SALTMINE_PYTHON"] = sys.executable
        options.append(f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'core' / 'zig.cmake'}")
    elif shutil.which(how.compiler) is None:
        return None
    else:
        environment["CXX"] = how.compiler
    python, where = f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind.cmake_dir()}"
    command = ["cmake", "-S", str(ROOT), "-B", str(folder), python, where, *options]
    log = ""
    for step in (command, ["cmake", "--build", str(folder), "--parallel", "2"]):
        done = subprocess.run(step, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        log += done.stdout
        if done.returncode:
            sys.exit(f"{log}\n{name}: the build failed.")
    warnings = [line for line in log.splitlines() if "warning:" in line]
    if warnings:
        sys.exit("\n".join([*warnings, f"{name}: the build has warnings."]))
    return next(folder.glob("_core*.so"))


def run(name: str, module: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a module of Python with this core."""
    how = BUILDS[name]
    environment = {**os.environ, **how.environment}
    if how.preload:
        libraries = [
            subprocess.check_output(["g++", f"-print-file-name={each}"], text=True).strip() for each in how.preload
        ]
        environment["LD_PRELOAD"] = " ".join(libraries)
    command = [sys.executable, "-m", "benchmarks.with_core", str(module), *arguments]
    # The addresses that some systems choose are not those that the sanitizer of threads can watch.
    if name == "thread" and shutil.which("setarch"):
        command = ["setarch", "--addr-no-randomize", *command]
    return subprocess.run(command, cwd=ROOT, env=environment, text=True)


def check_models(name: str, module: Path) -> bool:
    """Fit data of every kind and compare with the models of the installation."""
    before = FOLDER / "installed.json"
    if not before.exists():
        command = [sys.executable, "-m", "benchmarks.same_models", "--quick", "-o", str(before)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return run(name, module, ["benchmarks.same_models", "--quick", "--compare", str(before)]).returncode == 0


def check_arm() -> bool | None:
    """Compare what all loops give on ARM, emulated, with this processor; None where zig or the emulator is missing."""
    emulator = shutil.which("qemu-aarch64")
    if find_spec("ziglang") is None or emulator is None:
        return None
    folder, core = FOLDER / "arm", ROOT / "core"
    folder.mkdir(exist_ok=True)
    usual = ["-std=c++17", "-O3", "-ffp-contract=off", f"-I{core}"]
    compilers = {"arm": [sys.executable, "-m", "ziglang", "c++", "-target", "aarch64-linux-musl"], "here": ["g++"]}
    names = {"arm": {"baseline": ""}, "here": {"v2": "-msse4.2", "v3": "-mavx2", "v4": "-mavx512f -mavx512vl"}}
    found = []
    for place, compiler in compilers.items():
        files = [ROOT / "tests" / "core" / "digest.cpp", core / "kernels" / "processor.cpp"]
        for name, flags in names[place].items():
            files.append(folder / f"{name}.o")
            command = [*compiler, *usual, *flags.split(), f"-DSALTMINE_CPU={name}", "-c"]
            subprocess.run([*command, core / "kernels" / "kernels.cpp", "-o", files[-1]], check=True)
        subprocess.run([*compiler, *usual, *files, "-o", folder / place], check=True)
        found.append(subprocess.check_output([*([emulator] if place == "arm" else []), folder / place]))
    return found[0] == found[1]


def print_coverage(module: Path) -> bool:
    """Run all tests with counters, and print the share of lines of every file of the core that are run."""
    for old in FOLDER.glob("coverage/**/*.gcda"):
        old.unlink()
    done = run("coverage", module, ["pytest", "-q", "-x", "-m", "not browser"])
    shares: dict[str, dict[int, bool]] = {}
    for counters in sorted((FOLDER / "coverage").glob("**/*.gcda")):
        listed = subprocess.check_output(["gcov", "--json-format", "--stdout", str(counters)], cwd=FOLDER)
        for line in listed.splitlines():
            for file in json.loads(line)["files"]:
                name = re.sub(r"^(\./)?", "", file["file"])
                if not name.startswith("core/"):
                    continue
                lines = shares.setdefault(name, {})
                for each in file["lines"]:
                    lines[each["line_number"]] = lines.get(each["line_number"], False) or each["count"] > 0
    for name, lines in sorted(shares.items()):
        print(f"{name:32} {sum(lines.values()):5} of {len(lines):5}  {sum(lines.values()) / len(lines):6.1%}")
    hit, every = sum(sum(lines.values()) for lines in shares.values()), sum(map(len, shares.values()))
    print(f"{'all':32} {hit:5} of {every:5}  {hit / max(every, 1):6.1%}")
    return done.returncode == 0


def main() -> None:
    """Build and try the core in the ways that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="+", choices=[*BUILDS, "arm"], metavar="name", help=", ".join([*BUILDS, "arm"]))
    failed = []
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "installed.json").unlink(missing_ok=True)
    for name in parser.parse_args().names:
        if name == "arm":
            same = check_arm()
            print(f"arm: {'left out, as there is no zig or no emulator' if same is None else same}", flush=True)
            failed += ["arm"] if same is False else []
            continue
        module = build(name)
        if module is None:
            print(f"{name}: left out, as there is no such compiler", flush=True)
            continue
        if name == "coverage":
            good = print_coverage(module)
        elif BUILDS[name].preload:
            good = run(name, module, ["pytest", "-q", "-p", "no:cacheprovider", *TESTS]).returncode == 0
        else:
            good = check_models(name, module)
        print(f"{name}: {'good' if good else 'NOT GOOD'}", flush=True)
        failed += [] if good else [name]
    sys.exit(f"not good: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
