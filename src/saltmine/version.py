"""The version of saltmine, apart from everything else so that all modules may know it."""

__version__ = "0.1.0"
