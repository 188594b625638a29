"""Write answers as JSON: one object and a newline, numbers without meaningless digits."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TextIO


def write(answer: Mapping[str, object], out: TextIO, *, ascii_only: bool = True) -> None:
    """Write one JSON object and a newline.

    ascii_only: required where names may hold half of a surrogate pair.
    """
    json.dump(answer, out, ensure_ascii=ascii_only, allow_nan=False)
    out.write("\n")


def significant(value: float | None, digits: int = 12) -> float | None:
    """Return a number with that many significant digits; None for None and for values that JSON cannot represent."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")
