"""Whether heartbeats tell the recorded story, on stories that are known."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appekg.reader import read
from incprof.errors import NoDataError
from incprof.study.heartbeat_files import ProcessBeats
from incprof.study.study import Study
from incprof.systems.heartbeats.against_phases import beats_of
from incprof.systems.heartbeats.agreement_measures import agree
from incprof.systems.heartbeats.validation import SILENT, UNSEEN
from tests.unit.ekgfiles import COLUMNS, SECOND, EkgFile, beats
from tests.unit.profiles import two_phase_run
from tests.unit.stories import beaten, bodies, recorded, table

SITES, HEARTBEATS = bodies(4)
STORY = [(0, 20.0), (1, 30.0), (2, 25.0), (3, 25.0)]

stories = st.lists(st.tuples(st.integers(-1, 3), st.integers(1, 9).map(float)), min_size=1, max_size=12).filter(
    lambda story: any(phase >= 0 for phase, _ in story)
)


@given(story=stories, interval_s=st.sampled_from([0.25, 0.5, 1.0]))
@settings(deadline=None)
def test_perfect_heartbeats_of_the_same_run(story, interval_s):
    """Also with intervals of another length than the recording's, as long as their edges meet."""
    found = agree(*recorded(story, SITES), beaten(story, HEARTBEATS, interval_s=interval_s), align="clock")
    seen = {phase for phase, _ in story if phase >= 0}
    assert found.agreement == pytest.approx(1)
    assert found.balanced == pytest.approx(1)
    assert found.kappa == (pytest.approx(1) if len(seen) > 1 else None)
    assert found.compared_s == pytest.approx(sum(seconds for phase, seconds in story if phase >= 0))
    assert found.total_s == pytest.approx(sum(seconds for _, seconds in story))
    for phase in found.phases:
        if phase.id in seen:
            assert (phase.recall, phase.coverage, phase.busy) == pytest.approx((1, 1, 1))
            assert (phase.spill_beats, phase.spill_busy) == pytest.approx((0, 0))
            assert (phase.rate_hz, phase.mean_s) == pytest.approx((1000, 1e-3))


@given(story=stories, data=st.data(), align=st.sampled_from(["clock", "scale", "warp"]))
@settings(deadline=None)
def test_whatever_the_heartbeats_do_the_figures_are_figures(story, data, align):
    m = data.draw(st.integers(1, 40))
    busy = data.draw(st.lists(st.lists(st.floats(0, 4), min_size=m, max_size=m), min_size=4, max_size=4))
    found = agree(*recorded(story, SITES), table(busy, [name for name, _ in HEARTBEATS]), align=align)
    assert 0 <= found.agreement <= 1
    assert 0 <= found.balanced <= 1
    assert found.kappa is None or found.kappa <= 1 + 1e-9
    assert found.confusion.sum() == pytest.approx(found.compared_s)
    assert found.timeline.seconds.sum() == pytest.approx(found.total_s)
    assert 0 <= found.alignment.warp_mean <= found.alignment.warp_max + 1e-9 < 1
    for phase in found.phases:
        for share in (phase.recall, phase.coverage, phase.busy, phase.spill_beats, phase.spill_busy):
            assert share is None or -1e-9 <= share <= 1 + 1e-9


@given(
    story=stories, order=st.permutations(range(4)), places=st.permutations(range(4)), noise=st.integers(0, 2**32 - 1)
)
@settings(deadline=None)
def test_numbers_of_phases_and_order_of_heartbeats_do_not_matter(story, order, places, noise):
    rng = np.random.default_rng(noise)
    shuffled = [story[i] for i in rng.permutation(len(story))]
    first = agree(*recorded(story, SITES), beaten(shuffled, HEARTBEATS), align="clock")
    renamed = [(order[phase] if phase >= 0 else -1, seconds) for phase, seconds in story]
    sites = [[(order.index(p), "body")] for p in range(4)]
    mixed = beaten(shuffled, [HEARTBEATS[place] for place in places])
    again = agree(*recorded(renamed, sites), mixed, align="clock")
    assert again.agreement == pytest.approx(first.agreement)
    assert again.balanced == pytest.approx(first.balanced)


