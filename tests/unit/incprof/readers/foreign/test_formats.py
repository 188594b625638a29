"""Formats of other tools: what is made of them, and that nothing in them can do harm."""

import gzip
import json
import re
import struct
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.cli.verbs.importing import FORMATS as NAMED
from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.readers.foreign import foreign_files, formats
from incprof.readers.foreign.foreign_files import in_order
from incprof.readers.foreign.formats import FORMATS, ImportRequest, detect_format
from incprof.readers.foreign.frames import qualified
from incprof.readers.run import open_all, open_run, read_profile
from incprof.symbols.source_lines import locate
from soak.mutate import damaged, mutate_binary, mutate_text
from tests.paths import RECORDINGS
from tests.unit.imports import bring, message, paths, put, seconds, varint
from tests.unit.incprof.readers.foreign.test_firefox import processed
from tests.unit.incprof.readers.foreign.test_simpleperf import SAMPLES, recorded
from tests.unit.streamwriter import Sample, StreamWriter

RECORDED = RECORDINGS / "imported"
PERF = """\
# captured on a machine
app 4711/4711 [001]   100.010000:   10000000 task-clock:u:
\t    55d0c0de11f0 dot+0x20 (inlined)
  dot.h:5
\t    55d0c0de11f0 solve+0x20 (/home/me/app)
  solver.c:42
\t    55d0c0de2000 main (/home/me/app)
\t    7f0000000000 __libc_start_main (/usr/lib/libc.so.6)

  app worker 4711/4712  100.020000:   10000000 task-clock:u:
\t    7f3a2b1c0000 exp (/usr/lib/libm.so.6)
\t    55d0c0de11f0 void ns::f<int>(a (*)(b)) (/home/me/my (old) app (deleted))
\t    ffffffff8100 do_work ([kernel.kallsyms])

app 4711/4711 [001]   100.030000:   20000000 task-clock:u:
\t    1 [unknown] ([unknown])

bash 1/1 [001]   100.030000:   10000000 task-clock:u:
\t    1 read_line (/usr/bin/bash)

app 4711/4711 [001]   100.030000:          1 sched:sched_switch: prev_comm=app
\t    1 main (/home/me/app)

"""
SCOPE = {
    "$schema": "https://www.speedscope.app/file-format-schema.json",
    "name": "app",
    "shared": {"frames": [{"name": "main"}, {"name": "solve", "file": "s.c", "line": 7}, {"name": "io"}]},
    "profiles": [
        {"type": "sampled", "unit": "milliseconds", "startValue": 0, "endValue": 40,
         "samples": [[0, 1], [0, 2], [0]], "weights": [20, 10, 10]},
        {"type": "evented", "unit": "milliseconds", "startValue": 0, "endValue": 40, "events": [
            {"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 2, "at": 10},
            {"type": "C", "frame": 2, "at": 30}, {"type": "C", "frame": 0, "at": 40}]},
    ],
}  # fmt: skip
V8 = {
    "nodes": [
        {"id": 1, "callFrame": {"functionName": "(root)", "url": "", "lineNumber": -1}, "children": [2, 3, 5]},
        {"id": 2, "callFrame": {"functionName": "(idle)", "url": "", "lineNumber": -1}},
        {"id": 3, "callFrame": {"functionName": "", "url": "file:///a/w.js", "lineNumber": 0}, "children": [4]},
        {"id": 4, "callFrame": {"functionName": "Mesh.sweep", "url": "file:///a/w.js", "lineNumber": 9}},
        {"id": 5, "callFrame": {"functionName": "(program)", "url": "", "lineNumber": -1}},
    ],
    "startTime": 5000000, "endTime": 9000000,
    "samples": [3, 4, 4, 2, 5, 4], "timeDeltas": [10000, 10000, 10000, 500000, 10000, 10000],
}  # fmt: skip
TRACE = {"traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "app"}},
    {"ph": "X", "name": "main", "pid": 9, "tid": 1, "ts": 0, "dur": 100000},
    {"ph": "X", "name": "solve", "pid": 9, "tid": 1, "ts": 20000, "dur": 50000, "tdur": 40000},
    {"ph": "B", "name": "io", "pid": 9, "tid": 2, "ts": 0}, {"ph": "E", "pid": 9, "tid": 2, "ts": 30000, "name": "io"},
    {"ph": "C", "name": "load", "pid": 9, "ts": 0, "args": {"x": 1}},
]}  # fmt: skip
GCOV = {"gcc_version": "12", "files": [{
    "file": "a.c",
    "functions": [{"name": "solve", "start_line": 3, "execution_count": 10},
                  {"name": "io", "start_line": 9, "execution_count": 2}],
    "lines": [{"line_number": 4, "function_name": "solve", "count": 90},
              {"line_number": 10, "function_name": "io", "count": 10},
              {"line_number": 11, "function_name": "io", "count": 0}]}]}  # fmt: skip


