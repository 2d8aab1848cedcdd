"""The searches of the methods that C-Salt is compared with."""
