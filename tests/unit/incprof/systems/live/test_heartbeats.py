"""Heartbeat files that grow while they are looked at."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.readers.stream.collect import parse_metadata
from incprof.systems.live.session import BeatsWatch, heartbeats_of_process
from tests.unit.ekgfiles import COLUMNS, SECOND, EkgFile, beats

MS = 10**6


def written(intervals=30, rank=0) -> EkgFile:
    """Each interval has 10 beats of 20 ms of id 1; id 2 runs for ever; id 3 pulses in the first one only."""
    file = EkgFile(rank)
    file.beat(1, "solve:body").beat(2, "run:loop").thread(0, 4711)
    for i in range(intervals):
        pulse = [beats(0, 3, pulses=7)] if i == 0 else []
        file.interval(beats(0, 1, [20 * MS] * 10), beats(0, 2, running=[(i + 1) * SECOND]), *pulse)
    return file


FILE = written()


def numbers(lines):
    return [(b.id, b.name, round(b.rate_hz, 6), b.mean_s, round(b.busy_pct, 6), b.count, b.open) for b in lines]


WHOLE = [
    (2, "run:loop", 0.0, None, 100.0, 0, 1),
    (1, "solve:body", 10.0, 0.02, 20.0, 300, 0),
    (3, None, 0.0, None, 0.0, 7, 0),
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(FILE.data)), max_size=10))
def test_cut_anywhere_it_ends_as_the_whole_file(tmp_path_factory, cuts):
    path = tmp_path_factory.mktemp("ekg") / "rank-00000.ekg"
    watch = BeatsWatch(str(path.parent), None)
    for cut in [*sorted(cuts), len(FILE.data)]:
        path.write_bytes(FILE.data[:cut])
        shown = watch.poll()
        complete = sum(end <= cut for _, end in FILE.spans)
        assert sum(beat.count for beat in shown if beat.id == 1) == 10 * complete
    assert numbers(shown) == WHOLE


def test_another_file_is_read_from_its_beginning(tmp_path):
    path = FILE.save(tmp_path / "rank-00000.ekg")
    watch = BeatsWatch(str(tmp_path), None)
    assert numbers(watch.poll()) == WHOLE
    written(2).save(path)
    assert [beat.count for beat in watch.poll()] == [0, 20, 7]


def test_ranks_are_added_up_and_one_can_be_chosen(tmp_path):
    for rank in (0, 1):
        written(5, rank).save(tmp_path / f"rank-0000{rank}.ekg")
    (tmp_path / "rank-00002.ekg").write_bytes(b"nothing of the kind\n")
    both = {beat.id: beat for beat in BeatsWatch(str(tmp_path), None).poll()}
    assert (both[1].rate_hz, both[1].count) == (pytest.approx(20), 100)
    assert both[1].busy_pct == pytest.approx(20)
    one = {beat.id: beat for beat in BeatsWatch(str(tmp_path), 1).poll()}
    assert (one[1].rate_hz, one[1].count) == (pytest.approx(10), 50)


def test_what_is_not_there_yet_has_no_heartbeats(tmp_path):
    watch = BeatsWatch(str(tmp_path / "later"), None)
    assert watch.poll() == []
    FILE.save(tmp_path / "later" / "rank-00000.ekg")
    assert numbers(watch.poll()) == WHOLE


def test_the_heartbeats_of_the_process_are_found_beside_its_run(tmp_path):
    start = 1_700_000_000 * SECOND
    recorded = {"app": "app", "host": "node1", "pid": 4711, "start_unix_ns": start - 5 * MS}
    metadata = parse_metadata(json.dumps(recorded).encode(), "test")
    run = tmp_path / "gmon-app"
    run.mkdir()

    def saved(folder: str, **more: object) -> Path:
        return EkgFile(metadata={"host": "node1", **more}).save(tmp_path / folder / "rank-00000.ekg")

    assert heartbeats_of_process(str(run), metadata) is None
    saved("ekg-app", pid=4712)
    saved("ekg-app.1", host="node2")
    saved("ekg-app.2", start_unix_ns=start - 10**15)
    assert heartbeats_of_process(str(run), metadata) is None
    saved("ekg-app.3")
    assert heartbeats_of_process(str(run), metadata) == str(tmp_path / "ekg-app.3")
    saved("gmon-app")
    assert heartbeats_of_process(str(run), metadata) == str(run)


def test_what_was_skipped_counts_as_well(tmp_path):
    """1 in 100 is recorded: 100 beats a second of 1 ms, and in one second one of them has waited for a processor."""
    file = EkgFile(columns=(*COLUMNS, "executions"))
    for length in (1, 80):
        file.interval(beats(0, 1, [length * MS]) | {"executions": 100})
    file.save(tmp_path / "rank-00000.ekg")
    (line,) = BeatsWatch(str(tmp_path), None).poll()
    assert (line.rate_hz, line.busy_pct) == pytest.approx((100, (10 + 100) / 2))
