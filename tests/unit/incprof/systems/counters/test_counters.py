"""Counters beside a run: aligned, summed up by phase, and what each phase is bound by."""

import json

import numpy as np
import pytest

from incprof.analysis.phase_result import Phase
from incprof.cli.main import main
from incprof.readers.series.counter_series import read_counters
from incprof.systems.counters.analyse import MIXED, OUTSIDE, bound_by, phase_of_rows
from incprof.systems.counters.figures import Events, figures_of, plain
from tests.unit.profiles import two_phase_run
from tests.unit.synthetic import make_profile

START_S = 1_700_000_000


def run_with_counters(tmp_path, *, begun=0.0, rows=None, head=True):
    """Twenty intervals of a second: ten of solve, ten of write_out; and a row of counters each half second."""
    run = two_phase_run(tmp_path / "run", start_unix_ns=START_S * 10**9)
    lines = [f"# begun: {START_S + begun:.6f} s since 1970 on node1"] if head else []
    lines.append("time_s,instructions,cycles,cache-misses,branch-misses,context-switches")
    for i in range(40):
        solving = begun + 0.5 * (i + 0.5) < 10
        lines.append(f"{0.5 * (i + 1)}," + ("100,200,1,0,5" if solving else "600,200,0,0,1"))
    path = tmp_path / "counters.csv"
    path.write_text("\n".join(rows or lines) + "\n# note: cycles: of user mode\n")
    return run, path


def phases(capsys, *args):
    status = main(["phases", *map(str, args), "--json"])
    out, err = capsys.readouterr()
    return status, json.loads(out) if out else None, err


def test_each_phase_has_its_own_figures(tmp_path, capsys):
    run, path = run_with_counters(tmp_path)
    status, answer, err = phases(capsys, run, "--counters", path)
    found = answer["counters"]
    assert (status, err, found["aligned"], found["offset_s"]) == (0, "", "clock", 0.0)
    solve, write = sorted(found["phases"], key=lambda phase: phase["figures"]["ipc"])
    assert solve["seconds"] == write["seconds"] == 10.0
    assert solve["figures"]["ipc"] == 0.5
    assert write["figures"]["ipc"] == 3.0
    assert solve["figures"]["misses_per_1000"] == 10.0
    assert solve["figures"]["memory_bytes_s"] == 2 * 64
    assert (solve["figures"]["context_switches_s"], write["figures"]["context_switches_s"]) == (10.0, 2.0)
    # 180 cycles for each of a miss in 200 cycles.
    assert (solve["bound_by"], solve["share"]) == ("memory", 0.9)
    assert "10 misses of the last-level cache per 1000 instructions" in solve["said"]
    assert (write["bound_by"], write["share"]) == ("instructions", None)
    assert "cycles: of user mode" in found["notes"]


def test_the_clock_lays_a_sampler_that_began_early(tmp_path, capsys):
    run, path = run_with_counters(tmp_path, begun=-3.0)
    found = phases(capsys, run, "--counters", path)[1]["counters"]
    assert (found["aligned"], found["offset_s"], found["rows_outside"]) == ("clock", -3.0, 6)
    solve, write = sorted(found["phases"], key=lambda phase: phase["figures"]["ipc"])
    # Sampling ends three seconds before the run does.
    assert (solve["figures"]["ipc"], write["figures"]["ipc"]) == (0.5, 3.0)
    assert (solve["seconds"], write["seconds"]) == (10.0, 7.0)


def test_without_a_clock_both_begin_together_and_it_is_reported(tmp_path, capsys):
    run, path = run_with_counters(tmp_path, head=False)
    status, answer, err = phases(capsys, run, "--counters", path)
    assert (status, err, answer["counters"]["aligned"]) == (0, "", "start")
    assert "assumed to have begun with the recording" in answer["counters"]["notes"][0]
    path.write_text("time_s,cycles\n1,2\n2,3\n")
    assert "is 2 s long, the run 20 s: it is aligned with the start" in phases(capsys, run, "--counters", path)[2]


def test_counters_of_another_time_are_refused(tmp_path, capsys):
    for begun, said in ((-60.0, "ends before the run begins, by 40 s"), (86400.0, "begins after the run ended")):
        run, path = run_with_counters(tmp_path, begun=begun)
        status, answer, err = phases(capsys, run, "--counters", path)
        assert (status, answer, err.count("\n")) == (4, None, 1)
        assert said in err


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        (None, 4, "no such file"),
        ("", 4, "empty"),
        ("cycles\n1\n", 2, "no column of times"),
        ("time_s,cycles\n2,1\n1,1\n", 4, "times do not increase"),
        ("time_s,cycles\n", 4, "no row of counters"),
        ("# only a comment\n", 4, "empty"),
    ],
)
def test_invalid_files(tmp_path, capsys, text, status, said):
    run, path = run_with_counters(tmp_path)
    path.unlink() if text is None else path.write_text(text)
    found, _, err = phases(capsys, run, "--counters", path)
    assert (found, err.count("\n")) == (status, 1)
    assert said in err


