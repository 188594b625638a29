"""Conditions on how a run may differ from its baseline, such as `solve:mean>10%`.

    condition = [ selector ":" ] metric ( ">" | "<" ) number [ unit ]

The metric is the word before the operator, so a selector (an id, a name, or a pattern for names) may hold colons.
The number is a limit for the change from A to B: `%` of A, or without `%` in the metric's own unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from incprof.analysis.beats.compare import BeatDiff
from incprof.errors import UsageError

TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
UNITS: dict[str, dict[str, float]] = {
    **dict.fromkeys(("mean", "min", "max", "std", "p95"), TIMES),
    "count": {"": 1.0},
    "rate": {"/s": 1.0, "Hz": 1.0},
    "busy": {"": 1.0, "points": 1.0},
}
SHAPE = re.compile(
    r"\s*(?:(?P<selector>.+):)?\s*(?P<metric>[A-Za-z0-9]+)\s*(?P<operator>[<>])\s*"
    r"(?P<number>[+-]?(?:[0-9]{1,15}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})(?:e[+-]?[0-9]{1,2})?)\s*(?P<unit>[^\s0-9]*)\s*",
    re.DOTALL,
)


@dataclass(frozen=True)
class Condition:
    """What a run must not do.

    Attributes:
        text: As the user wrote it.
        selector: Id, name or pattern of the heartbeats that are meant; None for all.
        metric: One of METRICS.
        more: Whether the change must not be above the limit; else not below.
        limit: In percent, or in seconds, beats, Hz or points.
        relative: Whether the limit is in percent.
    """

    text: str
    selector: str | None
    metric: str
    more: bool
    limit: float
    relative: bool

    def means(self, diff: BeatDiff) -> bool:
        """Say whether the condition is about a heartbeat."""
        if self.selector is None:
            return True
        beats = [beat for beat in (diff.pair.a, diff.pair.b) if beat is not None]
        if any(str(beat.id) == self.selector for beat in beats):
            return True
        names = {beat.name for beat in beats if beat.name is not None}
        return any(name == self.selector or fnmatchcase(name, self.selector) for name in names)

    def broken(self, diff: BeatDiff) -> bool:
        """Say whether a heartbeat breaks the condition: also when it has vanished, or B has no such figure."""
        delta = diff.deltas[self.metric]
        if diff.verdict == "gone":
            return True
        if diff.verdict == "new" or delta.a is None:
            return False  # there is no baseline
        if delta.b is None:
            return True
        value = delta.pct if self.relative else delta.change
        assert value is not None
        # A change that is the limit but for rounding is not beyond it.
        slack = 1e-9 * max(abs(self.limit), 1e-9 if self.relative else 0.0)
        return value > self.limit + slack if self.more else value < self.limit - slack


def parse(
    text: str, units: Mapping[str, Mapping[str, float]] = UNITS, what: str = "HEARTBEAT", such: str = "mean>10%"
) -> Condition:
    """Return the condition that a text stands for.

    Args:
        text: as above.
        units: by metric, what a limit without `%` may be in, and what that is in the metric's own unit.
        what: what a selector selects, for messages.
        such: a condition, for messages.

    Raises:
        UsageError: it stands for none.
    """
    found = SHAPE.fullmatch(text)
    if found is None:
        raise UsageError(f"--fail-on {text!r}: expected [{what}:]METRIC>LIMIT or <LIMIT, such as {such!r}")
    metric, unit = found["metric"], found["unit"]
    if metric not in units:
        raise UsageError(f"--fail-on {text!r}: no metric {metric!r}; there are {', '.join(units)}")
    scale = 1.0 if unit == "%" else units[metric].get(unit)
    if scale is None:
        there = ", ".join(["%", *(name or "no unit" for name in units[metric])])
        raise UsageError(f"--fail-on {text!r}: the limit of {metric} is a number with one of these: {there}")
    limit = float(found["number"]) * scale
    return Condition(text, found["selector"], metric, found["operator"] == ">", limit, unit == "%")


def broken(conditions: Sequence[Condition], diffs: Sequence[BeatDiff]) -> list[tuple[Condition, BeatDiff]]:
    """Return each condition that does not hold, with the heartbeat that breaks it.

    Raises:
        UsageError: a condition is about a heartbeat that neither run has: it could never fail.
    """
    found = []
    for condition in conditions:
        meant = [diff for diff in diffs if condition.means(diff)]
        if not meant and condition.selector is not None:
            raise UsageError(f"--fail-on {condition.text!r}: neither run has a heartbeat {condition.selector!r}")
        found += [(condition, diff) for diff in meant if condition.broken(diff)]
    return found
