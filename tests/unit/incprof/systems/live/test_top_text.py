"""Frames of the live view: whatever the terminal, they fit, and say the most important."""

from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.systems.live.top_text import BeatLine, frame, log_line
from incprof.systems.live.watch import Watch
from tests.unit.streamwriter import Sample, StreamWriter

BEATS = [BeatLine(i, f"solve{i}:body", 99.1 * i, 0.00123, 88.8, 1500 * i, i % 2) for i in range(1, 8)]


@pytest.fixture(scope="module")
def views(tmp_path_factory):
    """A view of a job of so many ranks, whose rank r uses r CPUs."""

    @lru_cache
    def made(ranks):
        root = tmp_path_factory.mktemp("run")
        for rank in range(ranks):
            writer = StreamWriter(["main", "solve", "io", *(f"name_of_function_{i}" for i in range(40))], rank=rank)
            for i in range(24):
                what = "solve" if i < 12 else "io"
                few = [Sample(f"main;name_of_function_{(i + j) % 40}") for j in range(5)]
                writer.interval([Sample(f"main;{what}", weight=90), *few], counters={2: rank * 10**9})
            if rank % 2:
                writer.end()
            writer.save(root)
        watch = Watch(str(root), rank=None, libs="caller", exe=None)
        watch.poll()
        watch.fit_now()
        watch.poll()
        return watch.view()

    return made


@pytest.mark.slow
@settings(deadline=None)
@given(
    ranks=st.sampled_from([1, 2, 70]), beats=st.integers(0, 7), width=st.integers(40, 220), height=st.integers(6, 90)
)
def test_a_frame_fits(views, ranks, beats, width, height):
    lines = frame(views(ranks), BEATS[:beats], width=width, height=height, note="ended")
    assert len(lines) <= height
    assert max(line.cell_len for line in lines) <= width
    assert lines[3 if height >= 16 else 2].cell_len == width


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 60)])
def test_every_part_has_a_place(views, width, height):
    text = [line.plain for line in frame(views(70), BEATS, width=width, height=height)]
    heads = ("app, pid", "24 intervals", "now  ", "Phase ", "   Now ", "  ID ", " Rank ")
    assert all(any(line.startswith(head) for line in text) for head in heads)
    assert len(text) == height


@pytest.mark.parametrize("height", [6, 9, 12])
def test_a_small_frame_has_the_most_important_lines(views, height):
    text = [line.plain.rstrip() for line in frame(views(1), BEATS[:2], width=40, height=height, note="ended")]
    assert text[:2] == ["app, rank 0, 24 s, ended", "24 intervals of 1 s, 0.00 CPUs"]
    assert text[4] == "now  1  io (loop), for 12 s"  # no room for the step
    heads = ("Phase", "   Now", "  ID")
    for head in heads[: (height - 5) // 2]:
        at = next(i for i, line in enumerate(text) if line.startswith(head))
        assert "more" not in text[at + 1]
    assert "" not in text


def test_the_most_loaded_rank_comes_first_and_those_that_ended_last(views):
    text = [line.plain for line in frame(views(6), [], width=120, height=None)]
    head = next(i for i, line in enumerate(text) if line.startswith(" Rank"))
    rows = [line.split() for line in text[head + 1 :]]
    assert [row[0] for row in rows] == ["4", "2", "0", "5", "3", "1"]
    assert ["ended" in row for row in rows] == [False] * 3 + [True] * 3


def test_without_a_height_everything_is_there(views):
    text = "\n".join(line.plain for line in frame(views(70), BEATS, width=100, height=None))
    assert "more" not in text
    assert all(f"name_of_function_{i}\n" in text + "\n" for i in range(1, 27))
    assert "name_of_function_0\n" not in text  # 0.04 % would read 0.0 %
    assert text.count(" CPUs") == 2


def test_a_line_for_a_log(views):
    line = log_line(views(2), BEATS[:1])
    assert line.startswith("24 s: phase 1 io (loop) for 12 s, ")
    assert "hot: io 9" in line
    assert "beats: solve1:body 99.1/s" in line
    assert line.endswith("ranks in 1: 2")


def test_a_line_for_a_log_has_no_endless_names(tmp_path):
    writer = StreamWriter(["main", f"{'a' * 5000}(int)"])
    for _ in range(10):
        writer.interval([Sample("main;" + writer.functions[1], weight=90)])
    watch = Watch(str(writer.save(tmp_path)), rank=None, libs="caller", exe=None)
    watch.poll()
    watch.fit_now()
    assert 80 < len(log_line(watch.view(), [])) < 400


def test_a_run_without_samples_is_reported(tmp_path):
    writer = StreamWriter()
    for _ in range(3):
        writer.interval([])
    watch = Watch(str(writer.save(tmp_path)), rank=None, libs="caller", exe=None)
    watch.poll()
    watch.fit_now()
    assert "no samples" in log_line(watch.view(), [])