def test_software_events_alone_give_no_bound(tmp_path, capsys):
    run, path = run_with_counters(tmp_path, rows=["time_s,context-switches,odd", *(f"{i},7,1" for i in range(1, 21))])
    found = phases(capsys, run, "--counters", path)[1]["counters"]
    assert [phase["bound_by"] for phase in found["phases"]] == [None, None]
    assert found["phases"][0]["figures"] == {"context_switches_s": 7.0}
    assert "columns not used here: odd" in found["notes"]


def test_perf_stat_is_read_as_well(tmp_path):
    path = tmp_path / "perf.txt"
    path.write_text(
        "     1.000100000      2,000,000      cycles:u                  #    2.0 GHz\n"
        "     1.000100000      1,000,000      instructions:u            #    0.5 insn per cycle\n"
        "     2.000200000      3,000,000      cycles:u\n"
        "     2.000200000  <not counted>      instructions:u\n"
    )
    series = read_counters(str(path))
    assert series.names == ("cycles:u", "instructions:u")
    np.testing.assert_allclose(series.start_s, [0.0, 1.0001])
    np.testing.assert_allclose(series.values, [[2e6, 1e6], [3e6, np.nan]])
    events = Events(series.names, series.values, series.end_s - series.start_s)
    # Of the row that has both.
    assert figures_of(events)["ipc"] == 0.5


def test_names_of_events():
    names = ["cycles:u", "cpu_core/cycles/u", "cpu_atom/cycles/", "cpu-cycles", "LLC-load-misses", "r01c2"]
    assert [plain(name) for name in names] == ["cycles"] * 4 + ["llc-load-misses", "r01c2"]
    both = Events(["cpu_core/cycles/", "cpu_atom/cycles/"], np.array([[3.0, np.nan], [np.nan, np.nan]]), np.ones(2))
    np.testing.assert_array_equal(both.column("cycles"), [3.0, np.nan])


def test_rows_are_of_the_phase_that_they_lie_in():
    profile = make_profile(np.ones((4, 1)))
    labels = np.array([0, 0, 1, -1])
    start, end = np.array([0.0, 1.9, 1.5, 2.1, 3.1, 4.0]), np.array([1.9, 2.9, 2.5, 2.9, 3.9, 5.0])
    found = phase_of_rows(start, end, profile, labels, 2)
    assert found.tolist() == [0, 1, MIXED, 1, MIXED, OUTSIDE]


@pytest.mark.parametrize(
    ("figures", "by"),
    [
        ({"ipc": 2.0}, "instructions"),
        ({"ipc": 0.4}, "stalls"),
        ({"ipc": 0.4, "misses_per_cycle": 0.0012}, "memory"),
        ({"ipc": 0.4, "misses_per_cycle": 0.0010}, "stalls"),
        ({"ipc": 1.4, "branch_misses_per_cycle": 0.011}, "branches"),
        ({"ipc": 1.4, "system_share": 0.3}, "kernel"),
        ({"system_share": 0.1}, None),
        ({"ipc": 2.0, "cpu": 0.3}, "waiting"),
        ({"ipc": 2.0, "cpu": 0.6}, "instructions"),
        ({}, None),
    ],
)
def test_rules(figures, by):
    phase = Phase(0, 10, 100.0, 10.0, (), ())
    found = bound_by(phase, figures, 10.0)
    assert (found.by if found else None) == by
    # Hardly any of it was sampled.
    assert bound_by(phase, figures, 0.1) is None


def test_a_phase_that_is_ready_to_run_does_not_wait():
    phase = Phase(0, 10, 100.0, 10.0, (), ())
    found = [bound_by(phase, {"cpu": 0.3, "ipc": 2.0}, 10.0, delayed) for delayed in (0.0, 0.3, 0.4, 0.7)]
    assert [(each.by, each.share) for each in found] == [
        ("waiting", 0.7), ("waiting", 0.7), ("processors", 0.4), ("processors", 0.7),
    ]  # fmt: skip
    assert bound_by(phase, {"cpu": 0.6, "ipc": 2.0}, 10.0, 0.4).by == "instructions"


def test_a_processor_that_spins_is_not_bound_by_its_instructions():
    phase = Phase(0, 10, 100.0, 10.0, (), (), mostly="mpi", spent={"mpi": 9.0, "work": 1.0, "off_cpu": 5.0})
    found = bound_by(phase, {"ipc": 3.0}, 10.0)
    assert (found.by, found.share) == ("mpi", 0.9)
    assert bound_by(Phase(0, 10, 1.0, 10.0, (), (), off_cpu=True, mostly="waiting"), {"ipc": 3.0}, 10.0).by == "waiting"


