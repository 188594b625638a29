"""Numbers for the scripts of a page, without meaningless digits."""

from __future__ import annotations

import numpy as np

from incprof.model import FloatArray


def numbers(values: FloatArray, digits: int) -> list[float | int | None]:
    """Return numbers rounded to that many digits after the point; NaN becomes None."""
    out: list[float | int | None] = []
    for value in np.round(values, digits).tolist():
        whole = int(value) if np.isfinite(value) else None
        out.append(whole if whole is None or whole == value else value)
    return out
