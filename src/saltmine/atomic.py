"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path


@contextmanager
def atomic_write(path: str | PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path to write to and rename it to ``path`` at the end; an error leaves the old file unchanged.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with atomic_write(target) as temporary:
    ...     _ = temporary.write_text("all of it")
    >>> target.read_text()
    'all of it'
    """
    # Replace the target of a symbolic link, not the link.
    path = Path(path).resolve() if Path(path).is_symlink() else Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r} for {path.name}; make it first.")
    if path.exists() and not path.is_file():
        # Pipes and devices are written to, not replaced.
        yield path
        return
    # Keep the suffix: writers choose the format by it.
    temporary = path.with_name(f".{uuid.uuid4().hex}.part{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise type(error)(error.errno, f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
