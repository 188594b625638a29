import math

import numpy as np
import pytest

from incprof.analysis.compare.match_names import pair_beats
from incprof.analysis.heartbeats.summaries import BeatRun
from incprof.systems.heartbeats.compare import METRICS, compare, differences
from tests.unit.beatmaker import beat

RUN = BeatRun("app", 1, 1, 1, 40, 1.0, 0.0, 40.0, True, {})


def noisy(seed, n=40, noise=0.05):
    return 1e-3 * np.random.default_rng(seed).normal(1, noise, n)


def one(a, b):
    (found,) = compare(pair_beats([a], [b]))
    return found


def test_figures_and_changes():
    found = one(beat(1, "s", [10] * 40, noisy(1)), beat(1, "s", [5] * 40, 1.2 * noisy(1)))
    assert found.deltas.keys() == set(METRICS)
    assert found.deltas["mean"].pct == pytest.approx(20)
    assert found.deltas["max"].pct == pytest.approx(20)
    assert (found.deltas["count"].a, found.deltas["count"].b, found.deltas["count"].change) == (400, 200, -200)
    assert found.deltas["rate"].pct == pytest.approx(-50)
    assert found.deltas["busy"].pct == pytest.approx(-40)
    assert found.verdict == "slower"
    assert found.ci.low < 1.2 < found.ci.high


def test_faster_noise_and_too_few():
    many = [10] * 40
    assert one(beat(1, None, many, noisy(1)), beat(1, None, many, 0.9 * noisy(2))).verdict == "faster"
    assert one(beat(1, None, many, noisy(1)), beat(1, None, many, noisy(2))).verdict == "noise"
    few = one(beat(1, None, [10] * 4, 1e-3), beat(1, None, many, 2e-3))
    assert (few.verdict, few.ci, few.intervals) == ("unsure", None, (4, 40))
    assert few.deltas["mean"].pct == pytest.approx(100)


def test_intervals_without_beats_are_no_zeros():
    counts = [10, 0] * 20
    found = one(beat(1, None, counts, noisy(1)), beat(1, None, counts, noisy(1)))
    assert (found.intervals, found.verdict) == ((20, 20), "noise")


def test_gone_new_and_never_there():
    a = [beat(1, "gone", [3] * 9), beat(2, "named only")]
    b = [beat(3, "new", [3] * 9), beat(1, "gone"), beat(2, "named only")]
    found = {diff.pair.name: diff for diff in compare(pair_beats(a, b))}
    assert {name: diff.verdict for name, diff in found.items()} == {"gone": "gone", "new": "new"}
    assert (found["gone"].deltas["count"].b, found["gone"].deltas["mean"].b) == (0, None)
    assert found["gone"].deltas["rate"].pct == -100
    assert math.isinf(found["new"].deltas["count"].pct)


def test_one_that_is_in_progress_is_not_gone():
    found = one(beat(1, None, [3] * 9), beat(1, None, [0] * 9, opens=[1] * 9))
    assert (found.verdict, found.deltas["mean"].b, found.deltas["mean"].pct) == ("-", None, None)


def test_pulses_are_counted():
    found = one(beat(1, None, [0] * 9, pulses=[4] * 9), beat(1, None, [0] * 9, pulses=[2] * 9))
    assert (found.deltas["count"].a, found.deltas["count"].b, found.verdict) == (36, 18, "-")


def test_a_rate_factor_is_made_up_for():
    found = one(beat(1, None, [100] * 9), beat(1, None, [10] * 9, rate_factor=10))
    assert (found.deltas["count"].pct, found.deltas["rate"].pct) == (0, pytest.approx(0))


def test_many_heartbeats_that_did_not_change_are_not_called_slower():
    alarms = 0
    for seed in range(20):
        a = [beat(i, None, [10] * 40, noisy(1000 * seed + i)) for i in range(50)]
        b = [beat(i, None, [10] * 40, noisy(1000 * seed + 500 + i)) for i in range(50)]
        alarms += any(diff.verdict != "noise" for diff in compare(pair_beats(a, b)))
    # At 5 % one would be expected in 20; uncorrected it would be nearly all of them.
    assert alarms <= 4


def test_what_differs_between_runs_is_reported():
    other = BeatRun("app2", 2, 2, 4, 40, 0.5, 0.0, 20.0, True, {})
    assert differences(RUN, RUN) == []
    assert [line.split(",")[0] for line in differences(RUN, other)] == [
        "A is a run of 'app'", "A has 1 ranks", "A has 1 threads", "intervals are 1 s in A",
    ]  # fmt: skip
