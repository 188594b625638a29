"""Which interval would suit a run: one that cuts through iterations sees a different part of them each time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from incprof.analysis.phases.results import PhaseResult, RunSummary

# Iterations as long as this part of an interval, or longer, make intervals differ by where they are cut.
CUT = 0.5
# From so many intervals in an iteration on, intervals are parts of it; of fewer than the other, they show no steps.
PARTS, FEW_PARTS = 20, 5
# The CPU-time clock of a common kernel goes no faster, whatever is asked for.
MOST_HZ = 250.0
# An interval of so many iterations differs little by one more or less, and a run has to have so many intervals.
ITERATIONS, INTERVALS = 5, 40
# Iterations of a phase with less of the run decide nothing.
LARGE = 0.1


@dataclass(frozen=True)
class Proposal:
    """An interval, the rate that fills it where the one recorded with does not, and the iterations that ask for it."""

    interval_s: float
    rate_hz: float | None
    driver: str
    period_s: float


def proposed(run: RunSummary, result: PhaseResult) -> Proposal | None:
    """Return the interval that suits the longest iterations of a run; None where the one that it has does.

    It holds several iterations, where the run is long enough to have intervals enough of that length; else it is a
    part of an iteration, as far as that holds samples enough.
    """
    longest = max(
        (
            (step.period_s, step.driver.name)
            for phase in result.phases
            if phase.app_pct >= 100 * LARGE
            for step in phase.steps
            if step.period_s is not None and step.driver is not None
        ),
        default=None,
    )
    if longest is None or not CUT * run.interval_s < longest[0] < PARTS * run.interval_s:
        return None
    period, driver = longest
    long = rounded_up(ITERATIONS * period)
    if run.duration_s >= INTERVALS * long:
        return Proposal(long, None, driver, period)
    # What the run got of the CPUs is in the samples that it has.
    samples, per_second = result.options.phases.samples, run.samples / run.duration_s
    most = per_second * max(MOST_HZ / run.rate_hz, 1.0)
    short = rounded_up(max(period / PARTS, samples / most)) if most > 0 else period
    if short > period / FEW_PARTS or short >= run.interval_s or run.pooled > 1:
        return None
    return Proposal(short, None if short * per_second >= samples else MOST_HZ, driver, period)


def rounded_up(value: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, ..., or tenths of them."""
    power = 10.0 ** math.floor(math.log10(value))
    step = next(step for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))
    return float(f"{step * power:.12g}")
