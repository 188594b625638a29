"""States of nodes, what comes next, energy: against definitions, brute force and generated nodes."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from incprof.errors import NoDataError
from incprof.model.series import NodeSeries
from incprof.systems.nodes.analyse.comparable_rates import (
    counters_of,
    crowded,
    filled,
    is_stepwise,
    most_probable,
)
from incprof.systems.nodes.analyse.energy_forecast import align, estimate, match
from incprof.systems.nodes.analyse.learn import (
    changes,
    common_counters,
    decoded,
    group,
    learn,
    name_by_rates,
    unique_names,
)
from incprof.systems.nodes.analyse.live import ENDED, Live, Places
from incprof.systems.nodes.analyse.node_states import KnownRun, NodeStates, Segment, graph, overlay
from incprof.systems.nodes.analyse.power import fit, lag_of, moved
from truth.nodes.cases import names, node_case
from truth.nodes.scores import energy_score, next_score, states_score

MODEST = settings(max_examples=60, deadline=None)


def most_probable_in_numpy(evidence, stay):
    """The most probable states, without the kernel."""
    rows, states = evidence.shape
    came = np.zeros((rows, states), dtype=np.int64)
    score = np.asarray(evidence[0], dtype=np.float32)
    for row in range(1, rows):
        best = int(score.argmax())
        top = score[best]
        moved = np.float32(top - np.float32(stay))
        came[row] = np.where(moved > score, best, np.arange(states))
        score = np.maximum(score, moved) - top + evidence[row]
    out = np.zeros(rows, dtype=np.int64)
    out[-1] = score.argmax()
    for row in range(rows - 1, 0, -1):
        out[row - 1] = came[row, out[row]]
    return out


@given(
    arrays(np.float32, st.tuples(st.integers(1, 7), st.integers(1, 4)), elements=st.integers(-9, 0)), st.integers(0, 5)
)
@MODEST
def test_the_kernel_finds_a_best_sequence(evidence, stay):
    def worth(states):
        change = sum(a != b for a, b in pairwise(states))
        return sum(evidence[row, state] for row, state in enumerate(states)) - stay * change

    rows, count = evidence.shape
    best = max(worth(states) for states in product(range(count), repeat=rows))
    assert worth(most_probable(evidence, stay)) == best
    assert worth(most_probable_in_numpy(evidence, stay)) == best


def test_kernel_and_numpy_agree_on_many_rows_and_states():
    evidence = np.random.default_rng(0).normal(0, 2, (3000, 70)).astype(np.float32)
    for stay in (0.0, 3.0, 50.0):
        assert np.array_equal(most_probable(evidence, stay), most_probable_in_numpy(evidence, stay))


def test_changes_are_where_means_differ_and_noise_has_none():
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(600, 4))
    assert changes(noise).tolist() == []
    steps = np.repeat([0.0, 4.0, 0.0, -4.0], 150)[:, None]
    assert np.all(np.abs(changes(noise + steps) - [150, 300, 450]) <= 1)


@pytest.mark.parametrize(("family", "number"), [("plain", 0), ("gaps", 2), ("mixed", 1), ("idle", 1)])
def test_states_of_generated_nodes(family, number):
    score = states_score(family, number, "states")
    assert score.states_found == score.true
    assert score.ari > 0.9
    assert score.f1 > 0.9


def test_the_same_nodes_give_the_same_alphabet():
    series = node_case("plain", 0).series
    one, other = (learn([series], ["a"]) for _ in range(2))
    assert np.array_equal(one.emissions.means, other.emissions.means)
    assert one.runs == other.runs


def test_halves_of_the_truth_share_no_case():
    assert not set(names("tune")) & set(names("held"))
    assert len(list(names("tune"))) == len(list(names("held")))


def test_holes_are_as_the_row_before():
    table = np.array([[np.nan, 1.0], [2.0, np.nan], [np.nan, 3.0]])
    assert filled(table).tolist() == [[2, 1], [2, 1], [2, 3]]


def test_a_counter_that_the_alphabet_needs_is_named():
    series = node_case("plain", 0).series
    alphabet = learn([series], ["a"])
    at = series.names.index("cycles")
    without = replace(
        series, names=tuple(np.delete(series.names, at)), units=tuple(np.delete(series.units, at)),
        values=np.delete(series.values, at, axis=1),
    )  # fmt: skip
    with pytest.raises(NoDataError, match="cycles"):
        decoded(without, alphabet)


def test_power_has_no_factor_below_nought_and_comes_late():
    rng = np.random.default_rng(1)
    rates = rng.uniform(0, 100, (500, 3))
    watts = 80 + rates @ [2.0, 0.5, 0.0] + rng.normal(0, 1, 500)
    model = fit(rates, watts)
    assert np.all(model.watts_per >= 0)
    assert model.watts_per == pytest.approx([2, 0.5, 0], abs=0.05)
    assert model.base_w == pytest.approx(80, abs=3)
    other = 80 + rates @ [2.0, 0.5, 0.0] + rng.normal(0, 1, 500)
    off = other - model.watts(rates)
    assert 0.8 < np.mean((off >= model.low_w) & (off <= model.high_w)) < 0.98
    late = np.concatenate([np.full(4, watts[0]), watts[:-4]])
    assert lag_of(rates, late) == 4
    assert np.array_equal(moved(late, 4)[:496], watts[:496])


def segments(*pairs, watts=None):
    out, at = [], 0.0
    for state, seconds in pairs:
        out.append(Segment(state, at, at + seconds, None if watts is None else watts[state] * seconds))
        at += seconds
    return tuple(out)


LOOP = segments((0, 10), *[(1, 20), (2, 30)] * 3, (0, 5))


def test_places_know_which_round_it_is():
    places = Places([LOOP] * 3)
    places.begin(0)
    seen = []
    for state, seconds in [(1, 10), (2, 20), (1, 30), (2, 20), (1, 30), (2, 20)]:
        places.enter(state, seconds)
        seen.append(places.next(0.0)[0])
    assert [each.state for each in seen] == [2, 1, 2, 1, 2, 0]
    assert [each.in_s for each in seen] == pytest.approx([20, 30, 20, 30, 20, 30])
    assert seen[-1].probability > 0.8
    places.enter(0, 30)
    assert places.next(2.0)[0].state == ENDED
    assert places.next(2.0)[0].in_s == pytest.approx(3.0)


def test_a_slower_run_takes_longer_until_the_next_state():
    places = Places([LOOP])
    places.begin(0)
    for state, seconds in [(1, 15), (2, 30), (1, 45), (2, 30), (1, 45)]:
        places.enter(state, seconds)
    assert places.next(0.0)[0].in_s == pytest.approx(30, rel=0.06)


def test_nothing_follows_what_is_unknown():
    places = Places([LOOP])
    places.begin(7)
    assert places.next(0.0) == ()
    assert Places([]).next(0.0) == ()


def test_alignment_with_the_beginning_of_itself():
    seconds, state = np.array([10.0, 20, 30, 20]), np.array([0, 1, 2, 1])
    unlike = (state[:3, None] != state).astype(float)
    found = align(np.array([10.0, 20, 12]), seconds, unlike)
    assert found.pairs == ((0, 0), (1, 1), (2, 2))
    assert (found.end, found.similarity) == (3, 1.0)
    assert align(np.array([]), seconds, np.empty((0, 4))).similarity == 0.0


def test_alignment_reports_how_much_is_missing():
    # 10 of the run's 30 s are of another kind, beside nothing: 10 of 50 s in all do not agree.
    unlike = np.array([[0.0, 1], [1, 1], [1, 0]])
    found = align(np.array([10.0, 10, 10]), np.array([10.0, 10]), unlike)
    assert found.similarity == pytest.approx(1 - 10 / 50)
    assert found.pairs == ((0, 0), (2, 1))


def test_match_finds_the_application_and_its_pace():
    other = segments((2, 30), (0, 30), (2, 40))
    known = [KnownRun("loop", "n", LOOP), KnownRun("other", "n", other)]
    slow = [replace(s, begins_s=2 * s.begins_s, ends_s=2 * s.ends_s) for s in LOOP[:4]]
    best, second = match(slow, known)
    assert (best.application, best.matches, best.pace) == ("loop", True, pytest.approx(2.0))
    assert not second.matches


def test_what_comes_next_in_a_known_program():
    asked, right, timely = next_score(1)
    assert asked > 10
    assert right == asked
    assert timely > 0.7 * asked


def test_energy_on_another_machine():
    true, found = energy_score(0)
    assert found.energy_j == pytest.approx(true, rel=0.15)
    assert found.low_j < found.energy_j < found.high_j
    assert found.so_far_j < 0.5 * true
    assert found.simulated


def test_energy_needs_power():
    series = node_case("plain", 0).series
    alphabet = learn([series], ["a"])
    with pytest.raises(NoDataError, match="no power"):
        estimate(replace(series, power=None), alphabet)


def test_live_agrees_with_the_whole_series_except_at_changes():
    played = node_case("plain", 0)
    alphabet = learn([played.series], ["a"])
    live = Live(alphabet)
    table = counters_of(played.series, alphabet.scale.names)
    said = np.array([live.feed(t, row).state for t, row in zip(played.series.times, table, strict=True)])
    whole = decoded(played.series, alphabet)
    changing = np.convolve(np.diff(whole.labels, prepend=whole.labels[0]) != 0, np.ones(4), "full")[: len(said)] > 0
    assert np.mean(said[~changing] == whole.labels[~changing]) > 0.99


def node(name, *pairs, watts=None):
    made = segments(*pairs, watts=watts)
    times = np.arange(1.0, made[-1].ends_s + 1)
    labels = np.repeat([s.state for s in made], [int(s.seconds) for s in made])
    power = None if watts is None else np.array([watts[each] for each in labels])
    return NodeStates(name, times, labels, made, power, 0.0, 1.0, False)


def test_graph_begins_and_ends_idle():
    watts = {0: 50.0, 1: 100.0, 2: 80.0}
    nodes = [
        node("a", (0, 10), (1, 20), (2, 20), (1, 20), (0, 10), watts=watts),
        node("b", (0, 11), (1, 20), (2, 19), (1, 20), (0, 10), watts=watts),
    ]
    found = graph(nodes, {0, -1})
    words = ["idle" if found.states[at].idle else found.states[at].letters for at in found.visited]
    assert words == ["idle", (1, 1), (2, 2), (1, 1), "idle"]
    assert sum(s.seconds for s in found.states) == 80
    assert {(e.source, e.target, e.probability) for e in found.edges if words[0] == "idle"} >= {(2, 0, 1.0)}
    assert found.states[0].power_w == pytest.approx(200, abs=4)
    assert sum(e.count for e in found.edges) == 4


def test_power_and_states_under_phases():
    watts = {0: 50.0, 1: 100.0}
    found = overlay(node("a", (0, 10), (1, 20), watts=watts), np.array([0.0, 5, 15, 30, 35]), np.array([0, 0, 1, -1]))
    outside, first, second = found
    assert [(each.phase, each.seconds) for each in found] == [(-1, 0), (0, 15), (1, 15)]
    assert (outside.energy_j, outside.power_w, second.power_w) == (None, None, pytest.approx(100))
    assert (first.energy_j, second.energy_j) == (pytest.approx(1000), pytest.approx(1500))
    assert second.states == ((1, 1.0),)
    assert sum(share for _, share in first.states) == pytest.approx(1)


def test_states_of_one_name_are_distinguished():
    rates = np.array([[1e9, 50.0], [1e9, 7e6], [5.0, 50.0]])
    named = unique_names(["compute", "compute", "idle"], ["cycles", "page-faults"], rates, np.array([1e7, 1e3]))
    assert named == ["compute, page-faults 50", "compute, page-faults 7 M", "idle"]


NAMED = [
    ({"cycles": 4e10, "instructions": 7e10, "cache-misses": 1e7}, "compute, 1.8 instructions per cycle"),
    ({"cycles": 4e10, "instructions": 1e10, "cache-misses": 2e8}, "memory bound, 12.8 GB/s"),
    ({"cycles": 1e10, "instructions": 1e10, "net-rx-bytes": 5e8, "net-tx-bytes": 5e8}, "network 1 GB/s"),
    ({"cpu": 1.2, "system": 0.1, "disk-write-bytes": 4e7}, "disk write 40 MB/s"),
    ({"cpu": 1.2, "system": 1.0}, "system calls, 1.2 processors busy"),
    ({"cycles": 1e8, "instructions": 5e7, "net-rx-bytes": 2e3}, "idle"),
    ({"cpu": 0.02}, "idle"),
    ({"branches": 9e9, "branch-misses": 9e8, "instructions": 3e10}, "branches, 10 % guessed wrongly"),
]


@pytest.mark.parametrize(("rates", "name"), NAMED, ids=[name for _, name in NAMED])
def test_names_of_states(rates, name):
    most = np.array([max(value, 1e10 if key in ("cycles", "instructions") else value) for key, value in rates.items()])
    assert name_by_rates(list(rates), np.array(list(rates.values())), most) == name


def test_few_stretches_make_as_many_groups_as_differ() -> None:
    means = np.array([[-5.10, 30.38], [39.56, 69.23], [-5.12, 30.36]])
    assert group(means, np.array([5, 10, 15])).tolist() == [0, 1, 0]
    assert group(means[:2], np.array([5, 10])).tolist() == [0, 1]


def beside_other_work(held, *, counted=False, run_queue=1.0):
    """A program that works in its cache and then in memory, which its processor's share and its memory show."""
    rng = np.random.default_rng(0)
    cpu = np.clip(0.5 + 0.1 * rng.normal(size=len(held)), 0.1, 1)
    names, columns = ["cpu", "context-switches", "rss-bytes", "run-queue"], [cpu, 100 * cpu, held, run_queue + 0 * held]
    if counted:
        names, columns = [*names, "instructions"], [*columns, 1e9 * cpu]
    times = 1.7e9 + np.arange(1.0, len(held) + 1)
    units = tuple("B" if name == "rss-bytes" else "1/s" for name in names)
    return NodeSeries("n", times, tuple(names), units, np.column_stack(columns))


