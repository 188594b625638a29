"""Join several sources of one node into one series: the rows of one source, with the others' means over each row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from incprof.model import FloatArray, NodeSeries

# A value needs at least this share of its row.
LEAST_KNOWN = 0.5


def mean_over(times: FloatArray, values: FloatArray, first_s: float, ends: FloatArray) -> FloatArray:
    """Return the means of rows over other rows.

    times: (r,) ends of the rows, the first of which is first_s long. values: (r, m), NaN where unknown. ends: (q,) ends
    of the wanted rows; the first is as long as the second. Returns (q, m), NaN where less than half is known.
    """
    edges = np.concatenate([[times[0] - first_s], times])
    wanted = np.concatenate([[ends[0] - (ends[1] - ends[0] if len(ends) > 1 else first_s)], ends])
    lengths = np.diff(edges)[:, None]
    known = np.isfinite(values)
    return np.stack([
        _mean(edges, np.where(known, values, 0)[:, at] * lengths[:, 0], known[:, at] * lengths[:, 0], wanted)
        for at in range(values.shape[1])
    ], axis=1) if values.shape[1] else np.zeros((len(ends), 0))  # fmt: skip


def _mean(edges: FloatArray, amounts: FloatArray, spans: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return amounts per known time, between the wanted edges."""
    amount = np.diff(np.interp(wanted, edges, np.concatenate([[0.0], np.cumsum(amounts)])))
    span = np.diff(np.interp(wanted, edges, np.concatenate([[0.0], np.cumsum(spans)])))
    enough = span >= LEAST_KNOWN * np.diff(wanted) * (1 - 1e-9)
    means: FloatArray = np.full(len(amount), np.nan)
    np.divide(amount, span, out=means, where=enough & (span > 0))
    return means


def joined(base: NodeSeries, others: Sequence[tuple[str, NodeSeries]]) -> NodeSeries:
    """Return a series with the columns of others added, on its rows. others: files and their series."""
    names, units, parts = list(base.names), list(base.units), [base.values]
    notes = list(base.notes)
    simulated = base.simulated
    for where, other in others:
        stem = Path(where).stem
        for name, unit in zip(other.names, other.units, strict=True):
            names.append(_new_name(name, stem, names))
            units.append(unit)
        parts.append(mean_over(other.times, other.values, other.period_s, base.times))
        notes += [f"{where}: {note}" for note in other.notes]
        if other.period_s > 1.2 * base.period_s:
            notes.append(f"{where}: a row each {other.period_s:.3g} s, held over rows of {base.period_s:.3g} s")
        elif other.period_s * 1.2 < base.period_s:
            notes.append(f"{where}: a row each {other.period_s:.3g} s, its mean over rows of {base.period_s:.3g} s")
        simulated = simulated or other.simulated
    values = np.concatenate(parts, axis=1)
    return NodeSeries(
        base.node, base.times, tuple(names), tuple(units), values, None, simulated, tuple(notes), base.named
    )  # fmt: skip


def _new_name(name: str, stem: str, taken: Sequence[str]) -> str:
    """Return a name that no other column has."""
    number, new = 2, name
    while new in taken:
        new = f"{stem}:{name}" if f"{stem}:{name}" not in taken else f"{stem}-{number}:{name}"
        number += 1
    return new
