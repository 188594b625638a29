"""Node images that are gone or damaged: what is known below a hole stays known."""

import resource

import pytest

from incprof.model import BROKEN, ROOT
from incprof.readers.run import open_run, read_profile
from incprof.symbols.function_space import NO_FRAME
from tests.unit.streamwriter import LIBRARY, NODES, PROFILER, UNKNOWN, Sample, StreamWriter, image, varint

# One for each interval. Their nodes: 1 2, then 3, then 4, then 5, then none that is new.
PATHS = ["main;solve", "main;io", "main;io;leaf", "main;io;leaf;solve", "main;io;leaf"]
MAGIC = b"gmon\x01\0\0\0"


@pytest.fixture
def stream():
    """A writer, and where the intervals begin: each has 9 ticks at its path and others in main."""
    writer = StreamWriter(["main", "solve", "io", "leaf"])
    edges = []
    for path in PATHS:
        edges.append(len(writer.data))
        writer.interval([Sample(path, weight=9), Sample("main", LIBRARY), Sample("main", PROFILER)])
    writer.end()
    return writer, edges


def read(writer, data, directory, **options):
    writer.data = bytes(data)
    return read_profile(open_run(writer.save(directory)), **options)


def names(profile):
    """Functions of the nodes by name, or their marks."""
    return [profile.functions[f].name if f >= 0 else f for f in profile.paths.function]


def seconds(profile, name):
    """Self time of a function, per interval."""
    index = [f.name for f in profile.functions].index(name)
    return profile.self_s.toarray()[:, index].round(9).tolist()


def spoil_header(data, edge):
    data[edge] ^= 0xFF
    return data


def spoil_payload(data, edge):
    """More nodes than there are."""
    data[edge + 21] += 1
    return data


def raise_number(data, edge):
    """The first number is one too high, and nothing before it is damaged."""
    data[edge + 20] += 1
    return data


def cut_nodes(data, edge):
    """A torn write: the header counts less than there is."""
    end = data.index(MAGIC, edge + 1)
    return data[: edge + 10] + data[end:]


def cut_interval(data, edge):
    """All images of the interval are gone, and the ones around it are whole."""
    nodes = data.index(MAGIC + bytes([NODES]), edge + 1)
    return data[:edge] + data[nodes:]


@pytest.mark.parametrize("spoil", [spoil_header, spoil_payload, raise_number, cut_nodes, cut_interval])
def test_later_intervals_keep_their_paths(stream, spoil, tmp_path):
    writer, edges = stream
    whole = read(writer, writer.data, tmp_path / "whole")
    profile = read(writer, spoil(bytearray(writer.data), edges[2]), tmp_path / "damaged")
    assert profile.damaged
    assert "1 nodes of call paths are lost" in " ".join(profile.warnings)
    assert profile.paths.parent.tolist() == [0, 0, 1, 1, 0, 4]
    assert names(profile) == [ROOT, "main", "solve", "io", BROKEN, "solve"]

    kept = [end in profile.end_s for end in whole.end_s]
    assert kept in ([True] * 5, [True, True, False, True, True])
    # The path of the last interval ends in the hole, and its time comes from its histograms.
    for name in ("main", "solve", "leaf"):
        assert seconds(profile, name) == [s for s, keep in zip(seconds(whole, name), kept, strict=True) if keep]
    assert profile.samples.node.tolist()[-6:] == [5, 1, 1, 4, 1, 1]


def test_hole_behind_the_last_node(stream, tmp_path):
    writer, edges = stream
    path = PATHS[3]
    writer.data = writer.data[: writer.data.rindex(MAGIC)]
    writer.interval([Sample(path, weight=9), Sample("", UNKNOWN, weight=2)])
    profile = read(writer, spoil_header(bytearray(writer.data), edges[3]), tmp_path)
    assert profile.paths.parent.tolist() == [0, 0, 1, 1, 3, 0]
    assert names(profile) == [ROOT, "main", "solve", "io", "leaf", BROKEN]
    assert seconds(profile, "solve")[-1] == 0.09
    assert seconds(profile, NO_FRAME)[-1] == 0.02
    assert profile.samples.node.tolist()[-2:] == [5, 0]


def test_library_time_is_dropped_in_a_hole_too(stream, tmp_path):
    writer, edges = stream
    profile = read(writer, spoil_header(bytearray(writer.data), edges[2]), tmp_path, libs="drop")
    assert seconds(profile, "main") == [0] * 4
    assert seconds(profile, "leaf") == [0, 0, 0, 0.09]


def test_inclusive_time_below_a_hole(stream, tmp_path):
    writer, edges = stream
    profile = read(writer, spoil_payload(bytearray(writer.data), edges[2]), tmp_path)
    assert profile.inclusive_s().toarray()[3].round(9).tolist() == [0.1, 0.01, 0, 0, 0.09, 0.09]


@pytest.mark.parametrize("first", [10**4, 2**31, 2**40, 2**63, 2**64 - 1])
@pytest.mark.parametrize("count", [1, 2**40])
def test_no_memory_for_numbers_that_lie(stream, first, count, tmp_path):
    """Numbers that no file of this size could have reached are damage, even behind a hole."""
    writer, edges = stream
    lie = image(NODES, varint(first) + varint(count) + b"\x01\x00\x00", interval=4)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    profile = read(writer, writer.data[: edges[4]] + b"hole" + lie + writer.data[edges[4] :], tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10
    assert profile.damaged
    assert "1 damaged images were dropped" in " ".join(profile.warnings)
    assert names(profile) == [ROOT, "main", "solve", "io", "leaf", "solve"]
