"""The repeated steps of a phase, for people: a loop's driver and period, its steps in order, and nested steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from incprof.analysis.phase_result import Phase, Step
from incprof.model.names import parse
from incprof.report.text.folding import folded
from incprof.report.words.display_names import Names
from incprof.report.words.formatting import seconds
from incprof.report.words.recurrence import how_often
from incprof.report.words.remainder import remainder

# Steps of which only the share is known: this many of the largest.
TOP = 3
LARGE = 0.05
# Lines below a phase; beyond that, the steps with the largest shares.
LINES = 8
# A loop with a smaller share of the CPU waits, or shares it with other programs.
BUSY = 0.9


@dataclass(frozen=True)
class _Line:
    """A line to print.

    Attributes:
        share: share by which lines are selected.
        deep: indentation, in levels.
        text: the text.
    """

    share: float
    deep: int
    text: str


def step_lines(phase: Phase, width: int, names: Names) -> list[str]:
    """Return the lines below a phase; empty where its functions already show the same.

    width: columns. names: of the functions.
    """
    steps = phase.steps
    if len(steps) < 2 and not any(s.steps for s in steps) and {s.function for s in steps} <= {
        f.function for f in phase.functions[:1]
    }:  # fmt: skip
        return []
    if all(step.period_s is None and not step.steps for step in steps):
        return _untimed(phase, width, names)
    lines = list(_loops(steps, width, names))
    if len(lines) <= LINES:
        return [line.text for line in lines]
    # A step has at least the share of its nested steps, so that none is printed without its caller.
    kept = sorted(sorted(range(len(lines)), key=lambda i: (-lines[i].share, lines[i].deep, i))[: LINES - 1])
    left = len(lines) - len(kept)
    return [lines[i].text for i in kept] + [f"{'':15}{left} smaller ones: --json"]


def in_order(steps: Sequence[Step]) -> list[Step]:
    """Return the steps of one driver in order of execution, then those of unknown order, largest first."""
    return sorted(steps, key=lambda step: (step.order or len(steps) + 1, -step.share))


def _loops(steps: Sequence[Step], width: int, names: Names) -> Iterator[_Line]:
    """Iterate over the loops of a phase with their steps."""
    for driver in dict.fromkeys(step.driver for step in steps):
        mine = [step for step in steps if step.driver == driver]
        timed = [step for step in mine if step.period_s is not None]
        what = _repeats(timed) if timed else " calls"
        name = names(driver, max(width - 6 - len(what), 12)) if driver else "the program"
        if driver and parse(driver.name).last not in name:
            name = names(driver, width - 6)
        for line in folded(f"{name}{what}", width, f"{'':6}", f"{'':8}"):
            yield _Line(max(step.share for step in mine), -1, line)
        yield from _below(mine, 0, width, names)
        if rest := remainder(mine, names):
            for line in folded(rest, width, f"{'':9}", f"{'':11}"):
                yield _Line(max(step.share for step in mine), -1, line)


def _repeats(timed: Sequence[Step]) -> str:
    """Return the period of a loop, how much of its order is known, and its share of the CPU if that is low."""
    placed = [step for step in timed if step.order]
    about = "" if timed[0].estimated is None else "~"
    out = f" repeats every {about}{seconds(timed[0].period_s)} of wall time"
    if len(placed) < len(timed):
        out += ", order known where there is a number" if placed else ", order unknown"
    cpu = timed[0].cpu
    return out if cpu is None or cpu >= BUSY else f"{out}, {100 * cpu:.0f} % of it on the CPU"


def _below(steps: Sequence[Step], deep: int, width: int, names: Names) -> Iterator[_Line]:
    """Iterate over steps in order, each before its nested steps."""
    ordered = deep == 0 or any(step.order for step in steps)
    for step in in_order(steps):
        place = str(step.order) if step.order else "-" if ordered and step.period_s is not None else ""
        yield _Line(step.share, deep, _line(step, place, deep, width, names))
        yield from _below(step.steps, deep + 1, width, names)


def _line(step: Step, place: str, deep: int, width: int, names: Names) -> str:
    """Return one step: its place, share, duration, name, and its calls per iteration."""
    known = step.estimated is None or step.estimated.is_known
    about = "" if step.estimated is None else "~"
    duration = about + seconds(step.mean_s) if step.calls and known else ""
    numbers = f"{'':{3 * deep}}{place:>8} {100 * step.share:5.1f} %  {duration:>8}  "
    often = how_often(step)
    return (numbers + names(step.function, max(width - len(numbers) - len(often), 12)) + often).rstrip()


def _untimed(phase: Phase, width: int, names: Names) -> list[str]:
    """Return the largest steps in one line."""
    steps = [step for step in phase.steps[:TOP] if step.share >= LARGE]
    parts = [f"{names(s.function, width // 4)} {100 * s.share:.1f} %" for s in steps]
    return ["      includes " + ", ".join(parts)] if parts else []
