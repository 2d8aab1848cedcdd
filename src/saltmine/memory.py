"""How much memory this process may still use, and limits on it that users write as 2G or 500M."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from saltmine.nouns import counted

#: The share of the available memory that reading a file, or a search, may use where no limit is given.
DEFAULT_SHARE = 0.5

_UNITS = {unit: 1024**power for power, unit in enumerate(("", "K", "M", "G", "T"))}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE | re.ASCII)
# Where no limit is set, version 1 of control groups has a number near the largest one of 64 bits.
_NO_LIMIT = 1 << 60


class MemoryLimitError(MemoryError, ValueError):
    """Work that needs more memory than it may use: one sentence with both sizes and the way out.

    It is a MemoryError as well as a ValueError.

    Examples
    --------
    >>> issubclass(MemoryLimitError, MemoryError), issubclass(MemoryLimitError, ValueError)
    (True, True)
    """


def memory_limit(max_memory: str | float | None = None) -> int:
    """Return the bytes that a piece of work may use: ``max_memory``, or half of what is available.

    Examples
    --------
    >>> memory_limit("2G")
    2147483648
    >>> memory_limit() <= available_memory()
    True
    """
    return int(available_memory() * DEFAULT_SHARE) if max_memory is None else parse_size(max_memory)


def parse_size(size: str | float) -> int:
    """Return a number of bytes from a number, or from text such as 500M, 2G or 1.5 GiB; a K is 1024 bytes.

    Examples
    --------
    >>> parse_size("500M"), parse_size("1.5 GiB"), parse_size(4096)
    (524288000, 1610612736, 4096)
    """
    problem = f"{size!r} is not a size of memory; write it as 500M or 2G."
    if isinstance(size, bool) or not isinstance(size, str | float | int):
        raise ValueError(problem)
    found = _SIZE.fullmatch(str(size).strip()) if isinstance(size, str) else None
    if isinstance(size, str) and found is None:
        raise ValueError(problem)
    number = float(size) if found is None else float(found[1]) * _UNITS[found[2].upper()]
    if not 1 <= number < float(1 << 63):
        raise ValueError(problem)
    return int(number)


def check_max_memory(value: Any) -> None:
    """Refuse limits of memory other than a number of bytes, or text such as 2G.

    Examples
    --------
    >>> check_max_memory("much")
    Traceback (most recent call last):
    ValueError: max_memory: 'much' is not a size of memory; write it as 500M or 2G.
    """
    if value is not None:
        try:
            parse_size(value)
        except ValueError as error:
            raise ValueError(f"max_memory: {error}") from None


def format_size(n_bytes: float) -> str:
    """Return a number of bytes as people write it.

    Examples
    --------
    >>> format_size(3_650_722_202), format_size(5 * 1024**2), format_size(1)
    ('3.4 GB', '5 MB', '1 byte')
    """
    if n_bytes < 1024:
        return counted(int(n_bytes), "byte")
    unit = next(unit for unit in "KMGT" if n_bytes < 1000 * _UNITS[unit] or unit == "T")
    number = n_bytes / _UNITS[unit]
    return f"{number:.1f} {unit}B".replace(".0 ", " ") if number < 100 else f"{number:,.0f} {unit}B"


def enough_memory(needed: float) -> str:
    """Return the options that allow so many bytes, and some more.

    Examples
    --------
    >>> enough_memory(2 * 1024**3)
    "--max-memory 3G (max_memory='3G')"
    """
    unit, letter = (1 << 30, "G") if needed >= 1 << 30 else (1 << 20, "M")
    size = f"{int(-(-needed * 1.2 // unit))}{letter}"
    return f"--max-memory {size} (max_memory='{size}')"


def available_memory() -> int:
    """Return the bytes that this process may still use.

    That is the least of what the machine has left, what the control groups of its containers allow beside what is used
    in them, and what its limit of address space (``ulimit -v``) leaves.
    """
    return max(0, min([_machine(), *_control_groups(), *_address_space()]))


def _machine() -> int:
    """Return what the machine has left; on systems that do not tell, all that it has."""
    if sys.platform == "win32":
        return _windows()
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _windows() -> int:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("total", "available", "a", "b", "c", "d", "e")),
        ]

    status = Status(length=ctypes.sizeof(Status))
    ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined,unused-ignore]
    return int(status.available)


def _control_groups(own: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """Yield what every control group of this process leaves, in both versions of control groups."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if controllers == "":
            yield from _limits(root, name, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _limits(root / "memory", name, *files)


def _limits(root: Path, name: str, limit: str, usage: str, cache: str) -> Iterator[int]:
    # A container may see its own group as the root, and the name that the group has outside of it.
    path = PurePosixPath(name.lstrip("/"))
    for group in (path, *path.parents):
        allowed = _number(root / group / limit)
        if allowed is None or allowed >= _NO_LIMIT:
            continue
        used = _number(root / group / usage) or 0
        # The cache of files counts as used, but makes room where memory is needed.
        yield allowed - max(0, used - _statistic(root / group / "memory.stat", cache))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None  # no such group, or "max"


def _statistic(path: Path, name: str) -> int:
    try:
        return next(int(line.split()[1]) for line in path.read_text().splitlines() if line.split()[0] == name)
    except (OSError, ValueError, IndexError, StopIteration):
        return 0


def _address_space() -> Iterator[int]:
    if sys.platform == "win32":
        return
    import resource

    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if allowed == resource.RLIM_INFINITY:
        return
    try:
        n_pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        n_pages = 0  # macOS does not tell, and does not enforce the limit
    yield allowed - n_pages * os.sysconf("SC_PAGE_SIZE")
