"""docs/lab/truth.md: the cases, the meaning of the columns, and the tables."""

from __future__ import annotations

from collections.abc import Sequence

from truth.evaluate import Outcome
from truth.places import HERE
from truth.split import HELD, SPLITS, TUNE
from truth.tables import PHASES, SITES, by_family, by_method, by_run
from truth.timescales import Answer, section

TOOL = ("paper", "robust")
INTRODUCTION = HERE / "introduction.md"


def page(
    generated: Sequence[Outcome],
    programs: Sequence[Outcome],
    real: Sequence[Outcome],
    notes: list[str],
    cases: bool = True,
    timescales: Sequence[Sequence[Answer]] = (),
) -> str:
    """Return the whole page.

    notes: cases that could not be run, each a name and the reason. cases: with a table of each case, tune only.
    timescales: the answers to the recordings of each run.
    """
    lines = [INTRODUCTION.read_text()]
    lines += _part("Generated runs", generated, "Drawn from fixed seeds: the same everywhere.", cases)
    lines += _part(
        "Programs",
        programs,
        "Recorded by `incprof record`, once each; another machine, or one with other work to do, gives other samples.",
        cases,
    )
    lines += _real(real, cases)
    lines += section(timescales)
    if notes:
        lines += ["## Not run", "", *_by_reason(notes), ""]
    return "\n".join(lines).rstrip() + "\n"


def _by_reason(notes: Sequence[str]) -> list[str]:
    """Return a line for each reason, with the names of its cases."""
    names: dict[str, list[str]] = {}
    for note in notes:
        name, _, reason = note.partition(": ")
        names.setdefault(reason, []).append(name)
    return [f"- {reason}: {', '.join(cases)}" for reason, cases in names.items()]


def _real(outcomes: Sequence[Outcome], cases: bool) -> list[str]:
    """Return the section of the real programs, whose labels are unknown."""
    if not outcomes:
        return []
    lines = [
        "## Real programs",
        "",
        "How many phases were expected is known, and the sites, but not when which phase was.",
        "",
    ]
    for split in SPLITS:
        selected = [outcome for outcome in outcomes if outcome.split == split]
        if selected:
            name = "held out" if split == HELD else split
            lines += [f"### Real programs: {name}", "", *by_method(selected, (*PHASES[:2], *SITES)), ""]
    tune = [outcome for outcome in outcomes if outcome.split == TUNE]
    return (
        [*lines, "### Real programs: one by one, tune only", "", *by_run(tune, TOOL), ""] if tune and cases else lines
    )


def _part(title: str, outcomes: Sequence[Outcome], about: str, cases: bool) -> list[str]:
    """Return a section: both halves in sums, and the tuning half by family."""
    if not outcomes:
        return []
    lines = [f"## {title}", "", about, ""]
    for split in SPLITS:
        selected = [outcome for outcome in outcomes if outcome.split == split]
        if selected:
            name = "held out" if split == HELD else split
            tool = [outcome for outcome in selected if outcome.method in TOOL]
            lines += [f"### {title}: {name}", "", *by_method(selected, PHASES), "", *by_method(tool, SITES), ""]
    tune = [outcome for outcome in outcomes if outcome.split == TUNE]
    if tune and cases:
        lines += [f"### {title}: one by one, tune only", "", *by_family(tune, TOOL), ""]
    return lines
