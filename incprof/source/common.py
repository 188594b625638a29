"""What the source languages share: their names, texts of ours that can be recognised, and insertions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from incprof.errors import IncprofError
from incprof.source.model import Beat, Insertion, Language, SourceFile


def is_c(language: Language) -> bool:
    """Return whether it is C or C++."""
    return language in ("c", "c++")


def is_fortran(language: Language) -> bool:
    """Return whether it is Fortran, in either form."""
    return language in ("fortran", "fixed")


def recognised(text: bytes, *patterns: re.Pattern[bytes]) -> bytes:
    """Return a text of ours.

    Args:
        text: The whole text.
        patterns: Those by which it will be removed; one of them must match.

    Raises:
        ValueError: None does.
    """
    if not any(pattern.fullmatch(text) for pattern in patterns):
        raise ValueError(f"no text of ours: {text!r}")
    return text


def line_ending(text: bytes) -> bytes:
    """Return the line ending of a text that ends with one."""
    return b"\r\n" if text.endswith(b"\r\n") else b"\n"


def by_function(beats: Sequence[Beat]) -> dict[int, list[Beat]]:
    """Return the beats of each function, by its position."""
    found: dict[int, list[Beat]] = {}
    for beat in beats:
        found.setdefault(beat.function, []).append(beat)
    return found


def demand_place(file: SourceFile, beat: Beat) -> None:
    """Raise IncprofError if the function, or its loop, refuses the beat."""
    function = file.functions[beat.function]
    place = function if beat.loop is None else function.loops[beat.loop]
    if place.refusal is not None:
        raise IncprofError(f"{file.path}:{place.line}: {function.name}: no beat can go here: {place.refusal}")


def insert(data: bytes, insertions: Sequence[Insertion]) -> bytes:
    """Return the bytes with all insertions; those at one offset in the order given."""
    parts, done = [], 0
    for insertion in sorted(insertions, key=lambda each: each.offset):
        parts += [data[done : insertion.offset], insertion.text]
        done = insertion.offset
    return b"".join([*parts, data[done:]])


def removable(file: SourceFile, made: list[Insertion], strip: Callable[[bytes], bytes]) -> list[Insertion]:
    """Return the insertions, if `strip` removes all of them and nothing else.

    Raises:
        IncprofError: It does not: texts of the file look like ours.
    """
    if strip(insert(file.data, made)) != file.data:
        raise IncprofError(f"{file.path}: text in it looks like generated heartbeats, which could not be removed again")
    return made
