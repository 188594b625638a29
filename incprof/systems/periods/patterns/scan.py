"""Detection: a window slides over the series; where its right half equals its shifted copy, the shift is a period."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from incprof.analysis._native import ffi, native
from incprof.model import FloatArray, IntArray
from incprof.systems.periods.patterns.dtw import doubles
from incprof.systems.periods.patterns.pattern_result import PatternOptions
from incprof.systems.periods.patterns.plain import base_period, carriers, is_close, lags

# From this window on, the Fourier transform is faster than the definition.
BY_FFT = 1024


@dataclass(frozen=True)
class Scan:
    """The instances found with a window, in order.

    Attributes:
        window: L, in samples.
        starts: (q,) begin of each.
        periods: (q,) length of each, in samples.
    """

    window: int
    starts: IntArray
    periods: IntArray


def noise_level(x: FloatArray) -> float:
    """Return the standard deviation of white noise in x, from its second differences; 0 for fewer than 3 samples."""
    if len(x) < 3:
        return 0.0
    second = np.abs(x[2:] - 2 * x[1:-1] + x[:-2])
    return float(1.4826 * np.median(second) / np.sqrt(6))


def scan(x: FloatArray, window: int, options: PatternOptions, noise: float) -> Scan:
    """Slide a window of 2 * `window` samples over x (contiguous float64).

    A periodic window yields floor(L / period) instances; those that are close by themselves count.
    """
    closeness = ffi.new("struct incprof_closeness *", (noise, options.theta or 0.0, options.depth, options.shortest))
    slide = options.slide or max(window // 2, 1)
    if options.exact or (window >= BY_FFT and options.metric == "l2"):
        return _scan_here(x, window, slide, options, noise, closeness)
    most = len(x) // options.shortest + 1
    starts, periods = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    found = native().incprof_scan(
        doubles(x), len(x), window, slide, int(options.metric == "l1"), closeness,
        ffi.from_buffer("int64_t[]", starts), ffi.from_buffer("int64_t[]", periods),
    )  # fmt: skip
    if found < 0:
        raise MemoryError("no memory for the sliding window")
    return Scan(window, starts[:found].copy(), periods[:found].copy())


def _scan_here(x: FloatArray, window: int, slide: int, options: PatternOptions, noise: float, closeness: Any) -> Scan:
    """Compute the same, with the distances of each window by definition or by FFT."""
    found: list[tuple[int, int]] = []
    close = ffi.new("struct incprof_limit *")
    at = 0
    while at + 2 * window <= len(x):
        inside = x[at : at + 2 * window]
        if options.exact:
            f = lags(inside, options.metric)
            period, limit = base_period(f, carriers(inside[window:]), noise, options)
        else:
            period = _base_period(lags_fft(inside), inside[window:], closeness, close)
        for start in range(at + window, at + window + window // period * period, period) if period else ():
            if options.exact:
                counts = is_close(x, start, period, window, limit, options.metric)
            else:
                pair = doubles(x[start - period : start + period])
                counts = bool(native().incprof_is_close(pair, period, window, 0, close))
            if counts:
                found.append((start, period))
        at += window // period * period if period else slide
    starts, periods = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return Scan(window, np.ascontiguousarray(starts), np.ascontiguousarray(periods))


def _base_period(f: FloatArray, right: FloatArray, closeness: Any, close: Any) -> int:
    """Return the base period of a window by Euclidean distance, 0 if it has none; set `close` to the limit used."""
    spread = native().incprof_carriers(doubles(right), len(right))
    return int(native().incprof_base_period(doubles(f), len(f), spread, 0, closeness, doubles(np.empty(len(f))), close))


def lags_fft(inside: FloatArray) -> FloatArray:
    """Return the same as `lags` for the Euclidean distance in O(L log L): |a - b|^2 = |a|^2 + |b|^2 - 2 ab."""
    half = len(inside) // 2
    centred = inside - inside.mean()
    products = inner_products(centred, centred[half:])[:half][::-1]
    energy = np.concatenate([[0.0], np.cumsum(centred * centred)])
    shifted = (energy[half : 2 * half] - energy[:half])[::-1]
    own = energy[2 * half] - energy[half]
    return np.asarray(np.sqrt(np.maximum(own + shifted - 2 * products, 0.0)))


def inner_products(x: FloatArray, piece: FloatArray) -> FloatArray:
    """Return the inner product of a piece with each part of x of that length, (len(x) - len(piece) + 1,)."""
    size = fast_size(len(x))  # products that wrap around are not among these
    products = np.fft.irfft(np.fft.rfft(x, size) * np.conj(np.fft.rfft(piece, size)), size)
    return np.asarray(products[: len(x) - len(piece) + 1])


@cache
def fast_size(least: int) -> int:
    """Return the least size of at least `least` whose prime factors are 2, 3 and 5, for a fast Fourier transform."""
    products: list[int] = [3**threes * 5**fives for threes in range(20) for fives in range(14)]
    return min(odd << (-(-least // odd) - 1).bit_length() for odd in products if odd <= 2 * least)
