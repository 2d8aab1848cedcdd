"""Tests of saltmine, one folder per package."""
