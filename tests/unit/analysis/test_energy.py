"""The energy of phases, from the power of the node beside a recording."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from incprof.analysis.diff import broken, parse, unsure
from incprof.analysis.diff.diff_result import EnergyRow
from incprof.analysis.energy import power_by_phase
from incprof.cli.main import main
from incprof.model.series import Power
from incprof.readers.series.counter_series import read_counters
from tests.unit.analysis.diff.test_gates import a_row, comparison
from tests.unit.profiles import two_phase_run
from tests.unit.streamwriter import Sample, StreamWriter
from tests.unit.verbs import verb
from tests.variants import mostly_slow

START_S = 1_700_000_000
SOLVE_W, WRITE_W = 150.0, 60.0


def power_file(
    path, *, row_s=0.5, end_s=20.0, border_s=10.0, solve=SOLVE_W, write=WRITE_W, head=(), names=("pdu-watts",)
):
    """A sampler's file: the first power until `border_s`, then the second; a row across has the mean of both."""
    lines = [*head, f"# begun: {START_S:.6f} s since 1970 on node1", ",".join(["time_s", "context-switches", *names])]
    ends = np.arange(1, round(end_s / row_s) + 1) * row_s
    for end in ends.tolist():
        part = np.clip((border_s - (end - row_s)) / row_s, 0.0, 1.0)
        lines.append(f"{end:.6f},3" + f",{part * solve + (1 - part) * write:.6f}" * len(names))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def run(tmp_path):
    """Ten intervals of solve, ten of write_out, a second each."""
    return two_phase_run(tmp_path / "run", start_unix_ns=START_S * 10**9)


def counters(capsys, *args):
    status = main(["phases", *map(str, args), "--json"])
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    return json.loads(out)["counters"]


def test_each_phase_has_its_power_and_energy(run, tmp_path, capsys):
    found = counters(capsys, run, "--counters", power_file(tmp_path / "node.csv"))
    by_power = {p["figures"]["power_w"]: p["figures"]["energy_j"] for p in found["phases"]}
    assert by_power == {SOLVE_W: 1500.0, WRITE_W: 600.0}
    assert found["power"] == {
        "column": "pdu-watts", "simulated": None, "energy_j": 2100.0, "between_j": 0.0, "measured_s": 20.0,
    }  # fmt: skip
    assert not any("say nothing" in line for line in found["notes"])


def test_rows_across_phases_are_shared_and_all_energy_is_somewhere(run, tmp_path, capsys):
    """Rows of 3 s: the one from 9 to 12 s has a second of solve."""
    found = counters(capsys, run, "--counters", power_file(tmp_path / "node.csv", row_s=3.0, end_s=21.0))
    energy = sorted(p["figures"]["energy_j"] for p in found["phases"])
    assert energy == pytest.approx([600.0, 1500.0])
    assert found["power"]["energy_j"] == pytest.approx(2100.0)


def test_energy_of_rows_is_conserved_for_any_power():
    rng = np.random.default_rng(3)
    inside = rng.uniform(0, 1, (3, 40))
    inside[:, ::3] = 0
    inside[1, ::3] = 2.0
    row_s = np.maximum(inside.sum(axis=0), 0.1)
    watts = rng.uniform(50, 200, 40)
    found = power_by_phase(Power("x", watts, ("x",)), row_s, inside)
    assert (found.watts * found.measured_s)[found.measured_s > 0].sum() == pytest.approx(float(watts @ row_s))
    np.testing.assert_allclose(found.measured_s, inside.sum(axis=1))


def test_a_phase_of_which_little_was_measured_has_no_energy(run, tmp_path, capsys):
    found = counters(capsys, run, "--counters", power_file(tmp_path / "node.csv", end_s=12.0))
    by_power = {p["figures"]["power_w"]: p["figures"].get("energy_j") for p in found["phases"]}
    assert by_power == {SOLVE_W: 1500.0, WRITE_W: None}


def test_simulated_power_is_marked_wherever_it_is_shown(run, tmp_path, capsys):
    head = ("# simulated: 40 + 30 * cpu W",)
    path = power_file(tmp_path / "node.csv", head=head)
    assert counters(capsys, run, "--counters", path)["power"]["simulated"] == "40 + 30 * cpu W"
    assert main(["phases", str(run), "--counters", str(path)]) == 0
    text = capsys.readouterr().out
    for said in ("power (simulated)", "energy (simulated)", "simulated by 40 + 30 * cpu W"):
        assert said in text
    page = tmp_path / "page.html"
    assert main(["report", str(run), "--counters", str(path), "-o", str(page)]) == 0
    html = page.read_text()
    assert "power (simulated)" in html
    assert "power of the node (simulated)" in html
    # A sensor's is not marked.
    assert main(["phases", str(run), "--counters", str(power_file(path))]) == 0
    assert "simulated" not in capsys.readouterr().out


