"""What hatchling does besides copying files: build the library of the folder native/ and put it into the wheel."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

ROOT = Path(__file__).resolve().parent


def _load(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location("native_build", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


native_build = _load(ROOT / "native" / "build.py")


class NativeHook(BuildHookInterface[Any]):
    """Builds the library for every wheel; beside the sources for an installation that uses them where they are."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Name the package with a compiler, where the system has none."""
        return list(native_build.requirements())

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library, and say that the wheel is for this platform and for every version of Python."""
        begin = time.perf_counter()
        self._folder = tempfile.TemporaryDirectory()
        editable = version == "editable"
        try:
            # All of it anew: what is left of an earlier build may be for another processor.
            library = native_build.build(native_build.TARGET if editable else Path(self._folder.name))
        except native_build.BuildError as problem:
            sys.exit(str(problem))
        self.app.display_info(f"{library.name} was built in {time.perf_counter() - begin:.1f} s")
        if not editable:
            build_data["force_include"][str(library)] = f"saltmine/{library.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what has gone into the wheel."""
        self._folder.cleanup()


def _platform() -> str:
    """Return the tag of this machine; the library is not built to run on other distributions of Linux."""
    return next(tag for tag in platform_tags() if "manylinux" not in tag and "musllinux" not in tag)
