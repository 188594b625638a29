"""Choose the loop of a function for a phase, from the lines at which the function was sampled in it.

A heartbeat goes into the outermost loop that holds nearly all of the function's samples in the phase: the phase repeats
its iterations. docs/use/sites.md explains the rule.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from incprof.analysis.options.site_thresholds import SITES, SiteOptions


@dataclass(frozen=True)
class LoopLines:
    """A loop.

    Attributes:
        first: first line.
        last: last line.
        parent: position of the loop around it.
        busy: whether an iteration calls or loops.
        refusal: why no beat can go into it; None if one can.
    """

    first: int
    last: int
    parent: int | None
    busy: bool
    refusal: str | None = None


@dataclass(frozen=True)
class LoopChoice:
    """The loop chosen for a function.

    Attributes:
        loop: its position; None for the function's body.
        share: of the samples, 0..1.
        note: remark on the choice; for a body, why it is no loop. None without a remark.
    """

    loop: int | None
    share: float
    note: str | None = None


def choose_loop(
    lines: Mapping[int, float],
    loops: Sequence[LoopLines],
    elsewhere: Mapping[int, float] | None = None,
    options: SiteOptions = SITES,
) -> LoopChoice:
    """Choose the loop of a function for a phase.

    Args:
        lines: samples (of any unit) by line of the function, in the phase; inlined code at the line that uses it.
        loops: of the function, an outer one before its inner ones.
        elsewhere: samples by line in all other phases.
        options: thresholds.
    """
    total = sum(lines.values())
    if not total > 0:
        return LoopChoice(None, 0.0, "no line numbers of its samples")
    within = Tally(lines)
    held = [within.of(loop) / total for loop in loops]
    most = max(held, default=0.0)
    if most < options.largest_loop:
        reason = f"no loop holds half of its samples (at most {100 * most:.0f} %)" if loops else "it has no loop"
        return LoopChoice(None, most, reason)
    # Sums of floating-point numbers may differ in their last digits.
    enough = min(options.loop, most) - 1e-9
    candidates = [i for i, share in enumerate(held) if share >= enough]
    fit = [i for i in candidates if loops[i].busy and loops[i].refusal is None]
    if not fit:
        return LoopChoice(None, most, _why_not([loops[i] for i in candidates]))
    chosen = _most_telling(fit, loops, within, Tally(elsewhere or {}), options.loop)
    if held[chosen] >= options.loop - 1e-9:
        return LoopChoice(chosen, held[chosen])
    return LoopChoice(chosen, held[chosen], f"the largest of several loops: {100 * held[chosen]:.0f} % of it")


class Tally:
    """Samples by line, with prefix sums for ranges."""

    def __init__(self, lines: Mapping[int, float]):
        self._lines = sorted(lines)
        self._before = [0.0, *accumulate(lines[line] for line in self._lines)]

    def of(self, loop: LoopLines) -> float:
        """Return the samples in the lines of a loop."""
        low, high = bisect_left(self._lines, loop.first), bisect_right(self._lines, loop.last)
        return self._before[max(low, high)] - self._before[low]


def _most_telling(
    fit: Sequence[int], loops: Sequence[LoopLines], lines: Tally, elsewhere: Tally, nearly_all: float
) -> int:
    """Return the outermost loop that is specific to this phase; if none is, the outermost one."""
    for i in fit:
        here = lines.of(loops[i])
        if here >= nearly_all * (here + elsewhere.of(loops[i])):
            return i
    return fit[0]


def _why_not(loops: Sequence[LoopLines]) -> str:
    """Return why none of the loops that hold the samples gets a beat."""
    refused = next((loop.refusal for loop in loops if loop.refusal), None)
    if refused:
        return f"its loop takes no beat: {refused}"
    return "an iteration of its loop neither calls nor loops: too short for a beat"
