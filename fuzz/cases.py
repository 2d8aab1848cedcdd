"""A case is one thing to read: its files, and the options it is read with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz.damage import damaged

#: Returns changed contents of a file.
Change = Callable[[Random, bytes], bytes]

# Valid files of a format that are made once and then changed again and again.
_POOL_SIZE = 24
_MAX_ATTEMPTS = 20


@dataclass(frozen=True)
class Case:
    """Files by their names, what is read, with which options, and which file is changed.

    Options whose values are `File` are paths of other files of the case. ``path`` may be the folder ".".
    """

    files: dict[str, bytes]
    path: str
    options: dict[str, Any] = field(default_factory=dict)
    changed: str = ""

    @property
    def target(self) -> str:
        """The name of the file that is changed."""
        return self.changed or self.path

    def write(self, folder: Path) -> tuple[Path, dict[str, Any]]:
        """Write the files into a folder; return the path to read, and the options with paths of this folder."""
        for name, data in self.files.items():
            path = folder / name
            if "/" in name:
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        paths = {key: folder / value if isinstance(value, File) else value for key, value in self.options.items()}
        return folder / self.path, paths


class File(str):
    """The name of another file of a case."""


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes
    ----------
    make : callable
        ``make(random)`` returns a valid case.
    change : callable
        Changes what a file says and keeps its form as far as possible, with correct checksums.
    wrap : callable, optional
        Compresses the contents after they were changed.
    is_model : bool
        Whether the file is a model, read by `saltmine.load`.
    """

    name: str
    make: Callable[[Random], Case]
    change: Change
    wrap: Change | None = None
    is_model: bool = False

    def case(self, seed: int, number: int) -> Case:
        """Return a changed file; the same for the same seed and number."""
        random = Random(f"{seed} {self.name} {number}")
        valid = random.choice(self.pool(seed))
        original = valid.files[valid.target]
        for _ in range(_MAX_ATTEMPTS):
            data = self._changed(random, original)
            if data != original:
                break
        return replace(valid, files={**valid.files, valid.target: self._wrapped(random, data)})

    def pool(self, seed: int) -> tuple[Case, ...]:
        """Return valid cases, whose files are not compressed yet."""
        return _pool(self, seed)

    def valid(self, seed: int) -> list[Case]:
        """Return valid cases as they are read."""
        random = Random(f"{seed} {self.name} valid")
        wrap = self.wrap or _as_it_is
        return [
            replace(case, files={**case.files, case.target: wrap(random, case.files[case.target])})
            for case in self.pool(seed)
        ]

    def _changed(self, random: Random, data: bytes) -> bytes:
        how = random.random()
        if how < 0.65:
            data = self.change(random, data)
        return damaged(random, data) if how >= 0.45 else data

    def _wrapped(self, random: Random, data: bytes) -> bytes:
        if self.wrap is None:
            return data
        data = self.wrap(random, data)
        return damaged(random, data) if random.random() < 0.15 else data


@cache
def _pool(form: Format, seed: int) -> tuple[Case, ...]:
    random = Random(f"{seed} {form.name}")
    return tuple(form.make(random) for _ in range(_POOL_SIZE))


def _as_it_is(random: Random, data: bytes) -> bytes:
    return data
