"""Formatting for people: durations, counts, shares, sizes, energy; names in a given width, numbers as blocks."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from math import isinf

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size

from incprof.model.time_use import CallEstimate

JOULES = ((3.6e9, "MWh"), (3.6e6, "kWh"), (1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"))
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
SIZES = ("B", "kB", "MB", "GB", "TB")
BINARY_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " .:-=+*#@"
# Marks power that comes from a formula.
SIMULATED = "simulated"


def seconds(value: float | None) -> str:
    """Return seconds with three digits and a unit: 1.23 ms; `-` for None."""
    if value is None:
        return "-"
    for size, unit in UNITS:
        # 999.6 us are 1 ms, not 1000 us.
        if value >= 0.9995 * size:
            return f"{_three(value / size)} {unit}"
    return "0 s" if value < 5e-11 else f"{value * 1e9:.1f} ns"


def elapsed(value: float) -> str:
    """Return a duration in the usual form: 3.2 s, 2 min 5 s, 1 h 2 min."""
    return seconds(value) if value < 60 else duration(value)


def rate(value: float) -> str:
    """Return a rate or a share with three digits."""
    return "0" if value == 0 else "<0.001" if value < 0.0005 else _three(value)


def joules(value: float, digits: int = 3) -> str:
    """Return an energy with that many digits and a unit: 12 mJ, 3.4 J, 5.6 kJ, 1.2 kWh."""
    size, unit = next((each for each in JOULES if value >= 0.9995 * each[0]), (1.0, "J"))
    number = value / size
    return f"{number:.0f} {unit}" if number >= 10 ** (digits - 1) else f"{number:.{digits}g} {unit}"


def _three(value: float) -> str:
    """Return three digits of a number, or all digits before the point."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def pct(value: float | None) -> str:
    """Return a share of 1 as percent with one decimal; `-` for None."""
    return "-" if value is None else f"{100 * value:.1f}"


def duration(seconds: float) -> str:
    """Return a duration in the usual form: 3.2 s, 2 min 5 s, 1 h 2 min."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    rounded = round(seconds)
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60} min"


def count(number: int, noun: str) -> str:
    """Return "1 phase", "2 phases"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def plural(noun: str, names: Sequence[str]) -> str:
    """Return "phase 1", "phases 1 and 2", "phases 1, 2 and 4"."""
    *most, last = names
    return f"{noun}s {', '.join(most)} and {last}" if most else f"{noun} {last}"


def percent(part: float) -> str:
    """Return "61 %" for 0.613; values near 0 or 1 are never rounded to 0 % or 100 %."""
    if 0 < part < 0.0005:
        return "<0.1 %"
    if 0.99995 <= part < 1:
        return ">99.99 %"
    digits = 0 if 0.005 <= part < 0.995 or part in (0.0, 1.0) else 2 if part > 0.5 else 1
    return f"{100 * part:.{digits}f} %"


def overhead(pct: float | None, own_s: float = 0.0) -> str:
    """Return the recording's overhead: "0.24 %" of the program's CPU time, or why there is no such number.

    pct: None if not measured, infinite if recording used all of the CPU time. own_s: the same in seconds, of a program
    that hardly uses any: "0.0312 s".
    """
    if pct is None:
        return "not known"
    if own_s > 0:
        return duration(own_s)
    if isinf(pct):
        return "more than the program"
    return f"{pct:.2g} %" if pct < 99 else f"{pct:.0f} %"


def size(count: int) -> str:
    """Return a number of bytes with three digits and a unit: 1.53 MiB."""
    for unit, name in BINARY_SIZES:
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} B"


def decimal_size(value: float) -> str:
    """Return bytes with three digits and a unit of powers of 1000: 1.53 MB."""
    unit = 0
    while value >= 999.5 and unit < len(SIZES) - 1:
        value, unit = value / 1000, unit + 1
    return f"{rate(value)} {SIZES[unit]}"


def fitted(text: str, room: int) -> str:
    """Return text in at most `room` columns: dots replace the middle of longer text."""
    if cell_len(text) <= room:
        return text
    keep = max(room - 3, 2)
    end = set_cell_size(text[::-1], keep // 2).rstrip()[::-1]
    return set_cell_size(text, keep - keep // 2).rstrip() + "..." + end


def padded(text: str, room: int, *, right: bool) -> str:
    """Return text padded with spaces to `room` columns."""
    spaces = " " * max(room - cell_len(text), 0)
    return spaces + text if right else text + spaces


def sparkline(values: NDArray[np.float64], width: int, *, blocks: bool) -> tuple[str, float]:
    """Return non-negative numbers as one character each, and the largest of them; only 0 is shown as nothing.

    values: Shape (m,). More than `width` of them are averaged. width: Characters at most. blocks: Unicode blocks
    instead of ASCII.
    """
    if len(values) > width:
        # Each character averages the same number of values, up to one more or less.
        edges = np.arange(width) * len(values) // width
        values = np.add.reduceat(values, edges) / np.diff(edges, append=len(values))
    top = float(values.max(initial=0.0))
    signs = BLOCKS if blocks else ASCII
    levels = np.ceil(values / top * (len(signs) - 1)).astype(int) if top > 0 else np.zeros(len(values), dtype=int)
    return "".join(signs[level] for level in levels.tolist()), top


def signed(value: float) -> str:
    """Return a number with its sign and one decimal; a value that rounds to 0 gets a plus."""
    return f"{round(value, 1) + 0.0:+.1f}"


# Headings of tables and the name of an id: the same words in every answer.


PHASE, FUNCTION, WHERE = "Phase", "Function", "Where"
OF_PHASE, OF_RUN = "% of phase", "% of run"
KIND, HEARTBEAT = "Kind", "Heartbeat"


# Call counts in words: counted, or estimated from samples.


UNCOUNTED = "calls were not counted (no -pg): ~ is an estimate from samples, >= a lower bound"
PARTLY_COUNTED = "calls of inlined functions, and of code compiled without -pg, were not counted: -"


def calls_words(calls: int, estimated: CallEstimate | None) -> str:
    """Return `12 calls`; `~12 calls` if estimated, `>= 12 calls` for a lower bound; `-` if not counted."""
    words = count(calls, "call")
    if estimated is None:
        return words if calls else "-"
    if not calls:
        return ""
    return f"~{words}" if estimated.is_known else f">= {words}"


def calls_json(estimated: CallEstimate | None) -> dict[str, object]:
    """Return the bounds of an estimated number of calls; empty if it was counted. calls_high: None is unbounded."""
    if estimated is None:
        return {}
    high = None if estimated.high is None else round(estimated.high, 1)
    return {"estimated": True, "calls_low": estimated.low, "calls_high": high}


# Wrap sentences that are longer than a line.


LEAST_WIDTH = 40


def folded(line: str, width: int, first: str = "", indent: str = "") -> list[str]:
    """Wrap a sentence at spaces, never in a path, nor between a number and its unit.

    `first` begins the first line, `indent` all others.
    """
    lines = textwrap.wrap(
        line.replace(" %", "\u00a0%"),
        max(width, LEAST_WIDTH),
        initial_indent=first,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [one.replace("\u00a0", " ") for one in lines]
