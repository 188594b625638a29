"""Names of code that a program made as it ran, as run-times tell perf of it: `START SIZE NAME` in hexadecimal."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from incprof.errors import NoDataError
from incprof.inputs import read_input
from incprof.readers.symbols.compiled import however_compiled
from incprof.readers.symbols.table import EMPTY_TABLE, SymbolTable, build_table

MOST_BYTES = 256 << 20
# Where run-times put them: anybody may put anything there.
PLACE = Path("/tmp")
NAME = re.compile(r"perf-[0-9]+\.map")
ROOT = 0
LINE = re.compile(rb"^(?:0x)?([0-9a-fA-F]{1,16}) (?:0x)?([0-9a-fA-F]{1,16}) ([^\n]+)$", re.M)


def map_table(directory: str, name: str) -> SymbolTable:
    """The table that a run has kept; while it runs, and after one that was killed, that of the program itself.

    The name is what the recording says. The program's own is the recording's owner's, the reader's or root's.
    """
    if NAME.fullmatch(name) is None:
        return EMPTY_TABLE
    try:
        return parse_map(read_input(Path(directory) / "symbols" / name, MOST_BYTES, within=directory))
    except (OSError, NoDataError):
        pass
    try:
        owners = {os.stat(directory).st_uid, os.geteuid(), ROOT}
        return parse_map(read_input(PLACE / name, MOST_BYTES, owners=owners))
    except (OSError, NoDataError):
        return EMPTY_TABLE


def parse_map(text: bytes) -> SymbolTable:
    """The functions of a map. Code that was thrown away leaves its room to other code: the later line counts.

    All code of one name is one function: run-times compile it again and again.
    """
    found: dict[int, tuple[int, bytes]] = {}
    for match in LINE.finditer(text):
        start, length = int(match[1], 16), int(match[2], 16)
        if length and start + length < 2**63:
            found[start] = (length, match[3].strip())
    if not found:
        return EMPTY_TABLE
    starts = sorted(found)
    address = np.array(starts, dtype=np.uint64)
    size = np.array([found[start][0] for start in starts], dtype=np.uint64)
    names = [however_compiled(found[start][1].decode("utf-8", "replace")) for start in starts]
    first: dict[str, int] = {}
    which = np.array([first.setdefault(name, len(first)) for name in names], dtype=np.int64)
    each = build_table(address, size, address + size, [name.encode() for name in names])
    at = np.unique(which, return_index=True)[1]
    whole = build_table(address[at], size[at], address[at] + size[at], [name.encode() for name in first])
    return replace(whole, start=each.start, end=each.end, owner=which[each.owner])
