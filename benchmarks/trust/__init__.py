"""What may go wrong and must not: damaged files, kills, limits of time and memory, the order of the data."""