def test_heartbeats_that_are_half_right():
    found = agree(
        *recorded([(0, 10.0), (1, 10.0)], SITES[:2]), beaten([(0, 15.0), (1, 5.0)], HEARTBEATS[:2]), align="clock"
    )
    assert found.agreement == pytest.approx(0.75)
    assert found.confusion.tolist() == [[10, 0, 0], [5, 5, 0]]
    assert found.balanced == pytest.approx(0.75)
    assert found.kappa == pytest.approx((0.75 - 0.5) / 0.5)
    first, second = found.phases
    assert (first.recall, second.recall) == (1, 0.5)
    assert (first.spill_beats, second.spill_beats) == (pytest.approx(1 / 3), 0)
    assert (first.coverage, second.coverage) == (1, 0.5)


def test_a_moment_without_heartbeats_is_no_phase():
    found = agree(
        *recorded([(0, 4.0), (1, 4.0)], SITES[:2]), beaten([(0, 4.0), (-1, 4.0)], HEARTBEATS[:2]), align="clock"
    )
    assert found.confusion.tolist() == [[4, 0, 0], [0, 0, 4]]
    assert set(found.timeline.named.tolist()) == {0, SILENT}
    assert found.agreement == 0.5
    assert "heartbeats that never beat: f1:body" in found.notes


def test_a_heartbeat_that_began_late_and_ended_early():
    profile, result = recorded([(0, 5.0), (1, 5.0)], SITES[:2])
    found = agree(profile, result, beaten([(0, 3.0), (1, 4.0)], HEARTBEATS[:2]), align="clock", offset_s=2.0)
    assert found.confusion.tolist() == [[3, 0, 2], [0, 4, 1]]


def test_lost_intervals_are_not_compared():
    beats = beaten([(0, 5.0), (1, 5.0)], HEARTBEATS[:2])
    kept = np.array([0, 1, 2, 6, 7, 8, 9])
    fields = {
        name: getattr(beats, name)[:, kept] for name in ("busy_s", "executed", "recorded", "sum_s", "pulses", "present")
    }
    holed = replace(beats, start_s=beats.start_s[kept], end_s=beats.end_s[kept], **fields)
    found = agree(*recorded([(0, 5.0), (1, 5.0)], SITES[:2]), holed, align="clock")
    assert (found.agreement, found.compared_s) == (pytest.approx(1), pytest.approx(7))
    assert UNSEEN in found.timeline.named
    assert any("30.0 % of the run have no heartbeats" in note for note in found.notes)


def test_an_outer_loop_that_is_always_open_does_not_win():
    """Phase 0 is the driver's own loop, the others are in functions that it calls."""
    sites = [[(0, "loop")], [(1, "body")], [(2, "body")]]
    story = [(0, 5.0), (1, 3.0), (2, 2.0)] * 4
    heartbeats = [("f0:loop", [0, 1, 2]), ("f1:body", [1]), ("f2:body", [2])]
    found = agree(*recorded(story, sites), beaten(story, heartbeats), align="clock")
    assert found.agreement == pytest.approx(1)
    assert found.phases[0].spill_busy == pytest.approx(0.5)
    assert found.phases[1].spill_busy == 0


def test_a_rare_phase_in_a_loop_that_is_open_everywhere():
    sites = [[(0, "loop")], [(1, "body")]]
    story = [(0, 2.0), (1, 18.0)] * 3
    found = agree(*recorded(story, sites), beaten(story, [("f0:loop", [0, 1]), ("f1:body", [1])]), align="clock")
    assert found.agreement == pytest.approx(1)


def test_a_site_of_two_phases_belongs_to_both():
    sites = [[(0, "body")], [(0, "body"), (1, "body")]]
    story = [(0, 6.0), (1, 4.0)] * 2
    found = agree(*recorded(story, sites), beaten(story, [("f0:body", [0, 1]), ("f1:body", [1])]), align="clock")
    assert found.agreement == pytest.approx(1)
    assert [phase.heartbeats for phase in found.phases] == [(1,), (1, 2)]
    assert [phase.spill_beats for phase in found.phases] == [0, 0]


def test_phases_with_the_same_heartbeats_count_as_one():
    sites = [[(0, "body")], [(1, "body")], [(0, "body")]]
    story = [(0, 4.0), (1, 4.0), (2, 4.0)]
    found = agree(*recorded(story, sites), beaten(story, [("f0:body", [0, 2]), ("f1:body", [1])]), align="clock")
    assert found.agreement == pytest.approx(1)
    assert [phase.same_as for phase in found.phases] == [0, 1, 0]
    assert "phases 0, 2 have the same heartbeats: they count as one" in found.notes


