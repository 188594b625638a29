"""Counters sampled alongside a run: a table of numbers over time."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.model.arrays import FloatArray


@dataclass(frozen=True)
class Power:
    """The power of the node on which counters were sampled. r rows.

    Attributes:
        name: name of its column.
        watts: (r,), NaN where not available.
        sensors: all columns of watts and joules.
        simulated: the formula that computed it; None: it was measured.
        notes: what the power covers, a line each.
    """

    name: str
    watts: FloatArray
    sensors: tuple[str, ...]
    simulated: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CounterSeries:
    """Rows of counters. r rows, m columns.

    Attributes:
        names: (m,) names of the columns.
        values: (r, m) counts within each row, or a level or a share; NaN where not counted.
        start_s: (r,) seconds since sampling began.
        end_s: (r,) seconds since sampling began.
        begun_unix_s: start of sampling, seconds since the epoch; None if the file does not have it.
        host: name of the host.
        notes: remarks, a line each.
        power: None if no column is one of power.
    """

    names: tuple[str, ...]
    values: FloatArray
    start_s: FloatArray
    end_s: FloatArray
    begun_unix_s: float | None = None
    host: str | None = None
    notes: tuple[str, ...] = ()
    power: Power | None = None
