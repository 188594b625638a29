"""Trace events of all kinds: slices, samples and profiles of V8, whole and cut."""

import gzip
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.readers.foreign import foreign_files
from incprof.readers.foreign.foreign_files import JsonStream
from incprof.readers.run import open_run, read_profile
from tests.unit.imports import bring, paths, put

APP = {"ph": "M", "name": "process_name", "pid": 9, "tid": 1, "args": {"name": "app"}}


def event(kind, name, ts_ms, **more):
    """An event of thread 1 of process 9."""
    return {"ph": kind, "name": name, "pid": 9, "tid": 1, "ts": ts_ms * 1000, **more}


def slice_of(name, begin_ms, lasts_ms, **more):
    return event("X", name, begin_ms, dur=lasts_ms * 1000, **more)


NESTED = [APP, slice_of("main", 0, 100), slice_of("solve", 20, 30), slice_of("dot", 20, 10), slice_of("io", 60, 40)]
AS_PATHS = {"main": 0.03, "main;solve": 0.02, "main;solve;dot": 0.01, "main;io": 0.04}


@pytest.mark.parametrize("end", ["", ",", ",\n", "]"])
def test_a_list_may_have_no_end(end, tmp_path):
    text = json.dumps(NESTED).removesuffix("]") + end
    assert paths(bring(tmp_path, put(tmp_path / "t.json", text.encode()))) == AS_PATHS


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_events_before_a_cut(pack, tmp_path, capsys):
    text = json.dumps({"traceEvents": [*NESTED, slice_of("late", 100, 900)]})
    file = put(tmp_path / "t.json", pack(text.encode()[: text.index("late")]))
    assert main(["import", str(file), "-o", str(tmp_path / "run")]) == 5
    assert "before the last event" in capsys.readouterr().err
    assert paths(read_profile(open_run(tmp_path / "run"))) == AS_PATHS


