"""A run and its phases as pandas tables (docs/reference/python.md has their columns). Times are in seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from incprof.analysis.phase_result import Phase, PhaseResult, Site, Step
from incprof.analysis.views.stacks import stack_series
from incprof.safe.printable import encodable

if TYPE_CHECKING:
    import pandas as pd

    from incprof.model import Function, IntervalProfile

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
        fields = ("k", "inertia", "silhouette", "calinski_harabasz", "noise_ratio", "misfits", "stability")
        return _rows([{field: getattr(score, field) for field in fields} for score in result.scores], fields)
    columns, rows_of = PHASE_TABLES[name]
    return _rows([{"phase": phase.id, **row} for phase in result.present for row in rows_of(phase)], columns)


def _rows(rows: list[dict[str, object]], columns: tuple[str, ...]) -> pd.DataFrame:
    """Return rows as a table with all its columns, and their types, even without rows or values."""
    import pandas as pd

    rows = [{k: encodable(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]
    kinds = {name: kind for kind, names in KINDS.items() for name in names if name in columns}
    return pd.DataFrame(rows, columns=list(columns)).astype(kinds)


def _phases(phase: Phase) -> list[dict[str, object]]:
    """Return the row of a phase."""
    first = phase.sites[0] if phase.sites else None
    return [
        {
            "intervals": phase.intervals, "seconds": phase.seconds, "app_pct": phase.app_pct, "off_cpu": phase.off_cpu,
            "confidence": phase.confidence, "site": first and first.function.name, "kind": first and first.kind,
        }
    ]  # fmt: skip


def _functions(phase: Phase) -> list[dict[str, object]]:
    """Return a row for each of the phase's main functions."""
    rows = []
    for top in phase.functions:
        rows.append({**_named(top.function), "self_s": top.self_s, "share": top.share, "calls": top.calls})
    return rows


def _sites(phase: Phase) -> list[dict[str, object]]:
    """Return a row for each of the phase's sites."""

    def row(site: Site) -> dict[str, object]:
        numbers = {"phase_pct": site.phase_pct, "app_pct": site.app_pct}
        where = {"file": site.file, "line": site.line}
        return {"heartbeat": site.heartbeat, **_named(site.function), "kind": site.kind, **numbers, **where}

    return [row(site) for site in phase.sites]


def _steps(phase: Phase) -> list[dict[str, object]]:
    """Return a row for each of the phase's steps, each before those below it. level: from 1."""

    def rows(steps: Sequence[Step], level: int) -> Iterator[dict[str, object]]:
        for step in steps:
            yield row(step, level)
            yield from rows(step.steps, level + 1)

    def row(step: Step, level: int) -> dict[str, object]:
        numbers = {"share": step.share, "calls": step.calls, "mean_s": step.mean_s, "period_s": step.period_s}
        driver = step.driver and step.driver.name
        rest = {"order": step.order, "driver": driver, "file": step.file, "line": step.line}
        inner = {"level": level, "per_iteration": step.per_iteration, "per_call": step.per_call}
        return {**_named(step.function), "kind": step.kind, **numbers, **rest, **inner}

    return list(rows(phase.steps, 1))


def _named(function: Function) -> dict[str, object]:
    """Return the identifying columns of a function."""
    return {"function": function.name, "module": function.module}


PHASE_TABLES: dict[str, tuple[tuple[str, ...], Callable[[Phase], list[dict[str, object]]]]] = {
    "phases": (("phase", "intervals", "seconds", "app_pct", "off_cpu", "confidence", "site", "kind"), _phases),
    "functions": (("phase", "function", "module", "self_s", "share", "calls"), _functions),
    "sites": (
        ("phase", "heartbeat", "function", "module", "kind", "phase_pct", "app_pct", "file", "line"), _sites,
    ),
    "steps": (
        ("phase", "function", "module", "kind", "share", "calls", "mean_s", "period_s", "order", "driver", "file",
         "line", "level", "per_iteration", "per_call"), _steps,
    ),
}  # fmt: skip
