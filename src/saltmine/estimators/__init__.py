"""C-Salt and Primp with scikit-learn's manners: they check the input, run a search and keep what it found."""

from saltmine.estimators.csalt import CSalt
from saltmine.estimators.primp import Primp

__all__ = ["CSalt", "Primp"]