def pprof(solve_ns=300_000_000, io_ns=100_000_000, start_s=1000.0):
    """A CPU profile of main;solve, in which dot is inlined, and main;io."""
    texts = ["", "samples", "count", "cpu", "nanoseconds", "main", "solve", "dot", "io", "/home/me/app", "s.c"]
    return message(
        (1, message((1, 1), (2, 2))), (1, message((1, 3), (2, 4))),
        (2, message((1, [1, 3]), (2, [solve_ns // 10_000_000, solve_ns]))),
        (2, message((1, [2, 3]), (2, [io_ns // 10_000_000, io_ns]))),
        (3, message((1, 1), (2, 0x1000), (3, 0x9000), (5, 9))),
        (4, message((1, 1), (2, 1), (3, 0x1100), (4, message((1, 3), (2, 5))), (4, message((1, 2), (2, 12))))),
        (4, message((1, 2), (2, 1), (4, message((1, 4), (2, 20))))),
        (4, message((1, 3), (2, 1), (4, message((1, 1), (2, 30))))),
        *((5, message((1, i + 1), (2, 5 + i), (3, 5 + i), (4, 10), (5, 10 * i))) for i in range(4)),
        *((6, text.encode()) for text in texts),
        (9, round(start_s * 1e9)), (10, 10**9), (11, message((1, 3), (2, 4))), (12, 10_000_000),
    )  # fmt: skip


def legacy(stacks=((3, (0x1010, 0x2000)), (1, (0x1800,))), period_us=10_000):
    """A profile as gperftools writes it."""
    words = [0, 3, 0, period_us, 0]
    for count, pcs in stacks:
        words += [count, len(pcs), *pcs]
    maps = b"00001000-00009000 r-xp 00000000 08:01 99    /nowhere/app\n"
    return struct.pack(f"<{len(words) + 3}Q", *words, 0, 1, 0) + maps


def test_perf_script(tmp_path, capsys):
    text = tmp_path / "perf.txt"
    text.write_text(PERF)
    profile = bring(tmp_path, text)
    assert paths(profile) == {"main;solve;dot": 0.01, "void ns::f<int>(a (*)(b))": 0.01, "": 0.02}
    assert seconds(profile)["[no application frame]"] == 0.02
    assert profile.metadata.modules[0].path == "/home/me/app"
    places = {f.name: (f.file, f.line) for f in locate(open_run(tmp_path / "run"), profile, profile.functions)}
    assert places["solve"] == ("solver.c", 42)
    assert places["dot"] == ("dot.h", 5)
    assert "1 samples of sched:sched_switch are left out: task-clock:u represents time" in capsys.readouterr().err
    processes = [(p.rank, p.pid) for p in open_all(tmp_path / "run").processes]
    assert processes == [(0, None), (0, 1)]


def test_perf_script_of_made_code(tmp_path):
    """perf names it by the file that the run-time has left, and as compiled this way and that."""
    stack = "\t 2f %s /home/me/a.js:3:10 (/tmp/perf-7.map)\n\t 1f node::Start (/usr/bin/node)\n"
    rows = [
        f"node 7/7 {1 + at / 100:.6f}: 10000000 cpu-clock:\n{stack % ('JS:~step', 'JS:*step')[at % 2]}\n"
        for at in range(100)
    ]
    text = tmp_path / "perf.txt"
    text.write_text("".join(rows))
    profile = bring(tmp_path, text)
    assert paths(profile) == {"node::Start;a.js:step": pytest.approx(1.0)}
    places = locate(open_run(tmp_path / "run"), profile, profile.functions)
    (step,) = (function for function in places if function.name == "a.js:step")
    assert (step.module, step.file, step.line) == ("[jit]", "/home/me/a.js", 3)


def test_perf_script_of_cycles(tmp_path):
    """Cycles become seconds by how many of them pass in a second; those of the first samples are few."""
    rows = [
        f"app 7 {1 + at / 100:.6f}: {10 if at < 3 else 30_000_000} cycles: 1f solve (/home/me/app)\n"
        for at in range(200)
    ]
    text = tmp_path / "perf.txt"
    text.write_text("\n".join(rows))
    profile = bring(tmp_path, text)
    assert profile.metadata.rate_hz == pytest.approx(100, rel=1e-3)
    assert seconds(profile)["solve"] == pytest.approx(1.97, abs=0.011)


def test_perf_script_without_periods(tmp_path):
    rows = [f"app 7 {1 + at / 250:.6f}: cycles:u: \n\t 1f solve\n\n" for at in range(250)]
    text = tmp_path / "perf.txt"
    text.write_text("".join(rows))
    profile = bring(tmp_path, text)
    assert profile.metadata.rate_hz == pytest.approx(250, rel=1e-3)
    assert seconds(profile) == {"solve": pytest.approx(1.0, abs=0.01)}


def test_ranks_of_perf(tmp_path):
    rows = [
        f"{name} {pid}/{pid} {1 + at / 100:.6f}: 10000000 cpu-clock: \n\t 1f run (/{name})\n\n"
        for at in range(100)
        for name, pid in (("lmp", 8), ("lmp", 7), ("mpirun", 5))[: 2 + at % 2]
    ]
    text = tmp_path / "perf.txt"
    text.write_text("".join(rows))
    bring(tmp_path, text)
    assert [(p.rank, p.pid) for p in open_all(tmp_path / "run").processes] == [(0, None), (0, 5), (1, None)]


def test_ranks_that_do_different_things(tmp_path, capsys):
    """Nothing has counted their calls, and no two of their call paths are the same."""
    own = {8: ("read", "sort"), 7: ("solve", "smooth"), 6: ("write",)}
    rows = [
        f"lmp {pid} {1 + at / 100:.6f}: 10000000 cpu-clock:\n"
        f"\t 3f {names[at // 200 % len(names)]} (/lmp)\n\t 1f main (/lmp)\n\n"
        for at in range(800)
        for pid, names in own.items()
    ]
    text = tmp_path / "perf.txt"
    text.write_text("".join(rows))
    bring(tmp_path, text, "-i", "0.5")
    assert len(open_run(tmp_path / "run").processes) == 3
    assert main(["phases", str(tmp_path / "run"), "--ranks", "all", "--details"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("read", "sort", "solve", "smooth", "write"))
    assert not re.search(r"\b0 calls", said)


def test_processes_that_hardly_ran(tmp_path, capsys):
    rows = [f"app 7 {at / 100:.6f}: 10000000 cpu-clock: 1f run (/app)\n" for at in range(100)]
    text = tmp_path / "perf.txt"
    text.write_text("".join([*rows, "sh 9 2.000000: 10 cpu-clock: 1f main (/sh)\n"]))
    assert len(seconds(bring(tmp_path, text, "-r", "100"))) == 1
    assert [p.pid for p in open_run(tmp_path / "run").processes] == [None]
    assert main(["import", str(text), "-o", str(tmp_path / "other"), "-r", "0.001"]) == 4
    assert "no samples" in capsys.readouterr().err


def test_speedscope(tmp_path):
    profile = bring(tmp_path, put(tmp_path / "a.json", SCOPE), "--rate", "1kHz")
    assert paths(profile) == {"main;solve": 0.02, "main;io": 0.03, "main": 0.03}
    assert sorted(set(profile.samples.thread.tolist())) == [0, 1]
    assert profile.end_s[-1] == pytest.approx(0.04)


@pytest.mark.parametrize(("second", "reported"), [(0, True), (3, False)])
def test_speedscope_of_threads_without_a_common_start(second, reported, tmp_path, capsys):
    threads = [{**SCOPE["profiles"][0], "startValue": start} for start in (0, second)]
    bring(tmp_path, put(tmp_path / "a.json", {**SCOPE, "profiles": threads}))
    assert ("assuming that they began together" in capsys.readouterr().err) is reported


def test_speedscope_without_times(tmp_path):
    scope = {**SCOPE, "profiles": [{**SCOPE["profiles"][0], "unit": "none", "weights": [2, 1, 1]}]}
    assert seconds(bring(tmp_path, put(tmp_path / "a.json", scope))) == {"solve": 0.02, "io": 0.01, "main": 0.01}
    scope["profiles"][0]["unit"] = "bytes"
    assert main(["import", str(put(tmp_path / "b.json", scope)), "-o", str(tmp_path / "other")]) == 4


def test_cpuprofile(tmp_path):
    profile = bring(tmp_path, put(tmp_path / "w.cpuprofile", V8))
    assert paths(profile) == {"(anonymous w.js:1)": 0.01, "(anonymous w.js:1);Mesh::sweep": 0.03, "": 0.01}
    assert profile.off_cpu_s.sum() == pytest.approx(0.5, abs=0.02)
    assert profile.metadata.app == "w.js"


def test_cpuprofile_waits_before_its_first_sample(tmp_path):
    """The code that ran there is unknown."""
    profile = bring(tmp_path, put(tmp_path / "w.cpuprofile", {**V8, "timeDeltas": [3_000_000, *V8["timeDeltas"][1:]]}))
    assert sum(paths(profile).values()) == pytest.approx(0.05)
    assert profile.end_s[-1] == pytest.approx(0.55)


def test_cpuprofile_of_a_busy_machine_shows_as_little_as_fewer_samples(tmp_path):
    """Of 24 samples, 4 stand for most of the time: the thread had no processor before them."""
    found = {**V8, "samples": [4] * 24, "timeDeltas": [10_000, *[10_000] * 19, *[200_000] * 4]}
    profile = bring(tmp_path, put(tmp_path / "w.cpuprofile", found))
    assert profile.metadata.rate_hz == pytest.approx(5.0)
    assert profile.self_s.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "times", [{"timestamps": [7_000_000 + 10_000 * at for at in range(6)]}, {"endTime": 5_060_000},
              {"startTime": 5.0, "endTime": 5.06}]
)  # fmt: skip
def test_cpuprofile_without_deltas(times, tmp_path):
    """As of older versions: with times of samples, or just the beginning and the end of all."""
    found = {name: value for name, value in V8.items() if name != "timeDeltas"}
    profile = bring(tmp_path, put(tmp_path / "w.cpuprofile", found | times))
    assert paths(profile) == {"(anonymous w.js:1)": 0.01, "(anonymous w.js:1);Mesh::sweep": 0.03, "": 0.01}


def test_cpuprofile_that_is_a_tree(tmp_path):
    def node(number, name, *children):
        return {"id": number, "functionName": name, "url": "file:///a/w.js", "lineNumber": 3, "children": children}

    head = node(1, "(root)", node(2, "main", node(3, "solve")), node(4, "(idle)"))
    found = {"head": head, "startTime": 5.0, "endTime": 5.04, "samples": [2, 3, 3, 4]}
    assert paths(bring(tmp_path, put(tmp_path / "w.cpuprofile", found))) == {"main": 0.01, "main;solve": 0.02}


def test_trace_events(tmp_path):
    profile = bring(tmp_path, put(tmp_path / "t.json", TRACE))
    assert paths(profile) == {"main": 0.06, "main;solve": 0.04, "io": 0.03}
    assert profile.metadata.app == "app"


def test_folded_intervals(tmp_path, capsys):
    for number, text in ((9, "main;solve 60\nmain;io 40\n"), (10, "main;io 50\n"), (11, "")):
        put(tmp_path / "series" / f"i-{number}.folded", text.encode())
    profile = bring(tmp_path, tmp_path / "series", "-i", "2s", "--rate", "50")
    assert profile.end_s.tolist() == [2, 4, 6]
    assert [row for row in profile.self_s.toarray().T.tolist() if any(row)] == [[0.8, 1.0, 0.0], [1.2, 0.0, 0.0]]
    assert profile.off_cpu_s.tolist() == pytest.approx([0.0, 1.0, 2.0])
    assert "a file represents 2 s (-i), a sample 0.02 s (--rate)" in capsys.readouterr().err


@pytest.mark.parametrize(("content", "has_times"), [(b"main;solve 60\n", False), (PERF.encode(), True)])
def test_one_interval_without_times_has_no_phases(content, has_times, tmp_path, capsys):
    bring(tmp_path, put(tmp_path / "a", content))
    assert ("one interval has no phases: give a file for each" in capsys.readouterr().err) != has_times


def test_folded_samples_of_threads_without_frames(tmp_path):
    """As py-spy writes them."""
    profile = bring(tmp_path, put(tmp_path / "a.folded", b"main;a 80\n 20\n"))
    assert paths(profile) == {"main;a": 0.8, "": 0.2}


def test_invalid_folded_lines(tmp_path, capsys):
    file = put(tmp_path / "a.folded", b"step (run.py:3);f (lib/python3.11/json/x.py:9) 7\nnothing here\n")
    assert main(["import", str(file), "-o", str(tmp_path / "run")]) == 5
    assert "1 lines are not stacks and were left out" in capsys.readouterr().err
    assert paths(read_profile(open_run(tmp_path / "run"), libs="named")) == {"step;f": 0.07}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_pprof_series(tmp_path, pack):
    for number in range(3):
        put(tmp_path / "p" / f"{number}.pb", pack(pprof(io_ns=10**8 * number, start_s=5000 - number)))
    profile = bring(tmp_path, tmp_path / "p")
    assert profile.end_s.tolist() == pytest.approx([1, 2, 3])
    assert dict(zip([f.name for f in profile.functions], profile.self_s.toarray().T.tolist(), strict=True)) == {
        "dot": pytest.approx([0.3, 0.3, 0.3]),
        "io": pytest.approx([0.2, 0.1, 0.0]),
        "main": [0, 0, 0],
        "solve": [0, 0, 0],
    }
    places = {f.name: (f.file, f.line) for f in locate(open_run(tmp_path / "run"), profile, profile.functions)}
    assert places == {"dot": ("s.c", 20), "io": ("s.c", 30), "main": ("s.c", 30), "solve": ("s.c", 10)}
    assert profile.metadata.raw["start_unix_ns"] == 4998 * 10**9


def test_pprof_ids_are_no_positions(tmp_path):
    names = ["", "cpu", "nanoseconds", "main", "solve", "app"]
    lines = {2**60: 5, 17: 2**40}
    profile = message(
        (1, message((1, 1), (2, 2))), (2, message((1, [17, 2**60]), (2, [10**9]))), (3, message((1, 900), (5, 5))),
        *((4, message((1, place), (2, 900), (4, message((1, function), (2, 3))))) for place, function in lines.items()),
        (5, message((1, 5), (2, 3))), (5, message((1, 2**40), (2, 4))), *((6, name.encode()) for name in names),
    )  # fmt: skip
    assert paths(bring(tmp_path, put(tmp_path / "p.pb", profile))) == {"main;solve": 1.0}


def test_pprof_of_memory(tmp_path, capsys):
    heap = message((1, message((1, 1), (2, 2))), (6, b""), (6, b"inuse_space"), (6, b"bytes"))
    assert main(["import", str(put(tmp_path / "heap.pb", gzip.compress(heap))), "-o", str(tmp_path / "run")]) == 4
    assert "not times (inuse_space in bytes)" in capsys.readouterr().err


def test_gperftools(tmp_path):
    profile = bring(tmp_path, put(tmp_path / "cpu.prof", legacy()))
    assert seconds(profile) == {"[unknown in app]": 0.04}
    assert profile.metadata.rate_hz == 100


def test_gcov_series(tmp_path):
    later = json.loads(json.dumps(GCOV))
    later["files"][0]["lines"][1]["count"] = 310
    later["files"][0]["functions"][1]["execution_count"] = 7
    put(tmp_path / "d" / "1.gcov.json", GCOV)
    put(tmp_path / "d" / "2.gcov.json.gz", gzip.compress(json.dumps(later).encode()))
    profile = bring(tmp_path, tmp_path / "d")
    names = [f.name for f in profile.functions]
    assert dict(zip(names, profile.self_s.toarray().T.tolist(), strict=True)) == {
        "solve": pytest.approx([0.9, 0.0]),
        "io": pytest.approx([0.1, 1.0]),
    }
    assert dict(zip(names, profile.calls.toarray().T.tolist(), strict=True)) == {"solve": [10, 0], "io": [2, 5]}
    assert profile.counted


def test_kept_recordings(tmp_path):
    """Of Java 17, node 20 and Go 1.19, each of a program that assembles and solves by turns."""
    for inputs, app, sites in (
        ([RECORDED / "jfr.json.gz"], "W", {"W::assemble": "W.java", "W::dot": "W.java"}),
        ([RECORDED / "node.cpuprofile.gz"], "w.js", {"assemble": "/home/me/w.js", "dot": "/home/me/w.js"}),
        (
            sorted(RECORDED.glob("go-*.pb.gz")),
            "solver",
            {"main::assemble": "example/main.go", "main::dot": "example/main.go"},
        ),
    ):
        profile = bring(tmp_path, inputs, name=app)
        places = {f.name: f.file for f in locate(open_run(tmp_path / app), profile, profile.functions)}
        own = [(name, time) for name, time in seconds(profile).items() if places[name]]
        two = sorted(own, key=lambda item: -item[1])[:2]
        assert {name: places[name] for name, _ in two} == sites
        assert profile.metadata.app == app


@pytest.mark.parametrize(
    ("flags", "reported"), [([], False), (["UseG1GC"], True), (["UseG1GC", "DebugNonSafepoints"], False)]
)
def test_a_jvm_that_samples_at_safepoints_only(flags, reported, tmp_path, capsys):
    found = json.loads(gzip.decompress((RECORDED / "jfr.json.gz").read_bytes()))
    found["recording"]["events"] += [
        {"type": "jdk.BooleanFlag", "values": {"name": flag, "value": True}} for flag in flags
    ]
    bring(tmp_path, put(tmp_path / "r.json", found))
    assert ("-XX:+DebugNonSafepoints" in capsys.readouterr().err) is reported


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PERF.encode(), "perf-script"), (b"PERFILE2" + bytes(90), "perf.data"), (b"FLR\0" + bytes(90), "jfr"),
        (SCOPE, "speedscope"), (V8, "cpuprofile"), (TRACE, "trace-events"), (TRACE["traceEvents"], "trace-events"),
        (GCOV, "gcov-series"), (gzip.compress(pprof()), "pprof-series"), (pprof(), "pprof-series"),
        (legacy(), "pprof-series"), (b"main;solve 12\n", "folded-intervals"),
    ],
)  # fmt: skip
def test_kind_by_content(content, kind, tmp_path):
    assert detect_format([str(put(tmp_path / "input", content))]) == kind
    assert NAMED == FORMATS


def test_what_is_refused(tmp_path, capsys):
    nothing = str(put(tmp_path / "x", b"hello\n"))
    folded = str(put(tmp_path / "f", b"main 1\n"))
    run = str(tmp_path / "run")
    for words, status in (
        ([nothing, "-o", run], 2),
        ([str(tmp_path / "none"), "-o", run], 4),
        ([folded, "-o", str(tmp_path)], 2),
        ([folded, "-o", run, "-i", "0"], 2),
        ([folded, "-o", run, "--rate", "0"], 2),
        ([folded, folded, "-o", run, "--from", "jfr"], 2),
        ([str(tmp_path), "-o", run, "--from", "gmon-dir"], 2),
        ([folded, "-o", str(tmp_path / "no" / "run")], 1),
    ):
        assert main(["import", *words]) == status, words
        said = capsys.readouterr()
        assert said.err.count("\n") == 1, said.err
        assert "internal error" not in said.err
        assert not said.out
    assert not (tmp_path / "run").exists()


def test_what_needs_a_tool_that_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    for content, package in ((b"PERFILE2" + bytes(90), "linux-perf"), (b"FLR\0" + bytes(90), "default-jdk-headless")):
        assert main(["import", str(put(tmp_path / "x", content)), "-o", str(tmp_path / "run")]) == 1
        assert package in capsys.readouterr().err


def test_series_in_the_order_of_their_numbers():
    assert in_order(["a/i-10", "a/i-9", "a/i-x", "b-2/1", "b-10/1"]) == ["a/i-9", "a/i-10", "a/i-x", "b-2/1", "b-10/1"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("main.step", "main::step"), ("example.com/mesh/solver.(*Grid).Sweep", "solver::Grid::Sweep"),
        ("Outer.<locals>.inner", "Outer::inner"), ("<module>", "<module>"), ("step", "step"), ("...", "..."),
        ("main.main.func1", "main::main::func1"),
    ],
)  # fmt: skip
def test_names_with_dots(name, shown):
    assert qualified(name) == shown


def test_numbers_of_the_wire():
    pairs = [(1, 0), (2, 2**64 - 1), (3, b""), (4, b"abc"), (1000, 300)]
    found = [
        (number, value if isinstance(value, int) else bytes(value))
        for number, value in foreign_files.fields(memoryview(message(*pairs)))
    ]
    assert found == pairs
    assert foreign_files.signed(2**64 - 5) == -5
    assert foreign_files.numbers(memoryview(varint(1) + varint(300))) == [1, 300]


@pytest.mark.parametrize("kind", ["trace", "speedscope"])
def test_what_export_wrote(kind, tmp_path, capsys):
    """A recording, exported and imported again, has the same phases at the same times."""
    writer = StreamWriter(["main", "solve", "io", "dot"], counts=False)
    for number in range(45):
        inner = ["main;io"] * 97 if 20 <= number < 35 else ["main;solve;dot"] * 60 + ["main;solve"] * 37
        writer.interval([Sample("main")] * 3 + [Sample(path) for path in inner])
    writer.end()
    writer.save(tmp_path / "before")
    out = str(tmp_path / "exported.json")
    assert main(["export", str(tmp_path / "before"), "--format", kind, "-o", out]) == 0
    assert main(["import", out, "-o", str(tmp_path / "after")]) == 0
    capsys.readouterr()
    answers = []
    for name in ("before", "after"):
        assert main(["phases", str(tmp_path / name), "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    before, after = answers
    assert after["labels"] == before["labels"]
    assert after["k"] == 2
    for one, other in zip(before["phases"], after["phases"], strict=True):
        names = [{f["name"]: f["self_s"] for f in phase["functions"]} for phase in (one, other)]
        assert names[1] == pytest.approx(names[0], abs=0.16)


GOOD = {
    "perf-script": PERF.encode(),
    "speedscope": json.dumps(SCOPE).encode(),
    "cpuprofile": json.dumps(V8).encode(),
    "trace-events": json.dumps(TRACE).encode(),
    "folded-intervals": b"main;solve 60\nmain;io 40\n",
    "pprof-series": pprof(),
    "gcov-series": json.dumps(GCOV).encode(),
    "firefox": json.dumps(processed()).encode(),
    "simpleperf": recorded(*SAMPLES),
    "jfr": gzip.decompress((RECORDED / "jfr.json.gz").read_bytes())[:6000] if RECORDED.exists() else b"",
}


def read_or_refuse(path, kind):
    """Whatever is in it, it is read, or refused in a line."""
    with suppress(IncprofError):
        formats.read([str(path)], kind, ImportRequest(0.01))


@settings(max_examples=80, deadline=None)
@given(kind=st.sampled_from(sorted(GOOD)), data=st.binary(max_size=300))
@example(kind="speedscope", data=b"[" * 100_000)
@example(kind="trace-events", data=b'{"traceEvents": [{"ph": "X", "ts": 1e308, "dur": 1e308, "tid": [], "pid": {}}]}')
@example(
    kind="cpuprofile", data=b'{"nodes": [{"id": 1, "children": [1], "callFrame": {}}], "samples": [], "timeDeltas": []}'
)
def test_any_bytes(kind, data, tmp_path_factory):
    read_or_refuse(put(tmp_path_factory.mktemp("any") / "x", data), kind)


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(sorted(GOOD)), seed=st.integers(0, 10**6))
@example(kind="firefox", seed=676)
def test_damaged_files(kind, seed, tmp_path_factory):
    directory = tmp_path_factory.mktemp("damaged")
    data = damaged(seed, GOOD[kind], mutate_binary if seed % 2 else mutate_text)
    put(directory / "x", data)
    read_or_refuse(directory / "x", kind)
    if kind == "pprof-series":
        put(directory / "y", legacy()[: seed % 200])
        read_or_refuse(directory / "y", kind)
    status = main(["import", str(directory / "x"), "-o", str(directory / "run"), "--from", kind])
    assert status in (0, 4, 5)
    if status != 4:
        read_profile(open_run(directory / "run"), libs="named", inlined=True)


def test_a_hole_in_a_series(tmp_path):
    with pytest.raises((NoDataError, UsageError)):
        detect_format([str(tmp_path)])
