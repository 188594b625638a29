"""Phases: intervals that do the same, and how sure that is."""
