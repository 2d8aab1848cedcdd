"""Where the repository is, and the real data that may lie beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def shared_path(path: str) -> Path:
    """Return a path in the folder ``shared`` beside the repository; skip the test if nothing is there."""
    found = ROOT.parent / "shared" / path
    if not found.exists():
        pytest.skip(f"this data is not here: ../shared/{path}")
    return found
