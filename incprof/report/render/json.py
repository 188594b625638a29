"""JSON: one object and a newline; sections, tables, the run of an answer, and numbers without meaningless digits."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from math import isfinite
from operator import attrgetter
from typing import Any, TextIO

import numpy as np

from incprof.analysis.phase_result import RunSummary
from incprof.model.section import Lane, Section, Table

SIGNIFICANT = 12


def json_value(value: Any) -> Any:
    """Return a value for JSON: with twelve digits, None for values that JSON cannot represent."""
    if isinstance(value, float | np.floating):
        return float(f"{value:.{SIGNIFICANT}g}") if isfinite(value) else None
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): json_value(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [json_value(one) for one in value]
    return value


def json_rows(table: Table) -> list[dict[str, Any]]:
    """Return an object for each row, of the columns that have a key."""
    return [{column.key: json_value(column.get(row)) for column in table.keyed} for row in table.rows]


def json_lane(lane: Lane) -> dict[str, Any]:
    """Return a lane."""
    return {
        "name": lane.name,
        "title": lane.title,
        "unit": lane.unit,
        "edges_s": json_value(lane.edges.tolist()),
        "values": json_value(lane.values.tolist()),
    }


def json_section(section: Section) -> dict[str, Any]:
    """Return a section: its facts, its notes, a list of rows for each table, and its lanes."""
    return {
        **json_value(section.facts or {}),
        "notes": list(section.notes),
        **{table.key: json_rows(table) for table in section.tables},
        **({"lanes": [json_lane(lane) for lane in section.lanes]} if section.lanes else {}),
    }


# Write answers as JSON: one object and a newline, numbers without meaningless digits.


def write(answer: Mapping[str, object], out: TextIO, *, ascii_only: bool = True) -> None:
    """Write one JSON object and a newline.

    ascii_only: required where names may hold half of a surrogate pair.
    """
    json.dump(answer, out, ensure_ascii=ascii_only, allow_nan=False)
    out.write("\n")


def significant(value: float | None, digits: int = 12) -> float | None:
    """Return a number with that many significant digits; None for None and for values that JSON cannot represent."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")


# The run of an answer, as JSON: the same keys in every schema that has a `run`.


DECIMALS = 6


def rounded(value: float | None) -> float | None:
    """Round to six decimals, for readability and equal bytes; values that JSON cannot represent become None."""
    return None if value is None or not isfinite(value) else round(float(value), DECIMALS)


def fields(one: object, names: str, number: Callable[[float | None], float | None] = rounded) -> dict[str, Any]:
    """Return attributes of an object by their names, tuples and arrays as lists.

    names: separated by blanks; `key=attribute.attribute` where the key differs. number: rounds floats.
    """

    def field(value: Any) -> Any:
        if isinstance(value, float):
            return number(value)
        value = value.tolist() if isinstance(value, np.ndarray) else value
        return [field(each) for each in value] if isinstance(value, tuple | list) else value

    pairs = (name.partition("=") for name in names.split())
    return {key: field(attrgetter(path or key)(one)) for key, _, path in pairs}


def exact(value: float | None) -> float | None:
    """Return a number with all its digits."""
    return value


def whole(value: float | None) -> int | None:
    """Round to a whole number."""
    return None if value is None else round(value)


def nano(value: float | None) -> float | None:
    """Return seconds, or a share, with nine decimals."""
    return None if value is None else round(value, 9)


def run_json(run: RunSummary) -> dict[str, object]:
    """Return the recorded run. Times in seconds; overhead_pct is None if not available."""
    counting = None
    if run.counting is not None:
        counting = {
            "calls": run.counting.calls,
            "call_ns": rounded(run.counting.call_s * 1e9),
            "pct": rounded(run.counting.pct),
            "functions": [{"function": each.name, **fields(each, "calls share")} for each in run.counting.functions],
        }
    return {
        **fields(run, "app rank ranks intervals"),
        "recorded_intervals": run.recorded or run.intervals,
        "interval_s": run.interval_s,
        "pooled": run.pooled,
        "rate_hz": run.rate_hz,
        **fields(run, "reached_hz samples counted overhead_pct duration_s off_cpu_s by_waits"),
        "counting": counting,
    }
