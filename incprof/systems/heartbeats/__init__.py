"""Heartbeats: reading, summaries, comparisons, and validation against the phases of a recording."""
