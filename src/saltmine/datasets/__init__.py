"""Data with planted structure: the paper's matrices, and simulated genomes."""

from saltmine.datasets.genomes import Genomes, simulate_genomes
from saltmine.datasets.planted import C2, C3, C4, Planted, make_planted

__all__ = ["C2", "C3", "C4", "Genomes", "Planted", "make_planted", "simulate_genomes"]
