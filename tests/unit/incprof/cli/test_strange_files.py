"""Runs in which something else stands in the place of a file: one line for each, and nothing is waited for."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from incprof.cli.main import main
from incprof.readers.gmon_directory import read_gmon
from incprof.readers.run import open_run
from incprof.readers.stream.stream_files import Source
from incprof.source.compile_check import sources_that_include
from incprof.source.languages import read_source
from incprof.symbols.addr2line import LARGEST, without_symbols
from incprof.systems.openmp.read import LoopReader
from tests.unit.ekgfiles import EkgFile, beats
from tests.unit.incprof.systems.openmp.test_loop_file import TEXT
from tests.unit.places import PLACES, a_hole, patience, put
from tests.unit.profiles import two_phase_run
from tests.variants import mostly_slow

Place = Callable[[Path], None]
STORES = ("beat-cost.json", "sources.json", "placed-sites.json")


def told(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with patience():
        status = main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert "internal error" not in err
    assert "Traceback" not in err
    return status, out, err


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return two_phase_run(tmp_path / "run", ranks=(0, 1))


@pytest.mark.parametrize("place", mostly_slow(3, PLACES))
def test_a_stream(place: Place, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Phases are those of the ranks that can be read; what shows one rank has none to show."""
    put(place, run / "rank-00000.gmon")
    status, _, err = told(capsys, "phases", run)
    assert (status, "rank-00000.gmon" in err) == (5, True)
    status, out, err = told(capsys, "top", "--once", run)
    assert (status, "rank 1" in out, "rank-00000.gmon" in err) == (0, True, True)
    assert told(capsys, "phases", run, "--rank", 1)[0] == 5
    assert told(capsys, "phases", run, "--rank", 1, "--ranks", 1)[0] == 0


