"""Errors that end a command, each with the exit code it stands for."""

from __future__ import annotations

from collections.abc import Iterable


class IncprofError(Exception):
    """One line that says what is wrong, where, and what to do. Exit code 1."""

    exit_code = 1


class UsageError(IncprofError):
    """The command line does not make sense. Exit code 2."""

    exit_code = 2


class GateError(IncprofError):
    """Gates that the user set were not met. Exit code 3. lines: one for each."""

    exit_code = 3

    def __init__(self, *lines: str):
        super().__init__("; ".join(lines))
        self.lines = lines


class NoDataError(IncprofError):
    """There is nothing usable in the input. Exit code 4."""

    exit_code = 4


class PartialDataError(IncprofError):
    """A result was given, from input of which a part was dropped. Exit code 5."""

    exit_code = 5


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean WORD?", or nothing where no known word is like this one."""
    from difflib import get_close_matches

    suggestions = get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return f"; did you mean {suggestions[0]}?" if suggestions else ""
