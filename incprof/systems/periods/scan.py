"""Detection: a window slides over the series; where its right half equals its shifted copy, the shift is a period."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from incprof.analysis._native import ffi, native
from incprof.model import FloatArray, IntArray
from incprof.systems.periods.dtw import doubles
from incprof.systems.periods.pattern_result import PatternOptions

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
    count = native().incprof_scan(
        doubles(x), len(x), window, slide, int(options.metric == "l1"), closeness,
        ffi.from_buffer("int64_t[]", starts), ffi.from_buffer("int64_t[]", periods),
    )  # fmt: skip
    if count < 0:
        raise MemoryError("no memory for the sliding window")
    return Scan(window, starts[:count].copy(), periods[:count].copy())


def _scan_here(x: FloatArray, window: int, slide: int, options: PatternOptions, noise: float, closeness: Any) -> Scan:
    """Compute the same, with the distances of each window by definition or by FFT."""
    instances: list[tuple[int, int]] = []
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
                instances.append((start, period))
        at += window // period * period if period else slide
    starts, periods = np.array(instances, dtype=np.int64).reshape(-1, 2).T
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


# The period of a window by definition, in numpy: used by `exact`, and to test the kernels.


# Distances below this share of the usual one are rounding.
ZERO = 1e-9
# In a smooth series the first shifts are close without being periods: dips count only after f has reached this level.
UP = 0.7


def lags(inside: FloatArray, metric: str = "l2") -> FloatArray:
    """Return f(k) for k in 1 .. L, shape (L,). inside: (2 L,)."""
    half = len(inside) // 2
    steps = (inside[half:] - inside[half - k : 2 * half - k] for k in range(1, half + 1))
    if metric == "l1":
        return np.array([np.abs(step).sum() for step in steps])
    return np.array([np.sqrt((step * step).sum()) for step in steps])


def chance(pieces: float) -> float:
    """Return the dip that a window of that many independent values must fall below to be significant."""
    few = min(0.5 * pieces / 15, 0.5)
    return max(few, 1 - 4.35 / math.sqrt(pieces))


def pieces(noisy: float, first: int, half: int) -> float:
    """Return the number of independent values in a window.

    Noise has a new one in each sample, the signal under it only one in `first` samples. noisy: noise as a share of the
    usual distance.
    """
    signal, noise = 1 - noisy * noisy, noisy * noisy
    return half / (signal * signal * first + noise * noise)


def usual(f: FloatArray) -> float:
    """Return the value of f where nothing repeats: its median, or its mean if most of it repeats."""
    shifts = np.sort(f[:-1])
    return float(max(shifts[len(shifts) // 2], f[:-1].sum() / len(shifts)))


def carriers(half: FloatArray) -> float:
    """Return how many values carry the variance of a half window: about L, or 3 for a flat one with a spike."""
    square = (half - half.mean()) ** 2
    fourths = float((square * square).sum())
    return 3 * float(square.sum()) ** 2 / fourths if fourths > 0 else 1.0


def allowed(f: FloatArray, spread: float, noise: float, options: PatternOptions) -> tuple[float, int]:
    """Return the greatest distance that is a dip, and the first shift at which a dip counts."""
    half, reference = len(f), usual(f)
    floor = noise * (2 / math.sqrt(math.pi) * half if options.metric == "l1" else math.sqrt(2 * half))
    floor = min(floor, reference)
    up = np.flatnonzero(f[:-1] >= floor + UP * (reference - floor))
    first = int(up[0]) + 1 if len(up) else half
    if options.theta:
        close = options.theta * reference
    else:
        close = min((floor + reference) / 2, chance(min(pieces(floor / reference, first, half), spread)) * reference)
    return max(close, ZERO * reference), first


@dataclass(frozen=True)
class Limit:
    """The greatest distance that counts as close.

    Attributes:
        distance: Absolute.
        share: As a share of the usual distance.
    """

    distance: float = 0.0
    share: float = 0.0


def base_period(f: FloatArray, spread: float, noise: float, options: PatternOptions) -> tuple[int, Limit]:
    """Return the base period of a window, 0 if it has none, and the limit of closeness.

    Args:
        f: (L,) its distances.
        spread: The carriers of its right half.
        noise: Standard deviation of a sample.
        options: Uses theta, depth, shortest and metric.
    """
    reference = usual(f)
    if not reference > 0:
        return 0, Limit()
    close, first = allowed(f, spread, noise, options)
    limit = Limit(close, close / reference)
    dips = [k for k in range(first, len(f) + 1) if f[k - 1] <= close and _is_dip(f, k, reference)]
    if not dips:
        return 0, limit
    deepest = min(dips, key=lambda k: (f[k - 1], k))
    least = float(f[deepest - 1])
    family = min(least + (1 - options.depth) * (reference - least), close)
    members = [k for k in dips if options.shortest <= k <= deepest and f[k - 1] <= family and _related(k, deepest)]
    return (members[0] if members else 0), limit


def is_close(x: FloatArray, start: int, period: int, half: int, limit: Limit, metric: str) -> bool:
    """Return whether an instance is as close to the period before it as its window, of 2 * half samples, requires.

    It must also be close by its own measure, which excludes flat pieces: as close as the window, or half as close if
    the piece is too long for chance.
    """
    own = max(limit.share, min((limit.share + 1) / 2, 1 - 2 / math.sqrt(period)))
    one, other = x[start : start + period], x[start - period : start]
    step = one - other
    squares = float((step * step).sum())
    unlike = float(((one - one.mean()) ** 2).sum() + ((other - other.mean()) ** 2).sum())
    if not unlike > 0 or squares > own * own * unlike:
        return False
    if metric == "l1":
        return bool(np.abs(step).sum() * half <= limit.distance * period)
    return squares * half <= limit.distance**2 * period


def _is_dip(f: FloatArray, k: int, reference: float) -> bool:
    """Return whether f has a minimum at shift k; the last shift, without a neighbour, must be an exact copy."""
    falls = k == 1 or f[k - 1] < f[k - 2]
    return bool(falls and (f[k - 1] <= f[k] if k < len(f) else f[k - 1] <= ZERO * reference))


def _related(k: int, deepest: int) -> bool:
    """Return whether the deepest shift is nearly a multiple of k."""
    times = deepest / k
    return abs(times - round(times)) <= 0.05 * times


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
