"""Streams in the collector's format (docs/reference/formats.md)."""
