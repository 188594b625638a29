"""Interval profiles of -pg programs, and the phases found in them."""

__version__ = "0.1.0"
