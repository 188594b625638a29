"""Recurring patterns in a series, and loops in a stream of names."""
