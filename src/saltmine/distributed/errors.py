"""The one kind of error that a cluster can cause, and what to say where a library is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ClusterError(RuntimeError):
    """A cluster that cannot do the work: one sentence that says what is wrong, where, and how to mend it."""


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Name the extra to install if an import inside fails.

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
        raise ImportError(f"{what} needs the library {library}; pip install 'saltmine[{extra}]'.") from None
