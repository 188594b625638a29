"""Phases in samples in time: change points, drifts, transitions, groups, steps, and the tree of what a run does."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis.phases.changepoints import (
    FEWEST,
    Counts,
    Evidence,
    change_points,
    overdispersion,
    similar_groups,
    without_steps,
)
from incprof.analysis.phases.levels import in_bins, parts_of, sequence_and_parts
from incprof.analysis.phases.segments import segments_of
from incprof.analysis.phases.sequence import WAITING, sequence_of
from incprof.analysis.phases.tree import tree_of
from incprof.analysis.thresholds import PHASES
from incprof.model.time_use import SPENT
from incprof.readers.run import open_run, read_profile
from incprof.study import Study
from tests.unit.streamwriter import BROKEN, ELIDED, Sample, StreamWriter

A, B, C = (0.7, 0.2, 0.1), (0.1, 0.2, 0.7), (0.2, 0.7, 0.1)
NAMED = np.full(3, PHASES.named)


def drawn(mixes, seed=0):
    """Samples of three categories, one for each mix."""
    rng = np.random.default_rng(seed)
    return np.array([rng.choice(3, p=mix) for mix in mixes])


def evidence_of(category, scatter=None):
    known = np.ones(3) if scatter is None else scatter
    return Evidence(category, Counts(category, 3), known, PHASES)


def found_in(category, fewest=FEWEST):
    return change_points(Counts(category, 3), len(category), np.ones(3), PHASES.penalty, fewest)


def groups_of(evidence, segments, named):
    return without_steps(evidence, similar_groups(evidence, segments, named), segments, named)


def test_whether_a_group_has_one_behaviour_is_computed_once():
    """Many pairs of groups lead to the same loop: in noise it was computed more than a thousand times."""
    order = np.random.default_rng(1).integers(0, 3, 120)
    spans = [(10 * at, 10 * at + 10) for at in range(len(order))]
    evidence = evidence_of(np.repeat(order, 10))
    asked = []
    without_steps(
        evidence,
        similar_groups(evidence, spans, NAMED),
        spans,
        NAMED,
        lambda group: bool(asked.append(tuple(sorted(group.segments)))),
    )
    assert 0 < len(asked) == len(set(asked)) <= 3


def segments_in(category):
    return segments_of(evidence_of(category), found_in(category))


@pytest.mark.parametrize("seed", range(5))
def test_change_points_are_where_the_mix_changes(seed):
    found = found_in(drawn([A] * 300 + [B] * 200 + [A] * 250, seed))
    assert len(found) == 2
    assert found == pytest.approx([300, 500], abs=15)


def test_a_steady_mix_has_no_change_point():
    assert sum(len(found_in(drawn([A] * 2000, seed))) for seed in range(40)) <= 1


@pytest.mark.parametrize("length", [20, 40, 80])
def test_a_short_part_in_the_middle_is_found(length):
    category = np.concatenate([drawn([A] * 900), np.full(length, 2), drawn([A] * 900, 1)])
    found = found_in(category)
    assert len(found) == 2
    assert found == pytest.approx([900, 900 + length], abs=6)


@given(st.lists(st.integers(0, 2), min_size=0, max_size=300))
@settings(max_examples=80, deadline=None)
def test_change_points_are_ascending_and_leave_parts_of_eight(values):
    category = np.array(values, dtype=np.int64)
    found = found_in(category) if len(category) else []
    assert all(b - a >= 8 for a, b in zip([0, *found], [*found, len(category)], strict=True) if found)


@given(st.lists(st.sampled_from([A, B, C]), min_size=1, max_size=5), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_segments_and_groups_cover_no_sample_twice(story, seed):
    category = drawn([mix for mix in story for _ in range(60)], seed)
    segments = segments_in(category)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(segments))
    groups = groups_of(evidence_of(category), segments, NAMED)
    assert sorted(segment for group in groups for segment in group.segments) == segments


def test_a_drift_has_no_border_and_a_jump_has_one():
    part = np.linspace(0, 1, 1200)[:, None]
    assert len(segments_in(drawn(list((1 - part) * A + part * np.array(B))))) == 1
    assert len(segments_in(drawn([A] * 600 + [B] * 600))) == 2


def test_a_jump_beside_which_some_samples_are_of_neither_side_is_a_border():
    before, between, after = (0.25, 0.75, 0.0), (0.9, 0.05, 0.05), (0.2, 0.0, 0.8)
    runs = [drawn([before] * 500 + [between] * 12 + [after] * 500, seed) for seed in range(40)]
    assert sum(len(segments_in(run)) == 1 for run in runs) <= 2


def test_a_transition_is_left_out():
    part = np.linspace(0, 1, 60)[:, None]
    between = list((1 - part) * A + part * np.array(B))
    segments = segments_in(drawn([A] * 500 + between + [B] * 500))
    assert len(segments) == 2
    assert segments[0][1] == pytest.approx(510, abs=40)
    assert segments[1][0] == pytest.approx(550, abs=40)


def test_segments_that_do_the_same_are_one_group():
    category = drawn([A] * 200 + [B] * 200 + [A] * 200 + [C] * 100)
    groups = groups_of(evidence_of(category), segments_in(category), NAMED)
    assert [len(group.segments) for group in groups] == [2, 1, 1]


def test_scatter_beyond_counting_is_detected_and_alternation_is_not_scatter():
    rng = np.random.default_rng(0)
    steady, turns = drawn([A] * 4000), drawn(([A] * 24 + [B] * 24) * 80)
    loose = np.concatenate([drawn([rng.dirichlet(np.array(A) * 6)] * 24, n) for n in range(160)])
    assert overdispersion(steady, 3).max() < 2.0
    assert overdispersion(turns, 3).max() < 2.0
    assert overdispersion(loose, 3).max() > 2.0


def a_run(tmp_path, parts, *, interval_s=1.0, functions=None):
    """Read a run of parts: the path of all samples of so many intervals, or several, drawn in turn; "" for waiting."""
    paths = [each for path, _ in parts for each in path.split(" ")]
    names = functions or sorted({name for path in paths for name in path.split(";")} - {""})
    writer = StreamWriter(names, interval_s=interval_s)
    for path, intervals in parts:
        paths = [each for each in path.split(" ") if each]
        for _ in range(intervals):
            writer.interval([Sample(paths[at % len(paths)]) for at in range(100)] if paths else [])
    writer.end()
    return read_profile(open_run(writer.save(tmp_path / "run")))


def names(profile, functions):
    return [profile.functions[f].name for f in functions]


def test_shared_frames_are_left_aside_and_each_part_is_looked_into(tmp_path):
    profile = a_run(
        tmp_path, [("main;run;read", 20), ("main;run;solve;assemble", 30), ("main;run;solve;factorise", 50)]
    )
    root = tree_of(sequence_of(profile))
    assert names(profile, root.shared) == ["main", "run"]
    assert [names(profile, child.shared) for child in root.children] == [["read"], ["solve"]]
    assert [names(profile, child.shared) for child in root.children[1].children] == [["assemble"], ["factorise"]]
    assert parts_of(sequence_of(profile)).is_phase == (True, True, True)


def test_a_change_below_what_does_not_change_is_found(tmp_path):
    mixed = "main;step;build;{} main;step;build;{} main;step;pack"
    profile = a_run(tmp_path, [(mixed.format("fast", "fast"), 40), (mixed.format("greedy", "greedy"), 40)])
    parts = parts_of(sequence_of(profile))
    assert len(parts.nodes) == 2
    assert [len(node.samples) for node in parts.nodes] == pytest.approx([4000, 4000], abs=40)


def paths_of(profile):
    """The samples in order of time, and the functions of each path."""
    sequence = sequence_of(profile)
    return sequence, {path: names(profile, frames[frames >= 0]) for path, frames in enumerate(sequence.frame)}


def test_a_path_without_outer_frames_continues_what_its_neighbours_share(tmp_path):
    writer = StreamWriter(["main", "solve", "kernel"])
    broken = Sample(((BROKEN, 0), (0, 0x1000 + 0x200)))
    for _ in range(40):
        writer.interval([Sample("main;solve"), broken] * 50)
    writer.end()
    sequence, paths = paths_of(read_profile(open_run(writer.save(tmp_path / "run"))))
    assert {";".join(paths[path]) for path in sequence.path[:-1]} == {"main;solve", "main;solve;kernel"}


def test_a_recursion_too_deep_to_unwind_is_a_phase_of_its_own(tmp_path):
    """It counted for what ran before it."""
    writer = StreamWriter(["main", "walk", "deep", "write"])
    deep = Sample(((BROKEN, 0), (0, 0x1000 + 0x200), (ELIDED, 0), (0, 0x1000 + 0x200)))
    for sample in ["main;walk", deep, "main;write", deep]:
        for _ in range(20):
            writer.interval([sample if isinstance(sample, Sample) else Sample(sample)] * 100)
    writer.end()
    profile = read_profile(open_run(writer.save(tmp_path / "run")))
    sequence, paths = paths_of(profile)
    found = [";".join(paths[path]) for path in sequence.path[1000::2000]]
    assert found == ["main;walk", "main;deep", "main;write", "main;deep"]
    sizes = sorted(len(node.samples) for node in parts_of(sequence).nodes)
    assert sizes == pytest.approx([2000, 2000, 4000], abs=40)


@pytest.mark.parametrize(("away_s", "waits"), [(0.1, False), (3.0, True)])
def test_waiting_is_what_lasts_longer_than_the_wait_for_a_processor(tmp_path, away_s, waits):
    writer = StreamWriter(["main", "solve"], interval_s=away_s)
    for i in range(60):
        writer.interval([Sample("main;solve")] * round(100 * away_s) if i % 2 else [])
    writer.end()
    sequence = sequence_of(read_profile(open_run(writer.save(tmp_path / "run"))))
    frames = sequence.at_depth(sequence.path, 2)
    assert bool((frames == WAITING).any()) is waits
    assert (frames == WAITING).mean() == pytest.approx(0.5 if waits else 0.0, abs=0.05)


def test_a_thread_waits_in_what_the_samples_around_share(tmp_path):
    writer = StreamWriter(["main", "read", "solve", "sweep"], interval_s=1.0)
    for i in range(60):
        path = "main;read" if i < 20 else "main;solve;sweep"
        writer.interval([Sample(path)] * 100 if i % 4 < 2 else [])
    writer.end()
    profile = read_profile(open_run(writer.save(tmp_path / "run")))
    sequence = sequence_of(profile)
    name = {at: function.name for at, function in enumerate(profile.functions)}
    row = np.minimum(sequence.time_s.astype(int), 59)
    below = [[name.get(frame, frame) for frame in sequence.at_depth(sequence.path, depth)] for depth in range(4)]
    assert set(below[0]) <= {"main", WAITING}
    waits = [(row[at], below[1][at]) for at in range(len(sequence)) if below[3][at] == WAITING]
    # From the 18th second on, the next sample is in the solver; after the last one, nothing is known.
    assert {place for second, place in waits if second < 18} == {"read"}
    assert {place for second, place in waits if 18 < second < 20} == {WAITING}
    assert {place for second, place in waits if 20 < second < 58} == {"solve"}


def a_run_of_two_threads(tmp_path, seconds):
    """Each second has the paths of the first and of the second thread, "" for waiting."""
    names = sorted({name for paths in seconds for path in paths for name in path.split(";")} - {""})
    writer = StreamWriter(names, interval_s=1.0)
    for paths in seconds:
        pairs = [[Sample(path, thread=thread)] for thread, path in enumerate(paths) if path]
        writer.interval([sample for row in zip(*(100 * each for each in pairs), strict=True) for sample in row])
    writer.end()
    return read_profile(open_run(writer.save(tmp_path / "run")))


def shown(profile):
    """The innermost function with most samples of each part, in order; "" for waiting."""
    sequence, parts = sequence_and_parts(profile)
    out = []
    for node in parts.nodes:
        functions, count = np.unique(sequence.innermost[sequence.path[node.samples]], return_counts=True)
        most = int(functions[np.argmax(count)])
        assert count.max() > 0.9 * count.sum()
        out.append("" if most == WAITING else profile.functions[most].name)
    return out


def test_where_the_first_thread_waits_for_another_the_other_has_the_phases(tmp_path):
    first, second = ("main;read", ""), [("", "begin;sort"), ("", "begin;merge")]
    profile = a_run_of_two_threads(
        tmp_path, [first] * 30 + [second[0]] * 20 + [second[1]] * 20 + [("main;save", "")] * 9
    )
    assert shown(profile) == ["read", "sort", "merge", "save"]
    cuts = [profile.start_s[0], *in_bins(profile).end_s]
    assert all(np.isclose(cuts, border, atol=0.02).any() for border in (30.0, 50.0, 70.0))


def test_another_thread_is_below_what_the_first_one_waits_in(tmp_path):
    """The stages around a pool's are parts of one function, however long the pool works."""
    stages = [("main;load", ""), *[(f"main;run;{name};work", "") for name in "abc"], ("", "worker;build")]
    seconds = [stage for stage in (*stages, ("main;run;d;work", "")) for _ in range(10)]
    profile = a_run_of_two_threads(tmp_path, seconds)
    sequence, parts = sequence_and_parts(profile)
    paths = [names(profile, row[row >= 0]) for row in sequence.frame]
    assert ["main", "run", "worker", "build"] in paths
    assert len(parts.nodes) == 6


