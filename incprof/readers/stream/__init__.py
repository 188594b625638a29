"""Streams, as the collector writes them (docs/formats.md)."""
