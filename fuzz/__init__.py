"""Files that are made to break the readers: small valid ones, changed at random. Run ``python -m fuzz``."""
