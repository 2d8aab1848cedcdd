"""saltmine: what classes share, what is theirs alone, and how they alter what is shared."""

from importlib import import_module
from types import ModuleType

from saltmine.estimators import CSalt, Primp, load

__version__ = "0.1.0.dev0"

__all__ = ["CSalt", "Primp", "__version__", "datasets", "load", "metrics"]


def __getattr__(name: str) -> ModuleType:
    """Import `saltmine.datasets` and `saltmine.metrics` when they are first asked for."""
    if name in ("datasets", "metrics"):
        return import_module(f"saltmine.{name}")
    raise AttributeError(f"module 'saltmine' has no attribute {name!r}")
