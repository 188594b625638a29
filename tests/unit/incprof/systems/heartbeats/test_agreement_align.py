"""Two runs at different speeds: the warp finds the story where it is, and not where it is not."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.systems.heartbeats.agreement_align import FREE, NEAR, PENALTY, by_clock, cut, warp_path
from incprof.systems.heartbeats.agreement_measures import agree
from tests.unit.stories import beaten, bodies, recorded

SITES, HEARTBEATS = bodies(4)
STORY = [(0, 20.0), (1, 30.0), (2, 25.0), (3, 25.0)]
RNG = np.random.default_rng


def cheapest(cost, steps):
    """The cost of the cheapest path, step by step."""
    n = len(cost)
    best = {(0, 0): 0.0}
    for i, j in itertools.product(range(n + 1), repeat=2):
        if (i, j) == (0, 0):
            continue
        reached = []
        for a, b in steps:
            if (i - a, j - b) in best:
                cells = max(a, b)
                along = [cost[i - 1 - k * a // cells, j - 1 - k * b // cells] for k in range(cells)]
                reached.append(best[i - a, j - b] + np.mean(along) * (a + b) / 2 + PENALTY * abs(a - b))
        if reached:
            best[i, j] = min(reached)
    return best[n, n]


def price(cost, path):
    """What a path costs."""
    total = 0.0
    for (i, j), (to_i, to_j) in itertools.pairwise(path.astype(int).tolist()):
        a, b = to_i - i, to_j - j
        cells = max(a, b)
        along = [cost[to_i - 1 - k * a // cells, to_j - 1 - k * b // cells] for k in range(cells)]
        total += np.mean(along) * (a + b) / 2 + PENALTY * abs(a - b)
    return total


@given(
    steps=st.sampled_from([FREE, NEAR]),
    size=st.integers(1, 14),
    seed=st.integers(0, 2**32 - 1),
    levels=st.integers(2, 50),
)
@settings(deadline=None)
def test_the_warp_is_the_cheapest_path_of_steps_that_are_allowed(steps, size, seed, levels):
    cost = RNG(seed).integers(0, levels, (size, size)) / levels
    path = warp_path(cost, steps)
    assert path[0].tolist() == [0, 0]
    assert path[-1].tolist() == [size, size]
    assert {tuple(step) for step in np.diff(path, axis=0).astype(int).tolist()} <= set(steps)
    assert price(cost, path) == pytest.approx(cheapest(cost, steps))


def test_where_nothing_is_gained_there_is_no_warp():
    assert warp_path(np.ones((30, 30)), FREE).tolist() == [[i, i] for i in range(31)]


@given(
    story=st.lists(st.tuples(st.integers(0, 3), st.integers(4, 12).map(float)), min_size=2, max_size=6),
    speeds=st.lists(st.sampled_from([0.6, 0.8, 1.0, 1.25, 1.6]), min_size=4, max_size=4),
    overall=st.sampled_from([0.05, 1.0, 30.0]),
)
@settings(deadline=None, max_examples=40)
def test_a_run_whose_phases_are_faster_and_slower(story, speeds, overall):
    """What is left are edges of intervals and cells."""
    faster = [(phase, seconds * speeds[phase] * overall) for phase, seconds in story]
    profile, result = recorded(story, SITES, interval_s=0.25)
    length = sum(seconds for _, seconds in faster) / 150
    found = agree(profile, result, beaten(faster, HEARTBEATS, interval_s=length), align="warp")
    assert found.agreement > 0.93
    assert found.alignment.stretch == pytest.approx(
        sum(seconds for _, seconds in story) / sum(seconds for _, seconds in faster), rel=0.02
    )


def test_an_even_stretch_needs_no_warp():
    half = [(phase, seconds / 2) for phase, seconds in STORY]
    for align in ("scale", "warp"):
        found = agree(*recorded(STORY, SITES), beaten(half, HEARTBEATS, interval_s=0.5), align=align)
        assert found.agreement == pytest.approx(1)
        assert (found.alignment.kind, found.alignment.stretch) == (align, pytest.approx(2))
        assert found.alignment.warp_max == pytest.approx(0, abs=1e-9)


def test_the_gain_of_a_warp_is_reported():
    other = [(0, 10.0), (1, 40.0), (2, 15.0), (3, 35.0)]
    warped = agree(*recorded(STORY, SITES), beaten(other, HEARTBEATS), align="warp")
    scaled = agree(*recorded(STORY, SITES), beaten(other, HEARTBEATS), align="scale")
    assert warped.agreement > 0.95
    assert warped.unwarped == scaled.agreement < 0.85
    assert scaled.unwarped is None
    assert warped.alignment.warp_max == pytest.approx(0.1, abs=0.03)


def test_time_before_the_first_heartbeat_and_after_the_last_one_is_not_stretched():
    story = [(-1, 10.0), *STORY, (-1, 20.0)]
    found = agree(*recorded(story, SITES), beaten(STORY, HEARTBEATS), align="scale")
    assert found.agreement == pytest.approx(1)
    assert found.alignment.recorded_s.tolist() == [10, 110]


@pytest.mark.parametrize("order", [order for order in itertools.permutations(range(4)) if order != (0, 1, 2, 3)])
def test_heartbeats_under_wrong_names_do_not_agree(order):
    """A warp finds those that still come in the right order, bent as far as it may: three, of a story turned by one."""
    wrong = [(HEARTBEATS[order[p]][0], [p]) for p in range(4)]
    for align in ("clock", "scale", "warp"):
        found = agree(*recorded(STORY, SITES), beaten(STORY, wrong), align=align)
        assert found.agreement < 0.75
        if all(order[p] != p for p in range(4)):
            assert align == "warp" or found.agreement == 0


def shuffled_agreement(seed, phases, blocks, align):
    """Agreement of heartbeats whose stretches come in another order."""
    rng = RNG(seed)
    labels = rng.integers(0, phases, blocks)
    story = [(int(label), 8.0) for label in labels]
    other = [story[i] for i in rng.permutation(blocks)]
    sites, heartbeats = bodies(phases)
    return agree(*recorded(story, sites), beaten(other, heartbeats), align=align)


@pytest.mark.parametrize(("phases", "blocks"), [(3, 12), (4, 12), (4, 40), (8, 40)])
def test_shuffled_heartbeats_do_not_agree(phases, blocks):
    """A warp finds more than chance in them, and nowhere near what it finds in the right ones."""
    found = [shuffled_agreement(seed, phases, blocks, "warp") for seed in range(20)]
    assert np.mean([one.agreement for one in found]) < 0.6
    assert np.mean([one.unwarped for one in found]) < 0.45
    assert sum(one.agreement >= 0.9 for one in found) == 0


@given(
    lengths=st.lists(st.floats(0.1, 3), min_size=1, max_size=20),
    others=st.lists(st.floats(0.1, 3), min_size=1, max_size=20),
    offset=st.floats(-5, 30),
)
@settings(deadline=None)
def test_pieces_are_all_of_the_recorded_time(lengths, others, offset):
    end, other_end = np.cumsum(lengths), np.cumsum(others)
    start, other_start = end - lengths, other_end - others
    alignment = by_clock(offset, float(end[-1]), float(other_end[-1]))
    pieces = cut(alignment, (start, end), (other_start, other_end))
    assert pieces.seconds.sum() == pytest.approx(end[-1])
    overlap = max(min(end[-1], other_end[-1] + offset) - max(offset, 0.0), 0.0)
    assert pieces.beat_seconds.sum() == pytest.approx(overlap, abs=1e-6)
    middle = pieces.end_s - pieces.seconds / 2
    for at, where, theirs in zip(middle, pieces.recorded, pieces.beats, strict=True):
        assert start[where] <= at <= end[where]
        assert theirs == -1 or other_start[theirs] - 1e-6 <= at - offset <= other_end[theirs] + 1e-6
