"""The patterns in a file that `incprof periods --json` wrote."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.safe.inputs import read_input
from incprof.safe.jsontext import parse_json

SCHEMA = "incprof.periods/1"
# Larger than any output for a series that `periods` accepts; patterns are no longer than its longest window.
MOST_BYTES, MOST_POINTS, MOST_PATTERNS = 1 << 28, 10_000, 1000
# Series with larger values are refused too.
LARGEST = 1e100


def read_known_patterns(path: str) -> list[tuple[FloatArray, float]]:
    """Return for each pattern its values, (length,), and the mean squared deviation of its instances per sample.

    Raises:
        NoDataError: the file cannot be read, is not such an output, or has no pattern.
    """
    try:
        answer = parse_json(read_input(path, MOST_BYTES))
    except (OSError, ValueError) as error:
        raise NoDataError(f"{path}: {getattr(error, 'strerror', None) or 'not JSON'}: expected the output of "
                          "incprof periods --json") from error  # fmt: skip
    patterns = answer.get("patterns") if isinstance(answer, dict) and answer.get("schema") == SCHEMA else None
    if not isinstance(patterns, list):
        raise NoDataError(f"{path}: not the output of incprof periods --json (schema {SCHEMA})")
    if not 0 < len(patterns) <= MOST_PATTERNS:
        raise NoDataError(f"{path}: {len(patterns)} patterns: expected 1 to {MOST_PATTERNS}")
    return [_pattern(path, number, each) for number, each in enumerate(patterns)]


def _pattern(path: str, number: int, pattern: Any) -> tuple[FloatArray, float]:
    """Return one pattern's values and scatter."""
    values = pattern.get("values") if isinstance(pattern, dict) else None
    if not isinstance(values, list) or not 2 <= len(values) <= MOST_POINTS or not all(map(_is_number, values)):
        raise NoDataError(f"{path}: pattern {number} has no values: expected 2 to {MOST_POINTS} numbers")
    scatter = pattern.get("wgss_per_sample")
    if not _is_number(scatter) or scatter < 0:
        raise NoDataError(f"{path}: pattern {number} has no wgss_per_sample")
    return np.array(values, dtype=np.float64), float(scatter)


def _is_number(value: object) -> bool:
    """Return whether a value is a number that a series may hold."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= LARGEST
        and math.isfinite(value)
    )
