"""What is changed, and the tests that should notice it."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from saltmine import _core

ROOT = Path(__file__).parents[2]
KILLED, SURVIVED, INVALID = "killed", "survived", "not compiled"
#: Folders that the tests need beside their own.
COPIED = ("src", "core", "experiments", "benchmarks", "fuzz", "examples")
#: Options of the tests.
FAST = ["-m", "not slow and not cluster and not browser"]
# Read whenever Python starts: an editable installation would lead all imports back to the project.
_START = """import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__name__.startswith("ScikitBuild")]
"""


@dataclass(frozen=True)
class Group:
    """Sources in Python, those in C++ in ``core/``, and their tests."""

    python: tuple[str, ...]
    cpp: tuple[str, ...]
    tests: tuple[str, ...]


_EXAMPLES = "benchmarks/mutants/examples.py"
_SEARCH_TESTS = ("scoring", "seeds", "local_search", "significance_filter", "mdl_search")

# Not hash.hpp: any other constants would scatter keys as well.
GROUPS = {
    "mdl": Group(
        ("src/saltmine/mdl",),
        (
            *("mdl.cpp", "code_length.hpp", "evidence.hpp", "cell_evidence.hpp", "item_choice.hpp", "choices.hpp"),
            *("class_tests.cpp", "class_tests.hpp", "added_items.cpp", "added_items.hpp", "groups.cpp"),
            *("scores.cpp", "scores.hpp"),
        ),
        ("tests/mdl", f"{_EXAMPLES}::test_mdl"),
    ),
    "data": Group(
        ("src/saltmine/data",),
        ("folding.cpp", "bit_sets.cpp", "bits.hpp", "stored.hpp"),
        ("tests/data", f"{_EXAMPLES}::test_data"),
    ),
    "search": Group(
        (
            "src/saltmine/solver/local_search.py",
            "src/saltmine/solver/search_state.py",
            "src/saltmine/solver/significance.py",
            "src/saltmine/solver/seeds.py",
        ),
        ("model.cpp", "model.hpp", "search.cpp", "search_tests.cpp", "seeds.cpp", "fit.cpp", "kernels/weigh.hpp"),
        tuple(f"tests/solver/test_{name}.py" for name in _SEARCH_TESTS),
    ),
}


def copy_project(folder: Path) -> dict[str, str]:
    """Copy what the tests need into a folder; return the variables with which Python takes the package from there."""
    for name in (*COPIED, "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "results", "findings"))
    for name in ("pyproject.toml", "CMakeLists.txt"):
        shutil.copy(ROOT / name, folder)
    shutil.copy(_core.__file__, folder / "src" / "saltmine")
    (folder / "start").mkdir()
    (folder / "start" / "sitecustomize.py").write_text(_START, "utf-8")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "start"), str(folder / "src")])}


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share.

    Examples
    --------
    >>> tuple(round(end, 2) for end in interval(85, 100))
    (0.77, 0.91)
    """
    if not tried:
        return 0.0, 1.0
    z, share = 1.96, killed / tried
    middle = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z / (1 + z * z / tried) * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    return max(middle - half, 0.0), min(middle + half, 1.0)
