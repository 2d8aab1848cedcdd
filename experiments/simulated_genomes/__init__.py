"""Simulated genomes of tumour patients, with planted alterations of single classes; needs msprime."""

from experiments.simulated_genomes.genomes import Genomes, Program, simulate_genomes

__all__ = ["Genomes", "Program", "simulate_genomes"]
