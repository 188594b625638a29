"""Thresholds of the method: numbers with a unit, a default and the evidence for it.

Each group of thresholds (phases, sites and steps) is a frozen dataclass with such fields.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

Group = TypeVar("Group")


@dataclass(frozen=True)
class Threshold:
    """A threshold.

    Attributes:
        name: of the field.
        value: in use.
        default: value unless changed.
        low: least meaningful value.
        high: largest meaningful value.
        unit: of all these values.
        evidence: reason for the default.
        without: value that switches the threshold off; None if there is no such value.
    """

    name: str
    value: float
    default: float
    low: float
    high: float
    unit: str
    evidence: str
    without: float | None


def threshold(
    default: float, unit: str, evidence: str, *, low: float = 0.0, high: float = 1.0, without: float | None = None
) -> Any:
    """Declare a field of a group of thresholds; see Threshold."""
    return field(default=default, metadata={"threshold": (low, high, unit, evidence, without)})


def thresholds_of(group: Any) -> list[Threshold]:
    """Return the thresholds of a group in the order in which they are declared."""
    declared: list[Any] = list(fields(group))
    return [Threshold(f.name, getattr(group, f.name), f.default, *f.metadata["threshold"]) for f in declared]


def with_value(group: Group, name: str, text: str) -> Group:
    """Return a group of thresholds with one of them changed.

    Raises:
        ValueError: the text is no valid number for this threshold.
    """
    known = {one.name: one for one in thresholds_of(group)}[name]
    try:
        value = type(known.default)(text)
    except ValueError:
        kind = "a whole number" if isinstance(known.default, int) else "a number"
        raise ValueError(f"expected {kind}") from None
    if not known.low <= value <= known.high:
        raise ValueError(f"expected {known.low:g} to {known.high:g} ({known.unit})")
    return replace(group, **{name: value})  # type: ignore[type-var]