def test_what_another_thread_does_while_the_first_works_is_no_phase(tmp_path):
    seconds = [("main;read", "")] * 30 + [("main;solve", "begin;log" if at % 30 < 3 else "") for at in range(90)]
    assert shown(a_run_of_two_threads(tmp_path, seconds)) == ["read", "solve"]


def test_a_wait_in_which_no_thread_works_stays_one(tmp_path):
    seconds = [("main;read", "")] * 30 + [("", "")] * 20 + [("main;solve", "begin;log")] * 30
    assert shown(a_run_of_two_threads(tmp_path, seconds)) == ["read", "", "solve"]


def test_waiting_beside_what_waits_is_its_border(tmp_path):
    writes = [("", 3), ("main;write", 1)] * 8
    parts = parts_of(sequence_of(a_run(tmp_path, [("main;react", 20), *writes, ("", 3), ("main;check", 20)])))
    assert [len(node.samples) for node in parts.nodes] == pytest.approx([2000, 3500, 2000], abs=10)


def test_what_waits_on_a_busy_machine_has_its_part_of_the_time(tmp_path):
    """The program gets a processor for a tenth of the time: ticks of waiting are as rare as those of work."""
    writer = StreamWriter(["main", "solve"], interval_s=1.0)
    for i in range(60):
        writer.interval([] if 20 <= i < 30 else [Sample("main;solve")] * 10)
    writer.end()
    sequence = sequence_of(read_profile(open_run(writer.save(tmp_path / "run"))))
    waits = sequence.innermost[sequence.path] == WAITING
    assert waits.mean() == pytest.approx(10 / 60, abs=0.02)


