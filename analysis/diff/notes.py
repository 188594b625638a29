"""Differences between compared runs as such, which may explain those between their phases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from incprof.analysis.diff.diff_result import PhaseRow, Side
from incprof.analysis.diff.measure import Measured, cpu_seconds

# Below this share of time in common functions, two runs are hardly of the same program.
HARDLY = 0.5
# Runs differ if their CPU use differs by more than this share.
BUSY_APART = 0.1
# Longest line of a program's arguments, characters.
LONGEST = 80


def notes(sides: Sequence[Side], runs: Sequence[Measured], first: int) -> tuple[str, ...]:
    """Return the differences between the runs as such, a line each: they may explain those between phases.

    Args:
        sides: the runs, those of A first.
        runs: the same, measured.
        first: number of runs of A.
    """
    lines = []

    def differ(what: str, values: Sequence[object]) -> None:
        a, b = (list(dict.fromkeys(map(str, part))) for part in (values[:first], values[first:]))
        if a != b:
            lines.append(f"{what}: {', '.join(a)} in A, {', '.join(b)} in B")

    summaries = [side.summary for side in sides]
    differ("program", [s.app for s in summaries])
    differ("arguments", [_arguments(run.profile.metadata.raw) for run in runs])
    differ("ranks", [s.ranks for s in summaries])
    differ("rank", [s.rank for s in summaries])
    differ("host", [run.profile.metadata.raw.get("host") or "unknown" for run in runs])
    differ("interval in s", [f"{s.interval_s:g}" for s in summaries])
    differ("samples per second", [f"{s.rate_hz:g}" for s in summaries])
    differ("call paths", ["yes" if run.stack_s is not None else "none" for run in runs])
    busy = [_busy(run) for run in runs]
    a, b = float(np.mean(busy[:first])), float(np.mean(busy[first:]))
    if abs(a - b) > BUSY_APART * max(a, b):
        lines.append(f"CPU seconds per second: {a:.2f} in A, {b:.2f} in B: something else ran, or one of them waited")
    still = [float(run.wall_s[run.stands_still].sum()) for run in runs]
    if max(still) > 0:
        a, b = float(np.mean(still[:first])), float(np.mean(still[first:]))
        lines.append(f"waiting for long, which counts as CPU time in gates: {a:.3g} s in A, {b:.3g} s in B")
    common = _in_common(runs, first)
    if common < HARDLY:
        lines.append(f"the runs have {100 * common:.0f} % of their time in functions that both have: the same program?")
    if len({_recording(run) for run in runs}) < len(runs):
        lines.append("a recording was given more than once: it hides the variation from run to run")
    builds = {side.build for side in sides}
    if len(builds) == 1 and None not in builds:
        lines.append("all runs are of the same build")
    return tuple(lines)


def alike(rows: Sequence[PhaseRow]) -> tuple[str, ...]:
    """Return a line if all phases of both sides changed by the same factor, rather than one of them."""
    both = [row.cpu or row for row in rows if row.ci is not None]
    if len({row.verdict for row in both} - {"same"}) != 1 or sum(row.verdict != "same" for row in both) < 2:
        return ()
    factor = sum(row.b.seconds for row in both) / sum(row.a.seconds for row in both)
    if not all(row.ci is not None and row.ci.low <= factor <= row.ci.high for row in both):
        return ()
    return (
        f"all phases of both changed alike, by {100 * (factor - 1):+.0f} %: the machine, its load, the compiler or the "
        "input, rather than one phase",
    )


def _arguments(raw: Mapping[str, Any]) -> str:
    """Return the arguments of the program in a line, shortened if necessary."""
    argv = raw.get("argv")
    words = [str(word) for word in argv[1:]] if isinstance(argv, list) else []
    line = " ".join(words) or "none"
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]}...{line[-LONGEST // 2 :]}"


def _recording(run: Measured) -> object:
    """Return an identity of a recording, as far as its metadata have one."""
    raw = run.profile.metadata.raw
    known = (raw.get("host"), raw.get("pid"), raw.get("start_unix_ns"))
    return id(run) if None in known else repr(known)


def _busy(run: Measured) -> float:
    """Return the CPU time of a run over its wall time."""
    wall = float(np.maximum(run.profile.end_s - run.profile.start_s, 0.0).sum())
    return float(cpu_seconds(run.profile).sum()) / wall if wall > 0 else 0.0


def _in_common(runs: Sequence[Measured], first: int) -> float:
    """Return the share of time in functions that both sides have, of the side that has less of it."""
    total = [np.asarray(run.self_s.sum(axis=0)).ravel() for run in runs]
    a, b = np.sum(total[:first], axis=0), np.sum(total[first:], axis=0)
    both = (a > 0) & (b > 0)
    parts = [float(side[both].sum() / side.sum()) for side in (a, b) if side.sum() > 0]
    return min(parts, default=math.nan)
