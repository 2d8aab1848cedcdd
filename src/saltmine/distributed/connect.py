"""Reach a Dask cluster, and see that its workers can do the work, before anything long begins."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltmine.distributed.errors import ClusterError
from saltmine.extras import needing
from saltmine.version import __version__

if TYPE_CHECKING:
    from distributed import Client

# Seconds that a scheduler has to answer, and that a cluster has to get its first worker.
_REACH = 5
_FIRST_WORKER = 3
# Addresses that distributed knows; it would go on trying others for ever.
_ADDRESS = re.compile(r"((tcp|tls|ucx|ws|wss)://)?[^/\s]+:\d+|inproc://\S+")


@contextmanager
def connect(client: Any) -> Iterator[Client]:
    """Reach a cluster whose workers have this saltmine; a connection made here ends with the ``with`` block.

    Parameters
    ----------
    client : distributed.Client, str or path
        A client, which stays open, the address of a scheduler such as "tcp://host:8786", or a scheduler file.

    Examples
    --------
    >>> from distributed import Client
    >>> with Client(n_workers=1, processes=False, dashboard_address=":0") as mine, connect(mine) as client:
    ...     client is mine
    True
    """
    with needing("dask", "A fit on a Dask cluster"):
        from distributed import Client
    if isinstance(client, Client):
        if client.asynchronous:
            raise ClusterError("The Dask client is asynchronous; make it with Client(..., asynchronous=False).")
        if client.status != "running":
            raise ClusterError(f"The Dask client is {client.status}; make a new one.")
        _demand_workers(client)
        yield client
    elif isinstance(client, (str, PathLike)):
        with _reached(fspath(client)) as own:
            _demand_workers(own)
            yield own
    else:
        raise ValueError(
            f"client is {client!r}; pass a distributed.Client, the address of a scheduler such as 'tcp://host:8786', "
            "or the path of a scheduler file."
        )


def open_client(client: Any) -> AbstractContextManager[Client | None]:
    """Reach the cluster that is named, or the one that is open already, or none."""
    client = _current_client() if client is None else client
    return nullcontext() if client is None else connect(client)


def _current_client() -> Any:
    try:
        from distributed import Client

        return Client.current()
    except (ImportError, ValueError):
        return None


def _reached(where: str) -> Client:
    from distributed import Client

    address = _address_in(where) if Path(where).suffix == ".json" else where
    if not _ADDRESS.fullmatch(address):
        raise ClusterError(
            f"{where!r} is no address of a Dask scheduler and no scheduler file; an address looks like "
            "'tcp://host:8786', a scheduler file ends in .json."
        )
    try:
        return Client(address, timeout=_REACH, set_as_default=False)
    except Exception:  # whatever else listens there, a web server say, makes distributed raise nearly anything
        raise ClusterError(
            f"No Dask scheduler answers at {address}; check the address, and that the scheduler runs and can be "
            "reached from here."
        ) from None


def _address_in(path: str) -> str:
    try:
        return str(json.loads(Path(path).read_text())["address"])
    except OSError as error:
        reason = str(error.strerror)
    except (ValueError, KeyError, TypeError):
        reason = "it has no address of a scheduler"
    raise ClusterError(
        f"The scheduler file {path} cannot be used: {reason}; dask scheduler --scheduler-file {path} writes it."
    )


def _demand_workers(client: Client) -> None:
    """Refuse a cluster without workers, or with one that has no saltmine or another version of it."""
    try:
        client.wait_for_workers(1, timeout=_FIRST_WORKER)
    except TimeoutError:
        raise ClusterError(
            f"The Dask cluster at {client.scheduler.address} has no workers; start some with dask worker "
            f"{client.scheduler.address}, or with the scale method of the cluster."
        ) from None

    # Inside, so that it travels as code: a worker without saltmine cannot import it.
    def version() -> str | None:
        try:
            import saltmine
        except ImportError:
            return None
        return saltmine.__version__

    # A worker that is just going away does not answer, which is no reason to refuse the others.
    for worker, found in client.run(version, on_error="ignore").items():
        if found is None:
            raise ClusterError(
                f"The Dask worker at {worker} has no saltmine; install saltmine {__version__} in the environment that "
                "it runs in, and start it again."
            )
        if found != __version__:
            raise ClusterError(
                f"The Dask worker at {worker} has saltmine {found}, and here it is {__version__}; install the same "
                "version in both places, and start the worker again."
            )
