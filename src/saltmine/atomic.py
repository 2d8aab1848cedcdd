"""Files, and sets of files, that are written completely or not at all, even if the process is killed.

New files are written into a hidden folder beside their place, ``.saltmine-*.part``. One file takes its place by a
rename. Several files take theirs together (`atomic_files`), in three steps:

1. Each old file is replaced by a symbolic link, which leads through one common link to the same old file.
2. The common link is turned to the new files, in one rename.
3. Each link is replaced by the new file that it leads to.

Whoever reads the folder sees all old files or all new ones, also in between and after a kill at any moment.

A process that was killed leaves its hidden folder. The next one that writes to the same place replaces the links that
lead there, and removes it. A lock, which ends with its process, tells whether that process is still alive.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows; there, hidden folders of killed processes stay
    fcntl = None  # type: ignore[assignment]  # a module elsewhere

# In a hidden folder: the new files, the old ones, and the link that leads to one of the two.
NEW, OLD, CURRENT = "new", "old", "current"
# The lock of a hidden folder is in it; that of a folder is there only while hidden folders are made, used or removed.
PART_LOCK, FOLDER_LOCK = "lock", ".saltmine.lock"
# What a file system without symbolic links says when it is asked for one.
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)


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
    try:
        if path.exists() and not path.is_file():
            # Pipes and devices are written to, not replaced.
            yield path
            return
        with _hidden_folder(path.parent) as part:
            # The same name: writers choose the format by its suffix.
            yield part / NEW / path.name
            os.replace(part / NEW / path.name, path)
    except OSError as error:
        raise type(error)(error.errno, f"{path} cannot be written: {error.strerror or error}") from error


@contextmanager
def atomic_files(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    """Yield a temporary folder to write files into; at the end they appear in ``folder`` all at once.

    Files of ``names`` that exist and that were not written this time disappear at the same moment, and other files stay
    as they are. An error leaves everything unchanged. On file systems without symbolic links the files are renamed one
    after the other.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_files(folder, ["a.txt", "b.txt"]) as temporary:
    ...     for name in ("a.txt", "b.txt"):
    ...         _ = (temporary / name).write_text("new")
    >>> sorted(path.name for path in folder.iterdir())
    ['a.txt', 'b.txt']
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {str(folder)!r}; make it first.")
    with _hidden_folder(folder) as part:
        yield part / NEW
        with _locked(folder):
            try:
                _switch(folder, part, sorted({*names, *os.listdir(part / NEW)}))
            finally:
                _settle(folder, part)


def _switch(folder: Path, part: Path, names: list[str]) -> None:
    """Let the new files take the place of the old ones; `_settle` turns links into files, whether this ends or not."""
    link = part / "link"
    (part / OLD).mkdir()
    try:
        os.symlink(OLD, part / CURRENT)
    except OSError as error:
        if error.errno not in _NO_LINKS and os.name != "nt":
            raise
        _rename_each(folder, part, names)
        return
    for name in names:
        if os.path.lexists(folder / name):
            _keep(folder / name, part / OLD / name)
        elif not os.path.lexists(part / NEW / name):
            continue
        os.symlink(_target(part, name), link)
        os.replace(link, folder / name)
    os.symlink(NEW, link)
    # Here, in one step, all names change from the old files to the new ones.
    os.replace(link, part / CURRENT)


def _target(part: Path, name: str) -> str:
    return f"{part.name}/{CURRENT}/{name}"


def _keep(path: Path, copy: Path) -> None:
    """Make ``copy`` the same file as ``path``."""
    if path.is_symlink():
        os.symlink(path.parent.absolute() / os.readlink(path), copy)
        return
    try:
        os.link(path, copy)
    except OSError:
        # File systems without hard links, and files of other users.
        shutil.copy2(path, copy)


def _settle(folder: Path, part: Path) -> None:
    """Replace every link that leads through the hidden folder by the file that it leads to, or remove it."""
    try:
        source = part / os.readlink(part / CURRENT)
    except OSError:
        # The process ended before it made links, or after it had replaced all of them.
        return
    for name in sorted({*os.listdir(part / OLD), *os.listdir(part / NEW)}):
        if not _is_link_to(_target(part, name), folder / name):
            continue
        if os.path.lexists(source / name):
            os.replace(source / name, folder / name)
        else:
            os.unlink(folder / name)
    os.unlink(part / CURRENT)


def _is_link_to(target: str, path: Path) -> bool:
    try:
        return os.readlink(path) == target
    except OSError:
        return False


def _rename_each(folder: Path, part: Path, names: list[str]) -> None:
    for name in names:
        if os.path.lexists(part / NEW / name):
            os.replace(part / NEW / name, folder / name)
        else:
            (folder / name).unlink(missing_ok=True)


# ---------------------------------------------------------------------- hidden folders and their locks


@contextmanager
def _hidden_folder(folder: Path) -> Iterator[Path]:
    """Make a hidden folder with a place for new files, and remove it at the end, with those of killed processes."""
    part = folder / f".saltmine-{uuid.uuid4().hex}.part"
    with _locked(folder) as certain:
        if certain:
            _remove_leftovers(folder)
        part.mkdir()
        lock = _lock(part / PART_LOCK, wait=False)
    try:
        (part / NEW).mkdir()
        yield part
    finally:
        # Links that could not be replaced need the files that they lead to.
        if not os.path.lexists(part / CURRENT):
            shutil.rmtree(part, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _remove_leftovers(folder: Path) -> None:
    """Remove hidden folders whose processes have ended; the lock of ``folder`` has to be held."""
    for part in folder.glob(".saltmine-*.part"):
        lock = None if part.is_symlink() else _lock(part / PART_LOCK, wait=False)
        if lock is not None:
            # What cannot be removed, as it may belong to another user, is no reason to fail.
            with suppress(OSError):
                _settle(folder, part)
                shutil.rmtree(part)
            os.close(lock)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder; yield False where there are no locks."""
    lock = _lock(folder / FOLDER_LOCK, wait=True)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            (folder / FOLDER_LOCK).unlink(missing_ok=True)
            os.close(lock)


def _lock(path: Path, wait: bool) -> int | None:
    """Return an open file that holds a lock; None if another process has it, or the file system has no locks."""
    if fcntl is None:  # pragma: no cover
        return None
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            os.close(file)
            return None
        # Whoever had the lock before may have removed the file since it was opened here.
        if _is_at(path, file):
            return file
        os.close(file)
        if not wait:
            return None


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except FileNotFoundError:
        return False