def test_short_stages_that_are_all_different_are_no_mixture(tmp_path):
    stages = [(f"main;stage{at}", 1) for at in range(10)]
    parts = parts_of(sequence_of(a_run(tmp_path, [*stages, ("main;solve", 80)])))
    assert len(parts.nodes) == 11


def test_a_mixture_that_changes_below_a_driver_is_one_phase(tmp_path):
    run = a_run(
        tmp_path,
        [("main;read", 5), (5 * "main;solve;a " + 5 * "main;solve;b ", 20), (9 * "main;solve;a " + "main;solve;b", 20)],
    )
    assert len(parts_of(sequence_of(run)).nodes) == 2
    other = a_run(tmp_path / "other", [("main;read", 5), ("main;solve;a", 20), ("main;solve;b", 20)])
    assert len(parts_of(sequence_of(other)).nodes) == 3


def test_one_function_by_two_ways_below_a_driver_is_one_phase(tmp_path):
    ways = [("main;cluster;check;count", 20), ("main;cluster;add;check;count", 20)]
    assert len(parts_of(sequence_of(a_run(tmp_path, [("main;read", 5), *ways]))).nodes) == 2


def test_a_short_set_up_does_not_merge_what_comes_after_it(tmp_path):
    shared = "main;run;{0};pair main;run;{0};pair main;run;{0};send"
    stages = [(shared.format("integrate"), 20), (shared.format("minimise"), 25)]
    assert len(parts_of(sequence_of(a_run(tmp_path, stages))).nodes) == 2
    later = a_run(tmp_path / "later", [("main;read", 2), *stages])
    assert len(parts_of(sequence_of(later)).nodes) == 3


