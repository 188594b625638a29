"""Input that was made to hurt: each case is answered with a line, and costs neither memory nor what is around it."""

import os
import zlib

import pytest

import appekg.pieces
from appekg import Cost
from appekg.errors import AppekgError
from appekg.reader import read
from tests.unit.ekgfiles import SECOND, EkgFile, beats, simple_run

HUGE = 2**63


@pytest.fixture(autouse=True)
def no_second_look(monkeypatch):
    monkeypatch.setattr(appekg.pieces, "FRESH_S", -1)


def good(number):
    return beats(0, 1, [number + 1])


def surrounded(tmp_path, *rows, **counters):
    """A file whose middle interval is made of the given rows and counters."""
    file = EkgFile().interval(good(0)).interval(*rows, **counters).interval(good(2)).end()
    return read(file.save(tmp_path / "rank-00000.ekg"))


@pytest.mark.parametrize(
    "row",
    [
        {"count": HUGE}, {"count": -1}, {"sum_ns": 10**30}, {"open_ns": "nan"}, {"thread": "1.5"}, {"id": ""},
        {"sumsq_ns2": float("nan")}, {"sumsq_ns2": float("inf")}, {"sumsq_ns2": -1.0}, {"max_ns": "0x10"},
        {"interval": 7}, {"interval": 0}, {"min_ns": "1,2"}, {"pulses": "1_000"}, {"nested_ns": " 1"},
    ],
)  # fmt: skip
def test_a_row_that_cannot_be(tmp_path, row):
    found = surrounded(tmp_path, good(1) | row)
    assert found.rows["sum_ns"].tolist() == [1, 3]
    assert found.damaged
    assert "interval 1 was left out" in found.warnings[0]


@pytest.mark.parametrize(
    "counters",
    [
        {"interval": -1}, {"interval": HUGE}, {"interval": 0}, {"interval": True}, {"interval": None}, {"rows": 2},
        {"rows": "1"}, {"start_ns": 0}, {"end_ns": 0}, {"start_ns": 1.5}, {"end_ns": HUGE}, {"dropped": -1},
        {"threads": [1]}, {"own_ns": {"a": 1}}, {"lost_rows": "many"},
    ],
)  # fmt: skip
def test_an_interval_line_that_cannot_be(tmp_path, counters):
    found = surrounded(tmp_path, good(1), **counters)
    assert found.rows["sum_ns"].tolist() == [1, 3]
    assert found.damaged


def test_two_rows_of_a_thread_and_id(tmp_path):
    found = surrounded(tmp_path, good(1), beats(1, 1, [9]), good(5))
    assert found.rows["sum_ns"].tolist() == [1, 3]
    assert "interval 1 was left out: two rows have the same thread and id" in found.warnings[0]


def test_the_largest_numbers(tmp_path):
    most = HUGE - 1
    row = dict.fromkeys(good(0), most) | {"sumsq_ns2": 1.7e308}
    file = EkgFile().interval(row, row | {"id": 0}).interval(row, row | {"thread": 0}, length_ns=most - SECOND)
    found = read(file.end().save(tmp_path / "rank-00000.ekg"))
    assert found.rows["count"].tolist() == [most] * 4
    assert not found.damaged
    assert found.to_pandas()["sum_s"].tolist() == [most / 1e9] * 4


@pytest.mark.parametrize(
    "metadata",
    [
        {"rank": -1}, {"rank": "0"}, {"rank": HUGE}, {"interval_s": 0}, {"interval_s": "1"}, {"interval_s": 1e400},
        {"interval_s": float("nan")}, {"start_unix_ns": -5}, {"start_unix_ns": "now"}, {"app": 7}, {"app": None},
    ],
)  # fmt: skip
def test_metadata_of_wrong_types(tmp_path, metadata):
    path = EkgFile(metadata=metadata).interval(good(0)).end().save(tmp_path / "rank-00005.ekg")
    if metadata.get("interval_s") in (1e400,) or metadata.get("interval_s") != metadata.get("interval_s"):
        with pytest.raises(AppekgError):  # written as Infinity and NaN, which are not JSON
            read(path)
        return
    found = read(path)
    process = found.processes[0]
    assert process.rank == (5 if "rank" in metadata else 0)
    assert process.interval_s == 1.0
    assert isinstance(process.start_unix_s, float)
    assert isinstance(process.app, str)
    assert len(found.to_pandas()) == 1


