"""How long everything takes, against an older revision, other methods and the size of the data."""