def test_an_archive_that_is_cut(tmp_path):
    """What can be unpacked counts."""
    many = [slice_of(f"f{i % 7}", 10 * i, 8) for i in range(20000)]
    packed = gzip.compress(json.dumps(many).encode())
    file = put(tmp_path / "t.json.gz", packed[: len(packed) // 2])
    assert main(["import", str(file), "-o", str(tmp_path / "run")]) == 5
    assert 20 < sum(paths(read_profile(open_run(tmp_path / "run"))).values()) < 140


def test_an_end_without_a_name_closes_the_innermost(tmp_path):
    trace = [APP, event("B", "main", 0), event("B", "solve", 10), {**event("E", "", 40)}, event("E", "main", 100)]
    del trace[3]["name"]
    assert paths(bring(tmp_path, put(tmp_path / "t.json", trace))) == {"main": 0.07, "main;solve": 0.03}


def test_complete_slices_between_a_begin_and_its_end(tmp_path):
    trace = [event("B", "main", 0), slice_of("io", 20, 30), event("B", "solve", 30), event("E", "solve", 40),
             event("E", "main", 90)]  # fmt: skip
    found = paths(bring(tmp_path, put(tmp_path / "t.json", trace)))
    assert found == {"main": 0.06, "main;io": 0.02, "main;io;solve": 0.01}


def test_slices_that_never_end(tmp_path):
    """They last to the last event of their thread, as in a trace that was taken while the program ran."""
    trace = [event("B", "main", 0), event("B", "solve", 30), event("B", "dot", 60), event("E", "dot", 70)]
    found = paths(bring(tmp_path, put(tmp_path / "t.json", trace)))
    assert found == {"main": 0.03, "main;solve": 0.03, "main;solve;dot": 0.01}


@pytest.mark.slow
def test_many_slices_inside_each_other(tmp_path):
    """However deep they are, and whatever ends there are that none of them has, each event is looked at once."""
    many = 10_000
    trace = [event("B", f"f{at % 9}", at) for at in range(many)]
    trace += [event("E", "none", many + at) for at in range(many)]
    found = paths(bring(tmp_path, put(tmp_path / "t.json", trace), "-i", "10s"))
    assert sum(found.values()) == pytest.approx(2 * many / 1000 - 0.001, abs=0.01)


def test_ends_that_were_rounded(tmp_path):
    """A slice that hardly begins before another ends comes after it; one that hardly ends after another is inside."""
    trace = [APP, slice_of("a", 0, 40.0001), slice_of("b", 40, 60), slice_of("c", 80, 20.0001)]
    assert paths(bring(tmp_path, put(tmp_path / "t.json", trace))) == {"a": 0.04, "b": 0.04, "b;c": 0.02}


def v8_profile(start_ms, *chunks):
    """The events of a profile: nodes, samples and microseconds between these, of each chunk."""
    yield {**event("P", "Profile", start_ms, id="0x1"), "args": {"data": {"startTime": start_ms * 1000}}}
    for nodes, samples, deltas in chunks:
        data = {"cpuProfile": {"nodes": nodes, "samples": samples}, "timeDeltas": deltas}
        yield {**event("P", "ProfileChunk", start_ms, id="0x1"), "tid": 77, "args": {"data": data}}


def node(number, name, parent=None):
    called = {"functionName": name, "url": "" if name.startswith("(") else "file:///a/w.js", "lineNumber": 3}
    return {"id": number, "callFrame": called} | ({} if parent is None else {"parent": parent})


def test_a_profile_in_chunks(tmp_path):
    first = [node(1, "(root)"), node(2, "main", 1), node(3, "solve", 2), node(4, "(idle)", 1)]
    trace = [
        APP, slice_of("RunTask", 0, 5000),
        *v8_profile(1000, (first, [2, 3, 3], [700_000, 10_000, 10_000]), ([node(5, "io", 2)], [4, 5], [10_000] * 2)),
        {**slice_of("Compress", 1000, 20), "tid": 8},
    ]  # fmt: skip
    found = paths(bring(tmp_path, put(tmp_path / "t.json", {"traceEvents": trace}), "-r", "1000"))
    assert found == {"main": 0.01, "main;solve": 0.02, "main;io": 0.01, "Compress": 0.02}


def test_samples_with_stacks_of_their_own(tmp_path):
    frames = {"1": {"name": "main"}, "2": {"name": "solve", "parent": 1}, "7": {"name": "dot", "parent": "2"}}
    samples = [{"pid": 9, "tid": "1", "ts": str(10_000 * at), "sf": 7 if at % 2 else 2} for at in range(1, 11)]
    trace = {"traceEvents": [APP], "samples": samples, "stackFrames": frames}
    assert paths(bring(tmp_path, put(tmp_path / "t.json", trace))) == {"main;solve": 0.05, "main;solve;dot": 0.05}
    trace = {"traceEvents": [{**sample, "ph": "P", "name": "x"} for sample in samples], "stackFrames": frames}
    found = bring(tmp_path, put(tmp_path / "t.json", trace), name="other")
    assert paths(found) == {"main;solve": 0.05, "main;solve;dot": 0.05}


def test_events_without_content(tmp_path, capsys):
    trace = [*NESTED, None, {}, 7, {"ph": "X", "name": "none"}, {"ph": "P", "name": "ProfileChunk", "id": "0x9"}]
    assert main(["import", str(put(tmp_path / "t.json", trace)), "-o", str(tmp_path / "run")]) == 5
    assert "4 events are damaged and were left out" in capsys.readouterr().err
    assert paths(read_profile(open_run(tmp_path / "run"))) == AS_PATHS


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(members=st.dictionaries(st.sampled_from(["a", "list", "b"]), st.lists(values)), size=st.integers(1, 9))
def test_pieces_of_a_document(members, size):
    """They are those that it has as a whole, wherever what is read at a time ends."""

    class Trickle(io.BytesIO):
        def read1(self, most, /):
            return super().read1(min(most, size))

    stream = JsonStream(Trickle(json.dumps(members, ensure_ascii=False).encode()), ["list"])
    found = {"list": []} if "list" in members else {}
    for name, value in stream:
        found["list"].append(value) if name == "list" else found.update({name: value})
    assert found == members
    assert not stream.cut


WHOLE = json.dumps(
    {
        "traceEvents": [
            *NESTED,
            *v8_profile(0, ([node(1, "main")], [1, 1], [5, 6])),
            event("B", "f", 1),
            slice_of("gemm", 3, 9, cat="kernel", args={"device": 0, "stream": 7}),
            slice_of("a.py(3): f", 3, 9, cat="python_function"),
        ],
        "samples": [{"pid": 9, "tid": 2, "ts": 5, "sf": 1}],
        "stackFrames": {"1": {"name": "main", "parent": 1}},
    }
).encode()


@settings(max_examples=80, deadline=None)
@given(
    end=st.integers(0, len(WHOLE)),
    changes=st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.sampled_from(b'0-"[]{},:x\\\xff\x00')), max_size=4),
)
def test_any_cut_and_any_change(end, changes, tmp_path_factory):
    data = bytearray(WHOLE)
    for at, byte in changes:
        data[at] = byte
    directory = tmp_path_factory.mktemp("cut")
    file = put(directory / "t.json", bytes(data[:end]))
    assert main(["import", str(file), "-o", str(directory / "run"), "--from", "trace-events"]) in (0, 4, 5)


def test_a_value_that_never_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign_files, "LONGEST_ELEMENT", 1 << 12)
    monkeypatch.setattr(foreign_files, "PIECE", 1 << 10)
    text = json.dumps(NESTED).removesuffix("]") + ', {"name": "' + "x" * (1 << 14)
    file = put(tmp_path / "t.json", text.encode())
    assert main(["import", str(file), "-o", str(tmp_path / "run")]) == 5
    assert paths(read_profile(open_run(tmp_path / "run"))) == AS_PATHS
