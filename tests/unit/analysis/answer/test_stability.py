"""How sure phases are, what names their borders, and their levels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.answer import find_phases
from incprof.analysis.answer.confidence import recovery_rates, resampled_labels, same_k_rate
from incprof.errors import UsageError
from incprof.readers.run import open_run, read_profile
from tests.unit.profiles import noisy
from tests.unit.streamwriter import Sample, StreamWriter

A, B, C = {"a": 0.8, "b": 0.2}, {"a": 0.6, "b": 0.4}, {"c": 1.0}


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=60), st.integers(0, 1000))
def test_what_is_found_as_it_was_is_sure(values, seed):
    labels = np.unique(np.array(values), return_inverse=True)[1] - (min(values) < 0)
    drawn = resampled_labels(labels, np.zeros(len(labels), dtype=np.int64), lambda those: labels[those], seed, 4)
    use = labels >= 0
    assert (drawn[:, use] == labels[use]).all()
    size = np.bincount(labels[use], minlength=int(labels.max(initial=-1)) + 1)
    assert recovery_rates(labels, drawn) == pytest.approx(size / (size + 1.0))
    assert same_k_rate(labels, drawn) == 1.0


def test_halves_of_a_phase_are_not_the_phase():
    labels = np.array([0] * 10 + [1] * 10)
    drawn = np.array([[0] * 6 + [2] * 4 + [1] * 10])
    assert recovery_rates(labels, drawn) == pytest.approx([6 / 11, 10 / 11])
    assert recovery_rates(labels, drawn, whole=False) == pytest.approx([10 / 11, 10 / 11])
    assert same_k_rate(labels, drawn) == 0.0


def test_intervals_are_drawn_from_their_own_segment():
    labels, seen = np.repeat([0, 1, 0], 8), []

    def find(those):
        seen.append(those)
        return labels[those]

    segment = np.repeat(np.arange(6), 4)
    resampled_labels(labels, segment, find, 3, 4)
    assert all((segment[those] == segment).all() for those in seen)
    assert len({those.tobytes() for those in seen}) > 1


def test_borders_are_named_and_levels_join_the_most_alike():
    result = find_phases(noisy([A, C, B, C], [40, 30, 40, 30], ticks=1000))
    assert (result.k, [b.interval for b in result.borders]) == (3, [40, 70, 110])
    first, level = result.borders[0], result.levels[0]
    assert (first.before, first.after, first.function.name) == (0, 1, "c")
    assert first.share_before < 0.01 < 0.99 < first.share_after
    assert (level.k, level.phases, level.function.name) == (2, ((0, 2), (1,)), "a")
    assert level.difference == pytest.approx(0.2, abs=0.02)
    assert [level.k for level in result.levels] == [2, 1]


def test_a_level_can_be_had():
    profile = noisy([A, C, B, C], [40, 30, 40, 30], ticks=1000)
    coarse = find_phases(profile, level=2)
    assert (coarse.k, coarse.rule) == (2, "level")
    assert coarse.labels.tolist() == [0] * 40 + [1] * 30 + [0] * 40 + [1] * 30
    assert [b.interval for b in coarse.borders] == [40, 70, 110]
    assert find_phases(profile, level=3).k == 3
    assert find_phases(profile, level=1).k == 1
    for wrong in ({"level": 0}, {"level": 2, "k": 2}, {"level": 2, "method": "paper"}):
        with pytest.raises(UsageError, match="--level"):
            find_phases(profile, **wrong)


def turns(tmp_path, driver):
    """A driver that calls two steps of five intervals each in turn, after a set-up."""
    writer = StreamWriter(["main", "setup", "solve", "sweep", "reduce"])
    for i in range(120):
        path = "main;setup" if i < 20 else f"main;{driver}{'sweep' if i // 5 % 2 else 'reduce'}"
        writer.interval([Sample(path, weight=100)])
    writer.end()
    return read_profile(open_run(writer.save(tmp_path / "run")))


def test_what_comes_in_turn_is_steps_below_a_driver_and_phases_below_main(tmp_path):
    below = find_phases(turns(tmp_path / "a", "solve;"))
    assert below.k == 2
    assert below.labels.tolist() == [0] * 20 + [1] * 100
    assert find_phases(turns(tmp_path / "b", "")).k == 3
