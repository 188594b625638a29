"""Match the phases of runs by their composition, not by their numbers.

Phases are compared by the functions that they spend time in, or the places in the program from which these are called,
by the functions on their stacks, and by their sites and steps; their position in the run decides only between equals,
and of phases that one function runs. If the other run splits a phase in two, it is compared
with both parts together, whether the parts are alike or the phase combines the work of both.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from incprof.analysis.diff.measure import Measured
from incprof.analysis.segment_sums import episodes_of
from incprof.model import FloatArray, IntArray
from incprof.model.names import without_marks

# Weights of the kinds of likeness.
MIX, STACK, MARKS = 0.5, 0.3, 0.2
# Below ALIKE, phases are not the same. From ONE on, they are parts of one.
ALIKE = 0.5
ONE = 0.9
# Least gain in likeness for merging a phase with another one, if the other run has both in one phase.
GAIN = 0.02
TIE = 0.01

# The phases of each run in a group.
Members = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class PhaseTraits:
    """Traits of a phase, or of several taken together.

    Attributes:
        mix: (m,) self time of each function, as a share.
        stack: (m,) inclusive time of each function, as a share; None without call paths.
        place: (m,) time by the innermost function of the program that all runs have, as a share, times the share of the
            rest of the run in which that function is not on the stack; None without call paths.
        marks: functions of sites and steps.
        middle: mean position in the run, 0..1.
        weight: seconds.
        off_cpu: whether all of them are phases of waiting.
    """

    mix: FloatArray
    stack: FloatArray | None
    place: FloatArray | None
    marks: frozenset[int]
    middle: float
    weight: float
    off_cpu: bool


@dataclass(frozen=True)
class Group:
    """A phase that is the same in all runs.

    Attributes:
        members: the phases of each run, as many entries as runs; may be empty.
        likeness: of the parts of two runs (the least, with several runs); None where only one run has it.
    """

    members: tuple[tuple[int, ...], ...]
    likeness: float | None


def traits_of(run: Measured, phases: Sequence[int]) -> PhaseTraits:
    """Describe some phases of a run as if they were one."""
    members = run.intervals(phases)
    chosen = [run.result.phases[p] for p in phases]
    functions = [s.index for phase in chosen for s in phase.sites] + [s.index for p in chosen for s in p.steps]
    wall = np.maximum(run.profile.end_s - run.profile.start_s, 0.0)[members]
    when = (run.profile.start_s[members] + run.profile.end_s[members]) / 2
    total = float(wall.sum())
    end = float(run.profile.end_s[-1])
    return PhaseTraits(
        mix=_parts(run.self_s[members].sum(axis=0)),
        stack=None if run.stack_s is None else _parts(run.stack_s[members].sum(axis=0), run.self_s[members].sum()),
        place=_place(run, members),
        marks=frozenset(run.place[functions].tolist()),
        middle=float((when * wall).sum() / (total * end)) if total > 0 and end > 0 else 0.0,
        weight=total,
        off_cpu=all(phase.off_cpu for phase in chosen),
    )


def _place(run: Measured, members: IntArray) -> FloatArray | None:
    """Return where in the program a phase is, (m,); its value for a function that is on the stack all along is 0."""
    if run.place_s is None or run.stack_s is None:
        return None
    rest = np.setdiff1d(np.arange(run.profile.n_intervals), members)
    outside = _parts(run.stack_s[rest].sum(axis=0), run.self_s[rest].sum())
    inside = _parts(run.place_s[members].sum(axis=0), run.self_s[members].sum())
    place: FloatArray = inside * (1.0 - np.minimum(outside, 1.0))
    return place


def _parts(values: FloatArray, total: float | None = None) -> FloatArray:
    """Return values divided by a total, by default their sum."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    whole = float(flat.sum()) if total is None else float(total)
    return flat / whole if whole > 0 else np.zeros_like(flat)


def likeness(a: PhaseTraits, b: PhaseTraits) -> float:
    """Return the likeness of two phases: 0 nothing in common, 1 the same. Symmetric."""
    if a.off_cpu or b.off_cpu:
        return float(a.off_cpu and b.off_cpu)
    # Bhattacharyya coefficient: it changes little if a function becomes twice as slow.
    mix = float(np.sqrt(a.mix * b.mix).sum())
    if a.place is not None and b.place is not None:
        mix = max(mix, float(np.sqrt(a.place * b.place).sum()))
    parts = [(MIX, mix)]
    if a.stack is not None and b.stack is not None:
        most = float(np.maximum(a.stack, b.stack).sum())
        parts.append((STACK, float(np.minimum(a.stack, b.stack).sum()) / most if most > 0 else 0.0))
    if a.marks and b.marks:
        parts.append((MARKS, len(a.marks & b.marks) / len(a.marks | b.marks)))
    return min(sum(w * value for w, value in parts) / sum(w for w, _ in parts), 1.0)


