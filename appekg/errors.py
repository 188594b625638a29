"""What reading heartbeat files raises."""

from __future__ import annotations


class AppekgError(Exception):
    """One line that says what is wrong with the input, where, and what to do."""


class NewerFormatError(AppekgError):
    """The file was written by a later version than this one can read."""


class NoSuchRankError(AppekgError):
    """The run has none of the ranks that were asked for."""
