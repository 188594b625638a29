"""The records of a stream end up in the profile."""

import numpy as np
import pytest

from incprof.model import BROKEN as BROKEN_FUNCTION
from incprof.model import ELIDED as ELIDED_FUNCTION
from incprof.model import ROOT
from incprof.readers.run import open_run, read_profile
from incprof.symbols.function_space import NO_FRAME
from tests.unit.elfwriter import Symbol, elf_bytes
from tests.unit.streamwriter import (
    BASE,
    BROKEN,
    BUILD_ID,
    ELIDED,
    END,
    LIBRARY,
    MODULES,
    OWN_TIME,
    PROFILER,
    STEP,
    UNKNOWN,
    Sample,
    StreamWriter,
    arc,
    histogram,
    image,
    module,
)


def profile_of(writer, directory, **options):
    return read_profile(open_run(writer.save(directory)), **options)


def seconds(profile):
    """{function: [seconds per interval]}, rounded."""
    return {
        f.name: np.round(column, 9).tolist()
        for f, column in zip(profile.functions, profile.self_s.toarray().T, strict=True)
    }


def calls(profile):
    return {f.name: c.tolist() for f, c in zip(profile.functions, profile.calls.toarray().T, strict=True)}


@pytest.fixture
def mixed():
    writer = StreamWriter(["main", "solve", "io"])
    for weight in (90, 40):
        writer.interval(
            [
                Sample("main;solve", weight=weight),
                Sample("main;io", LIBRARY, weight=8),
                Sample("main", PROFILER, weight=2),
                Sample("", UNKNOWN),
            ],
            arcs={("main", "solve"): weight, ("", "main"): 1},
        )
    writer.end()
    return writer


def test_threads_of_libraries_have_their_own_time(tmp_path):
    writer = StreamWriter(["main"])
    samples = [Sample("main", weight=60), Sample("", LIBRARY, weight=30, thread=1), Sample("", UNKNOWN, weight=2)]
    writer.interval(samples)
    writer.end()
    threads = "[threads of libm.so.6]"
    for libs in ("named", "caller", "separate"):
        profile = profile_of(writer, tmp_path / libs, libs=libs)
        assert seconds(profile) == {"main": [0.6], threads: [0.3], NO_FRAME: [0.02]}
        assert not next(f for f in profile.functions if f.name == threads).is_code


def test_library_time_goes_to_the_caller(mixed, tmp_path):
    profile = profile_of(mixed, tmp_path)
    assert seconds(profile) == {"main": [0, 0], "solve": [0.9, 0.4], "io": [0.08, 0.08], NO_FRAME: [0.01, 0.01]}
    assert profile.warnings == ()
    assert not profile.damaged


def test_library_time_apart(mixed, tmp_path):
    profile = profile_of(mixed, tmp_path, libs="separate")
    assert seconds(profile)["[libm.so.6]"] == [0.08, 0.08]
    assert seconds(profile)["io"] == [0, 0]


def test_library_time_dropped_everywhere(mixed, tmp_path):
    profile = profile_of(mixed, tmp_path, libs="drop")
    assert seconds(profile) == {"main": [0, 0], "solve": [0.9, 0.4], "io": [0, 0]}
    assert profile.inclusive_s().toarray().max(axis=1).tolist() == [0.9, 0.4]


def test_calls_and_arcs(mixed, tmp_path):
    profile = profile_of(mixed, tmp_path)
    assert calls(profile) == {"main": [1, 1], "solve": [90, 40], "io": [0, 0], NO_FRAME: [0, 0]}
    table = np.column_stack([profile.arcs.interval, profile.arcs.caller, profile.arcs.callee, profile.arcs.count])
    assert table.tolist() == [[0, -1, 0, 1], [0, 0, 1, 90], [1, -1, 0, 1], [1, 0, 1, 40]]


def test_calls_past_32_bits(tmp_path):
    writer = StreamWriter()
    writer.interval(arcs={("main", "solve"): 3 * 2**32 + 5})
    assert calls(profile_of(writer, tmp_path))["solve"] == [3 * 2**32 + 5]


def test_paths_and_times(mixed, tmp_path):
    profile = profile_of(mixed, tmp_path)
    names = [profile.functions[f].name if f >= 0 else f for f in profile.paths.function]
    assert names == [ROOT, "main", "solve", "io"]
    assert profile.paths.parent.tolist() == [0, 0, 1, 1]
    assert profile.samples.time_s.tolist() == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.2, 1.4, 1.6, 1.8])
    assert profile.interval_of_samples().tolist() == [0] * 4 + [1] * 4
    assert profile.samples.library.tolist() == [-1, 7, -1, -1] * 2


def test_sample_at_the_edge_stays_in_its_interval(tmp_path):
    writer = StreamWriter()
    writer.interval([Sample("main")])
    # An interval of no length that can hold its sample: the time is the interval's start.
    writer.interval([Sample("main;solve")], duration_s=1e-6)
    profile = profile_of(writer, tmp_path)
    assert profile.interval_of_samples().tolist() == [0, 1]


def test_counters(mixed, tmp_path):
    profile = profile_of(mixed, tmp_path)
    assert profile.counters.profiler_s.tolist() == [0.02, 0.02]
    assert profile.counters.cpu_s.tolist() == [1.01, 0.51]
    assert profile.counters.threads.tolist() == [1, 1]


