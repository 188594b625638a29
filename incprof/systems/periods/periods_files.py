"""Periods as JSON, as CSV, and drawn."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, TextIO

import numpy as np

from incprof.model import FloatArray
from incprof.report.plots import COLOURS, WIDTH_IN, save, time_unit
from incprof.report.render.json import fields, significant, write
from incprof.systems.periods.pattern_result import Pattern, Patterns, segments_of
from incprof.systems.periods.pattern_uses import LEVEL, Agreement, Forecast, Match

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SCHEMA, MATCH_SCHEMA = "incprof.periods/1", "incprof.periods.match/1"
_round = partial(significant, digits=9)
_fields = partial(fields, number=_round)
_percents = partial(fields, number=lambda share: None if share is None else _round(100 * share))


def write_json(
    source: str,
    name: str,
    interval_s: float | None,
    patterns: Patterns,
    notes: Sequence[str],
    nodes: Sequence[dict[str, object]],
    uses: dict[str, object],
    out: TextIO,
) -> None:
    """Write one JSON object and a newline.

    nodes: results of `node_of` and `pair_of` for the other series. uses: further keys, such as a forecast.
    """
    answer = as_dict(source, name, interval_s, patterns, notes)
    if nodes:
        answer["nodes"] = list(nodes)
    answer |= uses
    write(answer, out, ascii_only=False)


def state_json(
    source: str, name: str, interval_s: float | None, patterns: Patterns, uses: dict[str, object] | None = None
) -> str:
    """Return the current patterns of a series that still grows, as a JSON object in one line."""
    answer = as_dict(source, name, interval_s, patterns, ()) | (uses or {})
    return json.dumps(answer, ensure_ascii=False, allow_nan=False)


def forecast_of(forecast: Forecast | None) -> dict[str, object] | None:
    """Return the next samples; None if the end of the series lies in no pattern."""
    if forecast is None:
        return None
    return {
        **_fields(forecast, "pattern position instances"),
        "level": LEVEL,
        **_fields(forecast, "values low high"),
    }


def write_matches_json(source: str, name: str, path: str, matches: Sequence[Match], out: TextIO) -> None:
    """Write where the end of a series lies in known patterns: one object, schema incprof.periods.match/1."""
    places = [_fields(match, "pattern begin end mean_square=step limit flat") for match in matches]
    answer = {
        "schema": MATCH_SCHEMA,
        "series": {"source": source, "column": name},
        "patterns": path,
        "match": places[0] if matches[0].is_part else None,
        "candidates": places,
    }
    write(answer, out, ascii_only=False)


def as_dict(
    source: str, name: str, interval_s: float | None, patterns: Patterns, notes: Sequence[str]
) -> dict[str, object]:
    """Return the result in the terms of the schema. Positions are in samples, ranges half open."""
    return {
        "schema": SCHEMA,
        "series": {
            "source": source,
            "column": name,
            "samples": patterns.samples,
            "interval_s": _round(interval_s),
            "duration_s": None if interval_s is None else _round(interval_s * patterns.samples),
        },
        "summary": patterns.summary,
        **_percents(patterns, "coverage_pct=coverage detected_pct=detected by_chance_pct=by_chance"),
        **_percents(patterns, "by_chance_std_pct=chance_spread"),
        **_fields(patterns, "window noise theta"),
        "tuning": [_percents(tried, "window coverage_pct=coverage sampled") for tried in patterns.tuning],
        "patterns": [_pattern_json(pattern) for pattern in patterns.patterns],
        "options": asdict(patterns.options),
        "warnings": list(notes),
    }


def node_of(source: str, patterns: Patterns) -> dict[str, object]:
    """Return the summary of another node's series."""
    return {"source": source, "summary": patterns.summary, "coverage_pct": _round(100 * patterns.coverage)}


def pair_of(agreement: Agreement) -> dict[str, object]:
    """Return how far the foremost patterns of two nodes agree; node 0 is the series itself."""
    return {"nodes": [agreement.first, agreement.second], **_fields(agreement, "mean_step=step mean same")}


def _pattern_json(pattern: Pattern) -> dict[str, object]:
    """Return one pattern."""
    return {
        **_percents(pattern, "length coverage_pct=share"),
        **_fields(pattern, "values instances regions enough_instances=has_enough_instances"),
        "segments": [
            {**_fields(segment, "begin end mean"), **_percents(segment, "share_pct=share level")}
            for segment in segments_of(pattern)
        ],
        "mean_length": _round(float((pattern.instances[:, 1] - pattern.instances[:, 0]).mean())),
        "instances_per_region": _round(len(pattern.instances) / len(pattern.regions)),
        **_fields(pattern, "wgss wgss_per_instance wgss_per_sample wgss_history=history"),
    }


