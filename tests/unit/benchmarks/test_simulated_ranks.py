"""The simulator of many ranks: its stated truth can be read from its output."""

from pathlib import Path

import pytest

from benchmarks.simulate_ranks import simulate
from benchmarks.simulated.story import Options
from benchmarks.simulated.truth import Truth
from incprof.errors import NoDataError
from incprof.model import LIBRARY
from incprof.readers.run import open_run, read_profile

OPTIONS = Options(
    ranks=8, intervals=150, seed=3, late=1, masters=1, per_node=2, truncated=(4,), missing=(5,), foreign=(6,)
)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Truth]:
    out = tmp_path_factory.mktemp("simulated")
    return out / "run", simulate(out, OPTIONS)


def test_the_truth_is_in_the_recordings(simulated: tuple[Path, Truth]) -> None:
    directory, truth = simulated
    run = open_run(directory)
    slow = {(rank, truth.raw["phases"].index(phase)) for rank, phase in truth.stragglers}
    for rank in (0, 1, 2, 3, 7):
        profile = read_profile(run, rank=rank, libs="named")
        labels = truth.labels(rank)
        assert not profile.warnings
        assert profile.n_intervals == len(labels)
        assert profile.self_s.sum() == pytest.approx(len(labels))
        waiting = profile.samples.kind == LIBRARY
        interval = profile.interval_of_samples()
        for phase in range(1, 4):
            inside = labels[interval] == phase
            if not inside.any():
                assert truth.outliers[rank]
                continue
            share = float(waiting[inside].mean())
            assert share == pytest.approx(truth.raw["waits"][truth.raw["phases"][phase]][rank], abs=0.05)
            others = {one for one, slow_phase in slow if slow_phase == phase}
            assert (share > 0.2) == bool(others - {rank}), (rank, phase)
    assert truth.outliers == {0: "master", 7: "io server"}


def test_mpi_is_named_and_phases_are_their_functions(simulated: tuple[Path, Truth]) -> None:
    directory, truth = simulated
    profile = read_profile(open_run(directory), rank=1, libs="named")
    column = {function.name: i for i, function in enumerate(profile.functions)}
    labels, own = truth.labels(1), profile.self_s.toarray()
    for phase, function in enumerate(("read_mesh", "element_matrix", "spmv", "flux", "pack")):
        assert own[labels == phase, column[function]].min() > 0.1
    assert own[labels == 2, column["MPI_Allreduce"]].mean() > 0.02
    assert not own[labels == 3, column["spmv"]].any()


def test_clocks_and_starts_are_those_requested(simulated: tuple[Path, Truth]) -> None:
    directory, truth = simulated
    (late,) = truth.raw["late"]
    clocks = truth.raw["clocks"]
    told = {}
    for rank in (0, 1, 2, 3, 7):
        raw = read_profile(open_run(directory), rank=rank).metadata.raw
        told[rank] = (raw["start_unix_ns"] - 1_700_000_000 * 10**9) / 1e9
        assert told[rank] == pytest.approx(clocks["starts_s"][rank] + clocks["offset_s"][rank], abs=1e-6)
    assert clocks["offset_s"][0] == clocks["offset_s"][1] != clocks["offset_s"][2]
    assert len(truth.labels(late["rank"])) < 150 - late["seconds"] + 2


def test_files_that_are_not_whole(simulated: tuple[Path, Truth]) -> None:
    directory, _ = simulated
    run = open_run(directory)
    assert 5 not in run.ranks
    torn = read_profile(run, rank=4)
    assert torn.damaged
    assert 60 < torn.n_intervals < 120
    with pytest.raises(NoDataError, match="not an incprof stream"):
        read_profile(run, rank=6)


@pytest.mark.slow
def test_the_same_bytes_however_many_processes_write(tmp_path: Path) -> None:
    small = Options(ranks=3, intervals=20)
    simulate(tmp_path / "run", small)
    (tmp_path / "run").rename(tmp_path / "before")
    simulate(tmp_path / "run", small, jobs=2)
    before, now = ({p.name: p.read_bytes() for p in (tmp_path / d / "run").glob("*.gmon")} for d in ("before", "run"))
    assert before == now
    assert len(now) == 3
