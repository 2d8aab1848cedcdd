"""Optional libraries: which extra to install where one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needing(extra: str, what: str, alternative: str = "") -> Iterator[None]:
    """Say which extra to install, and what else to do, if an import in the block fails.

    Examples
    --------
    >>> with needing("dask", "A fit on a Dask cluster"):
    ...     import no_such_library
    Traceback (most recent call last):
    ImportError: A fit on a Dask cluster needs the library no_such_library; pip install 'saltmine[dask]'.
    """
    try:
        yield
    except ImportError as error:
        library = str(error.name).partition(".")[0]
        problem = f"{what} needs the library {library}"
        raise ImportError(f"{problem}; pip install 'saltmine[{extra}]'{alternative}.") from None
