"""saltmine: what classes share, what is theirs alone, and how they alter what is shared."""

from saltmine.estimators import CSalt, Primp
from saltmine.model.files import load

__version__ = "0.1.0.dev0"

__all__ = ["CSalt", "Primp", "__version__", "load"]
