"""Ranks of one launch meet in one directory, one file each; launches do not mix; no scheduler is needed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from incprof.readers.run import open_run, read_profile
from incprof.study import Study
from tests.integration.collector import run, variables
from tests.integration.hosts import BuildHost, calls, collector_lines, streams
from tests.recordings.kept import kept


@dataclass(frozen=True)
class Implementation:
    """An MPI's compiler and launcher. `flags`: what a container's root with few cores needs."""

    name: str
    flags: tuple[str, ...] = ()

    def launch(self, program: Path, ranks: int) -> list[str | Path]:
        return [f"mpirun.{self.name}", *self.flags, "-np", str(ranks), program]


OPEN_MPI = Implementation("openmpi", ("--oversubscribe", "--allow-run-as-root"))
QUIET = {
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_plm_rsh_agent": "",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


@pytest.fixture(
    params=[OPEN_MPI, pytest.param(Implementation("mpich"), marks=pytest.mark.slow)], ids=lambda mpi: mpi.name
)
def mpi(request: pytest.FixtureRequest) -> Implementation:
    """Both implementations, as far as they are installed."""
    found: Implementation = request.param
    for tool in (f"mpicc.{found.name}", f"mpirun.{found.name}"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    return found


def build(host: BuildHost, mpi: Implementation) -> Path:
    return host("ranks.c", compiler=f"mpicc.{mpi.name}", output=f"ranks-{mpi.name}")


@pytest.mark.parametrize("ranks", [2, 4])
def test_one_directory_one_file_each(host: BuildHost, tmp_path: Path, mpi: Implementation, ranks: int) -> None:
    directory = tmp_path / "run"
    outcome = run(mpi.launch(build(host, mpi), ranks), tmp_path, {**variables(directory, interval=0.1), **QUIET})
    assert (outcome.status, outcome.stdout) == (0, f"size {ranks}\n"), outcome
    assert collector_lines(outcome) == []
    assert streams(directory) == [f"rank-{rank:05}.gmon" for rank in range(ranks)]
    found = open_run(directory)
    assert found.ranks == tuple(range(ranks))
    for rank in range(ranks):
        profile = read_profile(found, rank=rank)
        assert calls(profile)["tick"] == 100 + rank
        assert (profile.metadata.rank, profile.metadata.ranks) == (rank, ranks)
    assert not (tmp_path / "run.1").exists()


def test_one_file_for_the_node(host: BuildHost, tmp_path: Path, mpi: Implementation) -> None:
    environment = {**variables(tmp_path / "run", interval=0.1), **QUIET, "INCPROF_GATHER": "node"}
    outcome = run(mpi.launch(build(host, mpi), 4), tmp_path, environment)
    assert (outcome.status, outcome.stdout, collector_lines(outcome)) == (0, "size 4\n", [])
    assert len(list((tmp_path / "run").glob("node-*.gmon"))) == 1
    assert streams(tmp_path / "run") == []
    found = open_run(tmp_path / "run")
    assert [calls(read_profile(found, rank=rank))["tick"] for rank in found.ranks] == [100, 101, 102, 103]


def test_what_stands_between_the_launcher_and_a_rank(host: BuildHost, tmp_path: Path, mpi: Implementation) -> None:
    """A shell, or a tool that measures, which is the rank's parent."""
    between = ["sh", "-c", '"$0"; exit $?', build(host, mpi)]
    environment = {**variables(tmp_path / "run", interval=0.1), **QUIET}
    outcome = run([*mpi.launch(Path("env"), 3), *between], tmp_path, environment)
    assert (outcome.status, outcome.stdout, collector_lines(outcome)) == (0, "size 3\n", [])
    assert open_run(tmp_path / "run").ranks == (0, 1, 2)
    assert not (tmp_path / "run.1").exists()


def test_launches_do_not_mix(host: BuildHost, tmp_path: Path, mpi: Implementation) -> None:
    """A second mpirun into the same INCPROF_DIR takes DIR.1, all of its ranks together."""
    program, environment = build(host, mpi), {**variables(tmp_path / "run", interval=0.1), **QUIET}
    for _ in range(2):
        assert run(mpi.launch(program, 2), tmp_path, environment).status == 0
    assert streams(tmp_path / "run") == streams(tmp_path / "run.1") == ["rank-00000.gmon", "rank-00001.gmon"]
    assert not (tmp_path / "run.2").exists()


def test_default_directory(host: BuildHost, tmp_path: Path, mpi: Implementation) -> None:
    environment = {**variables(tmp_path, interval=0.1), **QUIET, "INCPROF_DIR": ""}
    assert run(mpi.launch(build(host, mpi), 2), tmp_path, environment).status == 0
    assert streams(tmp_path / f"gmon-ranks-{mpi.name}") == ["rank-00000.gmon", "rank-00001.gmon"]


@pytest.mark.parametrize(
    ("chosen", "recorded"),
    [
        ("0,2-3", (0, 2, 3)),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("every:2", (0, 2)), ("per-node:3", (0, 1, 2)))),
        ("3,per-node:1", (0, 3)),
    ],
)
def test_chosen_ranks(
    host: BuildHost, tmp_path: Path, mpi: Implementation, chosen: str, recorded: tuple[int, ...]
) -> None:
    """Ranks come from the launcher's variables; only the lowest recorded one prints the line at the end."""
    environment = {**variables(tmp_path / "run", interval=0.1), **QUIET, "INCPROF_CLOSING_LINE": "0" * 10}
    outcome = run(mpi.launch(build(host, mpi), 4), tmp_path, {**environment, "INCPROF_RANKS": chosen})
    assert outcome.status == 0
    found = open_run(tmp_path / "run")
    assert found.ranks == recorded
    # So that the others do not appear lost.
    assert read_profile(found, rank=recorded[-1]).metadata.raw["selected"] is True
    (line,) = collector_lines(outcome)
    assert f"of rank {recorded[0]} in" in line


def test_program_without_mpi_under_mpirun(host: BuildHost, tmp_path: Path, mpi: Implementation) -> None:
    """Ranks come from the launcher's environment: no MPI call is needed, and none is made."""
    environment = {**variables(tmp_path / "run", interval=0.1), **QUIET}
    outcome = run([*mpi.launch(host("ends.c"), 2), "return"], tmp_path, environment)
    assert outcome.status == 0
    assert streams(tmp_path / "run") == ["rank-00000.gmon", "rank-00001.gmon"]


def test_ranks_are_in_the_same_phases_whichever_is_shown(tmp_path: Path) -> None:
    """The last rank has twice as much to do in the first stage; the others wait for it. A recording that is kept."""
    directory = kept("balance", tmp_path).run
    studies = [Study(directory, rank=rank) for rank in range(3)]
    sites = [
        [(s.function.name, s.kind) for p in study.phases(confidence=False).phases for s in p.sites] for study in studies
    ]
    assert sites[0] == sites[1] == sites[2]
    assert {name.split("_")[0] for name, _ in sites[0]} >= {"relax", "transport"}
    found = studies[0].ranks
    assert found is not None
    (first,) = (
        p.id for p in studies[0].phases(confidence=False).phases if any(s.function.name == "relax" for s in p.sites)
    )
    assert found.phases[first].slowest == 2
    # Twice as much as the others: 4/3 of the mean, less one, is 1/2.
    assert found.phases[first].work.imbalance == pytest.approx(0.5, abs=0.1)
