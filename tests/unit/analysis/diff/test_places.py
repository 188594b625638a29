"""Phases of two versions of which one calls other functions at the same place, drawn with known truth."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from incprof.analysis.answer import find_phases
from incprof.analysis.answer.describe import summarise
from incprof.analysis.diff import compare
from incprof.analysis.diff.match_phases import align
from incprof.analysis.diff.measure import measure
from incprof.report.words.diff_words import only
from truth.cases import all_names
from truth.families import FAMILIES
from truth.families_overlap import OVERLAP
from truth.play import play
from truth.record import Recorder
from truth.split import seed_of
from truth.story import Scenario, edges_of, true_phases
from truth.work import Leaf, Piece

LIBRARY = "lib_"


def with_libraries(profile):
    """The profile with the functions of that prefix as functions of a library."""
    functions = tuple(replace(f, imported=f.name.startswith(LIBRARY)) for f in profile.functions)
    return replace(profile, functions=functions)


def recorded(*phases, seconds=12):
    """A run of phases, each a mix of call paths below main."""
    edges = np.arange(seconds * len(phases) + 1.0)
    rng, out = np.random.default_rng(1), Recorder(edges)
    for at, mix in enumerate(phases):
        for path, share in mix.items():
            ticks = seconds * at + rng.random(int(100 * seconds * share)) * seconds
            out.ticks(("main", *(path.split(";") if path else ())), np.sort(ticks))
    none = np.zeros(0, dtype=np.int64)
    profile = with_libraries(out.profile(1.0, 100.0, none, none, rng))
    return "run", summarise(profile, 1), profile, find_phases(profile)


FILL, SMOOTH = {"fill": 1.0}, {"smooth": 1.0}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"rotate;lib_sin": 0.9, "rotate": 0.1}, {"rotate;lib_sincos": 0.8, "rotate": 0.2},
         "only A runs lib_sin (90 %); only B runs lib_sincos (80 %)"),
        ({"lists;lib_malloc": 0.4, "lists;lib_free": 0.5, "lists": 0.1}, {"lists;get": 0.4, "lists": 0.6},
         "only A runs lib_free (50 %), lib_malloc (40 %); only B runs get (40 %)"),
        # Inlined in B.
        ({"drive;kernel": 1.0}, {"drive": 1.0}, "only A runs kernel (100 %)"),
    ],
)  # fmt: skip
def test_a_phase_that_calls_other_functions_at_the_same_place(before, after, said):
    found = compare([recorded(FILL, before, SMOOTH)], [recorded(FILL, after, SMOOTH)])
    assert [row.verdict for row in found.phases] == ["same"] * 3
    assert only(found.phases[1]) == said
    assert [only(row) for row in (found.phases[0], found.phases[2])] == [None, None]


def test_another_function_below_main_is_another_phase():
    a, b = recorded(FILL, {"solve;lib_exp": 1.0}, SMOOTH), recorded(FILL, {"checkpoint;lib_write": 1.0}, SMOOTH)
    assert sorted(row.verdict for row in compare([a], [b]).phases) == ["gone", "new", "same", "same"]


# All phases in one function: only what they call and their order distinguish them.
SIN, SORT, PRINT, POWER = ({"": 0.1, f"lib_{name}": 0.9} for name in ("sin", "qsort", "snprintf", "pow"))
SINCOS = {"": 0.1, "lib_sincos": 0.9}


@pytest.mark.parametrize(
    ("a", "b", "changed"),
    [
        ([SIN, SORT, PRINT], [SINCOS, SORT, PRINT], []),
        ([SORT, SIN, PRINT, POWER], [SORT, SINCOS, PRINT], ["gone"]),
        # The first one is gone, and one at the end is new.
        ([SIN, SORT, PRINT], [SORT, PRINT, POWER], ["gone", "new"]),
        ([SIN, SORT, PRINT], [POWER, SINCOS, SORT, PRINT], ["gone", "new", "new"]),
    ],
)
def test_phases_of_one_function_are_matched_by_order_as_well(a, b, changed):
    found = compare([recorded(*a)], [recorded(*b)])
    assert sorted(row.verdict for row in found.phases if row.verdict in ("gone", "new")) == changed
    assert {row.verdict for row in found.phases} - {"gone", "new"} == {"same"}


# Drawn pairs: a phase calls other functions in B, and each side may lack another one.


def in_library(work, tag, whole):
    """The work with its leaves in functions of a library; with some time in its own functions, unless `whole`."""

    def moved(number, leaf):
        if leaf.below:
            return [replace(leaf, below=tuple(f"{LIBRARY}{tag}{name}" for name in leaf.below))]
        called = Leaf((f"{LIBRARY}{tag}{number}",), leaf.share * (1.0 if whole else 0.7), 100)
        return [called] if whole else [replace(leaf, share=leaf.share * 0.3), called]

    return of_leaves(work, lambda leaves: [new for at, leaf in enumerate(leaves) for new in moved(at, leaf)])


def of_leaves(work, change):
    return replace(work, pieces=tuple(replace(p, leaves=tuple(change(p.leaves))) for p in work.pieces))


def renamed(work, name):
    return of_leaves(work, lambda leaves: [replace(leaf, below=tuple(map(name, leaf.below))) for leaf in leaves])


def inlined(work):
    return replace(work, pieces=tuple(Piece(None, p.seconds, p.leaves, p.every) for p in work.pieces))


CHANGES = {
    "library": lambda work: (in_library(work, "old_", False), in_library(work, "new_", False)),
    "library alone": lambda work: (in_library(work, "old_", True), in_library(work, "new_", True)),
    "pool": lambda work: (
        in_library(work, "old_", False),
        renamed(in_library(work, "old_", False), lambda name: name.replace(LIBRARY, "pool_")),
    ),
    "leaves": lambda work: (work, renamed(work, lambda name: name + "_v2")),
    "inlined": lambda work: (work, inlined(work)),
}


def drawn(family, number, rng):
    """Two versions of a case with their true labels, and the phase that calls other functions; None for one phase."""
    scenario: Scenario = (OVERLAP.get(family) or FAMILIES[family])(np.random.default_rng(seed_of(family, number)))
    phases = sorted({episode.phase for episode in scenario.episodes})
    if len(phases) < 2 or scenario.part_of or not scenario.distinct:
        return None
    changed = int(rng.choice(phases))
    versions = CHANGES[str(rng.choice(list(CHANGES)))](scenario.works[changed])
    without = rng.permutation([phase for phase in phases if phase != changed])[:2]
    sides = []
    for at, work in enumerate(versions):
        lacks = int(without[at]) if at < len(without) and rng.random() < 0.5 else None
        works = tuple(work if phase == changed else one for phase, one in enumerate(scenario.works))
        episodes = tuple(replace(e, fade_s=0.0) for e in scenario.episodes if e.phase != lacks)
        version = replace(scenario, works=works, episodes=episodes)
        edges = edges_of(version, rng)
        labels, none = true_phases(version, edges), np.zeros(0, dtype=np.int64)
        recorder = play(version, edges, rng)
        profile = with_libraries(recorder.profile(version.interval_s, version.rate_hz, none, none, rng))
        sides.append((profile, find_phases(profile), labels))
    return sides, changed


def works_of(result, labels):
    """The true phase that has four fifths of each phase, None for none."""
    counts = [np.bincount(labels[(result.labels == phase) & (labels >= 0)], minlength=1) for phase in range(result.k)]
    return [int(count.argmax()) if count.max() >= 0.8 * count.sum() > 0 else None for count in counts]


def scored(sides, changed, runs):
    """Count the phases that call other functions, those of them that were missed, and false matches."""
    works = [works_of(result, labels) for _, result, labels in sides]
    found, matched = Counter(), set()
    for group in align(runs):
        a, b = ({mine[phase] for phase in own} - {None} for mine, own in zip(works, group.members, strict=True))
        found["false"] += bool(a and b and not a & b)
        matched |= a & b
    if changed in works[0] and changed in works[1]:
        found.update(changed=1, missed=changed not in matched)
    return found


@pytest.mark.slow
def test_drawn_pairs_are_matched_by_place_and_none_falsely():
    rng, by_place, without = np.random.default_rng(3), Counter(), Counter()
    for family, number in list(all_names("tune"))[::2]:
        pair = drawn(family, number, rng)
        if pair is None:
            continue
        sides, changed = pair
        _, runs = measure([side[0] for side in sides], [side[1] for side in sides])
        by_place += scored(sides, changed, runs)
        without += scored(sides, changed, [replace(run, place_s=None) for run in runs])
    assert by_place["changed"] >= 50
    assert without["missed"] >= 0.4 * without["changed"]
    assert by_place["missed"] <= 0.15 * by_place["changed"]
    assert by_place["false"] <= without["false"]
