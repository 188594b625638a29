import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import appekg.pieces
from appekg.errors import AppekgError, NewerFormatError, NoSuchRankError
from appekg.model import INTERVAL, ROW, Beat
from appekg.reader import read
from tests.unit.ekgfiles import COLUMNS, SECOND, EkgFile, beats, simple_run
from tests.unit.ekgoracle import plain, read_plainly

READ = ROW.names[:-2]  # without executions and busy_ns

large = st.integers(0, 2**63 - 1)
small = st.integers(0, 4)
rows_of_an_interval = st.lists(
    st.builds(
        lambda thread, number, rest, square: (
            dict(zip(COLUMNS[1:], [thread, number, *rest], strict=False)) | {"sumsq_ns2": square}
        ),
        small | large,
        small | large,
        st.lists(large | small, min_size=9, max_size=9),
        st.floats(0, 1e300),
    ),
    max_size=6,
    unique_by=lambda row: (row["thread"], row["id"]),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(rows_of_an_interval, max_size=6), st.permutations(COLUMNS), st.integers(40, 400))
def test_what_is_read_is_what_is_written(tmp_path_factory, intervals, columns, chunk):
    file = EkgFile(columns=(*columns, "later_column"))
    for rows in intervals:
        file.interval(*rows, own_ns=len(rows), enabled=len(rows) % 2 == 0)
    path = file.end().save(tmp_path_factory.mktemp("run") / "rank-00000.ekg")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(appekg.pieces, "CHUNK", chunk)  # intervals and lines lie across the chunks
        found = read(path.parent)
    rows, table = read_plainly(bytes(file.data))
    assert plain(found.rows, READ) == rows
    assert plain(found.processes[0].intervals, INTERVAL.names) == table
    assert (found.damaged, found.warnings) == (False, ())
    assert found.beats.keys() == {row[3] for row in rows}


def test_names_rate_factors_and_threads(tmp_path):
    file = EkgFile().beat(7, "nap", 10).thread(0, 99).interval(beats(0, 7, [5]), beats(0, 3, [5]))
    file.beat(7, "näp", 10).interval(beats(0, 7, [5])).end().save(tmp_path / "rank-00000.ekg")
    found = read(tmp_path)
    assert found.beats == {3: Beat(3, None, 1), 7: Beat(7, "näp", 10)}
    assert found.processes[0].tids == {0: 99}
    assert not found.warnings


def test_ranks_and_forked_children_in_order(tmp_path):
    for name, rank in (("rank-00010", 10), ("rank-00002.4711", 2), ("rank-00002", 2), ("rank-00002.99", 2)):
        EkgFile(rank).interval(beats(0, rank, [5])).end().save(tmp_path / f"{name}.ekg")
    (tmp_path / "launch").write_text("job 1\n")
    found = read(tmp_path)
    names = [process.path.name for process in found.processes]
    assert names == ["rank-00002.ekg", "rank-00002.99.ekg", "rank-00002.4711.ekg", "rank-00010.ekg"]
    assert found.rows["process"].tolist() == [0, 1, 2, 3]
    assert [process.path.name for process in read(tmp_path, ranks=[10]).processes] == ["rank-00010.ekg"]
    with pytest.raises(NoSuchRankError, match="no such rank; there are 2, 10"):
        read(tmp_path, ranks=[3])


def test_filters_by_thread_and_id(tmp_path):
    run = simple_run(tmp_path, intervals=2)
    assert set(read(run, threads=[1]).rows["thread"].tolist()) == {1}
    assert read(run, threads=[1], ids=[1]).rows.size == 0
    found = read(run, ids=[2])
    assert plain(found.rows, ["interval", "thread", "id"]) == [(0, 0, 2), (0, 1, 2), (1, 0, 2), (1, 1, 2)]


def test_filter_by_time_counts_from_the_earliest_process(tmp_path):
    start = 1_700_000_000 * SECOND
    for rank, later in enumerate((0, 2 * SECOND)):
        file = EkgFile(rank, metadata={"start_unix_ns": start + later})
        for _ in range(4):
            file.interval(beats(0, 1, [5]))
        file.end().save(tmp_path / f"rank-{rank:05}.ekg")
    found = read(tmp_path, since_s=2.5, until_s=3.5)
    assert [process.intervals["interval"].tolist() for process in found.processes] == [[2, 3], [0, 1]]
    assert plain(found.rows, ["process", "interval"]) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert plain(read(tmp_path, until_s=2).rows, ["process", "interval"]) == [(0, 0), (0, 1)]


def test_a_run_without_an_end_is_not_damaged(tmp_path):
    for rank in range(3):
        EkgFile(rank).interval(beats(0, 1, [5])).save(tmp_path / f"rank-{rank:05}.ekg")
    found = read(tmp_path)
    assert not found.damaged
    assert found.warnings == ("rank-00000.ekg and 2 more: no end, the run was killed or is still going on",)
    assert not found.processes[0].clean


