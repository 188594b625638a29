"""Summaries of a profile for display: over time, by call path, by rank, as tables."""
