"""Why a phase changed: amounts on the cards of both sides, with known truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incprof.analysis.diff.diff_result import AmountRow, Figure, PhaseRow
from incprof.cli.main import main
from incprof.report.words.diff_words import why
from tests.unit.incprof.systems.counters.test_recorded import COUNTERS, row
from tests.unit.incprof.systems.memory.test_memory import payload
from tests.unit.incprof.systems.waiting.test_waiting import BLOCKED, FUTEX, image, span
from tests.unit.streamwriter import Sample, StreamWriter
from tests.variants import mostly_slow


def recorded(directory: Path, *, faults: int, intervals: int = 10, counted: bool = True) -> Path:
    """A run of two phases of equal length; the second one has so many page faults an interval."""
    writer = StreamWriter(["main", "solve", "write_out"])
    for at in range(2 * intervals):
        second = at >= intervals
        samples = [Sample("main;write_out" if second else "main;solve", weight=98 + at % 5)]
        counters = row(n1=faults if second else 10, n3=1, n4=0, n5=10**9, n6=5 * 10**8 if second else 0)
        writer.interval(samples, images={COUNTERS: counters} if counted else {})
    writer.end()
    writer.save(directory)
    return directory


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three runs of A, three of B, whose second phase is longer, and has more page faults."""
    tmp_path = tmp_path_factory.mktemp("reasons")
    a = [recorded(tmp_path / f"a{one}", faults=1000 + one) for one in range(3)]
    b = [recorded(tmp_path / f"b{one}", faults=4000 + one, intervals=14) for one in range(3)]
    return [*map(str, a), "--against", *map(str, b)]


def test_amounts_of_both_sides_are_compared(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *runs, "--json"]) == 0
    second = json.loads(capsys.readouterr().out)["phases"][1]
    found = {one["metric"]: one for one in second["reasons"]}
    assert found["faults"]["a"] == pytest.approx(10 * 1001)
    assert found["faults"]["b"] == pytest.approx(14 * 4001)
    assert (found["faults"]["unit"], found["faults"]["verdict"]) == ("count", "more")
    assert (found["kernel"]["a"], found["kernel"]["b"]) == (pytest.approx(5.0), pytest.approx(7.0))
    low, high = found["kernel"]["interval_pct"]
    assert low <= 40 <= high
    assert main(["diff", *runs]) == 0
    out = capsys.readouterr().out
    assert "page faults" in out
    assert "Why" in out
    for form in (["--markdown"], ["--html", "-"]):
        assert main(["diff", *runs, *form]) == 0
        assert "page faults" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("condition", "status", "said"),
    mostly_slow(3, [
        ("phase.faults>50%", 3, "phase write_out: page faults 1.001e+04 in A, 5.601e+04 in B"),
        ("solve:phase.faults>50", 0, ""),
        ("phase.nothing>1%", 2, "there are phase.cpu, phase.faults, phase.kernel, phase.switches"),
        ("write_out:phase.faults>40000", 3, "phase write_out"),
        ("phase.faults>1000000", 0, ""),
        # In percent of the phase's duration, which was 10 s.
        ("write_out:phase.kernel>19%", 3, "CPU time in the kernel 5 s in A, 7 s in B"),
        ("write_out:phase.kernel>21%", 0, ""),
        ("nobody:phase.faults>1%", 2, "neither run has a phase 'nobody'"),
    ]),
)  # fmt: skip
def test_a_gate_names_an_amount(
    condition: str, status: int, said: str, runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *runs, "--fail-on", condition]) == status
    assert said in capsys.readouterr().err


def test_a_change_that_cannot_matter_to_the_phase_is_in_data_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 1 400 page faults more take 14 ms at most, and the phase takes 4 s more.
    a, b = recorded(tmp_path / "a", faults=100), recorded(tmp_path / "b", faults=170, intervals=14)
    assert main(["diff", str(a), str(b), "--noise", "1", "--json"]) == 0
    found = {one["metric"]: one for one in json.loads(capsys.readouterr().out)["phases"][1]["reasons"]}
    assert (found["faults"]["verdict"], found["kernel"]["verdict"]) == ("more", "more")
    assert main(["diff", str(a), str(b), "--noise", "1"]) == 0
    out = capsys.readouterr().out
    assert "CPU time in the kernel" in out
    assert "page faults" not in out


