"""Sentences about ranks: groups of similar ranks, outliers and their causes, stragglers, and wrong clocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from incprof.analysis.ranks.ranks_result import UNLIKE, Clock, Outlier, PhaseBalance, RanksResult, Straggler
from incprof.model import Program, Run
from incprof.report.words.display_names import shorten
from incprof.report.words.formatting import count, duration, fitted, percent

# Adjusted Rand index from which on a rank is in the phase of most ranks for nearly all of its time.
AGREE = 0.9
NAME_ROOM = 32
# Lines of each kind; the others are counted.
MOST = 6
MOST_RANGES = 8


def spans(ranks: Iterable[int]) -> list[list[int]]:
    """Return the first and the last of each run of consecutive ranks, ascending."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and runs[-1][1] == rank - 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return runs


def ranges(ranks: Iterable[int], most: int = MOST_RANGES) -> str:
    """Name ranks: "0-5, 9"; of many ranges the first, and the number of further ranks."""
    runs = spans(ranks)
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs[:most])
    more = sum(last - first + 1 for first, last in runs[most:])
    return shown + (f" and {more} more" if more else "")


def found_in(result: RanksResult) -> str:
    """Name the ranks in which phases were found."""
    first, *others = (part.rank for part in result.parts)
    return f"phases were found in rank {first}" + (f" and in parts of {ranges(set(others))}" if others else "")


def imbalance(*runs: PhaseBalance) -> str:
    """Return the mean imbalance of work in a phase of some runs; with a question mark where noise may explain it."""
    values = [run.imbalance for run in runs if run.imbalance is not None]
    if not values:
        return ""
    return f"{100 * sum(values) / len(values):.0f} %" + ("" if any(run.is_significant for run in runs) else " ?")


def agree_line(result: RanksResult) -> str:
    """Return how many ranks go through the phases at the same time, and which do not."""
    others = [
        rank for rank, value in zip(result.ranks, result.agreement, strict=True) if value is None or value < AGREE
    ]
    total = len(result.ranks)
    if not others:
        return f"all {total} ranks go through the phases together"
    if total - len(others) < 2:
        known = [value for value in result.agreement if value is not None] or [0.0]
        return (
            f"the {total} ranks go through the phases at times that differ: they agree by {min(known):.2f} to "
            f"{max(known):.2f} (1: the same times)"
        )
    return f"{total - len(others)} of {total} ranks go through the phases together (not {ranges(others)})"


def unlike_lines(result: RanksResult) -> list[str]:
    """Name the ranks that do not go through the phases of the others."""
    own = [labels for labels in result.labels if labels.unexplained >= UNLIKE]
    return _first_lines(
        [
            f"rank {one.rank} does not go through these phases for {percent(one.unexplained)} of its time; by itself: "
            f"--rank {one.rank} --ranks {one.rank}"
            for one in own
        ],
        "rank",
    )


def group_lines(result: RanksResult) -> list[str]:
    """Name the groups of similar ranks."""
    large = [group for group in result.groups if len(group.ranks) > 1]
    single = [group.ranks[0] for group in result.groups if len(group.ranks) == 1]
    lines = [f"{count(len(g.ranks), 'rank')} like {g.typical}: {ranges(g.ranks)}" for g in large[:MOST]]
    if len(large) > MOST:
        lines.append(f"{count(len(large) - MOST, 'more group')} of {sum(len(g.ranks) for g in large[MOST:])} ranks")
    if single:
        lines.append(f"like no other: {ranges(single)}")
    return lines


def outlier_lines(result: RanksResult) -> list[str]:
    """Name the outlier ranks and the causes."""
    return _first_lines([_outlier(one) for one in result.outliers], "outlier")


def _outlier(one: Outlier) -> str:
    why = ", ".join(
        f"{shorten(d.function, NAME_ROOM)} {percent(d.here)} of its work, {percent(d.there)} of others'"
        for d in one.why
    )
    unexplained = f"; {percent(one.unexplained)} of it is like no phase" if one.unexplained >= 0.005 else ""
    return f"rank {one.rank}: {why or 'other times in the same phases'}{unexplained}"


def straggler_lines(result: RanksResult) -> list[str]:
    """Name the stragglers of each phase."""
    return _first_lines([_straggler(one) for one in result.stragglers], "straggler")


def _straggler(one: Straggler) -> str:
    why = ", ".join(f"{shorten(name, NAME_ROOM)} {duration(more)}" for name, more in one.why)
    evidence = f"{one.sigmas:.0f} times their scatter"
    if one.waiting_s is not None:
        evidence = f"while they are in MPI for {duration(one.waiting_s)}"
    return (
        f"rank {one.rank} works {duration(one.seconds)} in phase {one.phase}, its peers {duration(one.usual_s)} "
        f"({100 * one.excess:.0f} % more, {evidence})" + (f": more in {why}" if why else "")
    )


def late_lines(result: RanksResult) -> list[str]:
    """Name the ranks that started late, and the clocks that were corrected."""
    late = sorted(result.late, key=lambda one: (-one[1], one[0]))
    lines = [f"rank {rank} started {duration(seconds)} after most" for rank, seconds in late]
    return [*_first_lines(lines, "late rank"), *_first_lines([_clock(clock) for clock in result.clocks], "clock")]


def _clock(clock: Clock) -> str:
    host = fitted(clock.host, NAME_ROOM)
    fast_or_slow = "fast" if clock.late_s > 0 else "slow"
    drift = f" and gains {duration(clock.drift * 3600)} an hour" if clock.drift > 0 else ""
    drift = f" and loses {duration(-clock.drift * 3600)} an hour" if clock.drift < 0 else drift
    return (
        f"the clock of {host} is {duration(abs(clock.late_s))} {fast_or_slow}{drift}, "
        f"{count(clock.boundaries, 'border')} of phases "
        f"show: corrected, {duration(clock.before_s)} off before and {duration(clock.after_s)} after"
    )


def _first_lines(lines: Sequence[str], noun: str) -> list[str]:
    """Return the first lines, and the number of the others."""
    more = len(lines) - MOST
    return [*lines[:MOST], *([f"{count(more, f'more {noun}')}: --json"] if more > 0 else [])]


def shown_of(program: Program, run: Run) -> str:
    """Name the processes of a program that the answer covers; empty if it covers another program."""
    if {process.path for process in run.processes}.isdisjoint(process.path for process in program.processes):
        return ""
    if run.workers:
        return f"shown: {len(run.processes)} processes side by side, numbered as ranks"
    if not program.is_crowded:
        return "shown (others: --program NAME)"
    if len({process.rank for process in program.processes}) > 1:
        return "shown: of each rank the busiest process (others: --pid)"
    return f"shown: process {program.pids[0]} (others: --pid)"
