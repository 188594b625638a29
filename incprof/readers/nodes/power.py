"""Choose the column that is a node's power."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from incprof.model import WATTS, FloatArray, NodeSeries

# In order of preference: measured at the plug, measured on the node by its maker, then parts.
WHOLE = (
    r"pdu|wall|plug|outlet", r"ipmi|bmc|dcmi", r"cray-node", r"power-meter", r"psys",
    r"node|total|system|chassis|board", r"battery",
)  # fmt: skip
PART = re.compile(r"rapl|package|pkg|dram|core|cpu|gpu|memory|uncore|accel", re.IGNORECASE)
RAPL = re.compile(r"rapl-package-\d+(-die-\d+)?(-dram)?-watts|energy-(pkg|ram)|(^|[/_-])(package|pkg|dram)([/_\d-]|$)")
SUM = "rapl-watts"


def with_power(series: NodeSeries) -> NodeSeries:
    """Return a series with its power column set, and the reason in its notes; a sum becomes a column of its own."""
    watts = [name for name, unit in zip(series.names, series.units, strict=True) if unit == WATTS]
    if not watts:
        return series
    for words in WHOLE:
        found = [name for name in watts if re.search(words, name, re.IGNORECASE) and not _is_part(name, words)]
        if found:
            return _chosen(series, found[0], watts)
    parts = [name for name in watts if RAPL.search(name) and "core" not in name]
    if len(parts) > 1 and SUM not in series.names:
        total: FloatArray = np.sum([series.column(name) for name in parts], axis=0)
        series = replace(
            series,
            names=(*series.names, SUM),
            units=(*series.units, WATTS),
            values=np.concatenate([series.values, total[:, None]], axis=1),
            notes=(*series.notes, f"{SUM} is {' + '.join(parts)}: processors and memory, not the whole node"),
        )
        return replace(series, power=SUM)
    return _chosen(series, watts[0], watts)


def _is_part(name: str, words: str) -> bool:
    """Return whether a name contains "total", but of something smaller than a node."""
    return words.startswith("node") and PART.search(name) is not None


def _chosen(series: NodeSeries, name: str, watts: list[str]) -> NodeSeries:
    notes = list(series.notes)
    if len(watts) > 1 or PART.search(name):
        notes.append(f"power is {name}" + (", a part of the node" if PART.search(name) else ""))
    return replace(series, power=name, notes=tuple(notes))
