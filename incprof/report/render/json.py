"""Sections and tables as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from incprof.model.section import Lane, Section, Table

DIGITS = 12


def json_value(value: Any) -> Any:
    """Return a value for JSON: with twelve digits, None for values that JSON cannot represent."""
    if isinstance(value, float | np.floating):
        return float(f"{value:.{DIGITS}g}") if isfinite(value) else None
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
