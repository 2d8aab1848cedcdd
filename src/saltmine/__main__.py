"""``python -m saltmine`` is the command line."""

from saltmine.cli import main

main()
