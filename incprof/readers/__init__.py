"""Readers: run directories to the model."""

from incprof.readers.run import open_run, read_profile

__all__ = ["open_run", "read_profile"]