def test_events_and_the_kernels_ticks_scatter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # 70 and 90 page faults in all may be chance; 700 and 900 are not.
    for faults, verdict in ((7, "same"), (70, "more")):
        a = recorded(tmp_path / f"a{faults}", faults=faults)
        b = recorded(tmp_path / f"b{faults}", faults=faults * 9 // 7)
        assert main(["diff", str(a), str(b), "--noise", "1", "--json"]) == 0
        found = {one["metric"]: one for one in json.loads(capsys.readouterr().out)["phases"][1]["reasons"]}
        assert found["faults"]["verdict"] == verdict
        low, high = found["kernel"]["interval_pct"]
        # 5 s in ticks of 4 ms: 2.8 % each, and 1 % from run to run.
        assert (low, high) == (pytest.approx(-8.0, abs=1.0), pytest.approx(8.7, abs=1.0))


def test_what_one_side_lacks_is_no_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = recorded(tmp_path / "a", faults=10)
    b = recorded(tmp_path / "b", faults=10, intervals=14, counted=False)
    assert main(["diff", str(a), str(b)]) == 0
    assert "not recorded in all runs, so no reason for a change" in capsys.readouterr().out


def counted(directory: Path, *, seconds: int, instructions: int, cycles: int) -> Path:
    """A run of ten intervals of `solve`, then so many of `write_out`."""
    writer = StreamWriter(["main", "solve", "write_out"])
    for at in range(10 + seconds):
        second = at >= 10
        samples = [Sample("main;write_out" if second else "main;solve", weight=98 + at % 5)]
        counters = row(n5=10**9, n6=0, n11=cycles if second else 1000, n12=instructions if second else 1000)
        writer.interval(samples, images={COUNTERS: counters})
    writer.end()
    writer.save(directory)
    return directory


@pytest.mark.parametrize(
    ("seconds", "instructions", "cycles", "by", "said"),
    mostly_slow(2, [
        # 14 s of 1000 per s instead of 10: as many cycles for each.
        (14, 1000, 1000, "instructions", "it executes more instructions: instructions +40"),
        # As many instructions, in 14 s.
        (14, 714, 1000, "cycles", "as many instructions take longer: instructions"),
        (14, 845, 1000, "both", "more instructions, and each takes longer"),
        (10, 1000, 1000, None, ""),
    ]),
)  # fmt: skip
def test_more_cpu_time_is_of_more_instructions_or_of_slower_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seconds: int, instructions: int, cycles: int, by: str | None,
    said: str,
) -> None:  # fmt: skip
    a = [str(counted(tmp_path / f"a{one}", seconds=10, instructions=1000 + one, cycles=1000)) for one in range(3)]
    b = [
        str(counted(tmp_path / f"b{one}", seconds=seconds, instructions=instructions + one, cycles=cycles))
        for one in range(3)
    ]
    assert main(["diff", *a, "--against", *b, "--json"]) == 0
    second = json.loads(capsys.readouterr().out)["phases"][1]
    if by is None:
        assert second["why"] is None
        return
    assert (second["why"]["metric"], second["why"]["by"]) == ("cpu", by)
    assert second["why"]["part"] == pytest.approx(1.0, abs=0.02)
    cpu = next(one for one in second["reasons"] if one["metric"] == "cpu")
    assert cpu["interval"][0] <= cpu["change"] <= cpu["interval"][1]
    assert cpu["change"] == pytest.approx(4.0, abs=0.1)
    assert main(["diff", *a, "--against", *b]) == 0
    assert said in " ".join(capsys.readouterr().out.split())


WAITS = 9