STEPS = np.repeat([2e7, 5e8, 2e7, 5e8], 30) * (1 + 0.01 * np.random.default_rng(1).normal(size=120))


def test_memory_distinguishes_programs_without_processor_counters():
    series = beside_other_work(STEPS)
    assert "rss-bytes" in common_counters([series])
    alphabet = learn([series], ["a"])
    labels = decoded(series, alphabet).labels
    assert len(set(labels[:30]) | set(labels[60:90])) == len(set(labels[30:60]) | set(labels[90:])) == 1
    assert labels[0] != labels[30]
    assert all(state.name.startswith("compute, 0.5 processors busy") for state in alphabet.states)
    held = sorted(float(state.name.split(", ")[2].split()[0]) for state in alphabet.states)
    assert held == pytest.approx([20, 500], rel=0.02)


def test_memory_is_no_counter_beside_those_of_the_processor():
    assert "rss-bytes" not in common_counters([beside_other_work(STEPS, counted=True)])


@given(st.integers(0, 1 << 32), st.sampled_from(["grows", "grows exponentially", "is collected", "is noise"]))
def test_memory_that_grows_or_is_collected_makes_no_states(seed, how):
    rng, rows = np.random.default_rng(seed), np.arange(150)
    held = {
        "grows": 2e7 + 5e6 * rows,
        "grows exponentially": 2e7 * 1.03**rows,
        "is collected": 1e8 + 5e8 * (rows % 20) / 20,
        "is noise": 5e8 * np.exp(0.05 * rng.normal(size=150)),
    }[how] * np.exp(0.005 * rng.normal(size=150))
    assert not is_stepwise([held])
    assert is_stepwise([np.where(rows // 30 % 2, 1.0, 20.0) * 2e7 * np.exp(0.005 * rng.normal(size=150))])


def test_threads_that_wait_hide_what_a_machine_does():
    program = beside_other_work(STEPS, run_queue=9.0)
    # The run queue is the machine's, and these columns are a program's.
    assert crowded(program) is None
    keep = [0, 1, 3]
    names = tuple(program.names[at] for at in keep)
    machine = NodeSeries("n", program.times, names, tuple(program.units[at] for at in keep), program.values[:, keep])
    assert crowded(machine) == 1.0
    assert crowded(replace(machine, values=machine.values * [1, 1, 0])) == 0.0
    assert crowded(beside_other_work(STEPS, counted=True, run_queue=9.0)) is None
