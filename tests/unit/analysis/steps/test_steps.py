import numpy as np
import pytest

from incprof.analysis.steps import find_steps
from incprof.readers.run import open_run, read_profile
from tests.unit.profiles import noisy
from tests.unit.streamwriter import BASE, STEP, Sample, StreamWriter

NAMES = ["main", "evolve", "force", "move", "kernel", "setup"]


def recorded(tmp_path):
    """setup for five intervals, then evolve calling force (70 %, by way of kernel) and move (30 %) in each interval."""
    writer = StreamWriter(NAMES)
    for i in range(15):
        if i < 5:
            writer.interval([Sample("main;setup", weight=100)], arcs={("main", "setup"): int(i == 0)})
        else:
            samples = [
                Sample("main;evolve;force;kernel", weight=60), Sample("main;evolve;force", weight=10),
                Sample("main;evolve;move", weight=29), Sample("main;evolve", weight=1),
            ]  # fmt: skip
            arcs = {("evolve", "force"): 4, ("evolve", "move"): 2, ("force", "kernel"): 900}
            writer.interval(samples, arcs=arcs | ({("main", "evolve"): 1} if i == 5 else {}))
    writer.end()
    return read_profile(open_run(writer.save(tmp_path / "run")))


def test_steps_are_the_repeated_children_of_the_driver(tmp_path):
    profile = recorded(tmp_path)
    first, second = find_steps(profile, np.repeat([0, 1], [5, 10]))
    found = [(s.function.name, s.kind, s.share, s.calls, s.mean_s) for s in second]
    assert found == [
        ("force", "body", pytest.approx(0.7), 40, pytest.approx(7.0 / 40)),
        ("move", "body", pytest.approx(0.29), 20, pytest.approx(2.9 / 20)),
    ]
    assert first == ()


@pytest.mark.parametrize(("calls", "steps"), [(1, []), (2, []), (20, ["load"])])
def test_what_is_called_once_or_twice_is_no_step(tmp_path, calls, steps):
    writer = StreamWriter(["main", "load"])
    for i in range(20):
        writer.interval([Sample("main;load", weight=90)], arcs={("main", "load"): int(i < calls)})
    writer.end()
    (found,) = find_steps(read_profile(open_run(writer.save(tmp_path / "run"))), np.zeros(20, dtype=np.int64))
    assert [step.function.name for step in found] == steps


@pytest.mark.parametrize(("calls", "steps"), [(900, ["kernel", "get"]), (150_000, ["kernel"])])
def test_calls_too_short_to_watch_are_steps_only_where_there_are_no_others(tmp_path, calls, steps):
    writer = StreamWriter(["main", "kernel", "get"])
    for _ in range(20):
        samples = [Sample("main;kernel", weight=70), Sample("main;get", weight=30)]
        writer.interval(samples, arcs={("main", "kernel"): 9, ("main", "get"): calls})
    writer.end()
    profile = read_profile(open_run(writer.save(tmp_path / "run")))
    (found,) = find_steps(profile, np.zeros(20, dtype=np.int64))
    assert [step.function.name for step in found] == steps


def test_tiny_calls_alone_are_what_a_phase_does(tmp_path):
    writer = StreamWriter(["main", "get"])
    for _ in range(20):
        writer.interval([Sample("main;get", weight=90)], arcs={("main", "get"): 1_000_000})
    writer.end()
    (found,) = find_steps(read_profile(open_run(writer.save(tmp_path / "run"))), np.zeros(20, dtype=np.int64))
    assert [step.function.name for step in found] == ["get"]


def test_call_sites_are_merged(tmp_path):
    writer = StreamWriter(["main", "f"])
    writer.interval([Sample(((0, BASE + o), (0, BASE + STEP + 4))) for o in (8, 16, 24)])
    writer.end()
    chains = read_profile(open_run(writer.save(tmp_path / "run"))).tree
    assert chains.parent.tolist() == [0, 0, 1]
    assert len(chains.of_node) == 7


def test_without_paths_there_are_no_steps():
    profile = noisy([{"f": 1.0}, {"g": 1.0}], [5, 5])
    assert find_steps(profile, np.repeat([0, 1], 5)) == [(), ()]
    assert find_steps(profile, np.full(10, -1)) == []
