"""The build: scikit-build-core, with the compiler of the package ``ziglang`` where the system has none."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scikit_build_core import build as standard
from scikit_build_core.build import build_sdist as build_sdist
from scikit_build_core.build import get_requires_for_build_sdist as get_requires_for_build_sdist
from scikit_build_core.build import prepare_metadata_for_build_editable as prepare_metadata_for_build_editable
from scikit_build_core.build import prepare_metadata_for_build_wheel as prepare_metadata_for_build_wheel

NO_COMPILER = "saltmine needs a C++17 compiler: install g++ or clang, name one in CXX, or run `pip install ziglang`."
OLD_BUILD = "The folder build/ may be of another compiler or broken: remove it (`rm -rf build`) and install again."
Settings = dict[str, Any] | None


def _has_compiler() -> bool:
    """Say whether CMake will find a compiler by itself."""
    return bool(os.environ.get("CXX")) or any(shutil.which(name) for name in ("c++", "g++", "clang++"))


def get_requires_for_build_wheel(settings: Settings = None) -> list[str]:
    """Return the packages that the build needs: also a compiler, where the system has none."""
    return [*standard.get_requires_for_build_wheel(settings), *([] if _has_compiler() else ["ziglang"])]


def _with_compiler(build: Callable[..., str]) -> Callable[..., str]:
    def run(*arguments: Any) -> str:
        if not _has_compiler():
            if find_spec("ziglang") is None:
                sys.exit(NO_COMPILER)
            os.environ["CMAKE_TOOLCHAIN_FILE"] = str(Path(__file__).with_name("zig.cmake"))
            os.environ["SALTMINE_PYTHON"] = sys.executable
        try:
            return build(*arguments)
        except (Exception, SystemExit):
            print(OLD_BUILD if Path("build").is_dir() else "", file=sys.stderr)
            raise

    return run


get_requires_for_build_editable = get_requires_for_build_wheel
build_wheel = _with_compiler(standard.build_wheel)
build_editable = _with_compiler(standard.build_editable)