@pytest.mark.parametrize("version", [0, -1, "1", None, 1.0, True, HUGE])
def test_a_version_that_makes_no_sense(tmp_path, version):
    with pytest.raises(AppekgError, match="version"):
        read(EkgFile(metadata={"version": version}).interval().save(tmp_path / "rank-00000.ekg"))


@pytest.mark.parametrize(
    "head",
    [
        b"", b"\n", b"\0" * 5000, b"\xff\xfe#appekg", b"#appekg", b"#appekg {}\n", b"#appekg []\n", b'#appekg {"a":\n',
        b'#appekg {"format":"other","version":1}\n', b"#appekg " + b"[" * 100_000 + b"\n",
        b'#appekg {"format":"appekg","version":1' + b"1" * 5000 + b"}\n", b"gmon\1\0\0\0", b"\x1f\x8b\x08\0\n" * 50,
    ],
)  # fmt: skip
def test_no_heartbeat_file(tmp_path, head):
    path = tmp_path / "rank-00000.ekg"
    path.write_bytes(head)
    with pytest.raises(AppekgError) as raised:
        read(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)
    with pytest.raises(AppekgError, match="no heartbeats here"):
        read(tmp_path)
    simple_run(tmp_path / "run").joinpath("rank-00009.ekg").write_bytes(head)
    found = read(tmp_path / "run")
    assert found.damaged == bool(head)  # an empty file is one that is about to be written
    assert "left out" in found.warnings[0]
    assert len(found.rows) == 12


@pytest.mark.parametrize("columns", [("thread", "id"), ("interval", "thread", "id", "id"), ("a",), (*"interval",)])
def test_incomplete_columns(tmp_path, columns):
    with pytest.raises(AppekgError, match="second line"):
        read(EkgFile(columns=columns).save(tmp_path / "rank-00000.ekg"))


def test_notes_that_make_no_sense(tmp_path):
    file = EkgFile()
    for value in ([], None, 7, {}, {"id": -1}, {"id": 1, "rate_factor": 0}, {"id": 1, "rate_factor": HUGE},
                  {"id": 1, "name": 5, "rate_factor": 1}, {"thread": "a", "tid": 1}):  # fmt: skip
        file.line("#beat", value)
        file.line("#thread", value)
    file.line("#beat", {"id": 2, "name": "half \ud800 a pair", "rate_factor": 3})
    file.data += b'#beat {\xff}\n#beat {"id":' + b"9" * 5000 + b"}\n#\n# \n"
    found = read(file.interval(good(0)).end().save(tmp_path / "rank-00000.ekg"))
    assert (found.beats[1].name, found.beats[1].rate_factor) == (None, 1)
    assert found.beats[2].name == "half \ufffd a pair"
    assert found.processes[0].tids == {}


def test_ranks_that_name_an_id_differently(tmp_path):
    for rank in range(2):
        file = EkgFile(rank).beat(1, f"phase of {rank}", 1 + rank).interval(good(0)).end()
        file.save(tmp_path / f"rank-{rank:05}.ekg")
    found = read(tmp_path)
    assert (found.beats[1].name, found.beats[1].rate_factor) == ("phase of 0", 1)
    assert "'phase of 1'" in found.warnings[0]
    assert not found.damaged


def test_a_rate_factor_that_changes(tmp_path):
    file = EkgFile().beat(1, "a", 1).interval(good(0)).beat(1, "a", 10).interval(good(1)).end()
    found = read(file.save(tmp_path / "rank-00000.ekg"))
    assert found.beats[1].rate_factor == 10
    assert "changed from 1 to 10" in found.warnings[0]


