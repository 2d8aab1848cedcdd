"""Turn tables of any columns into yes/no items."""

from saltmine.preprocessing.transformer import Prepare

__all__ = ["Prepare"]
