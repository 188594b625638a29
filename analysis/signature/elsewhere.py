"""How long a run takes where only its beginning was run: the whole run's time, phase by phase, times how much slower.

Occurrences are compared with the same ones of the whole run, so that phases whose time changes as the run goes on are
predicted as well as steady ones, and what comes seldom or never is taken along with the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from incprof.analysis.signature.loops import LoopFinder
from incprof.analysis.signature.phases import Choice
from incprof.analysis.signature.predicted import RANGE, PhaseTime, Predicted
from incprof.model import FloatArray, IntArray
from incprof.model.signature import Grammar, SignatureFile

# Groups of occurrences in a row that are left out in turn, to see by how much the ratio hangs on each.
GROUPS = 20


@dataclass(frozen=True)
class KnownPhase:
    """A phase of a whole run. time_s: (m,) of its first occurrences at least; seconds: of all `weight`.

    loop: its number; None for the paper's phases.
    """

    loop: int | None
    whole: bool
    weight: int
    seconds: float
    time_s: FloatArray


def phases_known(
    kinds: IntArray, tick_s: FloatArray, grammar: Grammar, known: Sequence[KnownPhase]
) -> list[FloatArray]:
    """Return the time of each occurrence of known phases, (seen,) each, in the events of another run.

    Args:
        kinds: (n,) of events, numbered as in the run that the phases are known from.
        tick_s: (n,) seconds from the end of the event before to the end of this one.
        grammar: of the loops of that run.
        known: the phases.
    """
    whole = {phase.loop: phase.whole for phase in known}
    choice = Choice(LoopFinder(kinds).follow(grammar), tick_s)
    for number, loop in reversed(list(enumerate(choice.loops.found))):
        mine = choice.open_iterations(loop)
        if number in whole and mine.any():
            choice.take(number, mine, whole=whole[number])
    found = {phase.loop: phase.time_s for phase in choice.described(kinds, float(tick_s.sum())).phases}
    return [found.get(phase.loop, np.zeros(0)) for phase in known]


@dataclass(frozen=True)
class Ratio:
    """How much longer phases take than in the whole run: the ratio, its standard error, and by how many groups."""

    value: float
    error: float
    groups: int

    def range(self) -> tuple[float, float]:
        """Return between which values it lies."""
        if self.groups < 2:
            return self.value, self.value
        reach = float(stdtrit(self.groups - 1, (1 + RANGE) / 2)) * self.error
        return max(self.value - reach, 0.0), self.value + reach


def ratio(target: FloatArray, base: FloatArray, warm_up: int) -> Ratio | None:
    """Compare occurrences, (m,) seconds each, with the same ones elsewhere; None where there is nothing to compare."""
    whole, both = base, min(len(target), len(base))
    first = min(warm_up, both - 1)
    if both < 1 or not base[first:both].sum() > 0:
        return None
    target, base = target[first:both], base[first:both]
    groups = min(GROUPS, len(base))
    at = np.linspace(0, len(base), groups + 1).astype(np.int64)[:-1]
    ours, theirs = np.add.reduceat(target, at), np.add.reduceat(base, at)
    value = float(target.sum() / base.sum())
    if groups < 2:
        return Ratio(value, 0.0, groups)
    # The jackknife: what the ratio would be without each group.
    without = (ours.sum() - ours) / np.maximum(theirs.sum() - theirs, 1e-300)
    error = float(np.sqrt((groups - 1) / groups * ((without - without.mean()) ** 2).sum()))
    return Ratio(value, float(np.hypot(error, value * _drift(whole, len(base)))), groups)


def _drift(whole: FloatArray, length: int) -> float:
    """Return how much the ratio of two runs varies with the part of them that is compared, as a part of it.

    Other work on a machine comes and goes more slowly than occurrences do: parts of a run as long as the one compared
    differ from each other by more than the occurrences in one of them show. Both runs have such a part.

    Args:
        whole: seconds of the occurrences of the whole run, (m,).
        length: occurrences that are compared.
    """
    parts = len(whole) // length
    if parts < 2:
        return 0.0
    means = whole[: parts * length].reshape(parts, length).mean(axis=1)
    return float(np.sqrt(2.0) * means.std(ddof=1) / means.mean()) if means.mean() > 0 else 0.0


def predicted_elsewhere(
    known: Sequence[KnownPhase], seen: Sequence[FloatArray], outside_s: float, elapsed_s: float, warm_up: int
) -> Predicted:
    """Predict the time of a whole run.

    Args:
        known: its phases, where it was run to its end.
        seen: of each, the time of the occurrences that were seen elsewhere.
        outside_s: in no phase, in the whole run, and not yet run elsewhere.
        elapsed_s: until now.
        warm_up: occurrences that are left out.
    """
    ratios = [ratio(target, phase.time_s, warm_up) for target, phase in zip(seen, known, strict=True)]
    rest = np.array([p.seconds - float(p.time_s[: len(t)].sum()) for p, t in zip(known, seen, strict=True)])
    rest = np.maximum(rest, 0.0)
    usable = [(number, one) for number, one in enumerate(ratios) if one is not None]
    # What was not seen is as much slower as the rest is on the whole.
    weight = np.array([known[number].seconds for number, _ in usable])
    value = np.array([(one.value, *one.range()) for _, one in usable]).reshape(-1, 3)
    common = weight @ value / weight.sum() if len(usable) else np.ones(3)
    scaled = np.tile(common, (len(known), 1))
    scaled[[number for number, _ in usable]] = value
    pet = elapsed_s + float(rest @ scaled[:, 0]) + outside_s * float(common[0])
    below = np.sqrt((((scaled[:, 0] - scaled[:, 1]) * rest) ** 2).sum())
    above = np.sqrt((((scaled[:, 2] - scaled[:, 0]) * rest) ** 2).sum())
    one_s = scaled * np.array([[phase.seconds / phase.weight] for phase in known]).reshape(-1, 1)
    times = tuple(
        PhaseTime(mean, low, high, len(target)) for (mean, low, high), target in zip(one_s.tolist(), seen, strict=True)
    )
    return Predicted(pet, pet - float(below), pet + float(above), 0, elapsed_s, times)


def predicted_by_equation(
    known: Sequence[KnownPhase], seen: Sequence[FloatArray], elapsed_s: float, warm_up: int
) -> Predicted:
    """Predict the time of a whole run as the paper does: weight times the time of one, over all phases (equation 1).

    Args:
        known: its phases. One that was not seen takes as long as there.
        seen: of each, the time of its occurrences here, (m,) seconds.
        elapsed_s: until now.
        warm_up: occurrences that are left out.
    """
    times = []
    for phase, target in zip(known, seen, strict=True):
        measured = target[min(warm_up, len(target) - 1) :] if len(target) else phase.time_s
        one_s, reach = float(measured.mean()), 0.0
        if len(target) and len(measured) > 1:
            error = float(measured.std(ddof=1) / np.sqrt(len(measured)))
            reach = float(stdtrit(len(measured) - 1, (1 + RANGE) / 2)) * error
        times.append(PhaseTime(one_s, max(one_s - reach, 0.0), one_s + reach, len(target)))
    weight = np.array([phase.weight for phase in known], dtype=np.float64)
    mean, low, high = np.array([(one.mean_s, one.low_s, one.high_s) for one in times]).reshape(-1, 3).T
    pet = float(weight @ mean)
    reaches = [float(np.sqrt(((weight * gap) ** 2).sum())) for gap in (mean - low, high - mean)]
    return Predicted(pet, pet - reaches[0], pet + reaches[1], 0, elapsed_s, tuple(times))


@dataclass(frozen=True)
class Prediction:
    """The time of a whole run.

    Attributes:
        signature: What it follows from.
        guess: The time, and that of one occurrence of each phase.
        seen: Occurrences of each phase that there were.
        doubts: Why the program may not be that of the signature, a line each; none if it follows it.
        aet_s: What it took, if it was run to its end.
    """

    signature: SignatureFile
    guess: Predicted
    seen: tuple[int, ...]
    doubts: tuple[str, ...]
    aet_s: float | None
