"""The command line: ``saltmine fit``, ``transform``, ``predict``, ``report``, ``generate``, ``score``, ``demo``."""

from saltmine.cli.main import main

__all__ = ["main"]
