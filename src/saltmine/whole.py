"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path


@contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[Path]:
    """Give a path beside the target to write to, renamed when the block ends well: else the old file stays as it was.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with whole_file(target) as aside:
    ...     _ = aside.write_text("all of it")
    >>> target.read_text()
    'all of it'
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r} for {path.name}; make it first.")
    # The suffix stays: writers tell the format by it.
    aside = path.with_name(f".{path.stem}.{uuid.uuid4().hex}.part{path.suffix}")
    try:
        yield aside
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
