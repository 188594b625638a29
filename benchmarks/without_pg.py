"""Programs without -pg: the agreement of their recordings with those of the build that counts calls.

python -m benchmarks.without_pg [PROGRAM ...]     # programs of truth/, built both ways; all of them
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import adjusted_rand_score

from incprof.analysis.uncounted import SampledCalls
from incprof.model import IntArray, IntervalProfile
from truth.answers import METHODS, Answer
from truth.evaluate import evaluate
from truth.recordings import NotRecorded, Program, all_programs, log_of, recorded
from truth.scores import score_labels
from truth.scores.sites import NOTHING

# A period is scored only if its step lasts this many sample distances.
LASTS = 3
# Points in time at which the two recordings are compared.
MOMENTS = 2000


@dataclass(frozen=True)
class Side:
    """A program built one way.

    Attributes:
        profile: its profile.
        labels: the true labels of its intervals.
        answer: the answer for it.
        begins: (m,) start of each piece of work in its log, seconds of the recording.
        ends: (m,) end of each piece, seconds of the recording.
    """

    profile: IntervalProfile
    labels: IntArray
    answer: Answer
    begins: IntArray
    ends: IntArray


def side(program: Program, *, pg: bool) -> Side:
    """Record a program, and answer."""
    profile, labels = recorded(program, pg=pg)
    start = float(profile.metadata.raw["start_mono_ns"]) * 1e-9  # type: ignore[arg-type]
    rows = (
        np.array([[float(word) for word in line.split()[:2]] for line in log_of(program, pg=pg).splitlines()]) - start
    )
    return Side(profile, labels, METHODS["robust"](profile), rows[:, 0], rows[:, 1])


def agreement(one: Side, other: Side) -> float:
    """Return the ARI of the phases of two recordings, at the same points of the program's work.

    Points in an interval of several phases, or of none, according to the program's log, are left out.
    """
    pieces = min(len(one.ends), len(other.ends))
    took = np.maximum(one.ends - one.begins, 0.0)[:pieces]
    upto = np.cumsum(took)
    at = (np.arange(MOMENTS) + 0.5) / MOMENTS * upto[-1]
    piece = np.minimum(np.searchsorted(upto, at, side="right"), pieces - 1)
    part = 1.0 - (upto[piece] - at) / np.maximum(took[piece], 1e-12)
    labels, known = [], np.ones(MOMENTS, dtype=np.bool_)
    for each in (one, other):
        time = each.begins[piece] + part * (each.ends - each.begins)[piece]
        where = np.searchsorted(each.profile.end_s, time)
        where = np.minimum(where, each.profile.n_intervals - 1)
        labels.append(each.answer.labels[where])
        known &= (each.labels[where] >= 0) & (labels[-1] >= 0)
    return float(adjusted_rand_score(labels[0][known], labels[1][known]))


def against_script(each: Side) -> float:
    """Return the ARI of a recording's phases against those logged by the program."""
    found = score_labels(each.labels, each.answer.labels)
    return float("nan") if found is None else found.ari


def bounds(counted: IntervalProfile, guessed: IntervalProfile) -> IntArray:
    """Count functions with calls in both, those within bounds, those with an upper bound, and those of both, (4,)."""
    known = dict(zip((f.mangled for f in counted.functions), calls_of(counted), strict=True))
    judge = SampledCalls(guessed).of(np.arange(guessed.n_intervals))
    out = np.zeros(4, dtype=np.int64)
    for index, function in enumerate(guessed.functions):
        true, seen = known.get(function.mangled, 0), judge(index)
        if true and seen.low:
            right = seen.low <= true and (seen.high is None or true <= seen.high)
            out += np.array([True, right, seen.is_known, right and seen.is_known])
    return out


def calls_of(profile: IntervalProfile) -> list[int]:
    """Return the calls of each function in the whole run."""
    return [int(calls) for calls in np.asarray(profile.calls.sum(axis=0)).ravel()]


def periods(counted: Side, guessed: Side) -> tuple[int, int]:
    """Count steps of three sample distances, by the counts, with a period without -pg: right ones, and all.

    A period is right if the implied calls are the counted ones, within 5 %.
    """
    inclusive = np.asarray(SampledCalls(counted.profile).samples_inside().sum(axis=0)).ravel()
    calls, names = calls_of(counted.profile), [f.mangled for f in counted.profile.functions]
    long = {name: c for name, c, ticks in zip(names, calls, inclusive, strict=True) if c and ticks >= LASTS * c}
    implied: dict[str, float] = {}
    for one in guessed.answer.recurring:
        name = guessed.profile.functions[one.function].mangled
        implied[name] = implied.get(name, 0.0) + one.implied
    close = [abs(number - long[name]) <= 0.05 * long[name] for name, number in implied.items() if name in long]
    return sum(close), len(close)


def main() -> int:
    """Print a Markdown table."""
    wanted, programs = sys.argv[1:], all_programs()
    if unknown := set(wanted) - {program.name for program in programs}:
        sys.exit(f"no such program in truth/programs: {', '.join(sorted(unknown))}")
    programs = [program for program in programs if program.name in wanted or not wanted]
    columns = "program", "ARI", "with, script", "without, script", "sites with", "without", "kinds", "calls", "bounded"
    print(f"| {' | '.join(columns)} | periods |")
    print("|---" * 10 + "|", flush=True)
    agreements, sums, functions = [], [NOTHING, NOTHING], NOTHING
    all_bounds, all_periods = np.zeros(4, dtype=np.int64), np.zeros(2, dtype=np.int64)
    for program in programs:
        try:
            sides = [side(program, pg=pg) for pg in (True, False)]
        except NotRecorded as error:
            print(f"| {program.name} | {error} |" + " |" * 8, flush=True)
            continue
        agreements.append(agreement(*sides))
        texts = []
        for which, each in enumerate(sides):
            about = (program.name, "", program.split, each.profile, each.labels, program.truth, "robust")
            both = evaluate(*about, lambda _, known=each.answer: known).sites
            found = both.places
            sums[which] += found
            texts.append(f"{found.right} of {found.found}, {found.hit} of {found.true}")
        functions += both.functions
        of_calls, of_periods = bounds(sides[0].profile, sides[1].profile), periods(*sides)
        all_bounds, all_periods = all_bounds + of_calls, all_periods + np.array(of_periods)
        scores = " | ".join(f"{against_script(each):.3f}" for each in sides)
        line = f"{agreements[-1]:.3f} | {scores} | {texts[0]} | {texts[1]} | {found.right} of {both.functions.right}"
        print(f"| {program.name} | {line} | {_summary(of_calls, of_periods)} |", flush=True)
    if not agreements:
        return 1
    with_pg, without = sums
    line = f"{statistics.median(agreements):.3f} | | | F1 {with_pg.f1:.3f} | F1 {without.f1:.3f}"
    kinds = f"{without.right} of {functions.right}"
    print(f"| all (ARI: median) | {line} | {kinds} | {_summary(all_bounds, all_periods)} |")
    return 0


def _summary(calls: IntArray, close: Sequence[int] | IntArray) -> str:
    """Return three columns: functions whose calls lie within the bounds; those with an upper bound; and periods."""
    return f"{calls[1]} of {calls[0]} | {calls[3]} of {calls[2]} | {close[0]} of {close[1]}"


if __name__ == "__main__":
    sys.exit(main())
