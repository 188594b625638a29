"""How an answer is written as JSON: one object and a newline, numbers without digits that mean nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TextIO


def write(answer: Mapping[str, object], out: TextIO, *, ascii_only: bool = True) -> None:
    """Write one JSON object and a newline. ascii_only: needed where names may hold half of a character."""
    json.dump(answer, out, ensure_ascii=ascii_only, allow_nan=False)
    out.write("\n")


def significant(value: float | None, digits: int = 12) -> float | None:
    """Return a number with so many digits; None for none, and for what JSON has no number for."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")
