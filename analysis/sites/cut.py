"""Sites as a cut through the tree of calls: the highest functions whose calls are worth a beat and do not last on.

Whether somebody wants to know how often a function is called, and for how long, depends on how long its calls last, not
on the phases: what lasts on is a driver, and the sites are below it; what is gone at once costs more to watch than it
tells. Where a driver does the work itself, or by calls that are too short, a loop in it is the site. q chains.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from incprof.analysis.options.sites import SITES, SiteOptions
from incprof.analysis.sites import NONE
from incprof.analysis.sites.times import ChainTimes
from incprof.model import BoolArray, FloatArray

# Sums of ticks of equal calls differ in their last digits: ten million, one after the other, are off by 1.4e-10.
ROUNDED = 1 + 1e-9


@dataclass(frozen=True)
class CutSite:
    """A function and a kind, and the chains of that function for which it stands; none is below another site."""

    function: int
    kind: str
    chains: tuple[int, ...]


@dataclass(frozen=True)
class Limits:
    """Whose calls are not watched, (q,) each.

    long: they last on. short: they are gone at once, or may be. tiny: even the beats that a rate factor skips would be
    felt.
    """

    long: BoolArray
    short: BoolArray
    tiny: BoolArray


def limits(times: ChainTimes, interval_s: float, wall_s: float, options: SiteOptions = SITES) -> Limits:
    """Tell which calls are not watched. interval_s, wall_s: of the recording."""
    short, tiny = (times.unsure | (times.cpu_s < least) for least in (options.shortest_s, options.tiny_s))
    last_on = ~(times.seconds <= longest_s(interval_s, wall_s, options) * ROUNDED)
    return Limits(last_on & ~times.again, short, tiny)


def longest_s(interval_s: float, wall_s: float, options: SiteOptions = SITES) -> float:
    """Return how long calls may last that are watched: in a run of many intervals, whatever these are."""
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
        long: (q,) whose calls last on.
        short: (q,) whose calls are gone at once.
        weight: (q,) ticks of each chain with what it calls, in these intervals.
        wanted: (q,) chains that are looked at; none is below one that is not.
        fit: (q,) chains that may be sites; all by default.
        excluded: (function, kind) of sites that cannot be had; what is below them may stand for them.
        options: thresholds.
    """
    parent, function, own = times.chains.parent.tolist(), times.chains.function.tolist(), times.own.tolist()
    below: dict[int, list[tuple[int, str]]] = {}
    held: dict[int, float] = {}
    # A parent comes before what it calls, so that nothing is asked for before it is known.
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
