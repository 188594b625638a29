"""Periods as text: a head line, the run as a ribbon, a table of the patterns and their shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TextIO

import numpy as np
from rich.console import Console
from rich.text import Text

from incprof.analysis.views.tracks import badge, runs, sign, stretched
from incprof.model import IntArray
from incprof.model.section import Column, Table
from incprof.report.render.json import significant
from incprof.report.render.plain import write_plain
from incprof.report.render.text import console_for, text_table
from incprof.report.words.colours import style
from incprof.report.words.formatting import count, duration, percent, sparkline
from incprof.systems.periods.pattern_result import (
    ENOUGH_INSTANCES,
    SMALLEST_WINDOW,
    Pattern,
    Patterns,
    segments_of,
)
from incprof.systems.periods.pattern_uses import LEVEL, Agreement, Forecast, Match, SubProfile, SubProfiles

SHAPE_ROOM = 60
# Significant digits of numbers in JSON.
DIGITS = 9


def write_text(
    source: str,
    name: str,
    interval_s: float | None,
    result: Patterns,
    out: TextIO,
    *,
    width: int = 100,
    colour: bool = False,
    blocks: bool = True,
    paper: bool = False,
) -> None:
    """Write the result, at most `width` columns wide.

    blocks: whether `out` accepts more than ASCII. paper: use the paper's terms and measures.
    """
    console = console_for(out, width=max(width, 40), colour=colour, terminal=colour)
    console.print(_head(source, name, interval_s, result, paper), soft_wrap=True)
    if not result.patterns:
        console.print(_no_period(result), soft_wrap=True)
        return
    notation = f"{result.summary}  #rp(#i)[#pa]   {100 * result.coverage:.2f} % periodic"
    console.print(notation if paper else summary(result, interval_s), soft_wrap=True)
    console.print()
    _ribbon(console, result, interval_s)
    console.print()
    console.print(text_table(_table(result, interval_s, paper), console.width))
    console.print()
    for number, pattern in enumerate(result.patterns):
        line, _ = sparkline(_raised(pattern), min(console.width - 30, SHAPE_ROOM), blocks=blocks)
        low, high = pattern.values.min(), pattern.values.max()
        console.print(
            Text(f" {badge(number)} ", style=style(number)), f"{line}  {low:.3g} .. {high:.3g}", soft_wrap=True
        )
        for words in _levels(pattern, interval_s):
            console.print(f"    {words}", soft_wrap=True)
    _write_few(console, result)


def summary(result: Patterns, interval_s: float | None) -> str:
    """Return a summary in one line: 1 pattern, 8 repetitions of 1.2 s, covers 99 % of the run."""
    if not result.patterns:
        return "no period"
    repetitions = count(result.instances, "repetition")
    if len(result.patterns) == 1:
        return f"1 pattern, {repetitions} of {_length(result.patterns[0].length, interval_s)}, {_covers(result, 's')}"
    return f"{len(result.patterns)} patterns, {repetitions}, {_covers(result, '')}"


def _covers(result: Patterns, ending: str) -> str:
    """Return the periodic share of the run."""
    return f"cover{ending} {percent(min(result.coverage, 1.0))} of the run"


def _length(samples: int, interval_s: float | None) -> str:
    """Return a length as a time, or in samples if the interval is unknown."""
    return f"{samples} samples" if interval_s is None else short_time(interval_s * samples)


def _levels(pattern: Pattern, interval_s: float | None) -> list[str]:
    """Return a line for each low and each high segment of a pattern."""
    return [
        f"{segment.level:<4}  points {segment.begin} to {segment.end}"
        f" ({_length(segment.end - segment.begin, interval_s)}, {percent(segment.share)}), mean {segment.mean:.3g}"
        for segment in segments_of(pattern)
        if segment.level != "middle"
    ]


def _write_few(console: Console, result: Patterns) -> None:
    """Write which patterns have few instances."""
    few = [
        f"pattern {number} rests on {len(pattern.instances)}"
        for number, pattern in enumerate(result.patterns)
        if not pattern.has_enough_instances
    ]
    if few:
        console.print()
        console.print(
            f"{', '.join(few)} repetitions: from some {ENOUGH_INSTANCES} on, or 10 minutes at 5 ms,"
            " a pattern represents longer runs too",
            soft_wrap=True,
        )


def _head(source: str, name: str, interval_s: float | None, result: Patterns, paper: bool) -> str:
    """Return the head line: the input, and for `paper` the parameters used."""
    length = f"{result.samples} samples"
    if interval_s is not None:
        length += f" of {short_time(interval_s)}, {short_time(interval_s * result.samples)}"
    parts = [f"{source}, {name}, {length}"]
    if result.window and paper:
        parts.append(f"window 2 x {result.window}")
        parts.append(f"noise {result.noise:.2g}")
    if result.theta and paper:
        parts.append(f"dips below {result.theta:.2f}")
    return ", ".join(parts)


def _no_period(result: Patterns) -> str:
    """Return a message that nothing repeats, and the reason."""
    count, options = result.samples, result.options
    if not result.window:
        return f"no period: a window of 2 x {options.window or SMALLEST_WINDOW} samples is longer than the {count}"
    if not result.detected > 0:
        return f"no period: none of {len(result.tuning)} windows covers {100 * options.alpha:g} % of the series"
    windows = f"no period: windows cover {100 * result.detected:.1f} %"
    if not result.beyond_chance:
        chance = f"{100 * result.by_chance:.1f} ± {100 * result.chance_spread:.1f} %"
        return f"{windows}, and {chance} of the same values in random orders"
    return f"{windows}, but no shape recurs often enough ({100 * options.cluster_share:g} %) to rule out chance"


def _ribbon(console: Console, result: Patterns, interval_s: float | None) -> None:
    """Print the run from left to right, one digit per pattern, with a time axis under it."""
    line = Text()
    for label, length in runs(stretched(labels_of(result), console.width)):
        line.append(sign(label) * length, style=style(label))
    console.print(line, soft_wrap=True)
    end = short_time(interval_s * result.samples) if interval_s is not None else str(result.samples)
    console.print("0" + end.rjust(console.width - 1), soft_wrap=True)


def labels_of(result: Patterns) -> IntArray:
    """Return the pattern number of each sample, -1 outside of patterns, shape (n,)."""
    labels = np.full(result.samples, -1, dtype=np.int16)
    for number, pattern in enumerate(result.patterns):
        for start, end in pattern.instances.tolist():
            labels[start:end] = number
    return labels


def _table(result: Patterns, interval_s: float | None, paper: bool) -> Table:
    """Return a row for each pattern; as in the paper, or with the terms of this manual."""
    instances, regions, each = (
        ("Instances", "Regions", "In a region") if paper else ("Repetitions", "Segments", "In a segment")
    )
    columns: tuple[Column, ...] = (
        Column("Pattern", itemgetter(0), "phase"),
        Column("Length", lambda row: _length_words(row[1].length, interval_s), "s"),
        Column(instances, lambda row: len(row[1].instances), "count"),
        Column(regions, lambda row: len(row[1].regions), "count"),
        Column(each, lambda row: f"{len(row[1].instances) / len(row[1].regions):.1f}", "number"),
        Column("Share %", lambda row: f"{100 * row[1].share:.2f}", "%"),
    )
    if paper:
        columns += (
            Column("WGSS", lambda row: f"{row[1].wgss:.4g}", "number"),
            Column("per inst.", lambda row: f"{row[1].wgss_per_instance:.3g}", "number"),
            Column("per sample", lambda row: f"{row[1].wgss_per_sample:.3g}", "number"),
        )
    return Table(columns, list(enumerate(result.patterns)))


def _length_words(samples: int, interval_s: float | None) -> str:
    """Return a length in samples, and in seconds where the interval is known."""
    return str(samples) + (f" ({short_time(interval_s * samples)})" if interval_s is not None else "")


def state_line(result: Patterns, interval_s: float | None, *, paper: bool = False) -> str:
    """Return the current patterns of a series that still grows, in one line."""
    samples = f"{result.samples:>9} samples"
    if not paper:
        each = ", ".join(f"{len(p.instances)} of {_length(p.length, interval_s)}" for p in result.patterns[:8])
        return f"{samples}  {summary(result, interval_s)}" + (f": {each}" if len(result.patterns) > 1 else "")
    parts = [samples, f"{result.summary:>12}", f"{100 * result.coverage:6.2f} %"]
    each = ", ".join(f"{p.length} x {len(p.instances)}" for p in result.patterns[:8])
    return "  ".join([*parts, each or "no period"])


def write_agreement(
    sources: Sequence[str],
    results: Sequence[Patterns],
    pairs: Sequence[Agreement],
    interval_s: float | None,
    out: TextIO,
    *,
    paper: bool = False,
) -> None:
    """Write the patterns of other nodes, and whether their foremost patterns agree within the paper's 1 %."""
    out.write("\n")
    for number, (source, of_node) in enumerate(zip(sources, results, strict=True)):
        if paper:
            out.write(f"node {number}  {of_node.summary:>12}  {100 * of_node.coverage:6.2f} %  {source}\n")
        else:
            out.write(f"node {number}, {source}: {summary(of_node, interval_s)}\n")
    for pair in pairs:
        verdict = "same" if pair.same else "not the same"
        share = f"{100 * pair.step / abs(pair.mean):.2f} % of their mean" if pair.mean else "of a mean of 0"
        out.write(f"nodes {pair.first} and {pair.second}: mean step {pair.step:.3g}, {share}: {verdict}\n")