def align(runs: Sequence[Measured]) -> list[Group]:
    """Return the phases that the runs have in common, and those that only some have; in order of time."""
    groups: list[Members] = [((phase,),) for phase in range(runs[0].result.k)]
    for number in range(1, len(runs)):
        groups = _with_run(runs, groups, number)
    found = [Group(members, _least_likeness(runs, members)) for members in groups]
    return sorted(found, key=lambda group: _when(runs, group))


def _when(runs: Sequence[Measured], group: Group) -> tuple[float, tuple[tuple[int, ...], ...]]:
    """Return the position of a group in the runs, for sorting."""
    known = [traits_of(run, phases).middle for run, phases in zip(runs, group.members, strict=True) if phases]
    return round(float(np.mean(known)), 9), group.members


def _with_run(runs: Sequence[Measured], groups: list[Members], number: int) -> list[Members]:
    """Return the groups after adding the phases of one more run."""
    from scipy.optimize import linear_sum_assignment  # here: slower to import than all other modules of diff

    new = runs[number]
    old = [[traits_of(runs[at], phases) for at, phases in enumerate(members) if phases] for members in groups]
    mine = [traits_of(new, (phase,)) for phase in range(new.result.k)]
    alike = np.array([[_mean_likeness(those, one) for one in mine] for those in old]).reshape(len(old), len(mine))
    away = np.array([[abs(np.mean([p.middle for p in those]) - one.middle) for one in mine] for those in old])
    score = np.where(alike >= ALIKE, 1.0 + alike - TIE * away.reshape(alike.shape), 0.0)
    row, column = linear_sum_assignment(-score)
    of_phase = {int(c): int(r) for r, c in zip(row, column, strict=True) if score[r, c] > 0}
    partner = {r: c for c, r in of_phase.items()}
    joined: dict[int, list[int]] = {r: [c] for r, c in partner.items()}
    # Merge the parts of a phase that the other side has in one piece.
    for phase in range(len(mine)):
        if phase not in of_phase and partner:
            best = max(partner, key=lambda r: (alike[r, phase], -r))
            if alike[best, phase] < ONE:
                gain = {
                    r: _gain(old[r], [traits_of(new, (c,))], [traits_of(new, (c, phase))]) for r, c in partner.items()
                }
                best = max(gain, key=lambda r: (gain[r], -r))
                if gain[best] < GAIN:
                    continue
            joined[best].append(phase)
    host: dict[int, int] = {}
    for group in range(len(groups)):
        if group not in partner and of_phase:
            best = max(of_phase, key=lambda c: (alike[group, c], -c))
            if alike[group, best] < ONE:
                gain = {
                    c: _gain([mine[c]], old[r], _together(runs, groups[r], groups[group])) for c, r in of_phase.items()
                }
                best = max(gain, key=lambda c: (gain[c], -c))
                if gain[best] < GAIN:
                    continue
            host[group] = of_phase[best]
    alone = [group for group in range(len(groups)) if group not in joined and group not in host]
    joined |= _replaced(runs[: number + 1], groups, joined, alone)
    return _merged(groups, joined, host, len(mine), number)


# The function and kind of the main site of a phase, and the groups of the phases before and after it, -1 for none.
Position = tuple[int, str, int, int]


def _replaced(
    runs: Sequence[Measured], groups: Sequence[Members], joined: Mapping[int, Sequence[int]], alone: Sequence[int]
) -> dict[int, list[int]]:
    """Return the phase of the last run at the position of each group that has none of its phases yet, if one is there.

    Where one function of the program runs several phases, only what it calls distinguishes them. A phase that calls
    other functions than before is the only one without a match between two matched ones, or in the whole run.

    Args:
        runs: those of the groups, and one more.
        groups: phases of the runs before.
        joined: phases of the last run by group.
        alone: the groups without one.
    """
    *_, last = runs
    taken = {phase: group for group, those in joined.items() for phase in those}
    left = [phase for phase in range(last.result.k) if phase not in taken]
    there, here = defaultdict[Position | None, list[int]](list), defaultdict[Position | None, list[int]](list)
    for phase in left:
        here[_position(last, phase, taken)].append(phase)
    for group in alone:
        at, own = next((at, phases[0]) for at, phases in enumerate(groups[group]) if phases)
        there[_position(runs[at], own, {phase: g for g in joined for phase in groups[g][at]})].append(group)
    single = len(left) == len(alone) == 1
    return {
        those[0]: here[place]
        for place, those in there.items()
        if place is not None and len(those) == len(here[place]) == 1 and (single or -1 not in place[2:])
    }


