"""Conditions on how a run may differ from its baseline, such as `solve:mean>10%`.

    condition = [ selector ":" ] metric ( ">" | "<" ) number [ unit ]

The metric is the word before the operator, so a selector (an id, a name, or a pattern for names) may hold colons.
The number is a limit for the change from A to B: `%` of A, or without `%` in the metric's own unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from incprof.errors import UsageError

TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
UNITS: dict[str, dict[str, float]] = {
    **dict.fromkeys(("mean", "min", "max", "std", "p95"), TIMES),
    "count": {"": 1.0},
    "rate": {"/s": 1.0, "Hz": 1.0},
    "busy": {"": 1.0, "points": 1.0},
}
SHAPE = re.compile(
    r"\s*(?:(?P<selector>.+):)?\s*(?P<metric>[A-Za-z0-9]+(?:\.[A-Za-z0-9-]+)*)\s*(?P<operator>[<>])\s*"
    r"(?P<number>[+-]?(?:[0-9]{1,15}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})(?:e[+-]?[0-9]{1,2})?)\s*(?P<unit>[^\s0-9]*)\s*",
    re.DOTALL,
)


@dataclass(frozen=True)
class Condition:
    """A change that a run must not show.

    Attributes:
        text: As the user wrote it.
        selector: What the condition applies to, such as the id, name or pattern of heartbeats; None for all.
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


def parse(
    text: str, units: Mapping[str, Mapping[str, float]] = UNITS, what: str = "HEARTBEAT", such: str = "mean>10%"
) -> Condition:
    """Parse a condition.

    Args:
        text: as above.
        units: by metric, the units of a limit without `%`, and their size in the metric's own unit.
        what: what a selector selects, for messages.
        such: an example, for messages.

    Raises:
        UsageError: the text is no condition.
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
