"""Crafted files that nobody should have to fear."""
