"""Damaged streams: nothing but one-line errors, and no more lost than what was damaged."""

import re
import resource
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incprof.errors import IncprofError, NoDataError
from incprof.readers.run import open_run, read_profile
from incprof.readers.stream import coded_records
from incprof.readers.stream.stream_files import HEADER, MAGIC
from soak.mutate import damaged, mutate_binary
from soak.mutate_stream import mutate_stream
from tests.unit.streamwriter import (
    INTERVAL,
    LIBRARY,
    NODES,
    OWN_TIME,
    SAMPLES,
    Sample,
    StreamWriter,
    arc,
    histogram,
    image,
    varint,
)


def small_stream(intervals=4, end=True):
    """A stream and the offsets at which its intervals begin and end."""
    writer = StreamWriter(["main", "solve", "io", "leaf"])
    edges = [len(writer.data)]
    leaf = ["main;solve", "main;io", "main;solve;leaf", "main"]
    for i in range(intervals):
        writer.interval(
            [Sample(leaf[i % 4], weight=10), Sample("main", LIBRARY, weight=2)], arcs={("main", "solve"): i + 1}
        )
        edges.append(len(writer.data))
    if end:
        writer.end()
    return writer, edges


def read(data, directory):
    writer, _ = small_stream(0)
    writer.data = data
    return read_profile(open_run(writer.save(directory)))


def one_line(error):
    assert "\n" not in str(error)
    return str(error)


@pytest.mark.slow
def test_torn_tail_costs_its_interval_only(tmp_path):
    writer, edges = small_stream(end=False)
    data = writer.data
    whole = read(data, tmp_path)
    for length in range(edges[1], len(data)):
        profile = read(data[:length], tmp_path)
        complete = sum(edge <= length for edge in edges) - 1
        assert profile.n_intervals == complete, length
        assert profile.damaged == (length not in edges), length
        assert len(profile.warnings) == 1
        np.testing.assert_array_equal(profile.end_s, whole.end_s[:complete])
        np.testing.assert_array_equal(profile.self_s.sum(axis=1), whole.self_s.toarray()[:complete].sum(axis=1))


def test_nothing_complete(tmp_path):
    writer, edges = small_stream()
    for length in range(edges[1]):
        with pytest.raises(NoDataError) as caught:
            read(writer.data[:length], tmp_path)
        one_line(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty file"),
        (b"\x7fELF" + bytes(100), "not an incprof stream"),
        (b"gmon" + struct.pack("<I", 1) + bytes(12) + histogram(0, [0]), "classic gmon.out"),
        (image(INTERVAL, bytes(96)), "no metadata"),
        (image(1, b"[]"), "not a JSON object"),
        (image(1, b"{"), "metadata is damaged"),
        (image(1, b'{"rate_hz": 0}'), "rate_hz is 0"),
        (image(1, b'{"interval_s": "1"}'), "interval_s is '1'"),
        (image(1, b'{"rate_hz": NaN}'), "rate_hz is nan"),
        (image(1, b"[" * 100000), "metadata is damaged"),
        (image(1, b"{}"), "no complete interval"),
    ],
)
def test_unusable_files(data, message, tmp_path):
    with pytest.raises(NoDataError, match=message) as caught:
        read(data, tmp_path)
    assert "rank-00000.gmon" in one_line(caught.value)


def test_a_later_format_is_refused(tmp_path):
    writer = StreamWriter()
    writer.interval([Sample("main")])
    writer.end()
    run = writer.save(tmp_path / "run")
    stream = run / "rank-00000.gmon"
    stream.write_bytes(stream.read_bytes().replace(b'"version": 1,', b'"version": 2,'))
    with pytest.raises(IncprofError, match=r"format version 2 is newer than this incprof's \(1\): update it"):
        read_profile(open_run(run))


