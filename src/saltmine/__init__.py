"""saltmine: what classes share, what is theirs alone, and how they alter what is shared."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saltmine import datasets, metrics
    from saltmine.baselines import Asso, Dbssl, DiffNorm, JointNMF, MdlDbssl
    from saltmine.comparison import compare
    from saltmine.estimators import CSalt, Primp
    from saltmine.io import ReadError, Table, read
    from saltmine.loading import load
    from saltmine.preprocessing import Prepare

__version__ = "0.1.0.dev0"

# Imported when they are first asked for, so that the command line starts at once: name, and the module that has it.
_LATER = {
    "Asso": "saltmine.baselines",
    "CSalt": "saltmine.estimators",
    "Dbssl": "saltmine.baselines",
    "DiffNorm": "saltmine.baselines",
    "JointNMF": "saltmine.baselines",
    "MdlDbssl": "saltmine.baselines",
    "Prepare": "saltmine.preprocessing",
    "Primp": "saltmine.estimators",
    "ReadError": "saltmine.io",
    "Table": "saltmine.io",
    "compare": "saltmine.comparison",
    "datasets": "saltmine.datasets",
    "load": "saltmine.loading",
    "metrics": "saltmine.metrics",
    "read": "saltmine.io",
}

__all__ = [
    "Asso",
    "CSalt",
    "Dbssl",
    "DiffNorm",
    "JointNMF",
    "MdlDbssl",
    "Prepare",
    "Primp",
    "ReadError",
    "Table",
    "__version__",
    "compare",
    "datasets",
    "load",
    "metrics",
    "read",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'saltmine' has no attribute {name!r}")
    module = import_module(_LATER[name])
    return module if module.__name__ == f"saltmine.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
