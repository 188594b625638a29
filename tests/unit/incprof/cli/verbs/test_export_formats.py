"""What exports have in common: the same times as the run, whatever its functions are called, and a bounded size."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from incprof.analysis.views.stacks import DEEPEST, Frame, StackSeries, placed, stack_tree, thread_slices
from incprof.analysis.views.tracks import label_spans
from incprof.cli.main import main
from incprof.readers.run import open_run, read_profile
from incprof.report.exports import cell
from incprof.safe.printable import printable_lines
from tests.unit.ekgfiles import simple_run
from tests.unit.elfwriter import Symbol, write_elf
from tests.unit.profiles import two_phase_run
from tests.unit.streamwriter import BASE, LIBRARY, PROFILER, STEP, Sample, StreamWriter, blocks

# Names as ELF files have them: anything but NUL.
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=30)


def exported(run: Path, form: str, *args: object, status: int = 0) -> str:
    """Export to a file and return what it holds."""
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "out"
        assert main(["export", str(run), "--format", form, "-o", str(target), *map(str, args)]) == status
        return target.read_text(encoding="utf-8")


def odd_run(directory: Path, names: list[str], samples: list[tuple[int, int, int]]) -> Path:
    """Paths of up to three functions, ticks and threads, over four intervals."""
    writer = StreamWriter(names)
    for i in range(4):
        made = []
        for depth, weight, thread in samples:
            path = tuple((0, writer.address(names[(i + d) % len(names)])) for d in range(1 + depth % 3))
            kind = LIBRARY if weight % 5 == 0 else PROFILER if weight % 7 == 0 else 0
            made.append(Sample(path, kind, weight, thread))
        writer.interval(made)
    writer.end()
    return writer.save(directory / "run")


SAMPLES = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 60), st.integers(0, 2)), min_size=1, max_size=6)


@settings(max_examples=15, deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), SAMPLES)
@example(["\r"], [(0, 1, 0)])
def test_times_add_up_to_the_same_in_every_format(names, samples):
    with tempfile.TemporaryDirectory() as directory:
        run = odd_run(Path(directory), names, samples)
        profile = read_profile(open_run(run), arcs=False)
        ticks = int(profile.samples.weight[profile.samples.kind != PROFILER].sum())
        if not ticks:
            return
        folded = [line.rsplit(" ", 1) for line in exported(run, "folded").split("\n")[:-1]]
        assert sum(int(number) for _, number in folded) == ticks
        assert all(1 <= stack.count(";") + 1 <= 4 for stack, _ in folded)
        scope = json.loads(exported(run, "speedscope"))
        assert sum(sum(p["weights"]) for p in scope["profiles"]) == pytest.approx(ticks / 100)
        rows = list(csv.DictReader(io.StringIO(exported(run, "csv", "--table", "samples"))))
        assert sum(float(row["cpu_s"]) for row in rows) == pytest.approx(ticks / 100)
        rows = list(csv.DictReader(io.StringIO(exported(run, "csv"))))
        assert sum(float(row["self_s"]) for row in rows) == pytest.approx(profile.self_s.sum(), abs=1e-5)
        assert {row["function"] for row in rows} <= {printable_lines(cell(f.name)) for f in profile.functions}


@settings(max_examples=6, deadline=None)
@given(st.lists(NAMES, min_size=2, max_size=4, unique=True), SAMPLES)
def test_times_add_up_with_phases(names, samples):
    with tempfile.TemporaryDirectory() as directory:
        run = odd_run(Path(directory), names, [(0, 9, 0), *samples])
        profile = read_profile(open_run(run), arcs=False)
        ticks = int(profile.samples.weight[profile.samples.kind != PROFILER].sum())
        events = json.loads(exported(run, "trace"))["traceEvents"]
        outermost = sum(own_us(events).values())
        assert outermost == pytest.approx(ticks * 10_000)
        roots = json.loads(exported(run, "hatchet"))
        assert sum(root["metrics"]["time (inc)"] for root in roots) == pytest.approx(ticks / 100)
        assert sum(node["metrics"]["time"] for node in flat(roots)) == pytest.approx(ticks / 100)
        phases = [key for key in roots[0]["metrics"] if key.startswith("phase") and "inc" not in key]
        both = sum(node["metrics"][key] for node in flat(roots) for key in phases)
        labels = list(csv.DictReader(io.StringIO(exported(run, "csv", "--table", "intervals"))))
        within = np.array([int(row["phase"]) >= 0 for row in labels])[profile.interval_of_samples()]
        use = within & (profile.samples.kind != PROFILER)
        assert both == pytest.approx(profile.samples.weight[use].sum() / 100)


def flat(nodes):
    for node in nodes:
        yield node
        yield from flat(node["children"])


def own_us(events) -> Counter[tuple[int, str]]:
    """CPU time of each function itself, by process, from slices that lie within each other."""
    own: Counter[tuple[int, str]] = Counter()
    tracks: dict[tuple[int, int], list] = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] == "samples":
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    for (pid, _), slices in tracks.items():
        stack: list[dict] = []
        for event in slices:
            while stack and event["ts"] >= stack[-1]["ts"] + stack[-1]["dur"]:
                stack.pop()
            assert not stack or event["ts"] + event["dur"] <= stack[-1]["ts"] + stack[-1]["dur"]
            own[pid, event["name"]] += event["tdur"]
            if stack:
                own[pid, stack[-1]["name"]] -= event["tdur"]
            stack.append(event)
    return own


def test_trace_of_all_ranks(tmp_path):
    run = two_phase_run(tmp_path / "run", ranks=range(3))
    found = json.loads(exported(run, "trace", "--all-ranks"))
    events = found["traceEvents"]
    assert found["otherData"]["ranks"] == 3
    titles = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert titles == {rank + 1: f"rank {rank}: app (host node1, pid 4711)" for rank in range(3)}
    own = own_us(events)
    for pid in titles:
        phases = [(e["name"], e["ts"], e["dur"]) for e in events if e.get("cat") == "phases" and e["pid"] == pid]
        assert phases == [("solve", 0, 10**7), ("write_out", 10**7, 10**7)]
        assert own[pid, "solve"] == 8_890_000
    one = next(e for e in events if e.get("cat") == "phases")
    assert one["args"]["sites"] == ["solve:body"] or one["args"]["sites"] == ["solve:loop"]
    assert {e["pid"] for e in json.loads(exported(run, "trace", "--rank", 2))["traceEvents"]} == {3}


def test_a_rank_that_cannot_be_read_is_left_out(tmp_path, capsys):
    run = two_phase_run(tmp_path / "run", ranks=(0, 1))
    (run / "rank-00001.gmon").write_bytes(b"nothing")
    events = json.loads(exported(run, "trace", "--all-ranks", status=5))["traceEvents"]
    assert {event["pid"] for event in events} == {1}
    assert "rank 1 is left out" in capsys.readouterr().err


def test_heartbeats_of_a_rank_that_has_none(tmp_path, capsys):
    run = two_phase_run(tmp_path / "run", ranks=(0, 1))
    beats = simple_run(tmp_path / "ekg")
    events = json.loads(exported(run, "trace", "--all-ranks", "--heartbeats", beats))["traceEvents"]
    assert {e["pid"] for e in events if e["name"].startswith("heartbeat")} == {1}
    assert main(["export", str(run), "--format", "trace", "--rank", "1", "--heartbeats", str(beats)]) == 2
    assert main(["export", str(run), "--format", "trace", "--heartbeats", str(tmp_path / "no")]) == 4
    assert capsys.readouterr().err.count("\n") == 3


def test_samples_of_a_thread_lie_one_behind_the_other():
    begin, end, cpu = placed(np.array([0.005, 0.02, 0.021, 0.5]), np.array([1, 1, 2, 1]), 100)
    assert begin.tolist() == [0, 10_000, 20_000, 490_000]
    assert end.tolist() == [10_000, 20_000, 40_000, 500_000]
    assert cpu.tolist() == [10_000, 10_000, 20_000, 10_000]


def series_of(stack, time_s, thread=None, weight=None, stacks=None) -> StackSeries:
    stack = np.asarray(stack, dtype=np.int64)
    stacks = stacks or tuple((Frame("main"), Frame(f"f{i}")) for i in range(int(stack.max()) + 1))
    ones = np.ones(len(stack))
    return StackSeries(stacks, stack, ones.astype(np.int64) * 0 if thread is None else thread,
                       ones if weight is None else weight, np.asarray(time_s, dtype=np.float64))  # fmt: skip


def test_slices_end_where_the_thread_did_not_run():
    (found,) = thread_slices(series_of([0, 0, 1, 1], [0.01, 0.02, 0.03, 1.0]), 100, 1000)
    shown = [(s.frame.name, s.depth, s.begin_us, s.end_us, s.cpu_us) for s in found.slices]
    assert sorted(shown) == [
        ("f0", 1, 0, 20_000, 20_000), ("f1", 1, 20_000, 30_000, 10_000), ("f1", 1, 990_000, 1_000_000, 10_000),
        ("main", 0, 0, 30_000, 30_000), ("main", 0, 990_000, 1_000_000, 10_000),
    ]  # fmt: skip
    assert found.span_us == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 400), st.integers(1, 40), st.integers(16, 200), st.integers(0, 2**32 - 1))
def test_few_slices_have_the_same_times(samples, functions, most, seed):
    rng = np.random.default_rng(seed)
    series = series_of(rng.integers(0, functions, samples), np.sort(rng.uniform(0, samples / 50, samples)))
    (found,) = thread_slices(series, 100, most)
    assert len(found.slices) <= max(most, 2 * functions + 2)
    by_name: Counter[str] = Counter()
    for one in found.slices:
        by_name[one.frame.name] += one.cpu_us if one.depth else 0
    expected = {f"f{i}": 10_000 * n for i, n in enumerate(np.bincount(series.stack).tolist()) if n}
    assert dict(by_name - Counter()) == expected
    assert sum(s.cpu_us for s in found.slices if s.depth == 0) == 10_000 * samples
    ordered = sorted((s for s in found.slices if s.depth == 1), key=lambda s: s.begin_us)
    assert all(a.end_us <= b.begin_us for a, b in pairwise(ordered))


def test_a_long_run_gives_a_trace_of_bounded_size(tmp_path):
    rng = np.random.default_rng(0)
    n = 400_000
    series = series_of(rng.integers(0, 300, n), np.arange(1, n + 1) / 100)
    (found,) = thread_slices(series, 100, 50_000)
    assert 5_000 < len(found.slices) <= 50_000
    assert found.span_us > 0
    assert sum(s.cpu_us for s in found.slices if s.depth == 1) == n * 10_000


def test_deep_stacks_are_cut_for_readers_that_recurse(tmp_path):
    writer = StreamWriter(["main", "again"])
    path = [(0, writer.address("main")), *[(0, writer.address("again", 4 + i % 100)) for i in range(1_000)]]
    writer.interval([Sample(tuple(path), weight=50)])
    writer.end()
    run = writer.save(tmp_path / "run")
    profile = read_profile(open_run(run), arcs=False)
    tree = stack_tree(profile, np.zeros(1, dtype=np.int64), 1)
    assert len(tree.frames) == DEEPEST
    assert tree.own_s[-1].tolist() == [0.5, 0.5]
    (root,) = json.loads(exported(run, "hatchet"))
    assert (root["frame"]["name"], root["metrics"]["time (inc)"]) == ("main", 0.5)


def test_stretches():
    start, end = np.arange(6.0), np.arange(1.0, 7.0)
    found = label_spans(start, end, np.array([0, 0, -1, 1, 1, 0]))
    assert found == [(0, 2, 0), (3, 5, 1), (5, 6, 0)]
    assert label_spans(start[:0], end[:0], np.zeros(0, dtype=np.int64)) == []


def test_parquet_has_what_the_tables_have(tmp_path):
    pd, pq = pytest.importorskip("pandas"), pytest.importorskip("pyarrow.parquet")
    run = two_phase_run(tmp_path / "run")
    profile = read_profile(open_run(run), arcs=False, inlined=True)
    for table in ("profile", "intervals", "samples", "phases", "labels", "functions", "sites", "steps", "scores"):
        target = tmp_path / f"{table}.parquet"
        assert main(["export", str(run), "--format", "parquet", "--table", table, "-o", str(target)]) == 0
        assert pq.read_schema(target).names == list(pd.read_parquet(target))
        rows = csv.DictReader(io.StringIO(exported(run, "csv", "--table", table)))
        assert len(list(rows)) == len(pd.read_parquet(target))
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "profile.parquet"), profile.to_pandas(), check_dtype=False
    )  # fmt: skip


def test_parquet_without_pyarrow(tmp_path, capsys, monkeypatch):
    run = two_phase_run(tmp_path / "run", intervals=4)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["export", str(run), "--format", "parquet", "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.endswith("pip install 'incprof[parquet]', or take --format csv\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", [["--phase", "0"], ["--table", "samples"], ["--heartbeats", "x"], ["--all-ranks"]])
def test_options_that_do_not_go_with_a_format(tmp_path, capsys, option):
    run = two_phase_run(tmp_path / "run", intervals=4)
    assert main(["export", str(run), "--format", "gprof", "-o", str(tmp_path / "out"), *option]) == 2
    assert option[0] in capsys.readouterr().err


@pytest.mark.parametrize("form", ["trace", "hatchet", "folded", "speedscope"])
def test_runs_without_samples_are_refused_in_one_line(tmp_path, capsys, form):
    writer = StreamWriter()
    writer.interval([])
    writer.end()
    run = writer.save(tmp_path / "run")
    assert main(["export", str(run), "--format", form, "-o", str(tmp_path / "out")]) == 4
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_directories_of_gmon_files(tmp_path):
    """They have no samples and no paths: functions of an interval stand one behind the other."""
    exe, run, ticks = tmp_path / "app", tmp_path / "run", {"solve": 0, "io": 0}
    symbols = [Symbol(name, BASE + STEP * i) for i, name in enumerate(ticks)]
    write_elf(exe, symbols, build_id="ab" * 20, text=(BASE, BASE + 2 * STEP))
    run.mkdir()
    for i in range(8):
        ticks["solve" if i < 4 else "io"] += 80
        ticks["io"] += 15
        data = blocks({BASE + STEP * place + 16: count for place, count in enumerate(ticks.values())})
        (run / f"gmon-{i}").write_bytes(b"gmon\x01\0\0\0" + bytes(12) + data)
    slices = [e for e in json.loads(exported(run, "trace", "--exe", exe))["traceEvents"] if e.get("cat") == "samples"]
    shown = [(e["name"], e["ts"], e["dur"], e["tdur"]) for e in slices]
    assert shown[:2] == [("solve", 0, 800_000, 800_000), ("io", 800_000, 150_000, 150_000)]
    assert sum(tdur for name, _, _, tdur in shown if name == "solve") == 3_200_000
    assert sum(tdur for name, _, _, tdur in shown if name == "io") == 4_400_000
    assert all(ts // 10**6 == (ts + dur - 1) // 10**6 for _, ts, dur, _ in shown if dur < 10**6)
    roots = json.loads(exported(run, "hatchet", "--exe", exe))
    assert {r["frame"]["name"]: r["metrics"]["time (inc)"] for r in roots} == pytest.approx({"solve": 3.2, "io": 4.4})
    rows = list(csv.DictReader(io.StringIO(exported(run, "csv", "--table", "samples", "--exe", exe))))
    assert sum(float(row["cpu_s"]) for row in rows) == pytest.approx(7.6)
    assert main(["export", str(run), "--format", "trace", "-o", str(tmp_path / "out")]) == 2  # no --exe


@pytest.mark.parametrize("form", ["csv", "trace", "hatchet", "speedscope"])
def test_damaged_runs_are_exported_and_reported(tmp_path, capsys, form):
    run = two_phase_run(tmp_path / "run")
    stream = run / "rank-00000.gmon"
    stream.write_bytes(stream.read_bytes()[:-60])
    assert exported(run, form, status=5)