def waiting(directory: Path, *, seconds: int, wait_ms: int, jitter: int, is_delayed: bool = False) -> Path:
    """A run of ten intervals of `solve`, then so many of `write_out`, each with a wait for a lock or a processor."""
    writer = StreamWriter(["main", "solve", "write_out"])
    for at in range(10 + seconds):
        off = (wait_ms + jitter) * (at >= 10 and wait_ms > 0)
        samples = [
            Sample("main;write_out" if at >= 10 else "main;solve", weight=(1000 - off) // 10 + (at + jitter) % 3)
        ]
        waits = image(span(0, 1000, waited=off, state=BLOCKED if off else 0, call=FUTEX if off else -1))
        if is_delayed:
            waits = image(span(0, 1000, waited=0, delayed=off))
        writer.interval(samples, images={WAITS: waits})
    writer.end()
    writer.save(directory)
    return directory


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three runs of A, whose second phase computes for 10 s; three of B, in which it also waits for locks for 4 s."""
    tmp_path = tmp_path_factory.mktemp("locked")
    a = [waiting(tmp_path / f"a{one}", seconds=10, wait_ms=0, jitter=one) for one in range(3)]
    b = [waiting(tmp_path / f"b{one}", seconds=14, wait_ms=286, jitter=one) for one in range(3)]
    return [*map(str, a), "--against", *map(str, b)]


@pytest.fixture(scope="module")
def delayed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The same, but B is on a busy node: its second phase waits for a processor."""
    tmp_path = tmp_path_factory.mktemp("delayed")
    a = [waiting(tmp_path / f"a{one}", seconds=10, wait_ms=0, jitter=one) for one in range(3)]
    b = [waiting(tmp_path / f"b{one}", seconds=14, wait_ms=286, jitter=one, is_delayed=True) for one in range(3)]
    return [*map(str, a), "--against", *map(str, b)]


@pytest.mark.parametrize(("condition", "status"), [("phase.wait>1%", 0), ("phase.wait.run-queue>39%", 3)])
def test_a_gate_on_waiting_does_not_fail_on_a_busy_node(condition: str, status: int, delayed: list[str]) -> None:
    assert main(["diff", *delayed, "--fail-on", condition]) == status


def test_a_phase_that_waits_longer_is_slower_for_that_cause(
    locked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *locked, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["phases"]
    assert first["why"] is None
    assert second["why"]["metric"] == "wait.lock"
    assert second["why"]["part"] == pytest.approx(1.0, abs=0.03)
    found = {one["metric"]: one for one in second["reasons"]}
    assert (found["wait.lock"]["a"], found["wait.lock"]["b"]) == (0.0, pytest.approx(14 * 0.287, abs=0.02))
    assert found["cpu"]["verdict"] == "same"


def test_a_phase_that_only_one_side_has_explains_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = [str(waiting(tmp_path / f"a{one}", seconds=0, wait_ms=0, jitter=one)) for one in range(3)]
    b = [str(waiting(tmp_path / f"b{one}", seconds=10, wait_ms=700, jitter=one)) for one in range(3)]
    assert main(["diff", *a, "--against", *b, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [phase["why"] for phase in found["phases"]] == [None, None]
    assert found["run"]["why"]["metric"] == "wait.lock"
    assert found["run"]["why"]["part"] == pytest.approx(0.7, abs=0.03)
    assert {one["metric"] for one in found["run"]["reasons"]} >= {"cpu", "wait", "wait.lock"}
    assert main(["diff", *a, "--against", *b]) == 0
    assert "\nwhole run: 10 s more, 70 % of it waiting for locks, 30 % CPU time\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("condition", "status"),
    mostly_slow(3, [
        ("write_out:phase.wait>39%", 3),
        ("write_out:phase.wait>42%", 0),
        ("phase.wait.lock>3s", 3),
        ("phase.wait>10%", 3),
        ("solve:phase.wait>0%", 0),
        ("phase.wait.lock>5s", 0),
        ("phase.cpu>5%", 0),
        # No run has waited for files.
        ("phase.wait.io>1%", 0),
        ("phase.wait.nothing>1%", 2),
    ]),
)  # fmt: skip
def test_a_gate_on_waiting_is_in_percent_of_the_phase(
    condition: str, status: int, locked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *locked, "--fail-on", condition]) == status
    assert ("write_out" in capsys.readouterr().err) == (status == 3)


def test_a_gate_on_a_phase_names_the_reason(locked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *locked, "--time", "wall", "--fail-on", "phase>10%"]) == 3
    assert "; 4 s more, all of it waiting for locks" in " ".join(capsys.readouterr().err.split())


def test_waiting_is_no_reason_for_more_cpu_time(locked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *locked, "--time", "cpu"]) == 0
    assert "waiting for" not in capsys.readouterr().out


