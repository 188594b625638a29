"""tree-sitter with limits: some files of a few kilobytes would take it minutes, or gigabytes.

It follows several interpretations of a text at once. `a<b>::a<b>::...` has so many that its time grows faster than its
square, and each unclosed `a<` takes kilobytes. Sources that compile are far from the limits.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from pathlib import Path

from tree_sitter import Language, Parser, Range, Tree

# CPU time, constant and per byte: dense code takes 0.7 microseconds per byte.
LIMIT_S, BYTE_S = 2.0, 5e-6
# A tree takes about 60 bytes for each byte of dense code.
MOST_BYTES, MOST_TIMES = 32 << 20, 100
# The parser calls back every 100 steps; checking the clock and the memory takes longer than these.
EACH = 32
PIECE = 4096


def parse_within_limits(language: Language, text: bytes, ranges: Sequence[Range] | None = None) -> Tree | None:
    """Return the tree of a text, or of these ranges of it; None if it would take too long or too much memory."""
    parser = Parser(language, included_ranges=None if ranges is None else list(ranges))
    size = len(text) if ranges is None else sum(part.end_byte - part.start_byte for part in ranges)
    most_resident = _resident() + MOST_BYTES + MOST_TIMES * size
    end_s = time.thread_time() + LIMIT_S + BYTE_S * size
    calls = 0

    def stop(offset: int, has_error: bool) -> bool:
        nonlocal calls
        calls += 1
        return calls % EACH == 0 and (time.thread_time() > end_s or _resident() > most_resident)

    try:
        return parser.parse(lambda offset, point: text[offset : offset + PIECE], progress_callback=stop)
    except ValueError:  # the parser was stopped
        return None


def _resident() -> int:
    """Return the memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize()
