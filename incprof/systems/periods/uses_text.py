"""Forecasts, matches and comparisons of parts of a run, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import numpy as np

from incprof.report.words.formatting import duration
from incprof.systems.periods.patterns.forecast import LEVEL, Forecast
from incprof.systems.periods.patterns.matching import Match
from incprof.systems.periods.patterns.pattern_result import ENOUGH_INSTANCES
from incprof.systems.periods.patterns.subprofiles import SubProfiles

ROWS = 12


def write_forecast(found: Forecast | None, interval_s: float | None, out: TextIO) -> None:
    """Write the next samples, at most twelve of them, spread evenly."""
    if found is None:
        out.write("\nno forecast: the series ends in none of its patterns, or too few repetitions came before\n")
        return
    ahead = len(found.values)
    time = "" if interval_s is None else f" ({short_time(interval_s * ahead)})"
    out.write(
        f"\nnext {ahead} samples{time}: pattern {found.pattern} after its point {found.position}, "
        f"by {found.instances} earlier repetitions; {100 * LEVEL:.0f} % lie between low and high\n"
        f"{'ahead':>7}  {'value':>10}  {'low':>10}  {'high':>10}\n"
    )
    for at in np.unique(np.linspace(0, ahead - 1, min(ahead, ROWS)).round().astype(int)).tolist():
        row = (found.values[at], found.low[at], found.high[at])
        out.write(f"{at + 1:>7}" + "".join(f"  {value:>10.4g}" for value in row) + "\n")


def write_matches(path: str, found: Sequence[Match], out: TextIO) -> None:
    """Write where an excerpt lies in the patterns, or that it lies in none of them."""
    best = found[0]
    if best.is_part:
        out.write(f"pattern {best.pattern} of {path}, from point {best.begin} to {best.end}")
    elif best.flat:
        out.write(f"none of {path}: the excerpt is too flat to place")
    else:
        out.write(f"none of {path}; nearest is pattern {best.pattern}, from point {best.begin} to {best.end}")
    out.write(f" (mean square {best.step:.3g} a sample, limit {best.limit:.3g})\n")


def write_sub_profiles(found: Sequence[SubProfiles], interval_s: float, out: TextIO) -> None:
    """Write how much worse the patterns of parts represent the whole run than its own pattern."""
    out.write(f"\n{'Part':>12}  {'With pattern':>12}  {'Repetitions':>11}  {'WGSS, mean':>10}  {'std':>8}\n")
    for one in found:
        increases = one.increases
        row = f"{short_time(interval_s * one.samples):>12}  {f'{len(increases)} of {len(one.parts)}':>12}"
        if len(increases):
            mean, spread = 100 * increases.mean(), 100 * increases.std()
            row += f"  {one.mean_instances:>11.0f}  {f'{mean:+.1f} %':>10}  {f'{spread:.1f} %':>8}"
        elif not one.parts:
            row += "  longer than what follows the initialisation"
        out.write(row + "\n")
    enough = [one for one in found if len(one.increases) and one.mean_instances >= ENOUGH_INSTANCES]
    if enough:
        least = min(enough, key=lambda one: one.samples)
        out.write(
            f"from {short_time(interval_s * least.samples)} on, parts have at least {ENOUGH_INSTANCES} repetitions\n"
        )


def short_time(seconds: float) -> str:
    """Return a time in a readable unit: 5 ms, 1.12 s, 45 min 0 s."""
    return f"{1000 * seconds:.4g} ms" if seconds < 1 else duration(seconds)
