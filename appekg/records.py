"""The lines of a word and a JSON object."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from appekg.errors import AppekgError, NewerFormatError
from appekg.model import Beat

VERSION = 1
LARGEST = 2**63 - 1
# Limit of a line: the longest command line in the metadata.
LONGEST = 2 << 20
# NUL ends a name, and half of a surrogate pair is invalid.
NO_NAME = re.compile("[\0\ud800-\udfff]")
COUNTERS = ("threads", "dropped", "unmatched", "abandoned", "lost_intervals", "lost_rows", "own_ns")


def parse(line: bytes) -> tuple[str, dict[str, Any] | None]:
    """Return the word after `#`, and the object after it; None without one."""
    word, _, text = line[1:].partition(b" ")
    try:
        if len(text) > LONGEST:
            raise ValueError("longer than any line that is written")
        # Paths and arguments of programs may be in any encoding.
        fields = json.loads(text.decode("utf-8", "replace"), parse_constant=_no_constant)
        fields = _clean(fields) if b"\\u" in text else fields
    except (ValueError, RecursionError):
        fields = None
    return word.decode("ascii", "replace"), fields if isinstance(fields, dict) else None


def _clean(value: Any) -> Any:
    """Return a JSON value whose strings are printable and valid as names."""
    if isinstance(value, str):
        return NO_NAME.sub("\ufffd", value)
    if isinstance(value, list):
        return [_clean(each) for each in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(each) for key, each in value.items()}
    return value


def _no_constant(name: str) -> NoReturn:
    """Reject NaN and Infinity, which are not JSON."""
    raise ValueError(name)


def unsigned(value: object, default: int | None = None) -> int | None:
    """Return a value that is an integer from 0 to 2**63 - 1, else the default."""
    return value if type(value) is int and 0 <= value <= LARGEST else default


def text_of(value: object) -> str | None:
    """Return a string, else None."""
    return value if isinstance(value, str) else None


def beat_of(fields: dict[str, Any]) -> Beat | None:
    """Parse a `#beat` line; None if it is invalid."""
    number, factor = unsigned(fields.get("id")), unsigned(fields.get("rate_factor", 1))
    if number is None or factor is None or not 1 <= factor < 2**32:
        return None
    return Beat(number, text_of(fields.get("name")) or None, factor)


def metadata_of(line: bytes, where: str) -> dict[str, Any]:
    """Return the first line's object; the values used in this package have the right type.

    Raises:
        AppekgError: this is not the first line of a heartbeat file.
        NewerFormatError: the format version is too new.
    """
    word, fields = parse(line)
    if word != "appekg" or fields is None or fields.get("format") != "appekg":
        raise AppekgError(f"{where}: not a heartbeat file (the first line is not an #appekg line)")
    version = unsigned(fields.get("version"))
    if version is None or version < 1:
        raise AppekgError(f"{where}: format version {fields.get('version')!r:.40} makes no sense")
    if version > VERSION:
        raise NewerFormatError(f"{where}: format version {version} is newer than this reader's ({VERSION}): update it")
    interval = fields.get("interval_s")
    if isinstance(interval, bool) or not isinstance(interval, int | float) or not 1e-6 <= interval <= 1e9:
        interval = 1.0
    return fields | {
        "app": text_of(fields.get("app")) or "?",
        "rank": unsigned(fields.get("rank")),
        "ranks": unsigned(fields.get("ranks")),
        "interval_s": float(interval),
        "start_unix_ns": unsigned(fields.get("start_unix_ns"), 0),
        "start_mono_ns": unsigned(fields.get("start_mono_ns")),
        "pair_ns": _cost(fields.get("pair_ns")),
        "skipped_ns": _cost(fields.get("skipped_ns")),
    }


def _cost(value: object) -> float | None:
    """Return a plausible cost of a heartbeat in nanoseconds, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        return None
    return float(value)


@dataclass(frozen=True)
class IntervalLine:
    """The content of an `#interval` line.

    Attributes:
        number: Of the interval, from 0.
        rows: Number of its rows.
        crc32: Checksum of the bytes before.
        fields: Values for a row of the dtype INTERVAL.
    """

    number: int
    rows: int
    crc32: int
    fields: tuple[int | bool, ...]


def interval_of(fields: dict[str, Any]) -> IntervalLine | None:
    """Parse an `#interval` line; None if it is invalid."""
    number, rows = unsigned(fields.get("interval")), unsigned(fields.get("rows"))
    start, end = unsigned(fields.get("start_ns")), unsigned(fields.get("end_ns"))
    counters = [unsigned(fields.get(name, 0)) for name in COUNTERS]
    crc32 = _hexadecimal(fields.get("crc32"))
    if number is None or rows is None or start is None or end is None or end < start or crc32 is None:
        return None
    if None in counters:
        return None
    enabled = fields.get("enabled", True) is not False
    return IntervalLine(number, rows, crc32, (number, start, end, *(c or 0 for c in counters), enabled))


def _hexadecimal(value: object) -> int | None:
    """Parse 8 hex digits."""
    if not isinstance(value, str) or len(value) != 8 or not all(c in "0123456789abcdefABCDEF" for c in value):
        return None
    return int(value, 16)