def test_places_that_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "rank-00000.ekg")
    (tmp_path / "rank-00001.ekg").symlink_to("rank-00001.ekg")
    (tmp_path / "rank-00002.ekg").mkdir()
    (tmp_path / "rank-00003.ekg").symlink_to("nowhere")
    for path in (tmp_path, *sorted(tmp_path.iterdir()), tmp_path / "missing", tmp_path / "nul\0"):
        with pytest.raises(AppekgError) as raised:
            read(path)
        assert "\n" not in str(raised.value)
    found = read(simple_run(tmp_path / "run"))
    assert not found.damaged
    (tmp_path / "run" / "rank-00001.ekg").symlink_to("rank-00001.ekg")
    found = read(tmp_path / "run")
    assert found.damaged
    assert "symbolic links" in found.warnings[0]


def test_a_line_without_an_end_costs_no_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(appekg.pieces, "CHUNK", 1 << 16)
    monkeypatch.setattr(appekg.pieces, "LINE_LIMIT", 1 << 17)
    file = EkgFile().interval(good(0)).interval(good(1))
    path = file.save(tmp_path / "rank-00000.ekg")
    os.truncate(path, len(file.data) + (64 << 20))  # a hole: a line of zeros
    longest = []
    whole = appekg.pieces.pieces

    def watched(raw):
        for piece in whole(raw):
            longest.append(len(piece or b""))
            yield piece

    monkeypatch.setattr("appekg.file.pieces", watched)
    found = read(path)
    assert found.rows["sum_ns"].tolist() == [1, 2]
    assert found.damaged
    assert max(longest) < 1 << 18
    assert len(found.warnings) <= 5


def test_what_follows_a_line_that_is_too_long_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(appekg.pieces, "CHUNK", 100)
    monkeypatch.setattr(appekg.pieces, "LINE_LIMIT", 1000)
    file = EkgFile().interval(good(0))
    file.data += b"#note " + b"x" * 5000 + b"\n"
    file._begin = len(file.data)
    found = read(file.interval(good(1)).interval(good(2)).end().save(tmp_path / "rank-00000.ekg"))
    assert set(found.rows["sum_ns"].tolist()) >= {1, 3}
    assert found.damaged


def test_rows_without_an_interval_line_cost_no_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(appekg.pieces, "CHUNK", 1 << 12)
    monkeypatch.setattr(appekg.pieces, "INTERVAL_LIMIT", 1 << 14)
    file = EkgFile().interval(good(0))
    file.data += b"1,0,1,1,0,1,1,1,1,0,0,0\n" * 20_000
    found = read(file.save(tmp_path / "rank-00000.ekg"))
    assert found.rows["sum_ns"].tolist() == [1]
    assert found.damaged


def test_a_checksum_that_fits_does_not_make_nonsense_good(tmp_path):
    file = EkgFile().interval(good(0))
    line = b'1,0,1,garbage\n#interval {"interval":1,"start_ns":1000000000,"end_ns":2000000000,"rows":1'
    file.data += line + b',"crc32":"%08x"}\n' % zlib.crc32(line)
    found = read(file.save(tmp_path / "rank-00000.ekg"))
    assert found.processes[0].intervals["interval"].tolist() == [0]
    assert "rows that cannot be read" in found.warnings[0]


@pytest.mark.parametrize("value", [0, -1, True, "29", None, 1e12, [29.0], 10**400])
def test_a_cost_that_cannot_be(tmp_path, value):
    for costs in ({"pair_ns": value, "skipped_ns": 2.0}, {"pair_ns": 29.0, "skipped_ns": value}, {"pair_ns": 29.0}):
        file = EkgFile(metadata=costs).interval(good(0)).end().save(tmp_path / "rank-00000.ekg")
        assert read(file).processes[0].cost is None
    file = EkgFile(metadata={"pair_ns": 29.25, "skipped_ns": 2}).interval(good(0)).end()
    assert read(file.save(tmp_path / "rank-00000.ekg")).processes[0].cost == Cost(29.25, 2.0)
