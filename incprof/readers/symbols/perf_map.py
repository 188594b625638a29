"""Names of code that a program made as it ran, as the recording has them (docs/formats.md): `START SIZE NAME`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from incprof.errors import NoDataError
from incprof.inputs import read_input
from incprof.readers.symbols.made_code import NO_CODE, MadeCode, Piece, made_code

MOST_BYTES = 256 << 20
# Where run-times put them: anybody may put anything there.
PLACE = Path("/tmp")
NAME = re.compile(r"perf-[0-9]+\.map")
ROOT = 0
HEX = rb"(?:0x)?([0-9a-fA-F]{1,16})"
CODE = re.compile(rb"%s %s ([^\n]+)" % (HEX, HEX))
# What the collector adds: the time since when what follows is there, functions that were moved, and where one is from.
SINCE = re.compile(rb"# since ([0-9]{1,19})")
MOVE = re.compile(rb"# move %s %s %s" % (HEX, HEX, HEX))
SOURCE = re.compile(rb"# source %s ([0-9]{1,9}) ([^\n]+)" % HEX)
MOST_SIZE, MOST_ADDRESS = 2**32, 2**62
# Python's trampolines stand for frames that are seen anyway.
TRAMPOLINE = b"py::"


def map_table(directory: str, name: str) -> MadeCode:
    """The names that a run has kept; of one that has none, and while it runs, those of the program itself.

    The name is what the recording says. The program's own is the recording's owner's, the reader's or root's.
    """
    if NAME.fullmatch(name) is None:
        return NO_CODE
    try:
        return parse_map(read_input(Path(directory) / "symbols" / name, MOST_BYTES, within=directory))
    except (OSError, NoDataError):
        pass
    try:
        owners = {os.stat(directory).st_uid, os.geteuid(), ROOT}
        return parse_map(read_input(PLACE / name, MOST_BYTES, owners=owners))
    except (OSError, NoDataError):
        return NO_CODE


def parse_map(text: bytes) -> MadeCode:
    """The functions of a map, which lists them as they were made; lines that are none are left out."""
    pieces: list[Piece] = []
    latest: dict[int, Piece] = {}
    since, source = 0, (-1, b"", 0)

    def add(start: int, size: int, name: bytes, place: tuple[bytes, int]) -> None:
        if 0 < size <= MOST_SIZE and start < MOST_ADDRESS:
            latest[start] = Piece(since, start, size, name.decode("utf-8", "replace"), place[0], place[1])
            pieces.append(latest[start])

    for line in text.split(b"\n"):
        if found := CODE.fullmatch(line):
            start, name = int(found[1], 16), found[3].strip()
            if not name.startswith(TRAMPOLINE):
                add(start, int(found[2], 16), name, source[1:] if source[0] == start else (b"", 0))
        elif found := SINCE.fullmatch(line):
            since = int(found[1])
        elif found := SOURCE.fullmatch(line):
            source = (int(found[1], 16), found[3], int(found[2]))
        elif (found := MOVE.fullmatch(line)) and (moved := latest.get(int(found[1], 16))):
            add(int(found[2], 16), int(found[3], 16), moved.name.encode(), (moved.file, moved.line))
    return made_code(pieces)
