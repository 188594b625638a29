"""How intervals and phases spend their time, in words, and as signs below a ribbon."""

from __future__ import annotations

from incprof.analysis.phase_result import Phase
from incprof.model import IntArray
from incprof.model.time_use import SPENT, WORK, Spent
from incprof.report.words.formatting import percent

WORDS: dict[Spent, str] = {
    "work": "work",
    "mpi": "in MPI",
    "openmp": "in the OpenMP run-time",
    "io": "input and output",
    "waiting": "waiting",
}
# Signs that differ from the numbers of phases below 10. Work has none: it is the normal case.
SIGNS: dict[Spent, str] = {"work": " ", "mpi": "m", "openmp": "o", "io": "i", "waiting": "w"}
# Smaller shares are not reported.
LEAST = 0.05


def sign_of(kind: int) -> str:
    """Return the sign of an interval's main kind of time, by its index in SPENT."""
    return SIGNS[SPENT[kind]]


def spent_seen(spent: IntArray | None) -> list[tuple[Spent, str]]:
    """Return the main kinds of time other than work of some intervals, (n,), with their descriptions."""
    seen = sorted(set(() if spent is None else spent.tolist()) - {WORK})
    return [(SPENT[kind], WORDS[SPENT[kind]]) for kind in seen]


def legend(spent: IntArray | None) -> str | None:
    """Explain the signs of some intervals, (n,); None where all of them work, or nothing is known."""
    return ", ".join(f"{SIGNS[kind]}: {words}" for kind, words in spent_seen(spent)) or None


def spent_words(phase: Phase) -> list[str]:
    """Return the shares of a phase's CPU time that are not work, largest first: "97 % in MPI"; or that it waits."""
    seconds = {kind: phase.spent.get(kind, 0.0) for kind in SPENT}
    total = sum(seconds.values())
    if phase.mostly == "waiting" and not 2 * seconds["waiting"] > total:
        return ["waiting, next to no CPU time"]
    rest = sorted((kind for kind in SPENT[1:] if seconds[kind] > LEAST * total), key=lambda kind: -seconds[kind])
    return [f"{percent(seconds[kind] / total)} {WORDS[kind]}" for kind in rest]
