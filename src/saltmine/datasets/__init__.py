"""Data for experiments: planted patterns, patterns of classes with wrong labels, and swaps that keep all sums."""

from saltmine.datasets.class_patterns import ClassPatterns, make_class_patterns
from saltmine.datasets.planted import C2, C3, C4, Planted, make_planted, membership_of
from saltmine.datasets.swapping import swap

__all__ = [
    "C2",
    "C3",
    "C4",
    "ClassPatterns",
    "Planted",
    "make_class_patterns",
    "make_planted",
    "membership_of",
    "swap",
]
