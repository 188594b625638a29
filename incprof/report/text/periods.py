"""Periods for people: a head line, the run as a ribbon, a table of the patterns and their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from incprof.analysis.patterns.nodes import Agreement
from incprof.analysis.patterns.results import SMALLEST_WINDOW, Pattern, Patterns
from incprof.analysis.views.ribbon import badge, runs, sign, stretched
from incprof.model import IntArray
from incprof.report.text.console import console_for
from incprof.report.words.colours import style
from incprof.report.words.figures import duration
from incprof.report.words.numbers import sparkline

SHAPE_ROOM = 60


def write_text(
    source: str,
    name: str,
    interval_s: float | None,
    found: Patterns,
    out: TextIO,
    *,
    width: int = 100,
    colour: bool = False,
    blocks: bool = True,
) -> None:
    """Write the answer, at most `width` columns wide. blocks: whether `out` takes more than ASCII."""
    console = console_for(out, width=max(width, 40), colour=colour, terminal=colour)
    console.print(_head(source, name, interval_s, found), soft_wrap=True)
    if not found.patterns:
        console.print(_no_period(found), soft_wrap=True)
        return
    console.print(f"{found.summary}  #rp(#i)[#pa]   {100 * found.coverage:.2f} % periodic", soft_wrap=True)
    console.print()
    _ribbon(console, found, interval_s)
    console.print()
    console.print(_table(found, interval_s))
    console.print()
    for number, pattern in enumerate(found.patterns):
        line, _ = sparkline(_raised(pattern), min(console.width - 30, SHAPE_ROOM), blocks=blocks)
        low, high = pattern.values.min(), pattern.values.max()
        console.print(
            Text(f" {badge(number)} ", style=style(number)), f"{line}  {low:.3g} .. {high:.3g}", soft_wrap=True
        )


def _head(source: str, name: str, interval_s: float | None, found: Patterns) -> str:
    """Return what was analysed, and how, in one line."""
    length = f"{found.samples} samples"
    if interval_s is not None:
        length += f" of {_time(interval_s)}, {_time(interval_s * found.samples)}"
    parts = [f"{source}, {name}, {length}"]
    if found.window:
        parts.append(f"window 2 x {found.window}")
        parts.append(f"noise {found.noise:.2g}")
    if found.theta:
        parts.append(f"dips below {found.theta:.2f}")
    return ", ".join(parts)


def _no_period(found: Patterns) -> str:
    """Return that nothing repeats, and what was nearest to it."""
    count, options = found.samples, found.options
    if not found.window:
        return f"no period: a window of 2 x {options.window or SMALLEST_WINDOW} samples is longer than the {count}"
    if not found.detected > 0:
        return f"no period: none of {len(found.tuning)} windows covers {100 * options.alpha:g} % of the series"
    windows = f"no period: windows cover {100 * found.detected:.1f} %"
    if not found.beyond_chance:
        chance = f"{100 * found.by_chance:.1f} ± {100 * found.chance_spread:.1f} %"
        return f"{windows}, and {chance} of the same values in random orders"
    return f"{windows}, but no shape is alike often enough ({100 * options.cluster_share:g} %) to be no accident"


def _ribbon(console: Console, found: Patterns, interval_s: float | None) -> None:
    """Print the run from left to right, a digit for the pattern, and its end under it."""
    line = Text()
    for label, length in runs(stretched(labels_of(found), console.width)):
        line.append(sign(label) * length, style=style(label))
    console.print(line, soft_wrap=True)
    end = _time(interval_s * found.samples) if interval_s is not None else str(found.samples)
    console.print("0" + end.rjust(console.width - 1), soft_wrap=True)


def labels_of(found: Patterns) -> IntArray:
    """Return the number of the pattern of each sample, -1 where there is none, shape (n,)."""
    labels = np.full(found.samples, -1, dtype=np.int16)
    for number, pattern in enumerate(found.patterns):
        for start, end in pattern.instances.tolist():
            labels[start:end] = number
    return labels


def _table(found: Patterns, interval_s: float | None) -> Table:
    """Return the patterns, a row each."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    names = ("Pattern", "Length", "Instances", "Regions", "In a region", "Share %", "WGSS", "per inst.", "per sample")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for number, pattern in enumerate(found.patterns):
        table.add_row(Text(f" {badge(number)} ", style=style(number)), *_cells(pattern, interval_s))
    return table


def _cells(pattern: Pattern, interval_s: float | None) -> tuple[str, ...]:
    """Return the cells of a pattern after its number."""
    length = str(pattern.length) + (f" ({_time(interval_s * pattern.length)})" if interval_s is not None else "")
    return (
        length,
        str(len(pattern.instances)),
        str(len(pattern.regions)),
        f"{len(pattern.instances) / len(pattern.regions):.1f}",
        f"{100 * pattern.share:.2f}",
        f"{pattern.wgss:.4g}",
        f"{pattern.wgss_per_instance:.3g}",
        f"{pattern.wgss_per_sample:.3g}",
    )


def state_line(found: Patterns) -> str:
    """Return what is known of a series that still grows, in one line."""
    parts = [f"{found.samples:>9} samples", f"{found.summary:>12}", f"{100 * found.coverage:6.2f} %"]
    each = ", ".join(f"{p.length} x {len(p.instances)}" for p in found.patterns[:8])
    return "  ".join([*parts, each or "no period"])


def write_agreement(sources: Sequence[str], found: Sequence[Patterns], pairs: Sequence[Agreement], out: TextIO) -> None:
    """Write what other nodes show, and whether their foremost patterns are the same within the paper's 1 %."""
    out.write("\n")
    for number, (source, result) in enumerate(zip(sources, found, strict=True)):
        out.write(f"node {number}  {result.summary:>12}  {100 * result.coverage:6.2f} %  {source}\n")
    for pair in pairs:
        verdict = "same" if pair.same else "not the same"
        share = f"{100 * pair.step / abs(pair.mean):.2f} % of their mean" if pair.mean else "of a mean of 0"
        out.write(f"nodes {pair.first} and {pair.second}: mean step {pair.step:.3g}, {share}: {verdict}\n")


def _raised(pattern: Pattern) -> np.ndarray:
    """Return the pattern from 0 up, so that its lowest point is the lowest sign."""
    values: np.ndarray = pattern.values - pattern.values.min()
    return values


def _time(seconds: float) -> str:
    """Return a time as people say it: 5 ms, 1.12 s, 45 min 0 s."""
    return f"{1000 * seconds:.4g} ms" if seconds < 1 else duration(seconds)
