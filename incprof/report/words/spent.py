"""What intervals and phases are spent on, in words and in signs below a ribbon."""

from __future__ import annotations

from incprof.analysis.phases.results import Phase
from incprof.model import IntArray
from incprof.model.spent import SPENT, WORK, Spent
from incprof.report.words.figures import percent

WORDS: dict[Spent, str] = {
    "work": "work",
    "mpi": "in MPI",
    "openmp": "in the OpenMP run-time",
    "io": "input and output",
    "waiting": "waiting",
}
# Signs that no phase below 10 has. Work has none: it is the rule.
SIGNS: dict[Spent, str] = {"work": " ", "mpi": "m", "openmp": "o", "io": "i", "waiting": "w"}
# Less is not worth a word.
LEAST = 0.05


def sign_of(kind: int) -> str:
    """Return the sign of what an interval is mostly spent on, by its index in SPENT."""
    return SIGNS[SPENT[kind]]


def spent_seen(spent: IntArray | None) -> list[tuple[Spent, str]]:
    """Return what some intervals, (n,), are mostly spent on besides work, with its words."""
    seen = sorted(set(() if spent is None else spent.tolist()) - {WORK})
    return [(SPENT[kind], WORDS[SPENT[kind]]) for kind in seen]


def legend(spent: IntArray | None) -> str | None:
    """Say what the signs mean that some intervals have, (n,); None where all of them work, or nothing is known."""
    return ", ".join(f"{SIGNS[kind]}: {words}" for kind, words in spent_seen(spent)) or None


def spent_words(phase: Phase) -> list[str]:
    """Return the parts of a phase's CPU time that are no work, largest first: "97 % in MPI"; or that it waits."""
    seconds = {kind: phase.spent.get(kind, 0.0) for kind in SPENT}
    total = sum(seconds.values())
    if phase.mostly == "waiting" and not 2 * seconds["waiting"] > total:
        return ["waiting, next to no CPU time"]
    rest = sorted((kind for kind in SPENT[1:] if seconds[kind] > LEAST * total), key=lambda kind: -seconds[kind])
    return [f"{percent(seconds[kind] / total)} {WORDS[kind]}" for kind in rest]
