"""The phases of a run for scripts and notebooks: as tables, and as HTML."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from incprof.analysis.phase_result import Phase, PhaseResult, Site, Step
from incprof.analysis.views.stacks import stack_series
from incprof.safe.printable import encodable

if TYPE_CHECKING:
    import pandas as pd

    from incprof.model import IntervalProfile


# Okabe and Ito, as in the pictures of `incprof phases --plot`.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
# Width of the ribbon; an episode shorter than half a unit is not drawn.
STEPS = 2000
LEFT = 'style="text-align: left; max-width: 36em; overflow-wrap: anywhere"'
HEAD = ("Phase", "Time", "Run", "Confidence", "Site", "Kind", "Of phase", "Where")


@dataclass(frozen=True, repr=False)
class NotebookResult(PhaseResult):
    """A PhaseResult that makes tables, and shows itself in a notebook."""

    def to_pandas(self, table: ResultTable = "phases") -> pd.DataFrame:
        """The phases, labels, functions, sites, steps or scores as a table; docs/reference/python.md has the columns.

        Raises:
            ValueError: there is no table of that name.
        """
        return result_table(self, table)

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows: phases over time, and the sites of each."""
        return phases_html(self)


def phases_html(result: PhaseResult) -> str:
    """Return the ribbon of a result and a table with a row for each site; names are escaped."""
    n, seconds = len(result.labels), float(result.end_s[-1]) if len(result.end_s) else 0.0
    head = "".join(f'<th style="text-align: left">{name}</th>' for name in HEAD)
    rows = "".join(row for phase in result.present for row in _html_rows(phase))
    return (
        f"<p><b>{result.k} phase{'s' * (result.k != 1)}</b>, {n} interval{'s' * (n != 1)}, {seconds:.3g} s, method"
        f" {html.escape(result.method)}</p>{_ribbon(result, seconds)}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _colour(phase: int) -> str:
    return COLOURS[phase % len(COLOURS)]


def _ribbon(result: PhaseResult, seconds: float) -> str:
    """Return a figure of the phases over time; each episode has a title with its phase and times."""
    if not seconds > 0:
        return ""
    first = np.flatnonzero(np.diff(result.labels, prepend=result.labels[0] - 1))
    last = np.append(first, len(result.labels))[1:] - 1
    begins = np.append(0.0, result.end_s)[first]
    parts = []
    for label, begin, end in zip(
        result.labels[first].tolist(), begins.tolist(), result.end_s[last].tolist(), strict=True
    ):
        x, width = round(STEPS * begin / seconds), round(STEPS * end / seconds) - round(STEPS * begin / seconds)
        if label >= 0 and width > 0:
            about = f"<title>phase {label}, {begin:.2f} to {end:.2f} s</title>"
            parts.append(f'<rect x="{x}" width="{width}" height="10" fill="{_colour(label)}">{about}</rect>')
    view = f'viewBox="0 0 {STEPS} 10" preserveAspectRatio="none" style="width: 100%; height: 20px"'
    return f'<svg {view} role="img" aria-label="phases over time">{"".join(parts)}</svg>'


def _html_rows(phase: Phase) -> Iterator[str]:
    """Yield the rows of a phase: one for each site, at least one."""
    sure = "" if phase.confidence is None else f"{phase.confidence:.2f}"
    sign = f'<span style="color: {_colour(phase.id)}">&#9632;</span> {phase.id}'
    own = (sign, f"{phase.seconds:.3g} s", f"{phase.app_pct:.1f} %", sure)
    sites: tuple[Site | None, ...] = phase.sites or (None,)
    for place, site in enumerate(sites):
        across = f'<td rowspan="{len(sites)}" style="white-space: nowrap">'
        cells = [f"{across}{cell}</td>" for cell in own] if place == 0 else []
        cells += _site(site, "waiting" if phase.off_cpu and not phase.outside else "no site")
        yield f"<tr>{''.join(cells)}</tr>"


def _site(site: Site | None, otherwise: str) -> list[str]:
    """Return the cells of a site."""
    if site is None:
        return [f"<td {LEFT}>{otherwise}</td>", *["<td></td>"] * 3]
    where = "" if site.file is None else os.path.basename(site.file) + (f":{site.line}" if site.line else "")
    return [
        f"<td {LEFT}>{html.escape(site.function.name)}</td><td>{html.escape(site.kind)}</td>",
        f"<td>{site.phase_pct:.1f} %</td>",
        f'<td {LEFT} title="{html.escape(site.file or "")}">{html.escape(where)}</td>',
    ]


# A run and its phases as pandas tables (docs/reference/python.md has their columns). Times are in seconds.


ResultTable = Literal["phases", "labels", "functions", "sites", "steps", "scores"]
Table = Literal["profile", "intervals", "samples", "phases", "labels", "functions", "sites", "steps", "scores"]
# Types of the columns of a result. Int64 is the type of pandas with missing numbers; other columns are text.
KINDS = {
    "int64": ("phase", "intervals", "heartbeat", "calls", "k", "level"),
    "Int64": ("line", "order", "misfits"),
    "float64": (
        "seconds", "app_pct", "confidence", "self_s", "share", "phase_pct", "mean_s", "period_s", "inertia",
        "silhouette", "calinski_harabasz", "noise_ratio", "stability", "per_iteration", "per_call",
    ),
    "bool": ("off_cpu",),
}  # fmt: skip
OF_RESULT: tuple[ResultTable, ...] = get_args(ResultTable)
TABLES: tuple[Table, ...] = get_args(Table)


def samples_table(profile: IntervalProfile, *, libraries: bool = True) -> pd.DataFrame:
    """Return a row for each sample outside the profiler, in time order.

    Columns: time_s, interval, thread, function, stack, cpu_s. `function` is the innermost frame, `stack` all frames,
    outermost first, with semicolons between them; both are categories. Profiles without samples have a row for each
    function and interval.
    """
    import pandas as pd

    series = stack_series(profile, libraries=libraries)
    # A semicolon in a name must not separate frames.
    names = [[encodable(frame.name).replace(";", ":") for frame in stack] for stack in series.stacks]
    return pd.DataFrame(
        {
            "time_s": series.time_s,
            "interval": np.minimum(np.searchsorted(profile.end_s, series.time_s), max(profile.n_intervals - 1, 0)),
            "thread": series.thread.astype(np.int64),
            "function": _categories([encodable(stack[-1].name) for stack in series.stacks], series.stack),
            "stack": _categories([";".join(stack) for stack in names], series.stack),
            "cpu_s": series.weight / profile.metadata.rate_hz,
        }
    )


def _categories(names: list[str], code: np.ndarray) -> pd.Categorical:
    """Return names[code] as categories."""
    import pandas as pd

    distinct, place = np.unique(np.array(names, dtype=object), return_inverse=True)
    return pd.Categorical.from_codes(place[code].astype(np.int32) if names else code, distinct)


def intervals_table(profile: IntervalProfile, result: PhaseResult | None = None) -> pd.DataFrame:
    """Return a row for each interval: interval, start_s, end_s, phase, self_s, calls, and its counters.

    `phase` is -1 between phases, and missing without a result.
    """
    import pandas as pd

    counters, n = profile.counters, profile.n_intervals
    columns: dict[str, object] = {"interval": np.arange(n), "start_s": profile.start_s, "end_s": profile.end_s}
    if result is not None:
        columns["phase"] = result.labels
    columns |= {
        "self_s": np.asarray(profile.self_s.sum(axis=1), dtype=np.float64).ravel(),
        "calls": np.asarray(profile.calls.sum(axis=1)).ravel().astype(np.int64),
        "cpu_s": counters.cpu_s,
        "off_cpu_s": profile.off_cpu_s,
        "profiler_s": counters.own_s if counters.own_known else np.full(n, np.nan),
        "threads": counters.threads,
        "samples": counters.samples,
        "lost": counters.lost,
        "broken": counters.broken,
    }
    return pd.DataFrame(columns)


def result_table(result: PhaseResult, name: ResultTable) -> pd.DataFrame:
    """Return one of the tables of a result.

    Raises:
        ValueError: there is no table of that name.
    """
    import pandas as pd

    if name not in OF_RESULT:
        raise ValueError(f"no table {name!r}: there are {', '.join(OF_RESULT)}")
    if name == "labels":
        numbers = {"interval": np.arange(len(result.labels)), "end_s": result.end_s}
        return pd.DataFrame(numbers | {"phase": result.labels, "cluster": result.clusters})
    if name == "scores":
        names = "k inertia silhouette calinski_harabasz noise_ratio misfits stability"
        return _rows([_attributes(score, names) for score in result.scores], names)
    columns, rows_of = PHASE_TABLES[name]
    return _rows([{"phase": phase.id, **row} for phase in result.present for row in rows_of(phase)], columns)


def _rows(rows: list[dict[str, object]], names: str) -> pd.DataFrame:
    """Return rows as a table with all its columns, and their types, even without rows or values."""
    import pandas as pd

    rows = [{k: encodable(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]
    columns = names.split()
    kinds = {name: kind for kind, own in KINDS.items() for name in own if name in columns}
    return pd.DataFrame(rows, columns=columns).astype(kinds)


def _phase(phase: Phase) -> list[dict[str, object]]:
    """Return the row of a phase."""
    first = phase.sites[0] if phase.sites else None
    site = {"site": first and first.function.name, "kind": first and first.kind}
    return [_attributes(phase, "intervals seconds app_pct off_cpu confidence") | site]


def _steps(phase: Phase) -> list[dict[str, object]]:
    """Return a row for each of the phase's steps, each before those below it. level: from 1."""

    def rows(steps: Sequence[Step], level: int) -> Iterator[dict[str, object]]:
        for step in steps:
            names = f"{NAMED} kind share calls mean_s period_s order file line per_iteration per_call"
            yield {**_attributes(step, names), "driver": step.driver and step.driver.name, "level": level}
            yield from rows(step.steps, level + 1)

    return list(rows(phase.steps, 1))


def _attributes(one: object, names: str) -> dict[str, object]:
    """Return attributes of an object by name; `column=attribute` where the column differs."""
    pairs = (name.partition("=") for name in names.split())
    return {column: attrgetter(path or column)(one) for column, _, path in pairs}


# The columns that identify a function.
NAMED = "function=function.name module=function.module"
SITE = f"heartbeat {NAMED} kind phase_pct app_pct file line"
# Columns, in order, and the rows of a phase.
PHASE_TABLES: dict[str, tuple[str, Callable[[Phase], list[dict[str, object]]]]] = {
    "phases": ("phase intervals seconds app_pct off_cpu confidence site kind", _phase),
    "functions": (
        "phase function module self_s share calls",
        lambda phase: [_attributes(top, f"{NAMED} self_s share calls") for top in phase.functions],
    ),
    "sites": (
        "phase heartbeat function module kind phase_pct app_pct file line",
        lambda phase: [_attributes(site, SITE) for site in phase.sites],
    ),
    "steps": (
        "phase function module kind share calls mean_s period_s order driver file line level per_iteration per_call",
        _steps,
    ),
}