def test_wrong_magic_in_the_middle(tmp_path):
    writer, edges = small_stream()
    data = bytearray(writer.data)
    data[edges[2] + 3] ^= 0xFF
    profile = read(bytes(data), tmp_path)
    assert profile.damaged
    assert re.search("1 damaged places were skipped", " ".join(profile.warnings))
    # The interval is lost; later ones keep their time.
    assert profile.end_s.tolist() == [1.0, 2.0, 4.0]
    assert profile.self_s.sum(axis=1).tolist() == pytest.approx([0.12, 0.12, 0.12])
    assert profile.calls.sum(axis=1).tolist() == [1, 2, 4]


def summed(data):
    """The stream with the sum of each image in its header, as the collector writes them."""
    out, at = b"", 0
    while at < len(data):
        magic, kind, _, module, length, interval = HEADER.unpack_from(data, at)
        payload = data[at + HEADER.size : at + HEADER.size + length]
        assert magic == MAGIC
        out += coded_records.image(kind, payload, module=module, interval=interval)
        at += HEADER.size + length
    return out


def test_a_flipped_bit_is_detected_where_images_are_summed_up(tmp_path):
    writer, edges = small_stream()
    data = summed(writer.data)
    whole = read(data, tmp_path)
    assert not whole.damaged
    bits = range(edges[1] * 8, edges[3] * 8, 61)
    unseen = 0
    for bit in bits:
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        profile = read(bytes(flipped), tmp_path)
        if "damaged places" not in " ".join(profile.warnings):
            unseen += 1
            continue
        # What is left is as it was.
        kept = np.isin(whole.end_s, profile.end_s)
        assert profile.calls.sum(axis=1).tolist() == whole.calls.sum(axis=1)[kept].tolist()
        assert 2 <= profile.n_intervals < 4
    assert unseen <= 0.02 * len(bits)


def test_metadata_with_another_sum_are_used_and_reported(tmp_path):
    data = summed(small_stream()[0].data)
    profile = read(data.replace(b'"node1"', b'"node2"', 1), tmp_path)
    assert profile.damaged
    assert (profile.metadata.raw["host"], profile.n_intervals) == ("node2", 4)


def test_failed_write_in_the_middle(tmp_path):
    """An interval whose write stopped half way, with whole ones after it."""
    writer, edges = small_stream()
    data = writer.data
    for cut in (1, 19, 21, 60, edges[2] - edges[1] - 1):
        profile = read(data[: edges[1] + cut] + data[edges[2] :], tmp_path)
        assert profile.damaged
        assert profile.end_s[0] == 1.0
        assert profile.end_s[-1] == 4.0
        assert 2.0 not in profile.end_s


@pytest.mark.parametrize(
    "payload",
    [
        b"\x80",
        b"\x05",
        b"\xff" * 12,
        b"\x05\x01\x00\x00",
        b"\x05\x01\x09\x00\x00",
        b"\x05\x01\x00\x00\x00",
        b"\x01\x01\x01\x00\x00",
        b"\x06\x01\x01\x00\x00",
        varint(2**63) + b"\x01\x01\x00\x00",
        b"\x05" + varint(2**63),
    ],
)
def test_damaged_nodes_cost_nothing_else(payload, tmp_path):
    writer, edges = small_stream()
    bad = image(NODES, payload, interval=3)
    whole = read(writer.data, tmp_path)
    profile = read(writer.data[: edges[3]] + bad + writer.data[edges[3] :], tmp_path)
    assert profile.damaged
    assert "1 damaged images were dropped" in " ".join(profile.warnings)
    assert profile.n_intervals == 4
    assert profile.paths.parent.tolist() == whole.paths.parent.tolist()
    assert profile.samples.node.tolist() == whole.samples.node.tolist()
    assert profile.self_s.sum(axis=1).tolist() == pytest.approx([0.12] * 4)


