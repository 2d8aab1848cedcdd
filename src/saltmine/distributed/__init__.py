"""Blocks of the data on the workers of a Dask cluster."""
