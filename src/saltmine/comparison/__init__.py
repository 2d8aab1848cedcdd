"""Methods side by side on the same data."""

from saltmine.comparison.table import Comparison, compare

__all__ = ["Comparison", "compare"]
