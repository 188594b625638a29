"""What is drawn of a run's MPI calls: in a picture, and on a page beside a profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from incprof.cli.main import main
from incprof.systems.mpi.mpi_page import drawn
from incprof.systems.mpi.run_signature import find_signature
from tests.unit.incprof.cli.verbs.test_report import outline
from tests.unit.profiles import two_phase_run
from tests.unit.tracefile import (
    BARRIER,
    KNOWN,
    WORLD,
    Coder,
    Timed,
    block,
    end,
    metadata,
    send,
    steady,
    thing,
    write_run,
)

ROUNDS = 20


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    """Two ranks that send 80 bytes to each other and wait for each other, in rounds; the second begins otherwise."""
    directory = write_run(tmp_path / "run")
    odd = [Timed(send(size=8, site_number=2), 0, 100, 0), Timed(BARRIER, 200, 300, 0)]
    later = [Timed(one.key, one.start_ns + 1000, one.end_ns + 1000, one.work_ns) for one in steady(ROUNDS)]
    events = block(2, 0, KNOWN + thing(1, 0, 1, 2, WORLD) + Coder().events([*odd, *later]))
    (directory / "rank-00001.mpi").write_bytes(metadata(rank=1) + events + end())
    return directory


def test_a_phase_has_one_number_in_all_ranks_and_messages_are_counted_once(traced: Path) -> None:
    signature, _ = find_signature(str(traced), jobs=1)
    shown = drawn(str(traced), signature)
    assert {phase for row in shown.parts.tolist() for phase in row} == {-1, 0}
    assert shown.phases == 1
    assert shown.bytes.tolist() == [[0, 80 * ROUNDS], [80 * ROUNDS + 8, 0]]
    assert [(one.function, one.calls) for one in shown.places] == [("Barrier", 41), ("Send", 40), ("Send", 1)]
    assert sum(one.seconds for one in shown.places) == pytest.approx(shown.mpi_s)


@pytest.mark.parametrize("form", ["svg", *(pytest.param(form, marks=pytest.mark.slow) for form in ("png", "pdf"))])
def test_the_same_picture_each_time(
    traced: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    target = tmp_path / f"a.{form}"
    drawings = []
    for _ in range(2):
        assert main(["signature", str(traced), "--jobs", "1", "--plot", str(target), "--force"]) == 0
        drawings.append(target.read_bytes())
    assert drawings[0] == drawings[1]
    assert main(["signature", str(traced), "--plot", str(target)]) == 2
    assert "exists" in capsys.readouterr().err


def test_a_page_has_the_traces_of_its_run_or_those_that_are_named(
    traced: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile, target = two_phase_run(tmp_path / "profile"), tmp_path / "a.html"
    words = ["report", str(profile), "-o", str(target), "--force", "--jobs", "1"]
    assert main(words) == 0
    assert "mpi-title" not in target.read_text()
    assert main([*words, "--trace", str(traced)]) == 0
    page = target.read_text()
    assert "MPI" in outline(page).heads
    assert "rank 0 to rank 1: 1.56 KiB" in page
    assert "rank 1 to rank 0: 1.57 KiB" in page
    assert main([*words, "--trace", str(profile)]) == 4
    for path in traced.iterdir():
        path.rename(profile / path.name)
    assert main(words) == 0
    assert target.read_text() == page
    (profile / "rank-00001.mpi").write_bytes(b"MPI\n")
    assert main(words) == 5
    assert "rank-00001.mpi: its start is damaged" in capsys.readouterr().err
    (profile / "rank-00000.mpi").write_bytes(b"")
    # A profile is shown whatever became of the traces.
    assert main(words) == 5
    assert "mpi-title" not in target.read_text()
