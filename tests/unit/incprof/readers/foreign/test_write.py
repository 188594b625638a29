"""Timelines written as a run directory say the same again when that is read."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from incprof.errors import NoDataError
from incprof.model import IntervalProfile
from incprof.readers.foreign.frames import BEGINNINGS, WHOLE, is_shared
from incprof.readers.foreign.timeline import Frame, Paths, Timeline, in_ticks, place_series, regular_edges
from incprof.readers.foreign.write import write_timeline
from incprof.readers.run import open_run, read_profile
from incprof.study import Study
from incprof.symbols.source_lines import line_weights, locate
from tests.paths import ROOT

PREFERENCES = ROOT / "preload/objects/shared_code.c"
MAIN = Frame("", "main", "app.c", 40, "", 38)
SOLVE, IO = Frame("", "solve", "app.c", 12, "", 10), Frame("", "output", "io.c", 7)
WAIT = Frame("/lib/libmpi.so.40", "MPI_Barrier", shared=True)
POLL = Frame("/lib/libc.so.6", "poll", shared=True)


def timeline(tick_s=0.01, **more):
    return Timeline("/home/me/app", Paths(), tick_s, **more)


def written(made: Timeline, directory: Path, *, interval_s=1.0, libs="named", **more) -> IntervalProfile:
    directory.mkdir(exist_ok=True)
    write_timeline(made, directory, "rank-00000.gmon", kind="test", interval_s=interval_s, rank=0, **more)
    return read_profile(open_run(directory), libs=libs, inlined=True)


def table(profile):
    columns = zip(profile.functions, profile.self_s.toarray().T, strict=True)
    return {f.name: np.round(s, 6).tolist() for f, s in columns if s.any()}


def test_functions_intervals_and_threads(tmp_path):
    made = timeline()
    for at in range(300):
        made.add([MAIN, SOLVE if at < 150 else IO], 5 + 0.01 * at, 0.01)
        made.add([MAIN], 5 + 0.01 * at, 0.01, thread=77)
    profile = written(made, tmp_path)
    assert table(profile) == {
        "main": [1.0] * 3,
        "solve": [1.0, 0.5, 0.0],
        "output": [0.0, 0.5, 1.0],
    }
    assert profile.n_intervals == 3
    assert not profile.counted
    assert not profile.warnings
    assert sorted(set(profile.samples.thread.tolist())) == [0, 1]
    assert profile.counters.threads.tolist() == [2, 2, 2]
    assert profile.off_cpu_s.sum() == pytest.approx(0.0, abs=0.05)


def test_idle_time_is_kept(tmp_path):
    made = timeline()
    for at in [*range(100), *range(300, 400)]:
        made.add([MAIN, SOLVE], 0.01 * (at + 1), 0.01)
    profile = written(made, tmp_path)
    assert table(profile)["solve"] == [1.0, 0.0, 0.0, 1.0]
    assert profile.off_cpu_s.tolist() == pytest.approx([0.0, 1.0, 1.0, 0.0], abs=0.02)


def test_libraries_are_those_functions_that_were_called(tmp_path):
    made = timeline()
    for at in range(100):
        made.add([MAIN, SOLVE, WAIT, POLL] if at % 2 else [MAIN, SOLVE], 0.01 * (at + 1), 0.01)
    profile = written(made, tmp_path / "run")
    assert table(profile) == {"solve": [0.5], "MPI_Barrier": [0.5]}
    barrier = next(f for f in profile.functions if f.name == "MPI_Barrier")
    assert barrier.imported
    for libs, expected in (("caller", {"solve": [1.0]}), ("separate", {"solve": [0.5], "[libc.so.6]": [0.5]})):
        again = read_profile(open_run(tmp_path / "run"), libs=libs)
        assert table(again) == expected


def test_lines(tmp_path):
    made = timeline()
    for at in range(90):
        made.add([MAIN, SOLVE._replace(line=12 if at % 3 else 14)], 0.01 * (at + 1), 0.01)
    profile = written(made, tmp_path)
    run = open_run(tmp_path)
    found = {f.name: (f.file, f.line) for f in locate(run, profile, profile.functions)}
    assert found == {"main": ("app.c", 38), "solve": ("app.c", 10)}
    index = next(i for i, f in enumerate(profile.functions) if f.name == "solve")
    assert [(f, n, round(s, 6)) for f, n, s in line_weights(run, profile, index)] == [
        ("app.c", 12, 0.6),
        ("app.c", 14, 0.3),
    ]


def test_functions_of_one_name(tmp_path):
    made = timeline()
    for at in range(40):
        frame = Frame("", "step", "a.py" if at % 4 else "b.py", 3, "a.py" if at % 4 else "b.py")
        made.add([frame], 0.01 * (at + 1), 0.01)
    profile = written(made, tmp_path)
    places = locate(open_run(tmp_path), profile, profile.functions)
    own = np.asarray(profile.self_s.sum(axis=0)).ravel().tolist()
    assert {(f.name, f.file): round(s, 6) for f, s in zip(places, own, strict=True)} == {
        ("step", "a.py"): 0.3,
        ("step", "b.py"): 0.1,
    }


def test_code_without_names(tmp_path):
    made = timeline()
    made.add([Frame("/home/me/libown.so", "")], 0.01, 0.01)
    made.add([], 0.02, 0.01)
    assert table(written(made, tmp_path)) == {"[unknown in libown.so]": [0.01], "[no application frame]": [0.01]}


def test_long_samples_are_spread_over_their_time(tmp_path):
    made = timeline()
    made.add([MAIN, SOLVE], 2.5, 2.5, wall_s=2.5)
    made.add([MAIN, IO], 4.0, 0.3, wall_s=1.5)  # a fifth of it on the CPU
    assert table(written(made, tmp_path)) == {
        "solve": [pytest.approx(1.0, abs=0.011), pytest.approx(1.0, abs=0.011), pytest.approx(0.5, abs=0.021), 0.0],
        "output": [0.0, 0.0, pytest.approx(0.1, abs=0.011), pytest.approx(0.2, abs=0.011)],
    }


def test_a_series_is_in_no_order(tmp_path):
    made = timeline(edges_s=regular_edges(4, 0.5), ordered=False)
    main, solve, io = ((*made.paths.add(stack),) for stack in ([MAIN], [MAIN, SOLVE], [MAIN, IO]))
    for interval in range(4):
        rows = [(*main, 0.1), (*solve, 0.2), (*io, 0.2)] if interval != 2 else [(*main, 0.1), (*io, 0.3)]
        place_series(made, rows, interval * 0.5, (interval + 1) * 0.5)
    profile = written(made, tmp_path / "run")
    assert not profile.metadata.ordered
    assert profile.end_s.tolist() == pytest.approx([0.5, 1.0, 1.5, 2.0])
    assert table(profile)["solve"] == [0.2, 0.2, 0.0, 0.2]
    assert profile.counters.samples.tolist() == [50, 50, 40, 50]
    seen = {
        top.function.name: top.estimated for top in Study(tmp_path / "run").phases(confidence=False).phases[0].functions
    }
    # In how many intervals it is there after one without it; of its duration nothing is known.
    assert (seen["solve"].low, seen["solve"].high) == (2, None)
    assert seen["output"].low == 1


def test_calls_that_were_counted(tmp_path):
    made = timeline(edges_s=regular_edges(2, 1.0), ordered=False, calls={(0, SOLVE): 5, (1, SOLVE): 2**33, (1, IO): 1})
    for interval in range(2):
        place_series(made, [(*made.paths.add([SOLVE]), 1.0)], interval, interval + 1)
    profile = written(made, tmp_path)
    assert profile.counted
    calls = dict(zip([f.name for f in profile.functions], profile.calls.toarray().T.tolist(), strict=True))
    assert calls == {"solve": [5, 2**33], "output": [0, 1]}


def test_deep_stacks(tmp_path):
    made = timeline()
    made.add([MAIN] * 5000 + [SOLVE], 0.01, 0.01)
    profile = written(made, tmp_path)
    assert table(profile)["solve"] == [0.01]
    assert len(profile.paths.parent) < 200


def test_nothing(tmp_path):
    with pytest.raises(NoDataError, match="no samples"):
        in_ticks(timeline(), 1.0)
    made = timeline()
    made.add([MAIN], float("nan"), 1.0)
    with pytest.raises(NoDataError, match="its times are not numbers"):
        in_ticks(made, 1.0)
    made = timeline()
    made.add([MAIN], 1.0, 1e300)
    with pytest.raises(NoDataError, match="--rate"):
        in_ticks(made, 1.0)


frames = st.sampled_from(
    [MAIN, SOLVE, IO, WAIT, POLL, Frame("", "f\0g\n"), Frame("libx.so", ""), Frame("", "ns::f<a>(b)")]
)
samples = st.lists(
    st.tuples(
        st.lists(frames, max_size=5),
        st.floats(0, 20, allow_nan=False),
        st.floats(0, 0.2),
        st.floats(0, 0.5),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=20, deadline=None)
@given(rows=samples, interval_s=st.sampled_from([0.1, 1.0, 7.0]))
def test_no_time_is_lost(rows, interval_s, tmp_path_factory):
    directory = tmp_path_factory.mktemp("imported")
    made = timeline(0.01)
    expected: defaultdict[int, float] = defaultdict(float)
    for stack, time, cpu, wall, thread in rows:
        made.add(stack, time, cpu, wall_s=wall, thread=thread)
        expected[thread] += cpu
    assume(any(cpu > 0.006 for cpu in expected.values()))
    ticks = in_ticks(made, interval_s)
    names = (directory / "one", directory / "two")
    for name in names:
        name.mkdir()
        write_timeline(made, name, "rank-00000.gmon", kind="test", interval_s=interval_s, rank=0)
    profile = read_profile(open_run(names[0]))
    # Each thread is right to half a tick, whatever its samples stand for.
    assert profile.self_s.sum() == pytest.approx(sum(expected.values()), abs=0.0051 * len(expected))
    assert int(profile.samples.weight.sum()) == int(ticks.weight.sum())
    assert profile.samples.time_s.tolist() == pytest.approx(ticks.time_s.tolist(), abs=1e-5)
    assert profile.interval_of_samples().tolist() == ticks.interval.tolist()
    assert not profile.damaged
    files = [sorted(p.relative_to(name) for p in name.rglob("*") if p.is_file()) for name in names]
    assert files[0] == files[1]
    assert all((names[0] / path).read_bytes() == (names[1] / path).read_bytes() for path in files[0])


def test_libraries_are_those_of_the_collector():
    text = PREFERENCES.read_text()
    listed = text[text.index("names[] = {") : text.index("};")]
    names = set(listed.split('"')[1::2])
    assert names == WHOLE | {f"{name}*" for name in BEGINNINGS}
    for path in ("/usr/lib/libm.so.6", "/usr/lib/libc-2.31.so", "libopenblas64_.so.0", "[vdso]", "/lib/ld-linux.so.2"):
        assert is_shared(path)
    for path in ("/home/me/app", "/usr/lib/liblammps.so.0", "/usr/lib/libcrypto.so.3"):
        assert not is_shared(path)


def test_metadata(tmp_path):
    made = timeline(0.004)
    made.add([MAIN], 1.0, 0.004)
    profile = written(made, tmp_path)
    raw = profile.metadata.raw
    assert (raw["imported"], raw["app"], profile.metadata.rate_hz) == ("test", "app", 250)
    assert json.dumps(raw)
