"""What a phase repeats, for people: the loop's driver and period, and its steps in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from incprof.analysis.phases.results import Phase, Step
from incprof.report.words.numbers import seconds

# Of steps without a period, the largest.
TOP = 3
LARGE = 0.05

Shorten = Callable[[str, int], str]


def step_lines(phase: Phase, width: int, shorten: Shorten) -> list[str]:
    """Return the lines below a phase, none where its functions say already what it does.

    width: columns. shorten: makes a name fit into some of them.
    """
    if len(phase.steps) < 2 and {step.function for step in phase.steps} <= {f.function for f in phase.functions[:1]}:
        return []
    lines = []
    for driver in dict.fromkeys(step.driver for step in phase.steps if step.period_s is not None):
        steps = [step for step in phase.steps if step.driver == driver]
        timed = [step for step in steps if step.period_s is not None]
        name = shorten(driver.name, width - 60) if driver else "the driver"
        placed = [step for step in timed if step.order]
        known = (
            ""
            if len(placed) == len(timed)
            else ", order known where there is a number"
            if placed
            else ", order unknown"
        )
        lines.append(f"      {name} repeats every {seconds(timed[0].period_s)}{known}")
        lines += [_line(step, width, shorten) for step in in_order(steps)]
    return lines or _untimed(phase, width, shorten)


def in_order(steps: Sequence[Step]) -> list[Step]:
    """Return the steps of one driver in the order in which they come, those without one behind, largest first."""
    return sorted(steps, key=lambda step: (step.order or len(steps) + 1, -step.share))


def _line(step: Step, width: int, shorten: Shorten) -> str:
    """Return one step: its place, share, duration, name, and how often it comes if not once in each iteration."""
    place = "-" if step.order is None else str(step.order)
    numbers = f"{place:>8} {100 * step.share:5.1f} %  {seconds(step.mean_s):>8}  "
    return (numbers + shorten(step.function.name, width - len(numbers) - 20) + how_often(step)).rstrip()


def how_often(step: Step) -> str:
    """Return ", every 8th", ", 2 times", or nothing where a step comes once in each iteration."""
    if step.period_s is None:
        return f", {step.calls} call{'s' * (step.calls != 1)}"
    if step.every is None or step.times is None:
        return ""
    if step.every > 1:
        return f", in one of {step.every}"
    return f", {step.times} times" if step.times > 1 else ""


def _untimed(phase: Phase, width: int, shorten: Shorten) -> list[str]:
    """Return the largest steps in a line."""
    steps = [step for step in phase.steps[:TOP] if step.share >= LARGE]
    parts = [f"{shorten(s.function.name, width // 4)} {100 * s.share:.1f} % ({s.kind})" for s in steps]
    return ["      steps  " + ", ".join(parts)] if parts else []