def test_packages_and_memory_are_added_up(run, tmp_path, capsys):
    names = ("rapl-package-0-watts", "rapl-package-1-watts", "rapl-package-0-dram-watts", "rapl-package-0-core-watts")
    found = counters(capsys, run, "--counters", power_file(tmp_path / "node.csv", names=names))
    assert sorted(p["figures"]["power_w"] for p in found["phases"]) == [3 * WRITE_W, 3 * SOLVE_W]
    assert any("not the whole node" in line for line in found["notes"])


def test_joules_of_perf_are_power(tmp_path):
    path = tmp_path / "perf.txt"
    rows = [
        "     2.000000000     100.00 Joules power/energy-pkg/",
        "     4.000000000      60.00 Joules power/energy-pkg/",
    ]
    path.write_text("\n".join(rows) + "\n")
    power = read_counters(str(path)).power
    assert power is not None
    np.testing.assert_allclose(power.watts, [50.0, 30.0])


def test_steps_have_their_part_of_the_phase(tmp_path, capsys):
    """A loop that calls two functions 5 times a second, one for 60 % of the time."""
    writer = StreamWriter(["main", "heavy", "light"], start_unix_ns=START_S * 10**9)
    for _ in range(20):
        samples = [Sample("main;heavy", weight=12), Sample("main;light", weight=8)] * 5
        writer.interval(samples, arcs={("main", "heavy"): 5, ("main", "light"): 5})
    writer.end()
    run = writer.save(tmp_path / "run")
    path = power_file(tmp_path / "node.csv", solve=100.0, write=100.0)
    (phase,) = counters(capsys, run, "--counters", path)["phases"]
    assert phase["figures"]["energy_j"] == 2000.0
    each = {step["name"]: (step["calls"], step["energy_per_call_j"]) for step in phase["steps"]}
    assert each == {"heavy": (100, pytest.approx(12.0, rel=0.01)), "light": (100, pytest.approx(8.0, rel=0.01))}
    assert main(["phases", str(run), "--counters", str(path)]) == 0
    assert "heavy 12 J a call (100 calls)" in capsys.readouterr().out


# Energy on two sides.


def sides(tmp_path, *, solve=SOLVE_W, row_s=0.5, head=(), seed=1):
    """Two recordings of one program, and the power of each with noise; `solve` is that of B's first phase."""
    rng = np.random.default_rng(seed)
    tmp_path.mkdir(exist_ok=True)
    out = []
    for name, watts in (("a", SOLVE_W), ("b", solve)):
        run = two_phase_run(tmp_path / name, start_unix_ns=START_S * 10**9)
        path = power_file(tmp_path / f"{name}.csv", solve=watts, row_s=row_s, head=head)
        lines = path.read_text().splitlines()
        first = next(at for at, line in enumerate(lines) if line.startswith("time_s")) + 1
        for at in range(first, len(lines)):
            time, switches, watt = lines[at].split(",")
            lines[at] = f"{time},{switches},{float(watt) * (1 + 0.02 * rng.standard_normal()):.4f}"
        path.write_text("\n".join(lines) + "\n")
        out += [run, path]
    a, a_csv, b, b_csv = out
    return [str(a), str(b), "--counters", str(a_csv), "--counters-b", str(b_csv)]


diff = verb("diff")


@pytest.mark.parametrize("seed", mostly_slow(3, range(8)))
def test_equal_runs_do_not_fail_by_energy(tmp_path, capsys, seed):
    status, _, err = diff(capsys, *sides(tmp_path, seed=seed), "--fail-on", "energy>0%", "--fail-on", "*:energy>0%")
    assert (status, err) == (0, "")


def test_more_power_fails_though_time_is_the_same(tmp_path, capsys):
    given = sides(tmp_path, solve=1.3 * SOLVE_W)
    status, out, err = diff(capsys, *given, "--noise", "2", "--fail-on", "energy>5%", "--fail-on", "phase>5%", "--json")
    found = json.loads(out)
    assert status == 3
    assert err.startswith("incprof: fails 'energy>5%': whole run: 2.1 kJ in A, 2.5")
    assert [each["condition"] for each in found["broken"]] == ["energy>5%"]
    energy = found["run"]["energy"]
    assert energy["change_pct"] == pytest.approx(100 * 450 / 2100, abs=1.5)
    assert energy["interval_pct"][0] < 100 * 450 / 2100 < energy["interval_pct"][1]
    assert (energy["verdict"], energy["simulated"]) == ("more", False)
    by_name = {phase["name"]: phase["energy"]["verdict"] for phase in found["phases"]}
    assert by_name == {"solve": "more", "write_out": "same"}
    assert diff(capsys, *given, "--noise", "2", "--fail-on", "energy>30%")[0] == 0
    assert diff(capsys, *given, "--noise", "2", "--fail-on", "write_out:energy>5%")[0] == 0
    assert diff(capsys, *given, "--noise", "2", "--fail-on", "solve:energy>300J")[0] == 3


