"""The data: checked to be 0/1, stacked by class, folded, packed into bits, or read lazily in blocks."""
