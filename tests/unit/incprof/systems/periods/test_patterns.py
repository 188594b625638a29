"""Phase-TA from the series to the patterns: the paper's example, and series whose periods are known."""

import numpy as np
import pytest
from scipy.signal import lfilter

from incprof.systems.periods.pattern_result import PatternOptions
from incprof.systems.periods.phase_ta import find_patterns
from tests.unit.made_series import SHAPES, Part, profile, stretch
from tests.variants import mostly_slow


def letters(text):
    return np.array(["ABCD".index(letter) for letter in text], dtype=float)


def measured(truth, found):
    """Share of the truly periodic time that is covered, share of the rest that is."""
    inside = truth.periodic() > 0
    got = np.zeros(len(inside), dtype=bool)
    for pattern in found.patterns:
        for start, end in pattern.instances.tolist():
            assert not got[start:end].any()
            got[start:end] = True
    return got[inside].mean(), got[~inside].mean() if (~inside).any() else 0.0


@pytest.mark.parametrize("exact", [False, True])
def test_the_papers_example(exact):
    found = find_patterns(letters("AABAABBDCBACBACBAAABDCAABAAB"), PatternOptions(exact=exact))
    first, second = found.patterns
    assert first.values.tolist() == letters("AAB").tolist()
    assert first.instances.tolist() == [[0, 3], [3, 6], [22, 25], [25, 28]]
    assert first.regions.tolist() == [[0, 6], [22, 28]]
    assert second.values.tolist() == letters("CBA").tolist()
    assert second.instances.tolist() == [[8, 11], [11, 14], [14, 17]]
    assert second.regions.tolist() == [[8, 17]]
    assert (first.wgss, second.wgss) == (0.0, 0.0)
    assert found.summary == "2(7)[2]"
    assert found.coverage == pytest.approx(21 / 28)


@pytest.mark.parametrize("name", mostly_slow(1, SHAPES))
def test_profiles_shaped_like_the_papers(name):
    truth = profile(60_000, SHAPES[name], seed=1)
    found = find_patterns(truth.values)
    covered, false = measured(truth, found)
    assert covered >= 0.95
    assert false <= 0.01
    assert len(found.patterns) == len(SHAPES[name])
    assert found.instances == pytest.approx(len(truth.instances), abs=2)
    lengths = sorted(pattern.length for pattern in found.patterns)
    assert lengths == pytest.approx(sorted(part.length for part in SHAPES[name]), rel=0.03)


@pytest.mark.parametrize(
    "trouble",
    [
        *(pytest.param(one, marks=pytest.mark.slow) for one in ({"noise": 0.1}, {"jitter": 0.03}, {"drift": 1.0})),
        {"noise": 0.06, "jitter": 0.02, "drift": 0.5},
        {"noise": 0.0},
    ],
    ids=str,
)
def test_noise_drift_and_samples_put_in_and_left_out(trouble):
    truth = profile(40_000, SHAPES["NEMO"], seed=3, **trouble)
    covered, false = measured(truth, find_patterns(truth.values))
    assert covered >= 0.95
    assert false <= 0.06


@pytest.mark.parametrize("seed", [0, 1])
def test_flat_parts_between_short_instances_are_not_instances(seed):
    truth = profile(30_000, (Part(12, 0.7, 40),), seed)
    covered, false = measured(truth, find_patterns(truth.values))
    assert covered >= 0.95
    assert false <= 0.01


def test_instances_begin_at_the_same_point_of_the_pattern():
    truth = profile(40_000, SHAPES["NEMO"], seed=5)
    found = find_patterns(truth.values)
    starts = found.patterns[0].instances[:, 0]
    apart = starts[:, None] - truth.instances[:, 0]
    offset = apart[np.arange(len(starts)), np.abs(apart).argmin(axis=1)]
    low, middle, high = np.quantile(offset, [0.05, 0.5, 0.95])
    assert high - low <= 10
    assert abs(middle) <= 0.15 * 224


def test_several_periods_of_nearly_equal_length():
    parts = (Part(200, 0.3, 12), Part(206, 0.3, 12), Part(212, 0.3, 12))
    truth = profile(40_000, parts, seed=2)
    found = find_patterns(truth.values)
    assert len(found.patterns) == 3
    assert measured(truth, found)[0] >= 0.95
    for pattern in found.patterns:
        middle = pattern.instances.mean(axis=1)
        at = np.searchsorted(truth.instances[:, 0], middle, side="right") - 1
        parts_of, counts = np.unique(truth.part[at], return_counts=True)
        assert counts.max() >= 0.97 * counts.sum(), parts_of


# Thirty random letters do hold repetitions, and they are claimed: see the paper's example.
LITERAL = ("letters", "bits")


