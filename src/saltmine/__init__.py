"""saltmine: what classes share, what is theirs alone, and how they alter what is shared."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from saltmine.version import __version__ as __version__

# What the package offers, by module. Imported when it is first asked for, so that the command line starts at once;
# type checkers and editors read __init__.pyi.
_OFFERED = {
    "saltmine": ("datasets", "metrics"),
    "saltmine.baselines": ("Asso", "Dbssl", "DiffNorm", "JointNMF", "MdlDbssl"),
    "saltmine.comparison": ("compare",),
    "saltmine.estimators": ("CSalt", "Primp"),
    "saltmine.io": ("ReadError", "Table", "read"),
    "saltmine.methods": ("load",),
    "saltmine.preprocessing": ("Prepare",),
}
_MODULE_OF = {name: module for module, names in _OFFERED.items() for name in names}

__all__ = sorted([*_MODULE_OF, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "_core" and find_spec("saltmine._core") is None:
        raise ImportError("The compiled core of saltmine is missing: install saltmine again, as by `pip install .`.")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'saltmine' has no attribute {name!r}")
    module = _MODULE_OF[name]
    return import_module(f"saltmine.{name}") if module == "saltmine" else getattr(import_module(module), name)


def __dir__() -> list[str]:
    return __all__