def test_lost_intervals_are_no_damage_but_missing_ones_are(tmp_path):
    file = EkgFile().interval(beats(0, 1, [5]))
    file.number = 4
    file.interval(beats(0, 1, [5]), lost_intervals=3).end()
    found = read(file.save(tmp_path / "rank-00000.ekg"))
    assert (found.damaged, found.processes[0].intervals["lost_intervals"].tolist()) == (False, [0, 3])
    file = EkgFile().interval(beats(0, 1, [5]))
    file.number = 4
    found = read(file.interval().end().save(tmp_path / "rank-00000.ekg"))
    assert found.damaged
    assert "intervals 1 to 3 are missing" in found.warnings[0]


def test_missing_columns_are_0_and_named(tmp_path):
    file = EkgFile(columns=("interval", "id", "thread", "count")).interval(beats(0, 1, [5])).end()
    found = read(file.save(tmp_path / "rank-00000.ekg"))
    assert plain(found.rows, ["id", "count", "sum_ns", "sumsq_ns2"]) == [(1, 1, 0, 0.0)]
    assert not found.damaged
    assert "sum_ns" in found.warnings[0]


def test_unknown_marked_lines_are_passed_over(tmp_path):
    file = EkgFile().interval(beats(0, 1, [5]))
    file.line("#weather", {"rain": 1})
    found = read(file.interval(beats(0, 1, [6])).end().save(tmp_path / "rank-00000.ekg"))
    assert found.rows["sum_ns"].tolist() == [5, 6]
    assert not found.warnings


def test_no_newline_at_the_end(tmp_path):
    whole = EkgFile().interval(beats(0, 1, [5]))
    found = read(whole.save(tmp_path / "rank-00000.ekg", whole.data[:-1]))
    assert found.rows["sum_ns"].tolist() == [5]
    assert not found.damaged
    whole.end()
    found = read(whole.save(tmp_path / "rank-00000.ekg", whole.data[:-1]))
    assert (found.processes[0].clean, found.warnings) == (True, ())


def test_a_newer_version_is_refused(tmp_path):
    simple_run(tmp_path)
    EkgFile(9, metadata={"version": 2}).interval().save(tmp_path / "rank-00009.ekg")
    with pytest.raises(NewerFormatError, match="version 2 is newer than this reader's"):
        read(tmp_path)


def test_a_file_without_intervals(tmp_path):
    whole = EkgFile()
    found = read(whole.save(tmp_path / "rank-00000.ekg"))
    assert (len(found.rows), len(found.processes[0].intervals), found.damaged) == (0, 0, False)
    assert found.processes[0].duration_s == 0
    head = whole.data[: whole.data.index(b"\n") + 1]
    assert not read(whole.save(tmp_path / "rank-00000.ekg", head)).damaged


def test_to_pandas(tmp_path):
    frame = read(simple_run(tmp_path, ranks=2)).to_pandas()
    assert list(frame.columns) == [
        "rank", "process", "interval", "start_s", "end_s", "thread", "id", "name", "count", "pulses", "sum_s", "mean_s",
        "min_s", "max_s", "std_s", "open", "open_s", "executions", "busy_s",
    ]  # fmt: skip
    assert len(frame) == 24
    last = frame.iloc[-1].to_dict()
    assert last == pytest.approx(
        {
            "rank": 1, "process": 1, "interval": 3, "start_s": 3.0, "end_s": 4.0, "thread": 1, "id": 2,
            "name": "solve:loop", "count": 2, "pulses": 0, "sum_s": 0.2, "mean_s": 0.1, "min_s": 0.1, "max_s": 0.1,
            "std_s": 0.0, "open": 0, "open_s": 0.0, "executions": last["executions"], "busy_s": 0.2,
        }
    )  # fmt: skip


def test_to_pandas_has_no_mean_where_no_beat_ended(tmp_path):
    EkgFile().interval(beats(0, 1, pulses=3)).end().save(tmp_path / "rank-00000.ekg")
    frame = read(tmp_path).to_pandas()
    assert frame["pulses"].tolist() == [3]
    assert frame[["mean_s", "min_s", "max_s", "std_s"]].isna().all(axis=None)
    assert frame["name"].isna().all()


def test_same_file_same_bytes(tmp_path):
    run = simple_run(tmp_path, ranks=3)
    assert read(run).rows.tobytes() == read(run).rows.tobytes()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = simple_run(tmp_path) / "rank-00000.ekg"
    path.chmod(0)
    with pytest.raises(AppekgError, match="Permission denied"):
        read(path)


def test_metadata_is_there(tmp_path):
    found = read(EkgFile(3, metadata={"argv": ["a", "b"]}).interval().end().save(tmp_path / "rank-00003.ekg"))
    process = found.processes[0]
    assert (process.rank, process.app, process.interval_s, process.start_unix_s) == (3, "app", 1.0, 1.7e9)
    assert json.dumps(process.metadata["argv"]) == '["a", "b"]'