def test_others_on_the_node_may_be_behind_it(tmp_path, capsys):
    """Two processors are busy, and the run uses one of them."""
    given = sides(tmp_path, solve=1.3 * SOLVE_W)
    for path in (Path(given[3]), Path(given[5])):
        path.write_text(path.read_text().replace("context-switches", "cpu").replace(",3,", ",2,"))
    status, _, err = diff(capsys, *given, "--noise", "2", "--fail-on", "energy>5%")
    assert status == 0
    assert "% of the node's busy processors ran other programs" in err


def test_simulated_energy_is_marked_on_every_form(tmp_path, capsys):
    given = sides(tmp_path, solve=1.3 * SOLVE_W, head=("# simulated: a formula",))
    status, out, err = diff(capsys, *given, "--noise", "2", "--fail-on", "energy>5%")
    assert status == 3
    assert "Energy (simulated)" in out
    assert "(simulated), +" in err
    assert "Energy (simulated)" in diff(capsys, *given, "--markdown")[1].replace("&#40;", "(").replace("&#41;", ")")
    assert "Energy (simulated)" in diff(capsys, *given, "--html", "-")[1]
    assert json.loads(diff(capsys, *given, "--json")[1])["run"]["energy"]["simulated"] is True


@pytest.mark.parametrize(
    ("keep", "status", "said"),
    [
        ((), 2, "energy needs power sampled during both sides"),
        (("--counters",), 2, "--counters-b was given 0 times, and B has 1 run"),
        (("--counters", "--counters-b"), 4, "contains no power"),
    ],
)
def test_a_side_without_power_is_an_error(tmp_path, capsys, keep, status, said):
    given = sides(tmp_path)
    if len(keep) == 2:
        Path(given[5]).write_text(Path(given[5]).read_text().replace("pdu-watts", "odd"))
    options = [word for at in (2, 4) if given[at] in keep for word in given[at : at + 2]]
    found, out, err = diff(capsys, *given[:2], *options, "--fail-on", "energy>5%")
    assert (found, out, err.count("\n")) == (status, "", 1)
    assert said in err


def test_the_same_bytes_without_counters(tmp_path, capsys):
    given = sides(tmp_path)
    assert "nergy" not in diff(capsys, *given[:2])[1]
    assert "energy" not in diff(capsys, *given[:2], "--json")[1]


def test_energy_of_wall_time_alone_fails_no_gate():
    """The run took 1.5 times as long and as much CPU time: others had the processor."""
    more = EnergyRow(**vars(a_row("run", "whole run", 100.0, 150.0, "slower")))
    same, slower = (a_row("run", "whole run", 10.0, b, verdict) for b, verdict in ((10.0, "same"), (15.0, "slower")))
    for by_wall, by_cpu, fails in ((slower, same, False), (slower, slower, True), (same, same, True)):
        found = comparison(replace(by_wall, cpu=by_cpu, energy=more))
        condition = parse("energy>5%")
        assert bool(broken([condition], found)) == fails
        assert bool(unsure([condition], found)) != fails


def test_several_runs_of_a_side_have_a_file_each(tmp_path, capsys):
    given = [sides(tmp_path / str(seed), solve=1.3 * SOLVE_W, seed=seed) for seed in (1, 2)]
    (a, b, _, a_csv, _, b_csv), (a2, b2, _, a2_csv, _, b2_csv) = given
    words = [a, a2, "--against", b, b2, "--counters", a_csv, "--counters", a2_csv, "--counters-b", b_csv]
    status, _, err = diff(capsys, *words, "--fail-on", "energy>5%")
    assert (status, "--counters-b was given 1 time, and B has 2 runs" in err) == (2, True)
    status, out, err = diff(capsys, *words, "--counters-b", b2_csv, "--fail-on", "energy>5%", "--json")
    assert status == 3
    assert [len(side) for side in json.loads(out)["run"]["energy"]["runs_j"]] == [2, 2]


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_a_meter_with_clock_times_is_placed_by_them(run, tmp_path, capsys, unit):
    """A row each 2 s, in seconds or milliseconds since 1970, from 4 s before the run on."""
    path = tmp_path / "pdu.csv"
    rows = [f"{(START_S + s) * unit:.0f},{SOLVE_W if s <= 10 else WRITE_W}" for s in range(-2, 22, 2)]
    path.write_text("timestamp,outlet_watts\n" + "\n".join(rows) + "\n")
    found = counters(capsys, run, "--counters", path)
    assert (found["aligned"], found["offset_s"]) == ("clock", -4.0)
    assert sorted(p["figures"]["energy_j"] for p in found["phases"]) == [600.0, 1500.0]
