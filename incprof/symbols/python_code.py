"""Python functions: their names, and the lines of their code."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from pathlib import PurePath

from incprof.model import Code

# Kinds of line table entries since 3.11 (the last ones; earlier ones contain columns, on the same line).
ONE_LINE, LINE_ONLY, WITH_COLUMNS, NO_LINE = (10, 11, 12), 13, 14, 15


def display_name(file: str, code: Code) -> str:
    """Return the display name: `run.py:Solver.step`, `mesh/__init__.py:read`."""
    return f"{label(file)}:{code.name.replace('.<locals>', '')}"


def mangled_name(file: str, code: Code) -> str:
    """Return the name that is unique in the file: unnamed functions include their line."""
    where = f"@{code.line}" if "<" in code.name else ""
    return f"{label(file)}:{code.name}{where}"


def label(file: str) -> str:
    """Return the name of a file; that of a package with its directory."""
    path = PurePath(file)
    return "/".join(path.parts[-2:]) if path.name == "__init__.py" else path.name


def line_at(code: Code, offset: int) -> int:
    """Return the line of an instruction, by its distance from the first in bytes; the function's line if unknown."""
    starts, lines = _lines(code)
    place = bisect_right(starts, offset) - 1
    return lines[place] if place >= 0 else code.line


@lru_cache(maxsize=4096)
def _lines(code: Code) -> tuple[list[int], list[int]]:
    """Return where runs of instructions begin, ascending, and the line of each."""
    if not code.table:
        return [], []
    if code.version < 0x30A:
        return _lines_of_3_9(code)
    return _lines_of_3_10(code) if code.version == 0x30A else _lines_since_3_11(code)


def _lines_of_3_9(code: Code) -> tuple[list[int], list[int]]:
    """Decode pairs: increment in bytes, increment in lines."""
    starts, lines, offset, line = [0], [code.line], 0, code.line
    for step, more in zip(code.table[::2], code.table[1::2], strict=False):
        offset += step
        line += more - 256 if more > 127 else more
        starts.append(offset)
        lines.append(line)
    return starts, lines


def _lines_of_3_10(code: Code) -> tuple[list[int], list[int]]:
    """Decode pairs: increment in lines (-128: no line), and the number of bytes that it covers."""
    starts, lines, offset, line = list[int](), list[int](), 0, code.line
    for length, more in zip(code.table[::2], code.table[1::2], strict=False):
        if more != 128:
            line += more - 256 if more > 127 else more
        starts.append(offset)
        lines.append(line)
        offset += length
    return starts, lines


def _lines_since_3_11(code: Code) -> tuple[list[int], list[int]]:
    """Decode entries: a byte with bit 7 set contains kind and length in code units; the line follows."""
    starts, lines, offset, line, at = list[int](), list[int](), 0, code.line, 0
    table = code.table
    while at < len(table):
        kind, length = table[at] >> 3 & 15, (table[at] & 7) + 1
        at += 1
        if kind in (LINE_ONLY, WITH_COLUMNS):
            value, shift = 0, 0
            while at < len(table):
                value |= (table[at] & 63) << shift
                shift += 6
                at += 1
                if not table[at - 1] & 64:
                    break
            line += -(value >> 1) if value & 1 else value >> 1
        elif kind in ONE_LINE:
            line += kind - 10
        starts.append(offset)
        lines.append(line)
        offset += 2 * length
        while at < len(table) and not table[at] & 128:
            at += 1
    return starts, lines