@pytest.mark.parametrize("place", mostly_slow(1, PLACES))
def test_a_stream_on_pages_and_in_exports(place: Place, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(place, run / "rank-00000.gmon")
    for verb, wanted in ((["report", "-o", "-"], 5), (["export", "--format", "gprof"], 4)):
        status, _, err = told(capsys, *verb, run)
        assert (status, "rank-00000.gmon" in err) == (wanted, True)


@pytest.mark.parametrize("place", mostly_slow(2, PLACES))
def test_the_program_in_the_run(place: Place, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (snapshot,) = (run / "symbols").iterdir()
    shutil.copy(snapshot, run.parent / "app")
    put(place, snapshot)
    status, _, err = told(capsys, "phases", run)
    assert (status, "neither the program nor its symbols are here" in err) == (4, True)
    assert told(capsys, "phases", run, "--exe", run.parent / "app")[0] == 0
    status, _, err = told(capsys, "phases", run, "--exe", snapshot)
    assert (status, str(snapshot) in err) == (4, True)


@pytest.mark.parametrize("place", mostly_slow(2, PLACES))
def test_answers_beside_the_run(place: Place, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (snapshot,) = (run / "symbols").iterdir()
    for name in ("sources.json", "beat-cost.json", "symbols/{}.json", "symbols/{}.jumps.json"):
        put(place, run / name.format(snapshot.stem))
    (run.parent / "src").mkdir()
    (run.parent / "src/app.c").write_text("int main(void)\n{\n\treturn 0;\n}\n")
    assert told(capsys, "sites", run, "--source", run.parent / "src")[0] == 0


@pytest.mark.parametrize("place", mostly_slow(2, PLACES))
def test_the_sites_that_were_placed(place: Place, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    EkgFile().interval(beats(0, 1, [5])).end().save(run.parent / "ekg/rank-00000.ekg")
    put(place, run / "placed-sites.json")
    assert told(capsys, "validate", run, run.parent / "ekg")[0] in (0, 1, 4)


@pytest.mark.parametrize("place", mostly_slow(2, PLACES))
def test_files_of_gmon_out(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(place, tmp_path / "gmon-0.0")
    status, _, err = told(capsys, "phases", tmp_path, "--exe", "/bin/true")
    assert (status, str(path) in err) == (4, True)
    put(place, tmp_path / "gmon-meta.0.json")
    status, _, err = told(capsys, "phases", tmp_path, "--exe", "/bin/true")
    assert (status, "gmon-meta.0.json" in err) == (4, True)


@pytest.mark.parametrize("place", mostly_slow(2, PLACES))
def test_a_file_of_heartbeats(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank in (0, 1):
        EkgFile(rank).interval(beats(0, 1, [5])).end().save(tmp_path / f"ekg/rank-0000{rank}.ekg")
    put(place, tmp_path / "ekg/rank-00000.ekg")
    status, out, err = told(capsys, "heartbeats", tmp_path / "ekg", "--json")
    assert (status, len(json.loads(out)["heartbeats"]), "rank-00000.ekg" in err) == (5, 1, True)


@pytest.mark.parametrize("place", mostly_slow(2, PLACES))
def test_heartbeats_beside_a_running_job(place: Place, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run.parent / "ekg-app").mkdir()
    put(place, run.parent / "ekg-app/rank-00000.ekg")
    assert told(capsys, "top", "--once", run)[0] == 0
    assert told(capsys, "top", "--once", run, "--heartbeats", run.parent / "ekg-app")[0] == 0


@pytest.mark.parametrize("place", mostly_slow(2, PLACES))
def test_loops_of_a_run(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(place, tmp_path / "rank-00000.sa")
    for words in ([tmp_path], [path], ["--baseline", tmp_path, tmp_path]):
        status, _, err = told(capsys, "selfanalyze", *words)
        assert (status in (1, 4), err.count("\n")) == (True, 1)


@pytest.mark.parametrize("place", mostly_slow(2, PLACES))
def test_programs(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(place, tmp_path / "app")
    status, _, err = told(capsys, "check", path)
    assert (status in (1, 4), str(path) in err) == (True, True)
    # The kernel has the last word: nothing here is executable. What Python ignores is ignored again then.
    assert told(capsys, "record", "--", path)[0] in (126, 127)
    assert {signal.getsignal(number) for number in (signal.SIGPIPE, signal.SIGXFSZ)} == {signal.SIG_IGN}


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
@pytest.mark.parametrize("place", mostly_slow(2, PLACES))
def test_series(place: Place, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    path = put(place, tmp_path / f"series{suffix}")
    status, _, err = told(capsys, "periods", path)
    assert (status, str(path) in err) == (4, True)


@pytest.mark.parametrize("place", [place for place in PLACES if place is not a_hole])
def test_the_history_of_heartbeats(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    EkgFile().interval(beats(0, 1, [5])).end().save(tmp_path / "ekg/rank-00000.ekg")
    path = put(place, tmp_path / "history")
    status, _, err = told(capsys, "heartbeats", tmp_path / "ekg", "--history", path)
    assert (status in (1, 2), f"--history {path}: " in err) == (True, True)


@pytest.mark.parametrize("place", mostly_slow(2, PLACES))
def test_sources(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(place, tmp_path / "a.c")
    (tmp_path / "b.c").write_text('#include "b.h"\n')
    with patience():
        assert sources_that_include("b.h", str(tmp_path), [str(path), str(tmp_path / "b.c")], 9) == [
            str(tmp_path / "b.c")
        ]
        with pytest.raises(Exception, match=r"a\.c: cannot be read"):
            read_source(path)
    assert told(capsys, "instrument", "--source", tmp_path, "--remove")[0] in (0, 4)


def test_a_stream_that_is_a_link_out_of_the_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "rank-00000.gmon").rename(run.parent / "elsewhere")
    (run / "rank-00000.gmon").symlink_to(run.parent / "elsewhere")
    assert "leads out of" in told(capsys, "phases", run)[2]
    run.rename(run.parent / "moved")
    run.symlink_to("moved")
    assert told(capsys, "phases", run, "--rank", 1, "--ranks", 1)[0] == 0


def test_a_stream_that_grew_into_a_hole_keeps_its_intervals(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.truncate(run / "rank-00000.gmon", 1 << 40)
    status, out, _ = told(capsys, "phases", run, "--json")
    assert (status, json.loads(out)["run"]["intervals"]) == (5, 20)
    with Source(str(run / "rank-00000.gmon")) as source:
        assert source.find(b"gmon", 1 << 30, 1 << 40) == -1


def test_loops_before_a_hole_are_reported(tmp_path: Path) -> None:
    (tmp_path / "rank-00000.sa").write_bytes(TEXT)
    os.truncate(tmp_path / "rank-00000.sa", 1 << 40)
    reader = LoopReader(tmp_path / "rank-00000.sa")
    with patience(), pytest.raises(OSError, match="a hole"):
        reader.update()
    assert len(reader.run().loops) == 1


def test_heartbeats_before_a_hole_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = EkgFile().interval(beats(0, 1, [5])).save(tmp_path / "rank-00000.ekg")
    os.truncate(path, 1 << 40)
    status, out, err = told(capsys, "heartbeats", tmp_path, "--json")
    assert (status, json.loads(out)["heartbeats"][0]["count"], "a hole of" in err) == (5, 1, True)
    assert len(open_run(two_phase_run(tmp_path / "run")).processes) == 1


def test_programs_are_copied_up_to_a_size(tmp_path: Path) -> None:
    shutil.copy("/bin/true", tmp_path / "app")
    os.truncate(tmp_path / "app", LARGEST + 1)
    with pytest.raises(OSError, match="too large"), without_symbols(str(tmp_path / "app")):
        pass


def test_a_gmon_file_larger_than_any(tmp_path: Path) -> None:
    put(a_hole, tmp_path / "gmon.out")
    with pytest.raises(Exception, match="larger than 1024 MiB"):
        read_gmon(str(tmp_path / "gmon.out"))


def test_an_array_that_is_no_more_than_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The array is mapped by its descriptor."""
    np.save(tmp_path / "series.npy", np.arange(300.0) % 7)
    assert told(capsys, "periods", tmp_path / "series.npy")[0] == 0
