"""Phases as the paper finds them: against its steps one after the other, and Lamport's clock against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.systems.mpi.analyse.event_phases import SignatureOptions
from incprof.systems.mpi.analyse.mpi_events import COLLECTIVE, LOCAL, RECEIVE, SEND, Partners, Work, logical_times
from incprof.systems.mpi.analyse.pas2p import epas, global_phases, paper_phases

ticks = st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, 1.0, 1.1, 1.2, 2.0])), min_size=1, max_size=60)


def _step_by_step(kinds: list[int], work: list[float], similar: float) -> tuple[list[int], list[int]]:
    """The paper's steps 1 to 3, a tick at a time."""
    saved: list[list[int]] = []
    borders, phases, at = [0], [], 0
    while at < len(kinds):
        structure = [at]
        while structure[-1] + 1 < len(kinds) and kinds[structure[-1] + 1] not in [kinds[i] for i in structure]:
            structure.append(structure[-1] + 1)
        at = structure[-1] + 1
        borders.append(at)
        for number, other in enumerate(saved):
            pairs = list(zip(other, structure, strict=False))
            if len(other) == len(structure) and all(
                kinds[a] == kinds[b] and min(work[a], work[b]) >= similar * max(work[a], work[b]) for a, b in pairs
            ):
                phases.append(number)
                break
        else:
            phases.append(len(saved))
            saved.append(structure)
    return borders, phases


@settings(deadline=None)
@given(ticks, st.sampled_from([0.5, 0.85, 1.0]))
def test_phases_are_those_of_the_papers_steps(events: list[tuple[int, float]], similar: float) -> None:
    kinds, work = [kind for kind, _ in events], [amount for _, amount in events]
    borders, phases = epas(np.array(kinds), np.array(work)[:, None], similar)
    assert (borders.tolist(), phases.tolist()) == _step_by_step(kinds, work, similar)


def test_weights_of_two_phases_with_three_to_one() -> None:
    """Where one becomes the other a segment has ticks of both, and what follows is cut a tick later."""
    kinds = np.array([0, 1, 2] * 300 + [3, 1] * 100)
    time = np.full(len(kinds), 0.01)
    found = paper_phases(kinds, Work(time), time, float(time.sum()), SignatureOptions())
    assert [(phase.kinds, phase.weight) for phase in found.phases] == [((0, 1, 2), 299), ((1, 3), 99)]
    assert found.outside_s == pytest.approx(0.05)


def _ring(processes: int, turns: int) -> list[Partners]:
    """Each sends to the next and receives from the one before; then all meet."""
    role = np.tile([SEND, RECEIVE, COLLECTIVE], turns)
    return [Partners(role, np.tile([1 + p, 1 + (p - 1) % processes, 0], turns)) for p in range(processes)]


def test_the_clock_of_a_ring_is_that_of_its_events() -> None:
    for times in logical_times(_ring(4, 10)):
        assert times.tolist() == list(range(1, 31))


def test_a_pipeline_has_a_tick_more_for_every_process() -> None:
    first, middle, last = Partners(np.array([SEND]), np.array([1])), np.array([1, 2]), np.array([2])
    processes = [first, Partners(np.array([RECEIVE, SEND]), middle), Partners(np.array([RECEIVE]), last)]
    assert [times.tolist() for times in logical_times(processes)] == [[1], [2, 3], [4]]


programs = st.lists(
    st.lists(st.tuples(st.sampled_from([LOCAL, SEND, RECEIVE, COLLECTIVE]), st.integers(0, 2)), max_size=15),
    min_size=1,
    max_size=4,
)


@settings(deadline=None)
@given(programs)
def test_whatever_waits_in_vain_goes_on_and_clocks_only_rise(program: list[list[tuple[int, int]]]) -> None:
    processes = [Partners(*np.array(events, dtype=np.int64).reshape(-1, 2).T) for events in program]
    for events, times in zip(program, logical_times(processes), strict=True):
        assert len(times) == len(events)
        assert (np.diff(times) > 0).all()


def test_processes_that_do_the_same_have_the_same_phases_in_either_order() -> None:
    partners = _ring(4, 200)
    kinds = [np.tile([0, 1, 2], 200)] * 4
    time = [np.tile([0.01, 0.002, 0.003], 200)] * 4
    total = [float(t.sum()) for t in time]
    options = SignatureOptions()
    together = global_phases(kinds, list(map(Work, time)), time, partners, total, options)
    for process in range(4):
        alone = paper_phases(kinds[process], Work(time[process]), time[process], total[process], options)
        for one, other in zip(alone.phases, together[process].phases, strict=True):
            assert (one.kinds, one.weight) == (other.kinds, other.weight)
            assert np.allclose(one.time_s, other.time_s)
