"""Two runs' heartbeats: those of the second against those of the first, and the conditions that must hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from incprof.analysis.beats.compare import BeatDiff, compare, differences
from incprof.analysis.beats.gates import Condition, broken, parse
from incprof.analysis.beats.match import Pair, match
from incprof.analysis.beats.results import BeatRun
from incprof.errors import UsageError
from incprof.study.beats.read import Filters, load, matches, run_of, summaries


@dataclass(frozen=True)
class BeatsCompared:
    """What came of a comparison.

    runs: directory and facts of each. notes: how the runs differ as such. failed: conditions that do not hold, each
    with the heartbeat that breaks it. damaged: a part of a run was left out.
    """

    runs: tuple[tuple[str, BeatRun], tuple[str, BeatRun]]
    notes: list[str]
    diffs: list[BeatDiff]
    failed: list[tuple[Condition, BeatDiff]]
    warnings: tuple[str, ...]
    damaged: bool


def compare_beats(a: str, b: str, wanted: Filters, conditions: Sequence[str]) -> BeatsCompared:
    """Read both runs, compare, and judge.

    Raises:
        UsageError: a condition makes no sense, or an id means nothing in either run.
        NoDataError: one of the runs has nothing to compare.
    """
    parsed = [parse(text) for text in conditions]
    whole = replace(wanted, ids=None)  # a heartbeat may well be in one run only
    found = load(a, whole), load(b, whole)
    warnings = tuple(f"{letter}: {line}" for letter, run in zip("AB", found, strict=True) for line in run.warnings)
    pairs = match(summaries(found[0]), summaries(found[1]))
    diffs = compare(pairs if wanted.ids is None else _selected(pairs, wanted.ids, f"{a} or {b}"))
    runs = (a, run_of(found[0])), (b, run_of(found[1]))
    notes = differences(runs[0][1], runs[1][1])
    return BeatsCompared(runs, notes, diffs, broken(parsed, diffs), warnings, found[0].damaged or found[1].damaged)


def _selected(pairs: list[Pair], ids: Sequence[frozenset[int] | str], where: str) -> list[Pair]:
    """Keep the pairs that ids mean, in either run.

    Raises:
        UsageError: one of them means nothing.
    """
    kept: set[int] = set()
    for part in ids:
        mine = {
            at
            for at, pair in enumerate(pairs)
            if any(beat is not None and matches(beat, part) for beat in (pair.a, pair.b))
        }
        if not mine:
            what = part if isinstance(part, str) else ",".join(map(str, sorted(part)[:3]))
            raise UsageError(f"--id {what}: no such heartbeat in {where}")
        kept |= mine
    return [pairs[at] for at in sorted(kept)]