def _position(run: Measured, phase: int, group_of: Mapping[int, int]) -> Position | None:
    """Return the position of a phase in the source and in the run; None without a site or an interval.

    group_of: the groups of the matched phases.
    """
    sites = run.result.phases[phase].sites
    if not sites or not (run.result.labels == phase).any():
        return None
    order = [group for group in episodes_of(run.result.labels).group.tolist() if group == phase or group in group_of]
    ends = [-1, *(label for label, _ in groupby(order)), -1]
    places = [at for at, label in enumerate(ends) if label == phase]
    before, after = (
        Counter(group_of.get(ends[at + step], -1) for at in places).most_common(1)[0][0] for step in (-1, 1)
    )
    return int(run.place[sites[0].index]), sites[0].kind, before, after


def _together(runs: Sequence[Measured], members: Members, guests: Members) -> list[PhaseTraits]:
    """Describe two groups as one, in each run that has either."""
    both = [(at, one + other) for at, (one, other) in enumerate(zip(members, guests, strict=True))]
    return [traits_of(runs[at], phases) for at, phases in both if phases]


def _gain(those: Sequence[PhaseTraits], alone: Sequence[PhaseTraits], together: Sequence[PhaseTraits]) -> float:
    """Return the gain in likeness if a phase is taken together with one more phase."""
    return float(
        np.mean([_mean_likeness(those, one) for one in together])
        - np.mean([_mean_likeness(those, one) for one in alone])
    )


def _merged(
    groups: list[Members], joined: dict[int, list[int]], host: dict[int, int], k: int, number: int
) -> list[Members]:
    """Merge groups into their hosts, add the phases of a run, and create a group for each phase without one."""
    out: list[Members] = []
    for group, members in enumerate(groups):
        if group in host:
            continue
        guests = [groups[g] for g, h in sorted(host.items()) if h == group]
        whole = tuple(tuple(sorted(sum((m[at] for m in [members, *guests]), ()))) for at in range(number))
        out.append((*whole, tuple(sorted(joined.get(group, ())))))
    taken = {phase for those in joined.values() for phase in those}
    return out + [((),) * number + ((phase,),) for phase in range(k) if phase not in taken]


def _mean_likeness(those: Sequence[PhaseTraits], one: PhaseTraits) -> float:
    """Return the mean likeness of a phase to those of a group."""
    return float(np.mean([likeness(p, one) for p in those]))


def _least_likeness(runs: Sequence[Measured], members: Members) -> float | None:
    """Return the least likeness of the parts of a group; None for a single one."""
    parts = [traits_of(run, phases) for run, phases in zip(runs, members, strict=True) if phases]
    pairs = [likeness(a, b) for at, a in enumerate(parts) for b in parts[at + 1 :]]
    return min(pairs) if pairs else None


# Names of phases across several runs.


def name_groups(runs: Sequence[Measured], groups: Sequence[Group]) -> list[tuple[str, str]]:
    """Return a name for each phase: the function of its main site, else its largest one, and a unique suffix."""
    found = [_main(runs, group) for group in groups]
    often = Counter(name for name, *_ in found)
    files = Counter((name, file) for name, _, file in found)
    names = [
        (name, f" ({file if file and files[name, file] == 1 else kind})" if often[name] > 1 and kind else "")
        for name, kind, file in found
    ]
    seen: Counter[tuple[str, str]] = Counter()
    unique = []
    for name, behind in names:
        seen[name, behind] += 1
        unique.append((name, behind + (f" #{seen[name, behind]}" if seen[name, behind] > 1 else "")))
    return unique


def _main(runs: Sequence[Measured], group: Group) -> tuple[str, str, str]:
    """Return the name of a phase, the kind of its main site, and that site's file, if known."""
    chosen = [run.result.phases[p] for run, phases in zip(runs, group.members, strict=True) for p in phases]
    if chosen and all(phase.off_cpu for phase in chosen):
        return "waiting", "", ""
    for phase in chosen:
        if phase.sites:
            site = phase.sites[0]
            return without_marks(site.function.name), site.kind, os.path.basename(site.file or "")
    for phase in chosen:
        if phase.functions:
            return without_marks(phase.functions[0].function.name), "", ""
    return "idle", "", ""


# Whether the other side does the work of a phase that it lacks, in other phases or between them.


# A phase with a smaller share of its work missing is done on the other side, though not as a phase.
STILL = 0.5


def done_elsewhere(runs: Sequence[Measured], group: Group, first: int) -> bool:
    """Return whether the side without a phase does most of its work.

    Args:
        runs: those of A first.
        group: a phase that only one side has.
        first: number of runs of A.
    """
    whole = [np.asarray(run.self_s.sum(axis=0)).ravel() for run in runs]
    sides = [np.mean(part, axis=0) for part in (whole[:first], whole[first:])]
    has, other = sides if any(group.members[:first]) else sides[::-1]
    spent = [
        np.asarray(run.self_s[run.intervals(phases)].sum(axis=0)).ravel()
        for run, phases in zip(runs, group.members, strict=True)
        if phases
    ]
    work = np.mean(spent, axis=0)
    missing = np.minimum(np.maximum(has - other, 0.0), work)
    return bool(missing.sum() < STILL * work.sum())