def test_phases_without_heartbeats_are_not_compared_and_named():
    story = [(0, 4.0), (1, 4.0), (2, 2.0), (-1, 2.0)]
    found = agree(*recorded(story, [*SITES[:2], []]), beaten(story, HEARTBEATS[:1]), align="clock")
    assert (found.agreement, found.kappa, found.compared_s) == (1, None, 4)
    assert [phase.recall for phase in found.phases] == [1, None, None]
    notes = "\n".join(found.notes)
    assert "phase 1 (33.3 % of the run) is not compared: no heartbeat for f1:body" in notes
    assert "phase 2 (16.7 % of the run) is not compared: it has no site" in notes
    assert "only one phase has heartbeats of its own: agreement means little" in notes
    assert "16.7 % of the run are between phases, and not compared" in notes


def test_a_rate_factor_changes_nothing():
    one = agree(*recorded(STORY, SITES), beaten(STORY, HEARTBEATS), align="clock")
    other = agree(*recorded(STORY, SITES), beaten(STORY, HEARTBEATS, factors=[1, 10, 100, 1]), align="clock")
    assert other.agreement == one.agreement
    assert [phase.rate_hz for phase in other.phases] == [phase.rate_hz for phase in one.phases]
    assert [phase.mean_s for phase in other.phases] == pytest.approx([phase.mean_s for phase in one.phases])


def test_pulses_have_no_duration_and_count_all_the_same():
    beats = beaten(STORY, HEARTBEATS)
    zero = np.zeros_like(beats.busy_s)
    pulses = replace(beats, busy_s=zero, sum_s=zero, recorded=zero, pulses=beats.executed)
    found = agree(*recorded(STORY, SITES), pulses, align="clock")
    assert found.agreement == pytest.approx(1)
    assert [phase.mean_s for phase in found.phases] == [None] * 4


@given(story=stories, seed=st.integers(0, 2**32 - 1), align=st.sampled_from(["clock", "scale", "warp"]))
@settings(deadline=None)
def test_intervals_that_no_clock_has_made(story, seed, align):
    """Files may hold anything: intervals of no length, over each other, or of years."""
    rng = np.random.default_rng(seed)
    beats = beaten(story, HEARTBEATS)
    start = rng.random(len(beats.end_s)) * rng.choice([0.0, 9.0, 1e9])
    odd = replace(beats, start_s=start, end_s=start + rng.random(len(start)) * rng.choice([0.0, 1.0, 1e9]))
    try:
        found = agree(*recorded(story, SITES), odd, align=align, offset_s=float(rng.normal()))
    except NoDataError:
        return
    assert 0 <= found.agreement <= 1
    assert np.isfinite([found.balanced, found.compared_s, found.alignment.stretch]).all()


def test_nothing_to_compare_is_reported():
    with pytest.raises(NoDataError, match=r"the sites are f0:body, .*; the heartbeats are g:body$"):
        agree(*recorded(STORY, SITES), beaten(STORY, [("g:body", [0])]), align="clock")
    profile, result = recorded(STORY, SITES)
    (site, *_), *_ = (phase.sites for phase in result.phases)
    named = replace(site, function=replace(site.function, name="double ns::A<std::vector<int> >::run<3>(long) const"))
    other = replace(result, phases=(replace(result.phases[0], sites=(named,)), *result.phases[1:]))
    with pytest.raises(NoDataError, match=r"the sites are ns::A::run:\w+, "):
        agree(profile, other, beaten(STORY, [("g:body", [0])]), align="clock")
    profile, result = recorded([(0, 3.0), (-1, 3.0)], SITES)
    with pytest.raises(NoDataError, match="no time in which both runs can be compared"):
        agree(profile, result, beaten([(1, 6.0)], HEARTBEATS[1:2]), align="clock")


def test_beats_that_stand_for_more_time_than_there_was(tmp_path):
    study = Study(two_phase_run(tmp_path / "run"))
    site = study.phases(confidence=False).phases[0].sites[0]
    file = EkgFile(columns=(*COLUMNS, "executions")).beat(1, f"{site.function.name}:{site.kind}").thread(0, 4711)
    file.interval(beats(0, 1, [SECOND // 2], executions=100)).interval(beats(0, 1, [SECOND // 1000], executions=100))
    read_back = read(file.end().save(tmp_path / "rank-00000.ekg"))
    found = beats_of(ProcessBeats(read_back, 0), study.phases(confidence=False))
    assert found.executed.tolist() == [[100, 100]]
    assert found.busy_s == pytest.approx(np.array([[1.0, 0.1]]))
