"""Typical distance of a thread's samples: the time that one stands for, if the input does not have it."""

from __future__ import annotations

import numpy as np

from incprof.model import FloatArray, IntArray

LEAST_S, MOST_S = 1e-5, 1.0


def usual_distance(time_s: FloatArray, thread: IntArray, default_s: float) -> float:
    """Return the median distance between samples of a thread, both (s,); the default where no thread has two."""
    order = np.lexsort((time_s, thread))
    apart, same = np.diff(time_s[order]), np.diff(thread[order]) == 0
    same &= apart > 0
    return float(np.clip(np.median(apart[same]), LEAST_S, MOST_S)) if same.any() else default_s
