"""Profiles of other tools as timelines, from which a run directory can be written (docs/use/import.md)."""