def test_text_and_page_have_it_too(tmp_path, capsys):
    run, path = run_with_counters(tmp_path)
    assert main(["phases", str(run), "--counters", str(path)]) == 0
    out = capsys.readouterr().out
    assert "bound by memory: 10 misses" in out.replace("\n         ", " ")
    assert main(["report", str(run), "--counters", str(path), "-o", "-"]) == 0
    page = capsys.readouterr().out
    assert "Bound by memory: 10 misses" in page
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    lane = next(lane for lane in data["lanes"]["counters"] if lane["key"] == "ipc")
    assert (lane["values"][0], lane["values"][-1], len(lane["values"])) == (0.5, 3.0, 20)
    assert main(["phases", str(run), "--counters", str(path), "--csv"]) == 2


def test_bins_shorter_than_rows_have_the_value_of_their_row(tmp_path, capsys):
    rows = ["time_s,cycles,instructions", "5,1,1", "10,1,1", "15,1,3", "20,1,3"]
    run, path = run_with_counters(tmp_path, rows=rows)
    assert main(["report", str(run), "--counters", str(path), "-o", "-"]) == 0
    data = json.loads(capsys.readouterr().out.split('id="data">')[1].split("</script>")[0])
    values = data["lanes"]["counters"][0]["values"]
    assert set(values) == {1.0, 3.0, None}


