"""Removes shadows from photographs: all of them, or just the one that you point at."""

__version__ = "0.1.0.dev0"
