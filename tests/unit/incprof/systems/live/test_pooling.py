"""`incprof top` takes intervals of too few samples together by the rule of `incprof phases`."""

import pytest

from incprof.study.study import Study
from incprof.systems.live.watch import Watch
from tests.unit.streamwriter import Sample, StreamWriter

FUNCTIONS = ["main", "read", "solve"]


def interval(number, every):
    """One sample every so many intervals: in read first, then in solve."""
    return [Sample("main;read" if number < 600 else "main;solve")] if number % every == 0 else []


def written(root, every, end=True):
    writer = StreamWriter(FUNCTIONS, interval_s=0.01)
    for number in range(1203):
        writer.interval(interval(number, every))
    if end:
        writer.end()
    return writer.save(root)


@pytest.mark.parametrize("every", [1, 3])
def test_a_run_that_is_over(tmp_path, every):
    directory = written(tmp_path / "run", every)
    watch = Watch(str(directory), rank=None, libs="named", exe=None)
    watch.poll()
    watch.fit_now()
    study, front = Study(directory), watch.view().front
    assert (front.metadata.pooled, front.intervals) == (study.profile.metadata.pooled, study.profile.n_intervals)
    assert front.labels.tolist() == study.phases(confidence=False).labels.tolist()
    assert front.elapsed_s == pytest.approx(12.03)
    assert watch.warnings == []


def test_a_job_that_begins_with_waiting(tmp_path):
    writer = StreamWriter(FUNCTIONS)
    path = writer.save(tmp_path / "run") / "rank-00000.gmon"
    watch = Watch(str(path.parent), rank=None, libs="named", exe=None)
    seen = []
    for number in range(60):
        writer.interval([Sample("main;solve", weight=100)] if number >= 40 else [Sample("main;read")])
        path.write_bytes(writer.data)
        watch.poll()
        seen.append(watch.view().front.elapsed_s)
    assert watch.view().front.metadata.pooled == 1
    assert watch.view().front.intervals == 60
    # What is behind the last whole five of them is not shown while they are taken together.
    assert all(number + 1 - shown <= 5 for number, shown in enumerate(seen))


def test_a_killed_job_shows_all_it_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(Watch, "_has_died", lambda *_: True)
    watch = Watch(str(written(tmp_path / "run", 1, end=False)), rank=None, libs="named", exe=None)
    watch.poll()
    assert (watch.ended, watch.killed) == (True, True)
    assert watch.view().front.metadata.pooled > 1
    assert watch.view().front.elapsed_s == pytest.approx(12.03)
