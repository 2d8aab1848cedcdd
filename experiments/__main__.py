"""Run the paper's experiments: ``python -m experiments noise --quick``."""

from __future__ import annotations

from saltmine.cli import main

# The processes that run tasks import this module too, under another name.
if __name__ == "__main__":
    main("experiments.command", "python -m experiments")