@pytest.mark.parametrize("samples", [2, 30, 500, 3000])
@pytest.mark.parametrize(
    "kind",
    ["white", "walk", "letters", "bits", "plateaus", "smooth", "smoother", "outliers", "spike", "ramp", "constant"],
)
def test_nothing_is_claimed_of_what_does_not_repeat(samples, kind):
    for seed in range(4) if samples >= 500 or kind not in LITERAL else ():
        draw = np.random.default_rng(seed)
        white = draw.standard_normal(samples)
        series = {
            "white": lambda white=white: white,
            "walk": lambda white=white: np.cumsum(white),
            "letters": lambda draw=draw: draw.integers(0, 4, samples).astype(float),
            "bits": lambda draw=draw: draw.integers(0, 2, samples).astype(float),
            "plateaus": lambda draw=draw: stretch(samples, draw),
            "smooth": lambda white=white: lfilter([1], [1, -0.9], white),
            "smoother": lambda white=white: lfilter([1], [1, -0.99], white),
            "outliers": lambda draw=draw: draw.exponential(size=samples) ** 3,
            "spike": lambda: np.eye(1, samples, samples // 2)[0],
            "ramp": lambda: np.linspace(0, 1, samples),
            "constant": lambda: np.full(samples, 3.25),
        }[kind]()
        assert find_patterns(series).patterns == ()


def test_random_counts_of_few_values_are_seldom_given_a_pattern():
    """Short pieces of them do repeat; a series is refused unless it does so more than in random orders."""
    claimed = count = 0
    for samples in (300, 800):
        for seed in range(15):
            draw = np.random.default_rng(seed)
            series = [
                draw.poisson(0.3, samples),
                draw.poisson(1.5, samples),
                draw.binomial(3, 0.9, samples),
                draw.geometric(0.5, samples),
                np.concatenate([draw.poisson(mean, samples // 4) for mean in (1, 3, 0.5, 2)]),
            ]
            claimed += sum(bool(find_patterns(counts.astype(float)).patterns) for counts in series)
            count += len(series)
    assert claimed <= 0.05 * count


def test_a_loop_among_random_counts_is_found():
    for seed in range(10):
        counts = np.random.default_rng(seed).poisson(1.5, 300)
        counts[100:200] = np.tile([3, 1, 2, 0, 1], 20)
        found = find_patterns(counts.astype(float))
        inside = [0 <= start - 95 <= 105 for start in found.patterns[0].instances[:, 0].tolist()]
        assert len(inside) >= 19
        assert sum(inside) >= 0.9 * len(inside)


def test_a_clean_wave_is_found_with_few_periods():
    found = find_patterns(np.sin(2 * np.pi * np.arange(600) / 100))
    (pattern,) = found.patterns
    assert pattern.length == pytest.approx(100, abs=1)
    assert found.coverage > 0.95


@pytest.mark.slow
def test_the_same_by_the_textbook():
    truth = profile(2500, (Part(40, 0.6, 8),), seed=4)
    options = {"longest_window": 120}
    fast, exact = (find_patterns(truth.values, PatternOptions(exact=exact, **options)) for exact in (False, True))
    assert fast.tuning == exact.tuning
    assert len(fast.patterns) == len(exact.patterns) == 1
    assert fast.patterns[0].instances.tolist() == exact.patterns[0].instances.tolist()
    np.testing.assert_allclose(fast.patterns[0].values, exact.patterns[0].values, rtol=1e-9)
    np.testing.assert_allclose(fast.patterns[0].history, exact.patterns[0].history, rtol=1e-9)


def test_threads_do_not_change_a_byte():
    truth = profile(20_000, SHAPES["HPCG"], seed=6)
    one, two = (find_patterns(truth.values, PatternOptions(threads=threads)) for threads in (1, 3))
    assert one.tuning == two.tuning
    for first, second in zip(one.patterns, two.patterns, strict=True):
        assert first.values.tobytes() == second.values.tobytes()
        assert first.instances.tobytes() == second.instances.tobytes()
        assert first.history == second.history


def test_without_alignment_windows_and_whole_instances_count():
    truth = profile(30_000, SHAPES["NEMO"], seed=7)
    plain = find_patterns(truth.values, PatternOptions(align=False))
    covered, _ = measured(truth, plain)
    assert 0.6 < covered <= measured(truth, find_patterns(truth.values))[0]


def test_the_distance_of_manhattan():
    truth = profile(30_000, SHAPES["NEMO"], seed=7, noise=0.01, jitter=0.003)
    found = find_patterns(truth.values, PatternOptions(metric="l1"))
    assert measured(truth, found)[0] >= 0.95


def test_what_is_reported_adds_up():
    truth = profile(30_000, SHAPES["HPCG"], seed=8)
    found = find_patterns(truth.values)
    assert 0 < found.detected < found.coverage
    assert (found.by_chance, found.chance_spread) == (0, 0)
    assert found.noise == pytest.approx(0.03, rel=0.2)
    assert 0 < found.theta < 1
    for pattern in found.patterns:
        lengths = pattern.instances[:, 1] - pattern.instances[:, 0]
        assert pattern.share == pytest.approx(lengths.sum() / found.samples)
        assert (pattern.regions[:, 1] - pattern.regions[:, 0]).sum() == lengths.sum()
        assert pattern.wgss_per_instance == pytest.approx(pattern.wgss / len(lengths))
        assert pattern.wgss_per_sample == pytest.approx(pattern.wgss / lengths.sum())
        assert pattern.wgss == pattern.history[-1] == min(pattern.history)
    shares = [pattern.share for pattern in found.patterns]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_numbers_of_any_size(factor):
    truth = profile(10_000, SHAPES["NEMO"], seed=9)
    plain, scaled = find_patterns(truth.values), find_patterns(truth.values * factor)
    assert scaled.patterns[0].instances.tolist() == plain.patterns[0].instances.tolist()
    np.testing.assert_allclose(scaled.patterns[0].values / factor, plain.patterns[0].values, rtol=1e-9)


@pytest.mark.parametrize("series", [[1.0, np.nan, 2.0], [np.inf] * 9, [[1.0, 2.0]]])
def test_what_is_no_series_is_refused(series):
    with pytest.raises(ValueError, match=r"finite|dimension"):
        find_patterns(np.array(series))


def test_an_empty_series():
    found = find_patterns(np.zeros(0))
    assert (found.samples, found.window, found.patterns, found.coverage) == (0, 0, (), 0)
