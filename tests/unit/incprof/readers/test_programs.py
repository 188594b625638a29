"""The programs of a job: which processes are one, which one leads, and which have shared its work."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.errors import UsageError
from incprof.readers.run import open_run, read_profile, used_over_time
from incprof.report.render.text import console_for
from incprof.report.text.rank_text import write_programs
from tests.unit.streamwriter import Sample, StreamWriter


def write(
    place: Path, name: str, pid: int, cpu_s: float, *, start_s: float = 0.0, length_s: float = 1.0, **more: object
) -> None:
    """Write the recording of a process that no launcher has numbered; a tick of its sample is 10 ms of CPU time."""
    meta = {"app": name, "pid": pid, "ranks": 1, "start_mono_ns": round(start_s * 1e9), "launch": f"process {pid}@1"}
    meta |= more
    writer = StreamWriter(["main"], **meta)
    counters = {2: round(cpu_s * 1e9)}
    writer.interval([Sample("main", weight=max(round(cpu_s * 100), 1))], duration_s=length_s, counters=counters)
    writer.end()
    writer.save(place, f"rank-00000.{pid}.gmon")


def shown(run):
    return [int(Path(process.path).name.split(".")[1]) for process in run.processes]


def test_the_program_with_the_most_cpu_time_leads(tmp_path):
    for pid, name, cpu_s in [(1, "sh", 0.01), (2, "sort", 0.5), (3, "gzip", 0.3), (4, "gzip", 0.3)]:
        write(tmp_path, name, pid, cpu_s, start_s=10 * pid)
    run = open_run(tmp_path)
    assert [(program.name, program.pids) for program in run.programs] == [
        ("gzip", (3, 4)),
        ("sort", (2,)),
        ("sh", (1,)),
    ]
    assert (run.app, run.workers, read_profile(run).metadata.raw["pid"]) == ("gzip", False, 3)
    assert shown(open_run(tmp_path, program="sort")) == [2]
    assert read_profile(run, process=2).metadata.app == "sort"
    with pytest.raises(UsageError, match="no program tar, only gzip, sort, sh"):
        open_run(tmp_path, program="tar")


@pytest.mark.parametrize(("length_s", "app"), [(10, "gzip"), (100, "server")])
def test_in_a_job_that_waits_nearly_all_the_time_a_lasting_program_leads(tmp_path, length_s, app):
    write(tmp_path, "gzip", 1, 2.0, length_s=2)
    write(tmp_path, "server", 2, 0.5, start_s=2, length_s=length_s)
    write(tmp_path, "job.sh", 3, 0.1, length_s=length_s + 2)
    run = open_run(tmp_path)
    assert (run.app, [program.name for program in run.programs]) == (app, ["gzip", "server", "job.sh"])


@pytest.mark.parametrize("same_host", [True, False])
def test_programs_are_placed_in_the_time_of_the_job(tmp_path, same_host):
    """Also where the monotonic clocks of its hosts began at other times, which their times of day show."""
    host_b, zero_b_s = ("a", 1000) if same_host else ("b", 400)
    write(tmp_path, "make", 1, 1.0, start_s=50, length_s=4, host="a", start_unix_ns=1050 * 10**9)
    at_s = 1055 - zero_b_s if not same_host else 55
    write(tmp_path, "sort", 2, 0.5, start_s=at_s, length_s=2, host=host_b, start_unix_ns=1055 * 10**9)
    run = open_run(tmp_path)
    assert [program.spans_s for program in run.programs] == [((0, 4),), ((5, 7),)]
    with StringIO() as out:
        write_programs(console_for(out, width=70, colour=False, terminal=False), run, used_over_time(run, 70))
        lines = out.getvalue().splitlines()
    assert [line.split()[:3] for line in lines[1:3]] == [["A", "make", "1"], ["B", "sort", "1"]]
    assert lines[4] == 40 * "A" + 10 * "." + 20 * "B"
    assert lines[5].split() == ["0", "s", "7", "s"]


def test_a_pipeline_shows_the_program_that_used_the_processor_at_each_time(tmp_path):
    """Of sort and gzip, which run side by side, sort works first; then gzip; then both wait."""
    for pid, name, cpu_s in [(1, "sort", (0.9, 0.0, 0.01)), (2, "gzip", (0.1, 1.9, 0.0))]:
        writer = StreamWriter(["main"], app=name, pid=pid, ranks=1, start_mono_ns=0, launch=f"process {pid}@1")
        for used_s, length_s in zip(cpu_s, (1, 2, 4), strict=True):
            writer.interval([Sample("main")], duration_s=length_s, counters={2: round(used_s * 1e9)})
        writer.end()
        writer.save(tmp_path, f"rank-00000.{pid}.gmon")
    run = open_run(tmp_path)
    assert used_over_time(run, 7)[0] == pytest.approx([0, 0.1, 1.05, 2, 2, 2, 2, 2])
    with StringIO() as out:
        write_programs(console_for(out, width=70, colour=False, terminal=False), run, used_over_time(run, 14))
        assert out.getvalue().splitlines()[4] == 10 * "B" + 20 * "A" + 40 * "b"


def test_of_many_short_processes_the_answer_names_the_program_with_a_longer_one(tmp_path, capsys):
    for pid in range(1, 21):
        write(tmp_path, "cc1", pid, 0.1, start_s=pid)
    write(tmp_path, "ld", 21, 1.5, start_s=22, length_s=2)
    assert main(["phases", str(tmp_path)]) == 0
    assert "incprof: ld has a process with 1.5 s of CPU time: --program ld\n" in capsys.readouterr().err
    assert main(["phases", str(tmp_path), "--program", "ld"]) == 0
    assert "--program" not in capsys.readouterr().err


def test_a_program_that_uses_no_processor_is_shown_as_waiting(tmp_path):
    write(tmp_path, "gzip", 1, 1.0)
    writer = StreamWriter(["main"], app="server", pid=2, ranks=1, start_mono_ns=0, launch="process 2@1")
    for used_s in (0.0, 0.0, 0.5, 0.0):
        writer.interval([Sample("main")], counters={2: round(used_s * 1e9)})
    writer.end()
    writer.save(tmp_path, "rank-00000.2.gmon")
    run = open_run(tmp_path)
    with StringIO() as out:
        write_programs(console_for(out, width=40, colour=False, terminal=False), run, used_over_time(run, 40))
        assert out.getvalue().splitlines()[4] == 10 * "A" + 10 * "b" + 10 * "B" + 10 * "b"


def test_workers_side_by_side_are_numbered_and_idle_parents_are_not_among_them(tmp_path):
    write(tmp_path, "pool", 10, 0.01, length_s=9)
    for pid in (13, 11, 12):
        write(tmp_path, "pool", pid, 2 + pid / 100, start_s=0.5, length_s=8)
    write(tmp_path, "pool", 14, 2, start_s=20)  # alone, later
    run = open_run(tmp_path)
    assert (run.workers, run.ranks, shown(run)) == (True, (0, 1, 2), [11, 12, 13])
    assert [read_profile(run, rank=rank).metadata.raw["pid"] for rank in run.ranks] == [11, 12, 13]
    assert run.programs[0].pids == (13, 12, 11, 14, 10)


def test_a_recording_that_was_cut_off_counts_with_its_intervals(tmp_path):
    write(tmp_path, "work", 1, 2.0)
    write(tmp_path, "rest", 2, 1.0)
    path = tmp_path / "rank-00000.1.gmon"
    path.write_bytes(path.read_bytes()[:-3])
    assert open_run(tmp_path).app == "work"


@pytest.mark.parametrize("value", [10**400, -1, "soon", None, 1.5])
def test_a_start_that_makes_no_sense(tmp_path, value):
    writer = StreamWriter(["main"], app="work", pid=1, ranks=1, start_mono_ns=value)
    writer.interval([Sample("main", weight=9)], counters={2: 10**9})
    writer.end()
    writer.save(tmp_path, "rank-00000.1.gmon")
    write(tmp_path, "rest", 2, 0.1)
    assert open_run(tmp_path).app == "work"


processes = st.lists(
    st.tuples(st.sampled_from("abc"), st.floats(0, 9), st.floats(0, 9), st.floats(0.01, 9)), min_size=1, max_size=8
)


@given(processes)
@settings(max_examples=50)
def test_every_process_is_in_one_program_and_the_answer_is_about_one(tmp_path_factory, drawn):
    place = tmp_path_factory.mktemp("job")
    for pid, (name, cpu_s, start_s, length_s) in enumerate(drawn, 1):
        write(place, name, pid, cpu_s, start_s=start_s, length_s=length_s)
    run = open_run(place)
    if len(drawn) == 1:
        assert run.programs == ()
        return
    assert sorted(pid for program in run.programs for pid in program.pids) == list(range(1, len(drawn) + 1))
    expected = sorted(
        (sum(cpu for other, cpu, *_ in drawn if other == name) for name in {d[0] for d in drawn}), reverse=True
    )
    assert [sum(program.cpu_s) for program in run.programs] == pytest.approx(expected, abs=1e-6)
    assert {drawn[pid - 1][0] for pid in shown(run)} == {run.app}
    assert len(run.ranks) == (len(run.processes) if run.workers else 1)