def test_off_cpu_and_lost(tmp_path):
    writer = StreamWriter()
    writer.interval([Sample("main", weight=30)], counters={4: 10**8, 9: 3})
    writer.end()
    profile = profile_of(writer, tmp_path)
    assert profile.off_cpu_s.tolist() == pytest.approx([0.8])
    assert profile.counters.lost.tolist() == [3]
    assert "3 samples were lost" in profile.warnings[0]


def test_markers_are_no_functions(tmp_path):
    writer = StreamWriter(["main", "solve"])
    path = ((BROKEN, 0), (0, BASE + 8), (ELIDED, 0), (0, BASE + STEP + 8))
    writer.interval([Sample(path)])
    profile = profile_of(writer, tmp_path)
    assert profile.paths.function.tolist() == [ROOT, BROKEN_FUNCTION, 0, ELIDED_FUNCTION, 1]
    assert seconds(profile) == {"main": [0], "solve": [0.01]}


def test_functions_of_another_module(tmp_path):
    writer = StreamWriter(["main"])
    libfoo = [module(9, "/opt/libfoo.so", "ab" * 20, app=True)]
    writer.data += image(MODULES, __import__("json").dumps(libfoo).encode())
    writer.interval([Sample(((0, BASE + 8), (9, 0x2010))), Sample(((0, BASE + 8), (9, 0x9999)))])
    directory = writer.save(tmp_path)
    symbols = [Symbol("foo_run", 0x2000)]
    (directory / "symbols" / f"{'ab' * 20}.elf").write_bytes(
        elf_bytes(symbols, build_id="ab" * 20, text=(0x2000, 0xA000))
    )
    profile = read_profile(open_run(directory))
    assert [(f.module, f.name) for f in profile.functions] == [
        ("app", "main"),
        ("libfoo.so", "foo_run"),
        ("libfoo.so", "[unknown in libfoo.so]"),
    ]
    assert seconds(profile)["foo_run"] == [0.01]


def test_library_without_symbols_is_a_warning(tmp_path):
    writer = StreamWriter(["main"], modules=[
        module(0, "/nowhere/app", BUILD_ID, app=True),
        module(3, "/opt/libbar.so", None, app=True),
    ])  # fmt: skip
    writer.interval([Sample(((0, BASE + 8), (3, 0x2010)))])
    writer.end()
    profile = profile_of(writer, tmp_path)
    assert profile.functions[1].name == "[unknown in libbar.so]"
    assert profile.warnings == ("/opt/libbar.so: no symbols: its time is shown as [unknown in libbar.so]",)
    assert not profile.damaged


def test_stub_counts_as_its_caller(tmp_path):
    writer = StreamWriter(["main"])
    writer.interval([Sample(((0, BASE + 8), (0, 0x810)))])
    directory = writer.save(tmp_path)
    symbols = [Symbol("main", BASE)]
    content = elf_bytes(symbols, build_id=BUILD_ID, text=(BASE, BASE + STEP), plt=(0x800, 0x840))
    (directory / "symbols" / f"{BUILD_ID}.elf").write_bytes(content)
    assert seconds(read_profile(open_run(directory))) == {"main": [0.01]}


def test_without_samples_the_histogram_counts(tmp_path):
    writer = StreamWriter(["main", "solve"])
    writer.interval([Sample("main")])
    # solve gets the bins that begin in it; the last bin is half main's, half padding's.
    records = histogram(BASE + STEP, [5] * 4) + histogram(BASE + 0x7E, [4]) + arc(BASE + 9, BASE + STEP + 4, 2)
    counters = np.array([10**9, 2 * 10**9], dtype="<u8").tobytes()
    writer.data += image(OWN_TIME, records, interval=1) + image(2, counters, interval=1)
    profile = profile_of(writer, tmp_path)
    assert seconds(profile) == {"main": [0.01, 0.04], "solve": [0, 0.2]}
    assert calls(profile)["solve"] == [0, 2]


def test_unknown_kinds_are_skipped(mixed, tmp_path):
    plain = profile_of(mixed, tmp_path / "a")
    mixed.data = mixed.data + image(77, b"from the future") + image(END, b"{}")
    assert seconds(profile_of(mixed, tmp_path / "b")) == seconds(plain)


def test_missing_end_is_only_a_warning(tmp_path):
    writer = StreamWriter()
    writer.interval([Sample("main")])
    profile = profile_of(writer, tmp_path)
    assert len(profile.warnings) == 1
    assert "did not end cleanly" in profile.warnings[0]
    assert not profile.damaged


def test_looks_of_bursts_take_no_time(tmp_path):
    found = []
    for looks in ([], [Sample("main;io", weight=0)]):
        writer = StreamWriter()
        writer.interval([Sample("main;solve"), *looks, *looks, Sample("main;solve")])
        writer.end()
        (tmp_path / str(len(looks))).mkdir()
        found.append(profile_of(writer, tmp_path / str(len(looks))))
    without, profile = found
    assert profile.samples.is_dense.tolist() == [False, True, True, False]
    assert not without.samples.is_dense.any()
    assert profile.inclusive_s().sum(axis=1).tolist() == without.inclusive_s().sum(axis=1).tolist()
    own = dict(zip((f.name for f in profile.functions), np.ravel(profile.self_s.sum(axis=0)), strict=True))
    assert {name: s for name, s in own.items() if s} == {"solve": pytest.approx(0.02)}


def test_zero_samples(tmp_path):
    writer = StreamWriter()
    writer.interval()
    writer.end()
    profile = profile_of(writer, tmp_path)
    assert profile.n_intervals == 1
    assert profile.functions == ()
    assert profile.self_s.shape == (1, 0)
    assert len(profile.to_pandas()) == 0
    assert profile.inclusive_s().shape == (1, 1)