@pytest.mark.parametrize(("kernel", "said"), [(True, "3.98 s more CPU time (all in the kernel)"), (False, None)])
def test_cpu_time_is_explained_by_the_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kernel: bool, said: str | None
) -> None:
    def run(name: str, intervals: int, in_kernel: int) -> str:
        writer = StreamWriter(["main", "solve", "write_out"])
        for at in range(10 + intervals):
            samples = [Sample("main;write_out" if at >= 10 else "main;solve", weight=98 + at % 5)]
            counters = row(n5=10**9, n6=in_kernel * 10**7 if at >= 10 else 0)
            writer.interval(samples, images={COUNTERS: counters})
        writer.end()
        writer.save(tmp_path / name)
        return str(tmp_path / name)

    a, b = run("a", 10, 40), run("b", 14, 57 if kernel else 29)
    assert main(["diff", a, b, "--noise", "1", "--time", "cpu", "--json"]) == 0
    why = json.loads(capsys.readouterr().out)["phases"][1]["why"]
    assert (why and why["said"]) == said


ALLOCATIONS = 10


def allocating(directory: Path, blocks: int, size: int) -> Path:
    """A run of ten intervals each of `solve` and `write_out`; in the first of the latter, so many blocks are kept."""
    writer = StreamWriter(["main", "solve", "write_out"])
    made = [(10 * 10**6 + 1000 * k, 1, 1 + k, size, 65536 * 8, 65536) for k in range(blocks)]
    for at in range(20):
        samples = [Sample("main;write_out" if at >= 10 else "main;solve", weight=100)]
        writer.interval(samples, images={ALLOCATIONS: payload(made if at == 10 else [], [])})
    writer.end()
    writer.save(directory)
    return directory


def test_memory_that_grew_is_listed_of_a_phase_that_takes_as_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few, many, again = (
        str(allocating(tmp_path / name, blocks, 1 << 20)) for name, blocks in (("a", 10), ("b", 80), ("c", 10))
    )
    assert main(["diff", few, many, "--noise", "1"]) == 0
    (line,) = [line.split() for line in capsys.readouterr().out.splitlines() if "peak of allocated" in line]
    assert line[0] == "1"
    assert line[-1] == "more"
    assert main(["diff", few, again, "--noise", "1"]) == 0
    assert "allocated" not in capsys.readouterr().out


def test_a_peak_is_as_uncertain_as_its_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # 12 and 15 sampled blocks that stand for 64 KiB each: a third of both may be chance.
    few, many = (str(allocating(tmp_path / f"of{blocks}", blocks, 1000)) for blocks in (12, 15))
    assert main(["diff", few, many, "--noise", "1", "--json"]) == 0
    found = {one["metric"]: one for one in json.loads(capsys.readouterr().out)["phases"][1]["reasons"]}
    assert found["allocated"]["verdict"] == "more"
    assert found["peak"]["change_pct"] == pytest.approx(25, abs=3)
    assert found["peak"]["verdict"] == "same"


def slower(*changes: tuple[str, float]) -> PhaseRow:
    """A phase that takes 1 s more, and the changes of its times."""
    rows = tuple(
        AmountRow("amount", "solve", 0, Figure(1, 0, None, (1,)), Figure(1 + s, 0, None, (1 + s,)),
                  verdict="slower", metric=metric, what=metric, unit="s")
        for metric, s in changes
    )  # fmt: skip
    return PhaseRow("phase", "solve", 0, Figure(3, 0, None, (3,)), Figure(4, 0, None, (4,)),
                    verdict="slower", reasons=rows, off_cpu_s=(0.0, 0.0))  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ((("wait.io", 0.996), ("cpu", 0.004)), "1 s more, all of it wait.io"),
        ((("wait.io", 0.42), ("wait.lock", 0.44), ("cpu", 0.1)), "1 s more, 44 % of it wait.lock, 42 % wait.io"),
        ((("wait.io", 0.3), ("cpu", 0.1)), None),
    ],
)  # fmt: skip
def test_several_reasons_are_named_if_none_is_most_of_the_change(
    changes: tuple[tuple[str, float], ...], said: str | None
) -> None:
    assert why(slower(*changes)) == said
