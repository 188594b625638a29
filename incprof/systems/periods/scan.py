"""Detection: a window slides over the series; where its right half equals its shifted copy, the shift is a period."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from incprof.analysis._native import native, pointer
from incprof.analysis._native_ffi import ffi
from incprof.model import FloatArray, IntArray
from incprof.systems.periods.pattern_result import PatternOptions

# From this window on, the Fourier transform is faster than the definition.
BY_FFT = 1024
# In a smooth series the first shifts are close without being periods: dips count only after f has reached this level.
UP = 0.7


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
    closeness, slide = _closeness(options, noise), options.slide or max(window // 2, 1)
    if window >= BY_FFT and options.metric == "l2" and not options.exact:
        return _scan_by_fft(x, window, slide, closeness)
    most = len(x) // options.shortest + 1
    starts, periods = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    count = native().incprof_scan(
        pointer(x), len(x), window, slide, int(options.metric == "l1"), closeness,
        pointer(starts), pointer(periods),
    )  # fmt: skip
    if count < 0:
        raise MemoryError("no memory for the sliding window")
    return Scan(window, starts[:count].copy(), periods[:count].copy())


def _closeness(options: PatternOptions, noise: float) -> Any:
    return ffi.new("struct incprof_closeness *", (noise, options.theta or 0.0, options.depth, options.shortest))


def _scan_by_fft(x: FloatArray, window: int, slide: int, closeness: Any) -> Scan:
    """Compute the same for Euclidean distances, with those of each window by Fourier transform."""
    instances: list[tuple[int, int]] = []
    close = ffi.new("struct incprof_limit *")
    at = 0
    while at + 2 * window <= len(x):
        inside = x[at : at + 2 * window]
        period = _base_period(lags_fft(inside), inside[window:], 0, closeness, close)
        for start in range(at + window, at + window + window // period * period, period) if period else ():
            if native().incprof_is_close(pointer(x[start - period : start + period]), period, window, 0, close):
                instances.append((start, period))
        at += window // period * period if period else slide
    starts, periods = np.array(instances, dtype=np.int64).reshape(-1, 2).T
    return Scan(window, np.ascontiguousarray(starts), np.ascontiguousarray(periods))


def _base_period(f: FloatArray, right: FloatArray, manhattan: int, closeness: Any, close: Any) -> int:
    """Return the base period of a window from its distances (L,), 0 if it has none; set `close` to the limit used."""
    scratch = pointer(np.empty(len(f)))
    return int(native().incprof_base_period(pointer(f), len(f), carriers(right), manhattan, closeness, scratch, close))


def carriers(half: FloatArray) -> float:
    """Return how many values carry the variance of a half window: about L, or 3 for a flat one with a spike."""
    return float(native().incprof_carriers(pointer(half), len(half)))


def greatest_dip(inside: FloatArray, options: PatternOptions, noise: float) -> float:
    """Return the greatest dip that is allowed in a window of 2 L samples, as a share of the usual distance."""
    half, manhattan = len(inside) // 2, int(options.metric == "l1")
    f, close = np.empty(half), ffi.new("struct incprof_limit *")
    native().incprof_lags(pointer(inside), half, manhattan, pointer(f))
    _base_period(f, inside[half:], manhattan, _closeness(options, noise), close)
    return float(close.share)


def lags_fft(inside: FloatArray) -> FloatArray:
    """Return the Euclidean distances of a window, (L,), in O(L log L): |a - b|^2 = |a|^2 + |b|^2 - 2 ab."""
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


# Consecutive instances, joined to regions.


@dataclass(frozen=True)
class Run:
    """A region as detected by the windows.

    Attributes:
        boundaries: (q + 1,) begins of its q instances, and the end of the last one.
    """

    boundaries: IntArray

    @property
    def period(self) -> int:
        """Median length of its instances."""
        lengths = np.diff(self.boundaries)
        return int(np.sort(lengths)[len(lengths) // 2])

    @property
    def samples(self) -> int:
        """Number of samples from the first instance to the last."""
        return int(self.boundaries[-1] - self.boundaries[0])

    @property
    def anchor(self) -> int:
        """Start of its middle instance."""
        return int(self.boundaries[(len(self.boundaries) - 1) // 2])


def runs_of(scanned: Scan, members: IntArray, options: PatternOptions) -> list[Run]:
    """Join adjacent instances of one group of lengths with similar lengths, in order of time.

    Args:
        scanned: All instances.
        members: Indices of the group's instances, ascending.
        options: Uses length_tolerance.
    """
    starts, periods = scanned.starts[members], scanned.periods[members]
    ratio = np.abs(np.log(periods[1:] / periods[:-1]))
    is_break = (starts[1:] != starts[:-1] + periods[:-1]) | (ratio > np.log1p(options.length_tolerance))
    parts = np.split(np.arange(len(members)), np.flatnonzero(is_break) + 1)
    return [Run(np.append(starts[part], starts[part[-1]] + periods[part[-1]])) for part in parts if len(part)]


# Groups of similar lengths: only instances of similar length can belong to one periodicity.


def length_groups(lengths: IntArray, weights: IntArray, samples: int, options: PatternOptions) -> list[IntArray]:
    """Return the indices of each group that covers at least alpha of the series, the heaviest group first.

    A group is all lengths within the tolerance of one of them. The length whose group covers most is selected first,
    and its members are removed. So evenly spread lengths, as found by chance, form many small groups, which alpha
    drops, and not one long chain.

    Args:
        lengths: (w,) periods.
        weights: (w,) samples that each period covers.
        samples: Length of the series.
        options: Uses alpha and length_tolerance.
    """
    values, of = np.unique(lengths, return_inverse=True)
    weight = np.bincount(of, weights=weights, minlength=len(values)).astype(np.float64)
    free = np.ones(len(values), dtype=bool)
    reach = 1.0 + options.length_tolerance
    first = np.searchsorted(values, np.ceil(values / reach - 1e-9))
    last = np.searchsorted(values, np.floor(values * reach + 1e-9), side="right")
    groups: list[IntArray] = []
    while free.any():
        total = np.concatenate([[0.0], np.cumsum(np.where(free, weight, 0.0))])
        covers = np.where(free, total[last] - total[first], -1.0)
        best = int(covers.argmax())
        if covers[best] < options.alpha * samples or covers[best] <= 0:
            break
        members = np.zeros(len(values), dtype=bool)
        members[first[best] : last[best]] = True
        members &= free
        groups.append(np.flatnonzero(members[of]))
        free &= ~members
    return groups
