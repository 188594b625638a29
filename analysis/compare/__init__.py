"""What all comparisons share: conditions (`--fail-on`); which names are the same (match_names.py); noise (noise.py).

    condition = [ selector ":" ] metric ( ">" | "<" ) number [ unit ]

A condition limits how a run may differ from its baseline, such as `solve:mean>10%`. The metric is the word before the
operator, so a selector (an id, a name, or a pattern for names) may hold colons. The number is a limit for the change
from A to B: `%` of A, or without `%` in the metric's own unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeVar

from incprof.errors import UsageError

TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
SHAPE = re.compile(
    r"\s*(?:(?P<selector>.+):)?\s*(?P<metric>[A-Za-z0-9]+(?:\.[A-Za-z0-9-]+)*)\s*(?P<operator>[<>])\s*"
    r"(?P<number>[+-]?(?:[0-9]{1,15}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})(?:e[+-]?[0-9]{1,2})?)\s*(?P<unit>[^\s0-9]*)\s*",
    re.DOTALL,
)


# A change that equals the limit up to rounding does not exceed it: of the limit, and of what is compared.
ROUNDING, ROUNDING_OF_VALUES = 1e-9, 1e-14

Row = TypeVar("Row")


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


def parse(text: str, units: Mapping[str, Mapping[str, float]], noun: str, example: str) -> Condition:
    """Parse a condition.

    Args:
        text: as above.
        units: by metric, the units of a limit without `%`, and their size in the metric's own unit.
        noun: what a selector selects, for messages.
        example: a condition, for messages.

    Raises:
        UsageError: the text is no condition.
    """
    found = SHAPE.fullmatch(text)
    if found is None:
        raise UsageError(f"--fail-on {text!r}: expected [{noun}:]METRIC>LIMIT or <LIMIT, such as {example!r}")
    metric, unit = found["metric"], found["unit"]
    if metric not in units:
        raise UsageError(f"--fail-on {text!r}: no metric {metric!r}; there are {', '.join(units)}")
    scale = 1.0 if unit == "%" else units[metric].get(unit)
    if scale is None:
        there = ", ".join(["%", *(name or "no unit" for name in units[metric])])
        raise UsageError(f"--fail-on {text!r}: the limit of {metric} is a number with one of these: {there}")
    limit = float(found["number"]) * scale
    return Condition(text, found["selector"], metric, found["operator"] == ">", limit, unit == "%")


def selects(selector: str, names: Iterable[str]) -> bool:
    """Return whether a selector is one of the names, or a pattern that one of them matches."""
    return any(name == selector or fnmatchcase(name, selector) for name in names)


def selected(
    condition: Condition, rows: Sequence[Row], is_meant: Callable[[str, Row], bool], noun: str
) -> Sequence[Row]:
    """Return the rows that a condition applies to: those that its selector means, without one all.

    Raises:
        UsageError: its selector means none of them, so it could never fail.
    """
    selector = condition.selector
    if selector is None:
        return rows
    meant = [row for row in rows if is_meant(selector, row)]
    if not meant:
        raise UsageError(f"--fail-on {condition.text!r}: neither run has a {noun} {selector!r}")
    return meant


def change_pct(a: float, b: float) -> float:
    """Return the change from a to b in percent of a; infinite from 0 to more."""
    if a == 0:
        return math.inf if b > 0 else 0.0
    return 100 * (b - a) / a


def exceeds(condition: Condition, a: float, b: float) -> bool:
    """Return whether the change from a to b is beyond the limit, by more than rounding."""
    change, size = (change_pct(a, b), 100.0) if condition.relative else (b - a, max(abs(a), abs(b)))
    slack = ROUNDING * abs(condition.limit) + ROUNDING_OF_VALUES * size
    return change > condition.limit + slack if condition.more else change < condition.limit - slack
