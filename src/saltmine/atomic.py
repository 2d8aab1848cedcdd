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
    # A link stays a link, to the new file.
    path = Path(path).resolve() if Path(path).is_symlink() else Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r} for {path.name}; make it first.")
    if path.exists() and not path.is_file():
        # A pipe or a device is written to, never replaced.
        yield path
        return
    # The suffix stays: writers tell the format by it.
    aside = path.with_name(f".{uuid.uuid4().hex}.part{path.suffix}")
    try:
        yield aside
        os.replace(aside, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise type(error)(error.errno, f"{path} cannot be written: {reason}") from error
    finally:
        aside.unlink(missing_ok=True)
