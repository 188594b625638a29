"""The rows as columns with readable names and seconds."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appekg.model import INTERVAL, Beat, Process


def columns(rows: NDArray[np.void], processes: Sequence[Process], beats: Mapping[int, Beat]) -> dict[str, NDArray[Any]]:
    """Return the columns documented in Heartbeats.to_pandas, each of shape (n,)."""
    earliest = min((process.start_unix_s for process in processes), default=0.0)
    first = np.cumsum([0] + [len(process.intervals) for process in processes])
    at = first[rows["process"]] + rows["interval"]

    def of_interval(name: str) -> NDArray[np.int64]:
        parts = [process.intervals[name] for process in processes]
        values: NDArray[np.int64] = np.concatenate([np.zeros(0, dtype=np.int64), *parts])[at]
        return values

    later_s = np.array([process.start_unix_s - earliest for process in processes])[rows["process"]]
    ids, place = np.unique(rows["id"], return_inverse=True)
    names = np.array([beats[number].name for number in ids.tolist()], dtype=object)
    some = rows["count"] > 0
    mean = np.divide(rows["sum_ns"], rows["count"], out=np.full(len(rows), np.nan), where=some)
    return {
        "rank": np.array([process.rank for process in processes], dtype=np.int64)[rows["process"]],
        "process": rows["process"].astype(np.int64),
        "interval": of_interval("interval"),
        "start_s": later_s + of_interval("start_ns") / 1e9,
        "end_s": later_s + of_interval("end_ns") / 1e9,
        "thread": rows["thread"].copy(),
        "id": rows["id"].copy(),
        "name": names[place],
        "count": rows["count"].copy(),
        "pulses": rows["pulses"].copy(),
        "sum_s": rows["sum_ns"] / 1e9,
        "mean_s": mean / 1e9,
        "min_s": np.where(some, rows["min_ns"] / 1e9, np.nan),
        "max_s": np.where(some, rows["max_ns"] / 1e9, np.nan),
        "std_s": _deviation(rows, mean) / 1e9,
        "open": rows["open"].copy(),
        "open_s": rows["open_ns"] / 1e9,
        "executions": rows["executions"].copy(),
        "busy_s": rows["busy_ns"] / 1e9,
    }


def _deviation(rows: NDArray[np.void], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation (of the population) of each row's beats in ns, NaN without beats, shape (n,)."""
    count = np.where(rows["count"] > 0, rows["count"], np.nan)
    # Nearly equal numbers are subtracted: the result is clamped to the range that minimum and maximum allow.
    variance = rows["sumsq_ns2"] / count - mean * mean
    width = rows["max_ns"].astype(np.float64) - rows["min_ns"]
    deviation: NDArray[np.float64] = np.sqrt(np.clip(variance, 0, width * width / 4))
    return deviation


def tables(
    rows: NDArray[np.void], processes: Sequence[Process], beats: Mapping[int, Beat]
) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the tables documented in Heartbeats.tables."""
    every = columns(rows, processes, beats)
    plain = {name: values for name, values in every.items() if name not in ("rank", "start_s", "end_s", "name")}
    return {
        "processes": _processes(processes),
        "beats": _beats(beats),
        "intervals": _intervals(processes),
        "rows": plain,
    }


def _processes(processes: Sequence[Process]) -> dict[str, NDArray[Any]]:
    """Return a row per process."""
    return {
        "process": np.arange(len(processes)),
        "rank": np.array([process.rank for process in processes], dtype=np.int64),
        "file": np.array([_text(process.path.name) for process in processes], dtype=object),
        "app": np.array([process.app for process in processes], dtype=object),
        "start_unix_s": np.array([process.start_unix_s for process in processes], dtype=np.float64),
        "duration_s": np.array([process.duration_s for process in processes], dtype=np.float64),
        "interval_s": np.array([process.interval_s for process in processes], dtype=np.float64),
        "clean": np.array([process.clean for process in processes], dtype=np.bool_),
        "metadata": np.array([json.dumps(process.metadata) for process in processes], dtype=object),
    }


def _text(name: str) -> str:
    """Return the name of a file as valid UTF-8: file names may hold any bytes."""
    return os.fsencode(name).decode("utf-8", "replace")


def _beats(beats_by_id: Mapping[int, Beat]) -> dict[str, NDArray[Any]]:
    """Return a row per id."""
    beats = [beats_by_id[number] for number in sorted(beats_by_id)]
    return {
        "id": np.array([beat.id for beat in beats], dtype=np.int64),
        "name": np.array([beat.name for beat in beats], dtype=object),
        "rate_factor": np.array([beat.rate_factor for beat in beats], dtype=np.int64),
    }


def _intervals(processes: Sequence[Process]) -> dict[str, NDArray[Any]]:
    """Return a row per interval of a process, times in seconds since the earliest start of a process."""
    every = np.concatenate([np.zeros(0, dtype=INTERVAL), *(process.intervals for process in processes)])
    counts = [len(process.intervals) for process in processes]
    earliest = min((process.start_unix_s for process in processes), default=0.0)
    later_s = np.repeat([process.start_unix_s - earliest for process in processes], counts)
    plain = ("threads", "dropped", "unmatched", "abandoned", "lost_intervals", "lost_rows")
    return {
        "process": np.repeat(np.arange(len(counts)), counts),
        "interval": every["interval"],
        "start_s": later_s + every["start_ns"] / 1e9,
        "end_s": later_s + every["end_ns"] / 1e9,
        **{name: every[name] for name in plain},
        "own_s": every["own_ns"] / 1e9,
        "enabled": every["enabled"],
    }
