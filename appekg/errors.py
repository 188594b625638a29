"""Exceptions of reading heartbeat files."""

from __future__ import annotations


class AppekgError(Exception):
    """An error in the input, its position and its remedy, in one line."""


class NewerFormatError(AppekgError):
    """The file has a newer format version than this reader."""


class NoSuchRankError(AppekgError):
    """The run has none of the requested ranks."""
