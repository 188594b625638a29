"""Detection: a window slides over the series; where its right half equals its shifted copy, the shift is a period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import fft

from incprof.analysis._native import ffi, native
from incprof.analysis.dtw import doubles
from incprof.analysis.patterns_plain import base_period, carriers, lags
from incprof.analysis.patterns_results import PatternOptions
from incprof.model import FloatArray, IntArray

# From here on the Fourier transform is faster than the definition.
BY_FFT = 1024


@dataclass(frozen=True)
class Scan:
    """The periodic windows of one L, in order: the first instance's start and the period, both (w,)."""

    window: int
    starts: IntArray
    periods: IntArray

    @property
    def counts(self) -> IntArray:
        """Instances of each window."""
        counts: IntArray = self.window // np.maximum(self.periods, 1)
        return counts

    def instances(self) -> IntArray:
        """Return all instances as ranges, shape (q, 2)."""
        counts = self.counts
        nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        periods = np.repeat(self.periods, counts)
        first = np.repeat(self.starts, counts) + nth * periods
        return np.column_stack([first, first + periods]).astype(np.int64)


def noise_level(x: FloatArray) -> float:
    """Return the standard deviation of white noise in x, from its second differences; 0 for fewer than 3 samples."""
    if len(x) < 3:
        return 0.0
    second = np.abs(x[2:] - 2 * x[1:-1] + x[:-2])
    return float(1.4826 * np.median(second) / np.sqrt(6))


def scan(x: FloatArray, window: int, options: PatternOptions, noise: float) -> Scan:
    """Slide a window of 2 * `window` samples over x (contiguous float64)."""
    closeness = ffi.new("struct incprof_closeness *", (noise, options.theta or 0.0, options.depth, options.shortest))
    slide = options.slide or max(window // 2, 1)
    if options.exact or (window >= BY_FFT and options.metric == "l2"):
        return _scan_here(x, window, slide, options, noise, closeness)
    most = len(x) // min(max(window // 2, 1), slide) + 1
    starts, periods = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    found = native().incprof_scan(
        doubles(x), len(x), window, slide, int(options.metric == "l1"), closeness,
        ffi.from_buffer("int64_t[]", starts), ffi.from_buffer("int64_t[]", periods),
    )  # fmt: skip
    if found < 0:
        raise MemoryError("no memory for the sliding window")
    return Scan(window, starts[:found].copy(), periods[:found].copy())


def _scan_here(x: FloatArray, window: int, slide: int, options: PatternOptions, noise: float, closeness: Any) -> Scan:
    """Return the same with the distances of each window by the definition, or by FFT."""
    found: list[tuple[int, int]] = []
    scratch = np.empty(window)
    manhattan = options.metric == "l1"
    at = 0
    while at + 2 * window <= len(x):
        inside = x[at : at + 2 * window]
        f = lags(inside, options.metric) if options.exact else lags_fft(inside)
        if options.exact:
            period = base_period(f, carriers(inside[window:]), noise, options)
        else:
            spread = native().incprof_carriers(doubles(inside[window:]), window)
            period = native().incprof_base_period(
                doubles(f), window, spread, int(manhattan), closeness, doubles(scratch)
            )
        if period:
            found.append((at + window, period))
        at += window // period * period if period else slide
    starts, periods = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return Scan(window, np.ascontiguousarray(starts), np.ascontiguousarray(periods))


def lags_fft(inside: FloatArray) -> FloatArray:
    """Return the same for the Euclidean distance in O(L log L): |a - b|^2 = |a|^2 + |b|^2 - 2 ab."""
    half = len(inside) // 2
    centred = inside - inside.mean()
    size = fft.next_fast_len(2 * half, real=True)
    whole = fft.rfft(centred, size)
    right = fft.rfft(centred[half:], size)
    products = fft.irfft(whole * np.conj(right), size)[:half][::-1]
    energy = np.concatenate([[0.0], np.cumsum(centred * centred)])
    shifted = (energy[half : 2 * half] - energy[:half])[::-1]
    own = energy[2 * half] - energy[half]
    return np.asarray(np.sqrt(np.maximum(own + shifted - 2 * products, 0.0)))