def test_imports_are_a_set_up_whatever_time_they_take(tmp_path):
    """Cold files make them several times as long: the stages that follow are the same."""
    run = "run.py:<module>"
    stages = [(f"{run};run.py:main;{name};work", 9) for name in ("read", "clean", "fit", "save", "plot", "send")]
    for intervals in (2, 40):
        profile = a_run(tmp_path / str(intervals), [(f"{run};importlib:_find_and_load;exec", intervals), *stages])
        assert len(parts_of(sequence_of(profile)).nodes) == 1 + len(stages)


def test_what_alternates_in_the_first_function_of_a_script_is_phases(tmp_path):
    """The few samples of imports have paths of their own, which come first in the tree."""
    step, test = ("run.py:<module>;run.py:main;step", 15), ("run.py:<module>;run.py:main;test", 6)
    profile = a_run(tmp_path, [("run.py:<module>;importlib:_find_and_load", 1), *[step, test] * 4])
    assert len(parts_of(sequence_of(profile)).nodes) == 3


def test_a_stage_of_one_large_part_is_shown_as_its_parts_if_this_one_is(tmp_path):
    """An interpreter runs statements: assignments, with 80 % of them, and others with less than a tenth of the run."""
    stages = [("init", 15), ("run;assign;multiply", 30), ("run;assign;load", 31), ("run;save", 9), ("quit", 15)]
    profile = a_run(tmp_path, stages)
    assert len(shown(profile)) == len(stages)


