"""Fits that one memory or one machine cannot hold: blocks of lazily read data, worked on by threads or by Dask."""
