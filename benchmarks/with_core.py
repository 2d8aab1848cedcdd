"""Run pytest, or a module, with another build of the core.

    python -m benchmarks.with_core out/builds/O0/_core.abi3.so pytest tests/core
    python -m benchmarks.with_core out/builds/clang/_core.abi3.so benchmarks.same_models --compare out/before.json

The extension module is loaded from that file before anything asks for ``saltmine._core``. Processes that are started
from there have the core of the installation again.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path


def load_core(file: Path) -> None:
    """Make a file the module ``saltmine._core``."""
    spec = importlib.util.spec_from_file_location("saltmine._core", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["saltmine._core"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    load_core(Path(sys.argv[1]))
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
