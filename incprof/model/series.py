"""Counters that were sampled beside a run: a table of numbers over time."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.model.arrays import FloatArray


@dataclass(frozen=True)
class Power:
    """The power of the node that counters were sampled on, over their r rows.

    name: its column. watts: (r,), NaN where it is not known. sensors: all columns of watts and joules. simulated: the
    formula that it comes from; None: it was measured. notes: what it is of, a line each.
    """

    name: str
    watts: FloatArray
    sensors: tuple[str, ...]
    simulated: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CounterSeries:
    """Rows of counters. r rows, m columns.

    names: of the columns. values: (r, m), NaN where one was not counted; per row what was counted in it, or a level or
    a share. start_s, end_s: (r,) seconds since sampling began. begun_unix_s: when that was, None where the file does
    not say. host: where. notes: what to know, a line each. power: None where no column is one of power.
    """

    names: tuple[str, ...]
    values: FloatArray
    start_s: FloatArray
    end_s: FloatArray
    begun_unix_s: float | None = None
    host: str | None = None
    notes: tuple[str, ...] = ()
    power: Power | None = None
