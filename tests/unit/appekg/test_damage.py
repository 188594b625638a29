import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import appekg.pieces
from appekg.errors import AppekgError
from appekg.model import ROW
from appekg.reader import read
from tests.unit.ekgfiles import EkgFile, beats
from tests.unit.ekgoracle import plain

FIELDS = ("thread", "id", "count", "pulses", "sum_ns", "min_ns", "max_ns", "sumsq_ns2", "nested_ns", "open", "open_ns")
assert set(FIELDS) | {"process", "interval", "executions", "busy_ns"} == set(ROW.names)


@pytest.fixture(autouse=True)
def no_second_look(monkeypatch):
    monkeypatch.setattr(appekg.pieces, "FRESH_S", -1)


def example_file(rank=0, intervals=5):
    file = EkgFile(rank).beat(1, "assemble:body").beat(2, "solve:loop", 4)
    for number in range(intervals):
        file.thread(number, 4711 + number)
        rows = [beats(thread, 1, [number * 10 + thread + 1]) for thread in range(number + 1)]
        file.interval(*rows, beats(0, 2, [7] * (number + rank + 1), running=[3]))
    return file.end()


WHOLE = example_file()
OTHER = example_file(rank=1, intervals=7)


def save(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("run") / "rank-00000.ekg"
    path.write_bytes(data)
    return path


def by_interval(found):
    """What each interval holds, by its number."""
    if not found.processes:
        return {}
    table = found.processes[0].intervals
    kept = {number: [] for number in table["interval"].tolist()}
    numbers = list(kept)
    for row in found.rows:
        kept[numbers[int(row["interval"])]].append(plain(row.reshape(1), FIELDS)[0])
    return {number: (table[at].tolist(), rows) for at, (number, rows) in enumerate(kept.items())}


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    return [by_interval(read(save(tmp_path_factory, file.data))) for file in (WHOLE, OTHER)]


def survivors(file, cut):
    """Numbers of the intervals that end before a place in a file."""
    return [number for number, (_, end) in enumerate(file.spans) if end <= cut]


def first_difference(one, two):
    return next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def check(tmp_path_factory, damaged, originals, *, strict=True):
    """Read damaged data: what lies before the damage is there, and nothing is there that never was."""
    cut = first_difference(damaged, WHOLE.data)
    path = save(tmp_path_factory, damaged)
    try:
        found = read(path)
    except AppekgError:
        assert cut <= WHOLE.spans[0][0]
        return None
    if cut < WHOLE.spans[0][0]:  # names of columns: no checksum covers them
        return found
    kept = by_interval(found)
    for number in survivors(WHOLE, cut):
        assert kept[number] == originals[0][number]
    for number, content in kept.items():
        assert content in [original.get(number) for original in originals] or not strict
    assert all("\n" not in line for line in found.warnings)
    return found


places = st.integers(0, len(WHOLE.data) - 1)


@settings(deadline=None, max_examples=400)
@given(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes(tmp_path_factory, originals, changes):
    data = bytearray(WHOLE.data)
    for at, value in changes:
        data[at] = value
    assume(data != WHOLE.data)
    found = check(tmp_path_factory, bytes(data), originals)
    if found is not None and len(by_interval(found)) < len(originals[0]):
        assert found.damaged
        assert found.warnings


@settings(deadline=None, max_examples=200)
@given(places)
def test_truncated(tmp_path_factory, originals, length):
    found = check(tmp_path_factory, WHOLE.data[:length], originals)
    if found is None or length < WHOLE.spans[0][0]:
        return
    # A newline may be missing; nothing else may.
    ends = [end for _, end in WHOLE.spans]
    assert sorted(by_interval(found)) == [number for number, end in enumerate(ends) if end - 1 <= length]
    boundaries = [WHOLE.spans[0][0], *ends, *(end - 1 for end in ends), len(WHOLE.data) - 1]
    if length in boundaries:
        assert not found.damaged


@settings(deadline=None, max_examples=300)
@given(places, places, st.binary(max_size=40) | places.map(lambda at: bytes(WHOLE.data[at : at + 60])))
def test_cut_out_and_put_in(tmp_path_factory, originals, begin, end, insert):
    begin, end = sorted((begin, end))
    data = bytes(WHOLE.data[:begin] + insert + WHOLE.data[end:])
    assume(data != bytes(WHOLE.data))
    check(tmp_path_factory, data, originals)


@settings(deadline=None, max_examples=200)
@given(places, st.integers(0, len(OTHER.data) - 1))
def test_two_files_spliced(tmp_path_factory, originals, begin, rest):
    check(tmp_path_factory, bytes(WHOLE.data[:begin] + OTHER.data[rest:]), originals)


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=300))
def test_garbage_behind_the_header(tmp_path_factory, originals, garbage):
    check(tmp_path_factory, bytes(WHOLE.data[: WHOLE.spans[0][0]]) + garbage, originals)
    check(tmp_path_factory, bytes(WHOLE.data) + garbage, originals)


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_garbage_is_no_heartbeat_file(tmp_path_factory, garbage):
    with pytest.raises(AppekgError) as raised:
        read(save(tmp_path_factory, garbage))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("what", ["row", "crc", "interval word", "newline", "note"])
def test_damage_costs_one_interval_and_nothing_else(tmp_path_factory, originals, number, what):
    data = bytearray(WHOLE.data)
    begin, end = WHOLE.spans[number]
    line = data.rindex(b"\n#interval", begin, end) + 1
    at = {"row": data.index(b"\n%d,0,2," % number, begin), "crc": end - 4, "interval word": line + 3,
          "newline": data.index(b"\n%d,0,2," % number, begin), "note": begin + 2}[what]  # fmt: skip
    data[at + (what == "row") * 3] ^= 0x04
    found = check(tmp_path_factory, bytes(data), originals)
    assert found.damaged
    assert sorted(by_interval(found)) == [other for other in range(5) if other != number]
    assert len([line for line in found.warnings if "left out" in line]) >= 1


def test_an_interval_that_was_torn_and_one_after_it(tmp_path_factory, originals):
    """A write that failed halfway, for example on a full disk, and the next one that did not."""
    for length in range(1, WHOLE.spans[2][1] - WHOLE.spans[2][0]):
        begin = WHOLE.spans[2][0]
        torn = WHOLE.data[begin : begin + length] + b"\n"
        found = check(tmp_path_factory, bytes(WHOLE.data[:begin] + torn + WHOLE.data[WHOLE.spans[3][0] :]), originals)
        assert found.damaged or length == WHOLE.spans[2][1] - begin - 1
        assert {0, 1, 3, 4} <= set(by_interval(found))


def test_names_in_a_damaged_interval_are_better_than_none(tmp_path_factory):
    data = bytearray(WHOLE.data)
    data[WHOLE.spans[0][1] - 4] ^= 0x01
    found = read(save(tmp_path_factory, data))
    assert found.damaged
    assert [beat.name for beat in found.beats.values()] == ["assemble:body", "solve:loop"]
    assert found.beats[2].rate_factor == 4
