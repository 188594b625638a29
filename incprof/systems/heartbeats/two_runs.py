"""Compare the heartbeats of two runs, and check the conditions on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from incprof.analysis.compare.conditions import Condition, parse
from incprof.analysis.heartbeats.summaries import BeatRun
from incprof.errors import UsageError
from incprof.study.heartbeats.read import Filters, load, matches, run_of, summaries
from incprof.systems.heartbeats.compare import BeatDiff, compare, differences
from incprof.systems.heartbeats.pairs import Pair, match


def means(condition: Condition, diff: BeatDiff) -> bool:
    """Return whether the condition applies to a heartbeat."""
    if condition.selector is None:
        return True
    beats = [beat for beat in (diff.pair.a, diff.pair.b) if beat is not None]
    if any(str(beat.id) == condition.selector for beat in beats):
        return True
    names = {beat.name for beat in beats if beat.name is not None}
    return any(name == condition.selector or fnmatchcase(name, condition.selector) for name in names)


def is_broken(condition: Condition, diff: BeatDiff) -> bool:
    """Return whether a heartbeat fails the condition; it does too if it vanished, or B lacks the metric."""
    delta = diff.deltas[condition.metric]
    if diff.verdict == "gone":
        return True
    if diff.verdict == "new" or delta.a is None:
        return False  # there is no baseline
    if delta.b is None:
        return True
    value = delta.pct if condition.relative else delta.change
    assert value is not None
    # A change that equals the limit up to rounding does not exceed it.
    slack = 1e-9 * max(abs(condition.limit), 1e-9 if condition.relative else 0.0)
    return value > condition.limit + slack if condition.more else value < condition.limit - slack


def broken(conditions: Sequence[Condition], diffs: Sequence[BeatDiff]) -> list[tuple[Condition, BeatDiff]]:
    """Return each failed condition, with the heartbeat that fails it.

    Raises:
        UsageError: a condition applies to a heartbeat that neither run has: it could never fail.
    """
    found = []
    for condition in conditions:
        meant = [diff for diff in diffs if means(condition, diff)]
        if not meant and condition.selector is not None:
            raise UsageError(f"--fail-on {condition.text!r}: neither run has a heartbeat {condition.selector!r}")
        found += [(condition, diff) for diff in meant if is_broken(condition, diff)]
    return found


@dataclass(frozen=True)
class BeatsCompared:
    """Result of a comparison.

    Attributes:
        runs: Directory and facts of each run.
        notes: Differences between the runs as a whole.
        diffs: Changes of each heartbeat.
        failed: Failed conditions, each with the heartbeat that fails it.
        warnings: Warnings from reading.
        damaged: Whether a damaged part of a run was skipped.
    """

    runs: tuple[tuple[str, BeatRun], tuple[str, BeatRun]]
    notes: list[str]
    diffs: list[BeatDiff]
    failed: list[tuple[Condition, BeatDiff]]
    warnings: tuple[str, ...]
    damaged: bool


def compare_beats(a: str, b: str, wanted: Filters, conditions: Sequence[str]) -> BeatsCompared:
    """Read both runs, compare them, and check the conditions.

    Raises:
        UsageError: a condition is invalid, or an id matches nothing in either run.
        NoDataError: one of the runs has nothing to compare.
    """
    parsed = [parse(text) for text in conditions]
    whole = replace(wanted, ids=None)  # a heartbeat may be in one run only
    found = load(a, whole), load(b, whole)
    warnings = tuple(f"{letter}: {line}" for letter, run in zip("AB", found, strict=True) for line in run.warnings)
    pairs = match(summaries(found[0]), summaries(found[1]))
    diffs = compare(pairs if wanted.ids is None else _selected(pairs, wanted.ids, f"{a} or {b}"))
    runs = (a, run_of(found[0])), (b, run_of(found[1]))
    notes = differences(runs[0][1], runs[1][1])
    return BeatsCompared(runs, notes, diffs, broken(parsed, diffs), warnings, found[0].damaged or found[1].damaged)


def _selected(pairs: list[Pair], ids: Sequence[frozenset[int] | str], where: str) -> list[Pair]:
    """Select the pairs that match ids in either run.

    Raises:
        UsageError: an id matches nothing.
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