def test_cards_have_figures_and_energy_as_far_as_they_were_counted(tmp_path, capsys):
    run, path = run_with_counters(tmp_path)
    status, answer, _ = phases(capsys, run, "--counters", path, "--card")
    assert status == 0
    first, second = answer["phases"]
    assert first["card"]["cpu_s"] > 0
    assert first["card"]["metrics"].items() >= answer["counters"]["phases"][0]["figures"].items()
    assert first["card"]["metrics"]["bound_by"] != second["card"]["metrics"]["bound_by"]
    assert "energy_j" not in first["card"]
    assert main(["phases", str(run), "--counters", str(path), "--card", "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "id,seconds,cpu_s,ipc,bound_by"
    assert [line.split(",")[0] for line in lines[1:]] == ["0", "1"]


def perf_line(time_s, event, count):
    return f"{time_s:.9f},{count},,{event},1000000,100.00,,\n"


PERF_TOPDOWN = {
    "intel": (
        "slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound", "topdown-mem-bound",
    ),
    "amd": (
        "cycles", "ex_ret_ops", "de_src_op_disp.all", "de_no_dispatch_per_slot.no_ops_from_frontend",
        "de_no_dispatch_per_slot.backend_stalls",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("events", "counts", "by"),
    [
        ("intel", (1000, 300, 50, 100, 550, 400), "memory"),
        ("intel", (1000, 300, 50, 100, 550, 100), "stalls"),
        ("intel", (1000, 300, 350, 100, 250, 200), "branches"),
        ("intel", (1000, 300, 10, 450, 240, 200), "frontend"),
        ("intel", (1000, 700, 20, 80, 200, 100), "instructions"),
        ("amd", (1000, 1800, 2100, 600, 3300), "memory"),
        ("amd", (1000, 1800, 3900, 600, 1500), "branches"),
    ],
)
def test_the_top_down_method_on_output_of_perf(tmp_path, events, counts, by):
    path = tmp_path / "perf.csv"
    lines = [
        perf_line(1 + row, event, count)
        for row in range(3)
        for event, count in zip(PERF_TOPDOWN[events], counts, strict=True)
    ]
    path.write_text("".join(lines))
    series = read_counters(str(path))
    figures = figures_of(Events(series.names, series.values, series.end_s - series.start_s))
    parts = [figures[name] for name in ("retiring", "bad_speculation", "frontend_bound", "backend_bound")]
    assert sum(parts) == pytest.approx(1.0)
    assert bound_by(Phase(0, 10, 100.0, 3.0, (), ()), figures, 3.0).by == by


def figures_in(path):
    series = read_counters(str(path))
    return figures_of(Events(series.names, series.values, series.end_s - series.start_s))


def test_level_two_of_intel_divides_level_one(tmp_path):
    """Counts in proportion to the output of perf stat --topdown of Linux' patch "perf stat: Update --topdown document
    to Sapphire Rapids", whose percentages are checked.
    """
    path = tmp_path / "perf.csv"
    counts = {
        "slots": 14752200, "topdown-retiring": 3286000, "topdown-bad-spec": 1317000, "topdown-fe-bound": 5473000,
        "topdown-be-bound": 4679199, "topdown-heavy-ops": 646194, "topdown-br-mispredict": 1244999,
        "topdown-fetch-lat": 3891800, "topdown-mem-bound": 1879034,
    }  # fmt: skip
    path.write_text("".join(perf_line(1.0, f"cpu_core/{name}/", count) for name, count in counts.items()))
    found = {key: round(100 * value, 1) for key, value in figures_in(path).items() if value < 1}
    expected = {
        "backend_bound": 31.7, "heavy_operations": 4.4, "light_operations": 17.9, "branch_mispredicts": 8.4,
        "machine_clears": 0.5, "fetch_latency": 26.4, "fetch_bandwidth": 10.7,
    }  # fmt: skip
    assert {key: found[key] for key in expected} == expected
    assert found["memory_bound"] + found["core_bound"] == pytest.approx(found["backend_bound"], abs=0.11)


def test_level_two_of_zen_4_divides_the_backend(tmp_path):
    """By perf's amdzen4/pipeline.json: backend_bound_memory is backend_bound times the cycles blocked by loads."""
    path = tmp_path / "perf.csv"
    counts = {
        "cycles": 1000, "de_no_dispatch_per_slot.backend_stalls": 3300, "ex_no_retire.load_not_complete": 300,
        "ex_no_retire.not_complete": 400,
    }  # fmt: skip
    path.write_text("".join(perf_line(1.0, event, count) for event, count in counts.items()))
    found = figures_in(path)
    assert found["memory_bound"] == pytest.approx(0.55 * 0.75)
    assert found["core_bound"] == pytest.approx(0.55 * 0.25)


def test_the_top_down_method_of_arm(tmp_path):
    """By perf's arm64/sbsa.json, on 8 slots a cycle, which the recording multiplies."""
    path = tmp_path / "perf.csv"
    counts = {
        "cpu-slots": 8000, "stall_slot_frontend": 1600, "stall_slot_backend": 2400, "op_retired": 900, "op_spec": 1000,
    }  # fmt: skip
    path.write_text("".join(perf_line(1.0, event, count) for event, count in counts.items()))
    found = figures_in(path)
    assert (found["frontend_bound"], found["backend_bound"]) == (0.2, 0.3)
    assert (found["retiring"], found["bad_speculation"]) == (pytest.approx(0.45), pytest.approx(0.05))


def test_bandwidth_of_the_memory_controllers_replaces_the_estimate(tmp_path):
    """As perf stat -a -I prints Intel's uncore_imc (in MiB, its scale applied) and AMD's amd_umc (in lines)."""
    path = tmp_path / "perf.csv"
    lines = [f"1.000000000,{mib},MiB,uncore_imc_{channel}/cas_count_{way}/,1000000,100.00,,\n"
             for channel in range(2) for way, mib in (("read", 100), ("write", 50))]  # fmt: skip
    path.write_text("".join([*lines, perf_line(1.0, "cache-misses", 7)]))
    found = figures_in(path)
    assert found["memory_read_bytes_s"] == pytest.approx(200 * 2**20)
    assert found["memory_written_bytes_s"] == pytest.approx(100 * 2**20)
    assert found["memory_bytes_s"] == pytest.approx(300 * 2**20)
    path.write_text(perf_line(1.0, "hnf_mc_reqs", 1000))
    assert figures_in(path)["node_memory_bytes_s"] == 64000
    path.write_text(perf_line(1.0, "umc_cas_cmd.rd", 1000) + perf_line(1.0, "umc_cas_cmd.wr", 500))
    assert figures_in(path)["memory_bytes_s"] == 1500 * 64


def test_operations_are_counted_by_the_width_of_their_registers(tmp_path):
    path = tmp_path / "perf.csv"
    counted = {
        "fp_arith_inst_retired.scalar_double": 100, "fp_arith_inst_retired.256b_packed_double": 75,
        "fp_arith_inst_retired.512b_packed_single": 25, "cache-misses": 25,
    }  # fmt: skip
    path.write_text("".join(perf_line(1.0, event, count) for event, count in counted.items()))
    series = read_counters(str(path))
    figures = figures_of(Events(series.names, series.values, series.end_s - series.start_s))
    assert figures["gflops_s"] == pytest.approx((100 + 75 * 4 + 25 * 16) / 1e9)
    by_width = [figures.get(f"gflops_{width}_s") for width in ("scalar", "128b", "256b", "512b")]
    assert by_width == [pytest.approx(100e-9), None, pytest.approx(300e-9), pytest.approx(400e-9)]
    assert figures["scalar_share"] == pytest.approx(100 / 800)
    assert figures["intensity"] == pytest.approx(800 / (25 * 64))
