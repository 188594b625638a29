import io

import numpy as np
import pytest
from rich.cells import cell_len

from incprof.cli.main import main
from incprof.report.words import formatting as words
from tests.unit.ekgfiles import COLUMNS, EkgFile, beats, simple_run

MS = 1_000_000


def text(capsys, *args):
    assert main(["heartbeats", *map(str, args)]) == 0
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")


def test_table_and_timelines(tmp_path, capsys):
    lines = text(capsys, simple_run(tmp_path, ranks=2)).splitlines()
    assert lines[0] == "app, 2 ranks, 4 threads, 4 intervals of 1 s, 4 s"
    head = next(line for line in lines if line.startswith("ID"))
    for name in ("Name", "Count", "Rate /s", "Mean", "5-95 %", "Min", "Max", "Std", "Wall %", "Imb. %"):
        assert name in head
    assert "In progress" not in head
    first, second = (next(line for line in lines if line.startswith(f" {at}")) for at in (1, 2))
    assert first.split() == "1 assemble:body 16 2 200 ms 200 ms - 200 ms 200 ms 200 ms 0 s 40 0.0".split()
    assert second.split()[-2:] == ["30", "33.3"]
    assert " 1  assemble:body  ████  max 40 %" in lines
    assert max(map(len, lines)) <= 110


def test_time_runs_from_left_to_right(tmp_path, capsys):
    file = EkgFile().beat(1, "burst").beat(2, "ping")
    for ms in (0, 125, 250, 1000):
        file.interval(*([beats(0, 1, [ms * MS])] if ms else []), beats(1, 2, pulses=1 + ms // 500))
    lines = text(capsys, file.end().save(tmp_path / "rank-00000.ekg")).splitlines()
    assert " 1  burst   ▁▂█  max 100 %" in lines
    assert " 2  ping   ▃▃▃█  max 3 pulses" in lines
    assert any(line.split()[:4] == ["2", "ping", "6", "pulses"] for line in lines)


def test_counters_and_rate_factors_are_reported(tmp_path, capsys):
    file = EkgFile().beat(1, "often", 100).interval(beats(0, 1, [5]), dropped=3, abandoned=1).interval(lost_intervals=0)
    out = text(capsys, file.end().save(tmp_path / "rank-00000.ekg"))
    assert "3 beats dropped (tables full), 1 beats open when their thread ended\n" in out
    assert "often /100" in out
    assert "one beat in N was recorded" in out


def test_no_rows(tmp_path, capsys):
    out = text(capsys, EkgFile().interval().end().save(tmp_path / "rank-00000.ekg"))
    assert out == "app, 1 rank, 0 threads, 1 interval of 1 s, 1 s\n\nno heartbeats\n"


@pytest.mark.slow
def test_thousands_of_ids(tmp_path, capsys):
    file = EkgFile()
    for number in range(2000):
        file.beat(number, f"phase {number}")
    file.interval(*(beats(0, number, [1000 + number]) for number in range(2000)))
    path = file.end().save(tmp_path / "rank-00000.ekg")
    lines = text(capsys, path).splitlines()
    assert len(lines) == 2 + 1 + 40 + 1 + 40 + 1 + 2
    assert lines[-1] == "1960 more heartbeats, with less time each: --all, --id or --json"
    assert lines[3].startswith("1960  phase 1960")
    assert len(text(capsys, path, "--all").splitlines()) == 2 + 1 + 2000 + 1 + 2000 + 1


def test_names_do_nothing_to_the_terminal(tmp_path, capsys):
    file = EkgFile(metadata={"app": "\x1b[31mred\n"}).beat(1, "a\x1b]0;title\x07\nb" + "x" * 100).beat(2, "计算" * 40)
    file.interval(beats(0, 1, [5]), beats(0, 2, [5]))
    out = text(capsys, file.end().save(tmp_path / "rank-00000.ekg"))
    assert "\x1b" not in out
    assert "\x07" not in out
    assert max(map(cell_len, out.splitlines())) <= 110


def test_plain_ascii_where_the_encoding_has_no_blocks(tmp_path, monkeypatch):
    run = simple_run(tmp_path)
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["heartbeats", str(run)]) == 0
    assert b" 1  assemble:body  @@@@  max 40 %" in raw.getvalue()


def test_a_name_that_the_encoding_does_not_have(tmp_path, monkeypatch):
    path = EkgFile().beat(1, "Lösung").interval(beats(0, 1, [5])).end().save(tmp_path / "rank-00000.ekg")
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["heartbeats", str(path)]) == 0
    assert b"L\\xf6sung" in raw.getvalue()


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "-"), (0, "0 s"), (1e-9, "1 ns"), (1.5e-10, "0.1 ns"), (999.4e-9, "999 ns"), (999.6e-9, "1 us"),
     (0.0123, "12.3 ms"), (1, "1 s"), (59.94, "59.9 s"), (99.96, "100 s"), (12345.6, "12346 s")],
)  # fmt: skip
def test_seconds(value, expected):
    assert words.seconds(value) == expected


def test_sparkline_keeps_small_and_short_things_visible():
    values = np.zeros(1000)
    values[500] = 1e-6
    values[0] = 1.0
    line, top = words.sparkline(values, 100, blocks=True)
    assert (len(line), line[0], line[50], line[99], top) == (100, "█", "▁", " ", 0.1)
    assert words.sparkline(np.array([1.0, 2.0, 3.0]), 2, blocks=False) == ("=@", 2.5)


def test_thinned_and_bounded_beats_are_reported(tmp_path, capsys):
    """A recorded beat of 10 ms stands for 500: 5 s of a second. Skipping as many costs 2.5 % of it."""
    prices = {"pair_ns": 100.0, "skipped_ns": 5.0}
    file = EkgFile(columns=(*COLUMNS, "executions"), metadata=prices).beat(1, "row").beat(2, "solve")
    row, other = beats(0, 1, [10 * MS] * 10) | {"executions": 5_000_000}, beats(0, 2, [5]) | {"executions": 1}
    out = text(capsys, file.interval(row, other).end().save(tmp_path / "rank-00000.ekg"))
    (line,) = (line for line in out.splitlines() if line.startswith(" 1  row /500000"))
    assert "100!" in line.split()
    assert "thinned at run time" in out
    assert "(EKG_OVERHEAD): id 1\n" in out
    assert "id 1 costs 2.5 % of its threads' time even when thinned: put it around the loop\n" in out
    assert "that time was used instead: id 1\n" in out
