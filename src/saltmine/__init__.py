"""saltmine: what classes share, what is theirs alone, and how they alter what is shared."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saltmine import datasets, metrics
    from saltmine.comparison import compare
    from saltmine.estimators import Asso, CSalt, Dbssl, DiffNorm, JointNMF, MdlDbssl, Primp, load
    from saltmine.preparation import Prepare, prepare
    from saltmine.readers import ReadError, Table, read

__version__ = "0.1.0.dev0"

# Imported when they are first asked for, so that the command line starts at once: name, and the module that has it.
_LATER = {
    "Asso": "saltmine.estimators",
    "CSalt": "saltmine.estimators",
    "Dbssl": "saltmine.estimators",
    "DiffNorm": "saltmine.estimators",
    "JointNMF": "saltmine.estimators",
    "MdlDbssl": "saltmine.estimators",
    "Prepare": "saltmine.preparation",
    "Primp": "saltmine.estimators",
    "ReadError": "saltmine.readers",
    "Table": "saltmine.readers",
    "compare": "saltmine.comparison",
    "datasets": "saltmine.datasets",
    "load": "saltmine.estimators",
    "metrics": "saltmine.metrics",
    "prepare": "saltmine.preparation",
    "read": "saltmine.readers",
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
    "prepare",
    "read",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'saltmine' has no attribute {name!r}")
    module = import_module(_LATER[name])
    return module if module.__name__ == f"saltmine.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
