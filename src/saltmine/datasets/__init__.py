"""Data with planted structure: the paper's matrices."""

from saltmine.datasets.planted import C2, C3, C4, Planted, make_planted

__all__ = ["C2", "C3", "C4", "Planted", "make_planted"]