# Patterns as CSV: a row for each point of each pattern.


def write_csv(patterns: Patterns, out: TextIO) -> None:
    """Write pattern, point and value, in full precision."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("pattern", "point", "value"))
    for number, pattern in enumerate(patterns.patterns):
        for point, value in enumerate(pattern.values.tolist()):
            writer.writerow((number, point, repr(value)))


# Periods as a picture: each pattern over ten of its instances, as in the paper's Figure 3, and the whole series.


INSTANCES = 10
MOST_PATTERNS = 6
# One per column of the page; longer series show the least and the greatest value of each column.
COLUMNS = 1000
ROW_IN = 1.7


def write_plot(
    x: FloatArray, name: str, interval_s: float | None, patterns: Patterns, out: BinaryIO, form: str
) -> None:
    """Write the picture of a series, (n,), and its patterns. form: `svg`, `png` or `pdf`.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    save(lambda: figure(x, name, interval_s, patterns), out, form)


def figure(x: FloatArray, name: str, interval_s: float | None, patterns: Patterns) -> Figure:
    """Return the picture, not yet drawn."""
    from matplotlib.figure import Figure

    shown = patterns.patterns[:MOST_PATTERNS]
    picture = Figure(figsize=(WIDTH_IN, ROW_IN * (1 + len(shown))), layout="constrained")
    panels = picture.subplots(1 + len(shown), 1, squeeze=False)[:, 0]
    _series(panels[0], x, name, interval_s, patterns)
    for number, (panel, pattern) in enumerate(zip(panels[1:], shown, strict=True)):
        _draw_pattern(panel, x, number, pattern, interval_s, patterns.options.seed)
    more = f", {len(patterns.patterns) - len(shown)} more not shown" if len(patterns.patterns) > len(shown) else ""
    picture.suptitle(
        f"{patterns.summary}, {100 * patterns.coverage:.1f} % periodic{more}".replace("$", r"\$"), fontsize=9
    )
    return picture


def _series(axes: Axes, x: FloatArray, name: str, interval_s: float | None, patterns: Patterns) -> None:
    """Draw the series, and its periodic regions in the colours of their patterns."""
    scale, unit = _unit(interval_s, len(x))
    low, high, where = envelope(x)
    axes.fill_between(where * scale, low, high, color="#555555", linewidth=0.4)
    for number, pattern in enumerate(patterns.patterns):
        for start, end in pattern.regions.tolist():
            axes.axvspan(start * scale, end * scale, color=COLOURS[number % len(COLOURS)], alpha=0.3, linewidth=0)
    axes.set_xlim(0, len(x) * scale)
    axes.set_xlabel(unit)
    axes.set_ylabel(name.replace("$", r"\$")[:40])


def envelope(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the least value, the greatest value and the middle of up to COLUMNS equal parts of a series, (c,) each."""
    if len(x) <= COLUMNS:
        return x, x, np.arange(len(x), dtype=np.float64)
    edges = np.arange(COLUMNS) * len(x) // COLUMNS
    low: FloatArray = np.minimum.reduceat(x, edges)
    high: FloatArray = np.maximum.reduceat(x, edges)
    return low, high, np.asarray(edges + len(x) / (2 * COLUMNS), dtype=np.float64)


def _draw_pattern(
    axes: Axes, x: FloatArray, number: int, pattern: Pattern, interval_s: float | None, seed: int
) -> None:
    """Draw a pattern over ten of its instances, chosen at random with a fixed seed."""
    scale, unit = _unit(interval_s, pattern.length)
    count = min(INSTANCES, len(pattern.instances))
    drawn = np.sort(np.random.default_rng(seed).choice(len(pattern.instances), count, replace=False))
    for start, end in pattern.instances[drawn].tolist():
        axes.plot(np.arange(end - start) * scale, x[start:end], color="#BBBBBB", linewidth=0.7)
    colour = COLOURS[number % len(COLOURS)]
    axes.plot(np.arange(pattern.length) * scale, pattern.values, color=colour, linewidth=1.6)
    axes.set_xlabel(unit)
    axes.set_ylabel(f"pattern {number}")
    axes.set_title(
        f"{pattern.length} samples, {len(pattern.instances)} instances ({count} shown), {100 * pattern.share:.1f} %",
        fontsize=8,
        loc="left",
    )


def _unit(interval_s: float | None, samples: int) -> tuple[float, str]:
    """Return the factor from samples to the unit of an axis, and its label."""
    if interval_s is None:
        return 1.0, "samples"
    divisor, unit = time_unit(interval_s * samples)
    return interval_s / divisor, f"Time ({unit})"
