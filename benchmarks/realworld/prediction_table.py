"""The table of the results of `predictions`, and its page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lab" / "realworld-predictions.md"
# The text after this heading is written by `write_page`.
HEADING = "## Measured\n"
# The share of a run that may be executed, by the shortest duration of the run; and the largest error of a prediction.
EXECUTED_BARS = ((300.0, 0.02), (30.0, 0.10))
ERROR_BARS = (0.03, 0.06)


@dataclass(frozen=True)
class Case:
    """One program at one length.

    Attributes:
        settings: Name, MPI, ranks, seconds, revision, processors.
        pairs: For each repetition, the prediction from a beginning and the whole run after it.
    """

    settings: dict[str, Any]
    pairs: list[tuple[dict[str, Any], dict[str, Any]]]

    @property
    def aet_s(self) -> list[float]:
        """The times of the whole runs."""
        return [full["predict"]["aet_s"] for _, full in self.pairs]

    @property
    def errors(self) -> list[float]:
        """The relative error of each prediction from a beginning, against the whole run after it."""
        return [abs(short["predict"]["pet_s"] / full["predict"]["aet_s"] - 1) for short, full in self.pairs]

    @property
    def own_errors(self) -> list[float]:
        """The relative errors of predictions from the beginning of that whole run itself."""
        return [abs(full["predict"]["pet_s"] / full["predict"]["aet_s"] - 1) for _, full in self.pairs]

    @property
    def in_range(self) -> int:
        """The number of ranges that contain the time of the whole run."""
        return sum(
            short["predict"]["pet_low_s"] <= full["predict"]["aet_s"] <= short["predict"]["pet_high_s"]
            for short, full in self.pairs
        )

    @property
    def executed(self) -> float:
        """The share of the run that was executed: median."""
        parts = [short["predict"]["set_s"] / full["predict"]["aet_s"] for short, full in self.pairs]
        return float(median(parts))

    @property
    def waited(self) -> float:
        """The time from the start of the command to its answer, as a share of the whole run's time: median."""
        return float(median([short["wall_s"] / full["wall_s"] for short, full in self.pairs]))

    @property
    def load(self) -> float:
        """The highest load of the machine before a run."""
        return max(float(one["load"]) for pair in self.pairs for one in pair)


def cases(results: Path) -> list[Case]:
    """All cases with a whole repetition, by program and length."""
    found = []
    for path in results.glob("*/case.json"):
        pairs = []
        for short in sorted(path.parent.glob("short-*.json")):
            full = short.with_name(short.name.replace("short", "full"))
            if full.exists():
                pairs.append((json.loads(short.read_text()), json.loads(full.read_text())))
        if pairs:
            found.append(Case(json.loads(path.read_text()), pairs))
    return sorted(found, key=lambda case: [case.settings[key] for key in ("name", "mpi", "ranks", "seconds")])


def table(results: Path) -> str:
    """Return the table of all measurements."""
    lines = [
        "| program | ranks | runs | they took | executed | waited | off by | of the same run | in the range |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case in cases(results):
        took = case.aet_s
        mpi = "" if case.settings["mpi"] == "openmpi" else f", {case.settings['mpi'].upper()}"
        lines.append(
            f"| {case.settings['about']}{mpi} | {case.settings['ranks']} | {len(took)} "
            f"| {_seconds(took)} "
            f"| {100 * case.executed:.1f} % | {100 * case.waited:.1f} % "
            f"| {_percent(case.errors)} | {_percent(case.own_errors)} | {case.in_range} |"
        )
    return "\n".join(lines)


def _seconds(times: list[float]) -> str:
    """Format the median, and of several runs the range."""
    span = f" ({min(times):.1f} to {max(times):.1f})" if len(times) > 1 else ""
    return f"{median(times):.1f} s{span}"


def _percent(errors: list[float]) -> str:
    """Format the median, and of several runs the largest."""
    worst = f" ({100 * max(errors):.1f} %)" if len(errors) > 1 else ""
    return f"{100 * median(errors):.1f} %{worst}"


def bars_missed(results: Path) -> list[str]:
    """Return a line for each bar that a program misses: the executed share, and the error."""
    lines = []
    for case in cases(results):
        name = f"{case.settings['name']}, {case.settings['ranks']} ranks, {median(case.aet_s):.0f} s"
        # Runs come out slightly shorter or longer than requested.
        bar = next((part for seconds, part in EXECUTED_BARS if case.settings["seconds"] >= seconds), 1.0)
        if case.executed > bar:
            lines.append(f"{name}: executed {100 * case.executed:.1f} %, over {100 * bar:.0f} %")
        if median(case.errors) > ERROR_BARS[0] or max(case.errors) > ERROR_BARS[1]:
            most, worst = (f"{100 * bar:.0f} %" for bar in ERROR_BARS)
            lines.append(f"{name}: off by {_percent(case.errors)}, over {most} ({worst})")
    return lines


def write_page(results: Path, page: Path = PAGE) -> None:
    """Write the table to the page, after its last heading."""
    found = cases(results)
    if not found:
        return
    text = page.read_text()
    head = text[: text.index(HEADING) + len(HEADING)]

    def values(key: str) -> str:
        return ", ".join(str(value) for value in sorted({case.settings[key] for case in found}))

    about = (
        f"{values('processors')} processors; incprof {values('revision')}; "
        f"the load before a run was {max(case.load for case in found):.1f} at most."
    )
    missed = f"{len(bars_missed(results))} bars are missed: `--show` lists them."
    page.write_text("\n".join([head, about, "", table(results), "", missed]) + "\n")
