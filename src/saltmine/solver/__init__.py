"""The searches: a relaxed start, rounding, local search by description length, and blocks for wide and tall data."""
