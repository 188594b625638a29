"""Waits as samples of programs that hardly use a processor."""

from __future__ import annotations

from pathlib import Path

import pytest

from incprof.model import IntervalProfile
from incprof.readers.run import open_run, read_profile
from incprof.study.comparison import _alike
from incprof.study.phase_options import StudyOptions
from incprof.study.study import Study
from tests.unit.incprof.systems.waiting.test_waiting import FUTEX, MS, SLEEP, image
from tests.unit.streamwriter import Sample, StreamWriter

WAITS, BLOCKED, ONE_WAIT = 9, 1, 2
# Numbers of the nodes, in order of their first use.
PATHS = ("main;serve", "main;rest", "main;join", "main;work")


def recorded(path: Path, *spans: tuple[int, ...], busy: int = 0) -> Path:
    writer = StreamWriter(["main", "serve", "rest", "join", "work"])
    writer.metadata["arch"] = "x86_64"
    nodes = [writer.node(each) for each in PATHS]
    sites = [(node, ()) for node in nodes]
    work = [Sample("main;work", weight=busy)] if busy else []
    writer.interval(work, images={WAITS: image(*spans, sites=sites)})
    writer.end()
    return writer.save(path / "run")


def profile_of(path: Path, *spans: tuple[int, ...], busy: int = 0) -> IntervalProfile:
    return read_profile(open_run(recorded(path, *spans, busy=busy)))


def span(begin: int, length: int, site: int, *, state: int = ONE_WAIT, call: int = SLEEP, thread: int = 0,
         waited: int | None = None) -> tuple[int, ...]:  # fmt: skip
    """A span in milliseconds, at the site of this number, from 1."""
    off = length if waited is None else waited
    return (begin * MS, length * MS, thread, off * MS, 0, 4 + state, site, call + 1, 0, 0)


def seconds(profile: IntervalProfile) -> dict[str, float]:
    total = profile.self_s.sum(axis=0)
    return {f.name: round(float(total[i]), 2) for i, f in enumerate(profile.functions) if total[i] > 0}


def test_waits_of_the_main_thread_count_in_order_of_time(tmp_path: Path) -> None:
    profile = profile_of(
        tmp_path,
        span(0, 300, 1),
        span(300, 100, 2, state=BLOCKED, waited=50),
        span(400, 100, 2, state=0),
        span(0, 1000, 3, thread=1),
    )
    assert profile.metadata.has_waits
    assert seconds(profile) == {"serve": 0.3, "rest": 0.15}
    samples = profile.samples
    assert samples.time_s.tolist() == sorted(samples.time_s.tolist())
    assert samples.weight.max() <= 8
    assert set(samples.thread.tolist()) == {0}


def test_threads_count_while_the_main_thread_waits_for_them(tmp_path: Path) -> None:
    main = (span(0, 400, 1), span(400, 400, 3, call=FUTEX))
    worker = (span(0, 400, 2, thread=1), span(400, 400, 4, thread=1))
    assert seconds(profile_of(tmp_path, *main, *worker)) == {
        "serve": 0.4, "join": 0.4, "work": pytest.approx(0.4, abs=0.05),
    }  # fmt: skip


@pytest.mark.parametrize(("busy", "waits"), [(0, True), (4, True), (8, False), (30, False)])
def test_only_programs_that_wait_nearly_all_the_time_have_them(tmp_path: Path, busy: int, waits: bool) -> None:
    profile = profile_of(tmp_path, span(0, 1000, 1, waited=1000 - 10 * busy), busy=busy)
    assert profile.metadata.has_waits is waits
    assert seconds(profile).get("work", 0.0) == busy / 100
    assert ("serve" in seconds(profile)) is waits


def test_threads_of_a_pool_without_work_do_not_hide_the_others(tmp_path: Path) -> None:
    pool = [span(0, 1000, 1, call=FUTEX, thread=each) for each in range(2, 20)]
    worker = (span(0, 500, 2, thread=1), span(500, 500, 4, thread=1))
    assert seconds(profile_of(tmp_path / "one", span(0, 1000, 3, call=FUTEX), *pool, *worker)) == {
        "rest": 0.5, "work": 0.5,
    }  # fmt: skip
    assert set(seconds(profile_of(tmp_path / "all", span(0, 1000, 3, call=FUTEX), *pool))) == {"join", "serve"}


def test_a_run_by_its_waits_is_compared_with_one_by_cpu_time_by_that(tmp_path: Path) -> None:
    rare, often, never = (
        Study(recorded(tmp_path / str(busy), span(0, 1000, 1, waited=1000 - 10 * busy), busy=busy))
        for busy in (4, 30, 0)
    )
    assert [study.recorded.metadata.has_waits for study in (rare, often, never)] == [True, False, True]
    for others, waits in (([often], [False, False]), ([never], [True, True])):
        alike = _alike([rare], others)
        assert [study.recorded.metadata.has_waits for side in alike for study in side] == waits
    assert _alike([never], [often]) == ([never], [often])  # there is no CPU time in one of them
    assert not Study(never.run, options=StudyOptions(method="paper")).recorded.metadata.has_waits


def test_a_site_at_a_node_that_the_file_cannot_have_is_at_none(tmp_path: Path) -> None:
    writer = StreamWriter(["main", "serve"])
    sites = [(2**31 - 1, ()), (writer.node("main;serve"), ())]
    writer.interval(images={WAITS: image(span(0, 500, 1), span(500, 500, 2), sites=sites)})
    writer.end()
    profile = read_profile(open_run(writer.save(tmp_path / "run")))
    assert len(profile.paths.parent) < 10
    assert seconds(profile) == {"[no application frame]": 0.5, "serve": 0.5}


def test_a_span_between_two_waits_is_half_of_each(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, span(0, 200, 1), span(200, 400, 2, state=BLOCKED), span(600, 400, 2, state=ONE_WAIT))
    assert seconds(profile) == {"serve": pytest.approx(0.4, abs=0.05), "rest": pytest.approx(0.6, abs=0.05)}
