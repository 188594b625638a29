"""The tables of docs/lab/truth.md: what they show of the outcomes of a method over some runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import add

import numpy as np

from truth.evaluate import Outcome
from truth.scores import LabelScores
from truth.scores.sites import NOTHING, Matches
from truth.truths import Truth

Outcomes = Sequence[Outcome]
Column = tuple[str, Callable[[Outcomes], str]]


def number(value: float | None, digits: int = 2) -> str:
    """Format a score; an undefined score is a dash, and a zero has no sign."""
    return "-" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def percent(value: float | None) -> str:
    """Format a share."""
    return "-" if value is None else f"{100 * value:.0f} %"


def mean(values: Iterable[float]) -> float | None:
    """Return the mean, None of nothing."""
    all_values = list(values)
    return float(np.mean(all_values)) if all_values else None


def spread(values: Iterable[float]) -> str:
    """Format a median with its quartiles."""
    all_values = list(values)
    if not all_values:
        return "-"
    low, middle, high = np.quantile(all_values, [0.25, 0.5, 0.75])
    return f"{number(middle)} ({number(low)}-{number(high)})"


def median(values: Iterable[float]) -> str:
    """Format a median."""
    return spread(values).split()[0]


def labels(outcomes: Outcomes) -> list[LabelScores]:
    """Return the scores of labels, of the runs with known ones."""
    return [outcome.labels for outcome in outcomes if outcome.labels is not None]


def functions(outcomes: Outcomes) -> Matches:
    """Sum up the sites without their kind."""
    return reduce(add, (outcome.sites.functions for outcome in outcomes), NOTHING)


def places(outcomes: Outcomes) -> Matches:
    """Sum up the sites with their kind."""
    return reduce(add, (outcome.sites.places for outcome in outcomes), NOTHING)


def steps(outcomes: Outcomes) -> Matches:
    """Sum up the steps."""
    return reduce(add, (outcome.steps for outcome in outcomes), NOTHING)


def k_right(outcomes: Iterable[Outcome]) -> float | None:
    """Return the share of runs with the right number of phases."""
    return mean(outcome.k_right for outcome in outcomes)


def near(outcomes: Outcomes) -> float | None:
    """Return the share of the true sites with a found function at most one call away."""
    hops = sum(len(outcome.sites.hops) for outcome in outcomes)
    return sum(outcome.sites.near for outcome in outcomes) / hops if hops else None


def hops(outcomes: Outcomes) -> float | None:
    """Return the mean distance of the true sites from a found function, where known."""
    return mean(hop for outcome in outcomes for hop in outcome.sites.hops if hop is not None)


def periods(outcomes: Outcomes) -> float | None:
    """Return the share of the reported periods that is right."""
    counts = reduce(add, (outcome.periods for outcome in outcomes), NOTHING)
    return counts.precision if counts.found else None


def steps_found(outcomes: Outcomes) -> str:
    """Format the recall of steps."""
    counts = steps(outcomes)
    return percent(counts.recall if counts.true else None)


def steps_false(outcomes: Outcomes) -> str:
    """Format the share of named steps that is wrong."""
    counts = steps(outcomes)
    return percent(1 - counts.precision if counts.found else None)


def f1(counts: Matches) -> str:
    """Format the F1 of some counts; a dash where there was nothing to find, and nothing was found."""
    return number(counts.f1 if counts.true or counts.found else None)


PHASES: tuple[Column, ...] = (
    ("runs", lambda o: str(len(o))),
    ("k exact", lambda o: percent(k_right(o))),
    ("one phase", lambda o: percent(k_right(one for one in o if one.truth.k == (1,)))),
    ("noise", lambda o: percent(k_right(one for one in o if not one.truth.distinct))),
    ("ARI", lambda o: spread(score.ari for score in labels(o))),
    ("boundary F1", lambda o: spread(score.boundary_f1 for score in labels(o))),
    ("mean", lambda o: number(mean(score.boundary_f1 for score in labels(o)))),
    ("transitions", lambda o: percent(mean(s.transitions for s in labels(o) if s.transitions is not None))),
    ("coverage", lambda o: percent(mean(score.coverage for score in labels(o)))),
    ("samples right", lambda o: number(mean(score.samples_right for score in labels(o)), 3)),
    ("worst", lambda o: number(min((score.samples_right for score in labels(o)), default=None))),
)
SITES: tuple[Column, ...] = (
    ("precision", lambda o: number(functions(o).precision)),
    ("recall", lambda o: number(functions(o).recall)),
    ("F1", lambda o: f1(functions(o))),
    ("F1 with kind", lambda o: f1(places(o))),
    ("recall within one call", lambda o: number(near(o))),
    ("mean hops", lambda o: number(hops(o))),
    ("steps found", steps_found),
    ("of the steps named, false", steps_false),
    ("periods right", lambda o: percent(periods(o))),
)
FAMILY: tuple[Column, ...] = (
    ("k exact", lambda o: percent(k_right(o))),
    ("ARI", lambda o: median(score.ari for score in labels(o))),
    ("boundary F1", lambda o: median(score.boundary_f1 for score in labels(o))),
    ("site F1", lambda o: f1(functions(o))),
    ("with kind", lambda o: f1(places(o))),
    ("within one call", lambda o: number(near(o))),
    ("steps found", steps_found),
    ("false", steps_false),
)


def by_method(outcomes: Outcomes, columns: Sequence[Column]) -> list[str]:
    """Return a table with a row for each method."""
    rows = []
    for method in _in_order(outcome.method for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.method == method]
        rows.append([f"`{method}`", *(show(own) for _, show in columns)])
    return table(["method", *(name for name, _ in columns)], rows)


def by_family(outcomes: Outcomes, methods: Sequence[str]) -> list[str]:
    """Return a table with a row for each family, and columns for each of a few methods."""
    rows = []
    for family in _in_order(outcome.family for outcome in outcomes):
        cells = [family, f"{np.median([o.ticks for o in outcomes if o.family == family]):.0f}"]
        for method in methods:
            selected = [o for o in outcomes if o.family == family and o.method == method]
            cells += [show(selected) for _, show in FAMILY] if selected else ["-"] * len(FAMILY)
        rows.append(cells)
    heads = [f"{method}: {name}" if i == 0 else name for method in methods for i, (name, _) in enumerate(FAMILY)]
    return table(["", "samples per interval", *heads], rows)


def by_run(outcomes: Outcomes, methods: Sequence[str]) -> list[str]:
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