def test_what_changes_deeper_in_one_function_is_found_beside_others(tmp_path):
    near, far = "main;run;lik;down;bases", "main;run;lik;down;codons"
    parts = [(19 * f"{near} " + "main;run;move", 20), (19 * f"{far} " + "main;run;move", 20)]
    assert len(parts_of(sequence_of(a_run(tmp_path, parts))).nodes) == 2


def test_steps_that_alternate_below_a_driver_are_one_phase(tmp_path):
    turns = [("main;loop;sweep", 5), ("main;loop;reduce", 5)] * 8
    assert len(parts_of(sequence_of(a_run(tmp_path, [("main;setup", 20), *turns]))).nodes) == 2


def test_a_short_set_up_is_a_phase_and_the_resolution_can_be_chosen(tmp_path):
    parts = [("main;read", 1), ("main;solve", 90), ("main;write", 1)]
    run = a_run(tmp_path, parts)
    assert parts_of(sequence_of(run)).is_phase == (True, True, True)
    longer = a_run(tmp_path / "longer", [("main;read", 1), ("main;solve", 400)])
    assert parts_of(sequence_of(longer)).is_phase == (False, True)
    options = PHASES.__class__(resolution=0.5)
    assert parts_of(sequence_of(longer), options).is_phase == (True, True)


