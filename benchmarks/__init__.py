"""Measurements of quality, time and memory: ``python -m benchmarks.planted``, from the root of the repository."""
