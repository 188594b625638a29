"""Profiles of other tools as timelines, which a run directory can be written of (docs/import.md)."""