def _raised(pattern: Pattern) -> np.ndarray:
    """Return the pattern shifted so that its lowest point is 0, the lowest sparkline character."""
    values: np.ndarray = pattern.values - pattern.values.min()
    return values


# Forecasts, matches and comparisons of parts of a run, as text.


ROWS = 12


def write_forecast(forecast: Forecast | None, interval_s: float | None, out: TextIO) -> None:
    """Write the next samples, at most twelve of them, spread evenly."""
    if forecast is None:
        out.write("\nno forecast: the series ends in none of its patterns, or too few repetitions came before\n")
        return
    ahead = len(forecast.values)
    time = "" if interval_s is None else f" ({short_time(interval_s * ahead)})"
    out.write(
        f"\nnext {ahead} samples{time}: pattern {forecast.pattern} after its point {forecast.position}, "
        f"by {forecast.instances} earlier repetitions; {100 * LEVEL:.0f} % lie between low and high\n"
    )
    at = np.unique(np.linspace(0, ahead - 1, min(ahead, ROWS)).round().astype(int)).tolist()
    columns = (
        Column("ahead", lambda place: place + 1, "count"),
        Column("value", lambda place: f"{forecast.values[place]:.4g}", "number"),
        Column("low", lambda place: f"{forecast.low[place]:.4g}", "number"),
        Column("high", lambda place: f"{forecast.high[place]:.4g}", "number"),
    )
    write_plain(Table(columns, at), out)