def test_more_phases_can_be_requested_than_are_significant(tmp_path):
    near = "main;a main;a main;b main;b", "main;a main;a main;a main;b main;b"
    run = a_run(tmp_path, [(near[0], 10), (near[1], 10)])
    assert len(parts_of(sequence_of(run)).nodes) == 1
    assert len(parts_of(sequence_of(run), PHASES, 2).nodes) >= 2


def test_the_default_recording_of_a_second_shows_its_parts(tmp_path):
    writer = StreamWriter(["main", "read", "solve"], interval_s=1.0)
    writer.interval([Sample("main;read")] * 30 + [Sample("main;solve")] * 70)
    for _ in range(9):
        writer.interval([Sample("main;solve")] * 100)
    writer.end()
    result = Study(writer.save(tmp_path / "run")).phases(confidence=False)
    assert [phase.functions[0].function.name for phase in result.phases] == ["read", "solve"]
    assert result.phases[0].seconds == pytest.approx(0.3, abs=0.02)


@settings(max_examples=50)
@given(
    ends=st.tuples(st.integers(80, 140), st.integers(190, 260)),
    rate=st.sampled_from([10, 25]),
    seed=st.integers(0, 10**6),
)
def test_a_border_inside_an_interval_without_times_is_a_jump(ends, rate, seed):
    """Of samples without times, only the interval is known: those of two stages are in no order in it."""
    stage = np.searchsorted(ends, np.arange(320), side="right")
    rng = np.random.default_rng(seed)
    for first in range(0, len(stage), rate):
        stage[first : first + rate] = rng.permutation(stage[first : first + rate])
    blurred = replace(evidence_of(stage), blur=rate)
    assert len(segments_of(blurred, found_in(stage, rate))) == 3


@pytest.mark.parametrize("is_delayed", [False, True])
def test_waiting_for_a_processor_belongs_to_the_phase_around_it(tmp_path, is_delayed):
    """In the middle of a run, the program gets a tick every two seconds: it sleeps, or other programs run."""
    writer = StreamWriter(["main", "one", "two"], interval_s=1.0)
    for i in range(60):
        is_rare = 20 <= i < 40
        samples = [Sample("main;one"), Sample("main;two")] * 50
        samples = samples[i // 2 % 2 : i // 2 % 2 + 1] * (i % 2) if is_rare else samples
        writer.interval(samples, counters={17: 10**9 - len(samples) * 10**7} if is_rare and is_delayed else None)
    writer.end()
    result = Study(open_run(writer.save(tmp_path / "run"))).phases()
    assert (result.labels >= 0).all()
    assert [phase.off_cpu for phase in result.phases] == ([False] if is_delayed else [False, True])
    assert result.spent is not None
    assert bool((result.spent == SPENT.index("waiting")).any()) is not is_delayed


@pytest.mark.parametrize("seed", range(4))
def test_a_late_sample_is_one_observation_however_many_ticks_it_stands_for(tmp_path, seed):
    """On a busy machine, a third of the samples stand for 2 to 20 ticks each, all of them in one function."""
    rng = np.random.default_rng(seed)
    names = [f"f{at}" for at in range(8)]
    writer = StreamWriter(["main", "rest", *names], interval_s=1.0)
    for number in range(24):
        weight = np.where(rng.random(40) < 1 / 3, rng.integers(2, 21, 40), 1)
        function = rng.integers(0, 8, 40)
        above = "main;rest" if 8 <= number < 16 else "main"
        paths = [f"{above};{names[at]}" for at in function]
        writer.interval([Sample(path, weight=int(w)) for path, w in zip(paths, weight, strict=True)])
    writer.end()
    result = Study(writer.save(tmp_path / "run")).phases(confidence=False)
    assert result.k == 2
    assert result.labels[[0, -1]].tolist() == [0, 0]
