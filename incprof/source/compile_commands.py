"""compile_commands.json: how the build compiles each source file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incprof.errors import NoDataError
from incprof.safe.inputs import read_input
from incprof.safe.jsontext import INSTEAD, parse_json

MOST_BYTES = 512 << 20
# Longest command, with response files; no longer one could be executed.
MOST_WORDS = 100_000
DEEPEST_RESPONSE = 10
MOST_RESPONSE = 1 << 20


@dataclass(frozen=True, slots=True)
class Command:
    """The compilation of one source.

    Attributes:
        directory: absolute, links resolved.
        file: absolute, links resolved.
        words: the compiler first.
    """

    directory: str
    file: str
    words: tuple[str, ...]


def read_commands(path: Path) -> list[Command]:
    """Return the commands of a compilation database; invalid entries are left out.

    Raises: NoDataError if it cannot be read, is not JSON, or contains no command.
    """
    try:
        found = parse_json(read_input(path, MOST_BYTES))
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise NoDataError(f"{path}: no JSON: let the build write it again") from error
    if not isinstance(found, list):
        raise NoDataError(f"{path}: not a list of commands: let the build write it again")
    base = os.path.dirname(os.path.abspath(path))
    commands = [command for entry in found if (command := _command(entry, base)) is not None]
    if not commands:
        raise NoDataError(f"{path}: no commands in it: let the build write it again")
    return commands


def _command(entry: Any, base: str) -> Command | None:
    """Return one entry; None if it is incomplete."""
    if not isinstance(entry, dict):
        return None
    directory, file, words = entry.get("directory", base), entry.get("file"), entry.get("arguments")
    if words is None and isinstance(entry.get("command"), str):
        try:
            words = shlex.split(entry["command"])
        except ValueError:
            return None
    if not isinstance(directory, str) or not isinstance(file, str) or not isinstance(words, list):
        return None
    if not file or not words or len(words) > MOST_WORDS or not all(map(_usable, [directory, file, *words])):
        return None
    place = os.path.realpath(os.path.join(base, directory))
    return Command(place, os.path.realpath(os.path.join(place, file)), tuple(words))


def _usable(text: Any) -> bool:
    """Return whether a system call accepts the text."""
    return isinstance(text, str) and INSTEAD not in text


def with_response_files(words: Sequence[str], directory: str) -> list[str]:
    """Return the words with each `@file` replaced by its contents, as compilers do; a missing file stays."""
    answer: list[str] = []
    waiting = [(word, 0) for word in reversed(words)]
    while waiting and len(answer) < MOST_WORDS:
        word, depth = waiting.pop()
        inner = _response(os.path.join(directory, word[1:])) if word[:1] == "@" and depth < DEEPEST_RESPONSE else None
        if inner is None:
            answer.append(word)
        else:
            waiting += [(each, depth + 1) for each in reversed(inner)]
    return answer


def _response(path: str) -> list[str] | None:
    try:
        return shlex.split(os.fsdecode(read_input(path, MOST_RESPONSE)))
    except (OSError, ValueError):
        return None