def write_matches(path: str, matches: Sequence[Match], out: TextIO) -> None:
    """Write where an excerpt lies in the patterns, or that it lies in none of them."""
    best = matches[0]
    if best.is_part:
        out.write(f"pattern {best.pattern} of {path}, from point {best.begin} to {best.end}")
    elif best.flat:
        out.write(f"none of {path}: the excerpt is too flat to place")
    else:
        out.write(f"none of {path}; nearest is pattern {best.pattern}, from point {best.begin} to {best.end}")
    out.write(f" (mean square {best.step:.3g} a sample, limit {best.limit:.3g})\n")


def write_sub_profiles(profiles: Sequence[SubProfiles], interval_s: float, out: TextIO) -> None:
    """Write how much worse the patterns of parts represent the whole run than its own pattern."""
    out.write("\n")
    write_plain(sub_profiles_table(profiles, interval_s), out)
    enough = [one for one in profiles if len(one.increases) and one.mean_instances >= ENOUGH_INSTANCES]
    if enough:
        least = min(enough, key=lambda one: one.samples)
        out.write(
            f"from {short_time(interval_s * least.samples)} on, parts have at least {ENOUGH_INSTANCES} repetitions\n"
        )


def sub_profiles_table(profiles: Sequence[SubProfiles], interval_s: float) -> Table:
    """Return a row for each length of the parts, for text and for JSON."""

    def of_some(get: Callable[[SubProfiles], str]) -> Callable[[SubProfiles], str]:
        return lambda one: get(one) if len(one.increases) else ""

    def share(value: float) -> float | None:
        return significant(100 * float(value), DIGITS)

    def part(one: SubProfile) -> dict[str, object]:
        return {"start": one.start, "instances": one.instances, "wgss": significant(one.wgss, DIGITS)}

    columns = (
        Column("Part", lambda one: short_time(interval_s * one.samples), "s"),
        Column("With pattern", lambda one: f"{len(one.increases)} of {len(one.parts)}", "count"),
        Column("Repetitions", of_some(lambda one: f"{one.mean_instances:.0f}"), "count"),
        Column("WGSS, mean", of_some(lambda one: f"{100 * one.increases.mean():+.1f} %"), "%"),
        Column("std", of_some(lambda one: f"{100 * one.increases.std():.1f} %"), "%"),
        Column("", lambda one: "" if one.parts else "longer than what follows the initialisation"),
        Column(None, lambda one: one.samples, key="samples"),
        Column(None, lambda one: significant(interval_s * one.samples, DIGITS), key="duration_s"),
        Column(None, lambda one: significant(one.reference, DIGITS), key="reference_wgss"),
        Column(None, lambda one: significant(one.mean_instances, DIGITS), key="mean_instances"),
        Column(None, lambda one: share(one.increases.mean()) if len(one.increases) else None, key="mean_increase_pct"),
        Column(None, lambda one: share(one.increases.std()) if len(one.increases) else None, key="std_increase_pct"),
        Column(None, lambda one: [part(each) for each in one.parts], key="parts"),
    )
    return Table(columns, profiles)


def short_time(seconds: float) -> str:
    """Return a time in a readable unit: 5 ms, 1.12 s, 45 min 0 s."""
    return f"{1000 * seconds:.4g} ms" if seconds < 1 else duration(seconds)