@pytest.mark.parametrize("payload", [b"\x80", b"\x01", b"\x01\x00", b"\xff" * 12, b"\x00\x00" + varint(2**40 * 8)])
def test_damaged_samples_leave_histograms(payload, tmp_path):
    writer, edges = small_stream()
    bad = image(SAMPLES, payload, interval=2)
    profile = read(writer.data[: edges[2]] + bad + writer.data[edges[2] :], tmp_path)
    assert profile.damaged
    assert profile.n_intervals == 4
    assert profile.self_s.sum(axis=1).tolist() == pytest.approx([0.12] * 4)


@pytest.mark.parametrize(
    "records",
    [
        struct.pack("<BQQII15sc", 0, 0, 2**32, 2**31, 100, b"seconds", b"s"),
        struct.pack("<BQQII15sc", 0, 64, 64, 16, 100, b"seconds", b"s") + bytes(32),
        arc(1, 2, 3)[:-1],
        b"\x02\xff\xff\xff\xff",
        b"\x07",
    ],
)
def test_records_that_lie_about_their_size(records, tmp_path):
    writer, edges = small_stream()
    bad = image(OWN_TIME, records, interval=1)
    profile = read(writer.data[: edges[1]] + bad + writer.data[edges[1] :], tmp_path)
    assert profile.damaged
    assert "1 damaged images were dropped" in " ".join(profile.warnings)
    assert profile.calls.sum(axis=1).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("times", [(5, 5), (5, 4), (0, 2**63), (2**64 - 1, 1)])
def test_impossible_times_cost_the_interval(times, tmp_path):
    writer, edges = small_stream()
    start = writer.data.rindex(b"gmon\x01\0\0\0" + bytes([INTERVAL]), 0, edges[2]) + 20
    data = writer.data[:start] + struct.pack("<2Q", *times) + writer.data[start + 16 :]
    profile = read(data, tmp_path)
    assert profile.damaged
    assert profile.end_s.tolist() == [1.0, 3.0, 4.0]


def test_no_memory_for_sizes_that_lie(tmp_path):
    """A 4 GiB image in a 1 KiB file is read within the memory there is."""
    writer, edges = small_stream(1)
    lie = struct.pack("<4sIBBHII", b"gmon", 1, SAMPLES, 0, 0, 2**32 - 1, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    profile = read(writer.data[: edges[1]] + lie + bytes(600), tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10
    assert profile.n_intervals == 1
    assert profile.damaged


STREAM = small_stream()[0].data


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_mutated_streams(seed, tmp_path):
    content = damaged(seed, STREAM, mutate_stream if seed % 2 else mutate_binary)
    try:
        profile = read(content, tmp_path)
    except IncprofError as error:
        one_line(error)
    else:
        consistent(profile)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    payloads=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 3), st.binary(max_size=80)), max_size=12
    )
)
def test_arbitrary_images(payloads, tmp_path):
    body = b"".join(image(kind, data, module=module, interval=number) for kind, module, number, data in payloads)
    try:
        profile = read(STREAM[: STREAM.index(b"gmon", 4)] + body + STREAM[STREAM.index(b"gmon", 4) :], tmp_path)
    except IncprofError as error:
        one_line(error)
    else:
        consistent(profile)


def consistent(profile):
    """Whatever was read fits together."""
    n, f, p = profile.n_intervals, len(profile.functions), len(profile.paths.parent)
    assert n > 0
    assert profile.self_s.shape == profile.calls.shape == (n, f)
    assert (np.diff(profile.end_s) > 0).all()
    assert np.isfinite(profile.self_s.data).all()
    assert (profile.self_s.data > 0).all()
    assert (profile.calls.data > 0).all()
    assert (profile.paths.parent[1:] < np.arange(1, p)).all()
    assert (profile.paths.function < f).all()
    assert (profile.samples.node < p).all()
    assert (profile.samples.node >= 0).all()
    assert (np.diff(profile.interval_of_samples()) >= 0).all()
    profile.inclusive_s()
    profile.to_pandas()
