"""Sites as a cut through the call tree: the outermost functions whose calls are neither too short nor too long.

Whether a function's calls are worth observing depends on their duration, not on the phases. A function with long calls
is a driver, and the sites are below it; one with very short calls costs more to observe than it is worth. If a driver
does the work itself, or in calls that are too short, a loop in it is the site. q call paths.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from incprof.analysis.options.site_thresholds import SITES, SiteOptions
from incprof.analysis.sites import NONE
from incprof.analysis.sites.times import ChainTimes
from incprof.model import BoolArray, FloatArray

# Sums of ticks of equal calls differ in their last digits: ten million, one after the other, are off by 1.4e-10.
ROUNDED = 1 + 1e-9


@dataclass(frozen=True)
class CutSite:
    """A site of the cut.

    Attributes:
        function: index of the function.
        kind: "body" or "loop".
        chains: call paths of the function that it stands for; none is below another site.
    """

    function: int
    kind: str
    chains: tuple[int, ...]


@dataclass(frozen=True)
class Limits:
    """Call paths whose calls are not observed, (q,) each.

    Attributes:
        long: calls last too long.
        short: calls are too short, or may be.
        tiny: even beats that a rate factor skips would cost too much.
    """

    long: BoolArray
    short: BoolArray
    tiny: BoolArray


def limits(times: ChainTimes, interval_s: float, wall_s: float, options: SiteOptions = SITES) -> Limits:
    """Determine which calls are not observed. interval_s, wall_s: of the recording."""
    short, tiny = (times.unsure | (times.cpu_s < least) for least in (options.shortest_s, options.tiny_s))
    last_on = ~(times.seconds <= longest_s(interval_s, wall_s, options) * ROUNDED)
    return Limits(last_on & ~times.again, short, tiny)


def longest_s(interval_s: float, wall_s: float, options: SiteOptions = SITES) -> float:
    """Return the longest duration of observed calls: in a run of many intervals, independent of their length."""
    return max(interval_s, min(options.longest_s, wall_s / options.in_run))


def cut(
    times: ChainTimes,
    long: BoolArray,
    short: BoolArray,
    weight: FloatArray,
    wanted: BoolArray,
    fit: BoolArray | None = None,
    excluded: Set[tuple[int, str]] = NONE,
    options: SiteOptions = SITES,
) -> list[CutSite]:
    """Return the sites that hold the time of some intervals, by function.

    Args:
        times: of the run.
        long: (q,) whose calls last too long.
        short: (q,) whose calls are too short.
        weight: (q,) inclusive ticks of each call path in these intervals.
        wanted: (q,) call paths to consider; none is below one that is not.
        fit: (q,) call paths that may be sites; all by default.
        excluded: (function, kind) of sites that are not available; their callees may replace them.
        options: thresholds.
    """
    parent, function, own = times.chains.parent.tolist(), times.chains.function.tolist(), times.own.tolist()
    below: dict[int, list[tuple[int, str]]] = {}
    held: dict[int, float] = {}
    # A parent has a lower number than its callees, so all callees are processed before it.
    for chain in np.flatnonzero(wanted & (weight > 0))[::-1].tolist():
        if chain == 0:
            break
        sites, inside = below.pop(chain, []), held.pop(chain, 0.0)
        of_callees = inside >= options.half * float(weight[chain])
        kind = "loop" if long[chain] else "body"
        able = own[chain] and (fit is None or bool(fit[chain])) and (function[chain], kind) not in excluded
        if able and not (of_callees if long[chain] else short[chain]):
            sites, inside = [(chain, kind)], float(weight[chain])
        elif short[chain] and not long[chain] and not of_callees:
            sites, inside = [], 0.0
        below.setdefault(parent[chain], []).extend(sites)
        held[parent[chain]] = held.get(parent[chain], 0.0) + inside
    found: dict[tuple[int, str], list[int]] = {}
    for chain, kind in below.get(0, []):
        found.setdefault((function[chain], kind), []).append(chain)
    return [CutSite(f, kind, tuple(sorted(chains))) for (f, kind), chains in sorted(found.items())]
