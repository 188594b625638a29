"""Streams with known loops."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

# Lengths of streams and periods of the paper's Table 5; what the iterations look like is ours.
_HYDRO_24 = [1] * 6 + list(range(10, 28))
_HYDRO_269 = _HYDRO_24 * 11 + list(range(100, 105))
_TURB_142 = list(range(12)) * 9 + list(range(100, 134))


def _of(pattern: list[int], length: int) -> list[int]:
    """Some code before the loop, the loop, and what is left of it."""
    return ([900, 901, 902, 903] + pattern * (length // len(pattern) + 1))[:length]


TABLE_5: dict[str, tuple[list[int], list[int]]] = {
    "apsi": (_of(list(range(6)), 5762), [6]),
    "hydro2d": (_of(_HYDRO_269, 53814), [1, 24, 269]),
    "swim": (_of([7, 1, 9, 1, 3, 2], 5402), [6]),
    "tomcatv": (_of([4, 4, 2, 1, 3], 3750), [5]),
    "turb3d": (_of(_TURB_142, 1580), [12, 142]),
}


def nest(rng: np.random.Generator) -> NDArray[np.int64]:
    """Loops in loops of random sizes, with other events between."""
    inner = rng.integers(0, 50, rng.integers(2, 20))
    middle = np.concatenate([np.tile(inner, 5), rng.integers(50, 90, 7)])
    outer = np.concatenate([np.tile(middle, 3), rng.integers(90, 99, 5)])
    return np.concatenate([np.tile(outer, 4), rng.integers(0, 99, 50), np.tile(middle, 4)]).astype(np.int64)


@st.composite
def repetitive(draw: st.DrawFn) -> list[int]:
    """A stream of few kinds of events, pieces of which repeat, and pieces of those."""
    letters = st.integers(0, draw(st.integers(0, 4)))
    stream: list[int] = []
    for _ in range(draw(st.integers(0, 6))):
        piece = draw(st.lists(letters, min_size=1, max_size=12))
        if draw(st.booleans()):
            piece = piece * draw(st.integers(1, 4)) + draw(st.lists(letters, max_size=4))
        stream += piece * draw(st.integers(1, 5))
    return stream[:400]
