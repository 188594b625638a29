"""The tables of docs/lab/truth.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from truth.evaluate import Outcome
from truth.scores.sites import Matches
from truth.summary import Spread, Summary, summarise
from truth.truths import Truth

Column = tuple[str, Callable[[Summary], str]]


def number(value: float | None, digits: int = 2) -> str:
    """Format a score; an undefined score is a dash, and a zero has no sign."""
    return "-" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def percent(value: float | None) -> str:
    """Format a share."""
    return "-" if value is None else f"{100 * value:.0f} %"


def f1(counts: Matches) -> str:
    """Format the F1 of some counts; a dash where there was nothing to find, and nothing was found."""
    return number(counts.f1 if counts.true or counts.found else None)


def spread(value: Spread | None) -> str:
    """Format a median with its quartiles."""
    return "-" if value is None else f"{number(value.median)} ({number(value.low)}-{number(value.high)})"


PHASES: tuple[Column, ...] = (
    ("runs", lambda s: str(s.runs)),
    ("k exact", lambda s: percent(s.k_right)),
    ("one phase", lambda s: percent(s.one_phase)),
    ("noise", lambda s: percent(s.noise)),
    ("ARI", lambda s: spread(s.ari)),
    ("AMI", lambda s: spread(s.ami)),
    ("V-measure", lambda s: spread(s.v_measure)),
    ("boundary F1", lambda s: spread(s.boundary_f1)),
    ("mean", lambda s: number(s.boundary_mean)),
    ("transitions", lambda s: percent(s.transitions)),
    ("coverage", lambda s: percent(s.coverage)),
    ("samples right", lambda s: number(s.samples_right, 3)),
    ("worst", lambda s: number(s.samples_worst)),
)
SITES: tuple[Column, ...] = (
    ("precision", lambda s: number(s.functions.precision)),
    ("recall", lambda s: number(s.functions.recall)),
    ("F1", lambda s: f1(s.functions)),
    ("F1 with kind", lambda s: f1(s.places)),
    ("recall within one call", lambda s: number(s.near)),
    ("mean hops", lambda s: number(s.hops)),
    ("steps found", lambda s: percent(s.steps.recall if s.steps.true else None)),
    ("of the steps named, false", lambda s: percent(1 - s.steps.precision if s.steps.found else None)),
    ("periods right", lambda s: percent(s.periods.precision if s.periods.found else None)),
)
FAMILY: tuple[Column, ...] = (
    ("k exact", lambda s: percent(s.k_right)),
    ("ARI", lambda s: number(s.ari.median if s.ari else None)),
    ("boundary F1", lambda s: number(s.boundary_f1.median if s.boundary_f1 else None)),
    ("site F1", lambda s: f1(s.functions)),
    ("with kind", lambda s: f1(s.places)),
    ("within one call", lambda s: number(s.near)),
    ("steps found", lambda s: percent(s.steps.recall if s.steps.true else None)),
    ("false", lambda s: percent(1 - s.steps.precision if s.steps.found else None)),
)


def by_method(outcomes: Sequence[Outcome], columns: Sequence[Column]) -> list[str]:
    """Return a table with a row for each method."""
    methods = _in_order(outcome.method for outcome in outcomes)
    rows = []
    for method in methods:
        summary = summarise([outcome for outcome in outcomes if outcome.method == method])
        rows.append([f"`{method}`", *(show(summary) for _, show in columns)])
    return table(["method", *(name for name, _ in columns)], rows)


def by_family(outcomes: Sequence[Outcome], methods: Sequence[str]) -> list[str]:
    """Return a table with a row for each family, and columns for each of a few methods."""
    rows = []
    for family in _in_order(outcome.family for outcome in outcomes):
        cells = [family, f"{np.median([o.ticks for o in outcomes if o.family == family]):.0f}"]
        for method in methods:
            selected = [o for o in outcomes if o.family == family and o.method == method]
            cells += [show(summarise(selected)) for _, show in FAMILY] if selected else ["-"] * len(FAMILY)
        rows.append(cells)
    heads = [f"{method}: {name}" if i == 0 else name for method in methods for i, (name, _) in enumerate(FAMILY)]
    return table(["", "samples per interval", *heads], rows)


def by_run(outcomes: Sequence[Outcome], methods: Sequence[str]) -> list[str]:
    """Return a table of runs whose labels are unknown: the number of phases, and the sites."""
    rows = []
    for run in _in_order(outcome.run for outcome in outcomes):
        selected = [o for o in outcomes if o.run == run and o.method in methods]
        cells = [run, expected_k(selected[0].truth)]
        for outcome in selected:
            near_recall = outcome.sites.near_recall
            cells += [
                str(outcome.k),
                number(outcome.sites.functions.f1),
                number(outcome.sites.places.f1),
                number(near_recall),
            ]
        rows.append(cells)
    heads = [f"{method}: {name}" for method in methods for name in ("k", "site F1", "with kind", "within one call")]
    return table(["", "k expected", *heads], rows)


def expected_k(truth: Truth) -> str:
    """Format the right numbers of phases."""
    return " or ".join(str(k) for k in truth.k)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _in_order(values: Iterable[str]) -> list[str]:
    """Return distinct values in the order of their first appearance."""
    return list(dict.fromkeys(values))
