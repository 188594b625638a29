"""Random MPI programs with traced calls: the same results as without tracing, and every call in the trace.

A second tool lies behind the tracer and counts calls; 2 to 8 ranks, under each MPI that there is.
"""

from __future__ import annotations

import collections
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import IncprofError
from incprof.systems.mpi.trace_file import Trace, find_traces
from soak.budget import Budget
from soak.finding import Keeper
from soak.places import empty

ROOT = Path(__file__).parents[1]
HOSTS = Path(__file__).parent / "hosts" / "mpi"
# What a container's root with few processors needs.
FLAGS = {"openmpi": ("--oversubscribe", "--allow-run-as-root"), "mpich": ()}
SETTINGS = {"OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1"}
PATIENCE_S = 300
HUNG = -100
FEWEST_RANKS, MOST_RANKS = 2, 8


@dataclass(frozen=True)
class Bench:
    """The programs of an MPI. mpi: its name, as in mpirun.NAME. program, tool: the program, and the second tool."""

    mpi: str
    program: Path
    tool: Path

    def run(self, folder: Path, ranks: int, words: list[str], *, traced: bool) -> subprocess.CompletedProcess[bytes]:
        """Run the program in a folder; the tool's counts are COUNTS.RANK there."""
        launch = [f"mpirun.{self.mpi}", *FLAGS[self.mpi], "-n", str(ranks), "env", f"LD_PRELOAD={self.tool}"]
        command = [str(self.program), *words]
        if traced:
            command = [sys.executable, "-m", "incprof", "trace", "-o", str(folder / "run"), "--", *command]
        env = {**os.environ, **SETTINGS, "COUNTS": str(folder / "counts")}
        return _run_to_its_end([*launch, *command], folder, env)


def _run_to_its_end(words: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run a launcher. A hanging one is ended with all its ranks: its status is HUNG."""
    with subprocess.Popen(
        words, cwd=folder, env=env, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as launcher:
        try:
            stdout, stderr = launcher.communicate(timeout=PATIENCE_S)
            return subprocess.CompletedProcess(words, launcher.returncode, stdout, stderr)
        except subprocess.TimeoutExpired:
            _end_session(launcher.pid)
            stdout, stderr = launcher.communicate()
            return subprocess.CompletedProcess(words, HUNG, stdout, stderr)


def _end_session(session: int) -> None:
    """End all processes of a session, in all its groups; those of other sessions end without their launcher."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = path.read_text().rpartition(")")[2].split()
            if int(after_name[3]) == session:
                os.kill(int(path.parent.name), signal.SIGKILL)
        except OSError:
            continue  # it has ended


def make_benches(place: Path) -> list[Bench]:
    """Build the program and the tool for each installed MPI."""
    found = []
    for mpi in FLAGS:
        if shutil.which(f"mpicc.{mpi}") is None:
            continue
        program, tool = place / f"draws-{mpi}", place / f"counter-{mpi}.so"
        words = [f"mpicc.{mpi}", "-g", "-O1", "-w", f"-I{ROOT / 'trace' / 'include'}"]
        subprocess.run([*words, HOSTS / "draws.c", "-o", program], check=True)
        subprocess.run([*words, "-shared", "-fPIC", HOSTS / "counter.c", "-o", tool], check=True)
        found.append(Bench(mpi, program, tool))
    return found


def _counts(folder: Path, ranks: int) -> list[dict[str, int]]:
    """Return the counts of the tool, by rank."""
    lines = [(folder / f"counts.{rank}").read_text().splitlines() for rank in range(ranks)]
    return [{name: int(count) for name, count in map(str.split, own)} for own in lines]


def _traced(folder: Path) -> Iterator[tuple[int, dict[str, int], int]]:
    """Return the calls of each function in each trace, by rank, and how many were lost."""
    for path in find_traces(str(folder / "run")):
        with Trace(path) as trace:
            calls = collections.Counter(event.call.function for event in trace.events())
            yield trace.metadata.rank, dict(calls), trace.end.lost


def _wrong(bench: Bench, folder: Path, ranks: int, words: list[str]) -> Iterator[str]:
    """Return the differences from the run without the tracer."""
    alone, traced = (empty(folder / name) for name in ("alone", "traced"))
    plain = bench.run(alone, ranks, words, traced=False)
    recorded = bench.run(traced, ranks, words, traced=True)
    for name, run in (("alone", plain), ("traced", recorded)):
        if run.returncode == HUNG:
            yield f"hung {name}: {run.stderr[-400:]!r}"
            return
    if (plain.returncode, plain.stdout) != (recorded.returncode, recorded.stdout):
        yield f"status {plain.returncode} and {plain.stdout!r}, traced {recorded.returncode} and {recorded.stdout!r}"
    if plain.returncode or recorded.returncode:
        # Nothing that is drawn fails by itself.
        yield f"status {plain.returncode}, traced {recorded.returncode}: {(plain.stderr + recorded.stderr)[-400:]!r}"
        return
    counts = _counts(alone, ranks)
    if counts != _counts(traced, ranks):
        yield "the tool behind has counted other calls"
    seen = set()
    try:
        for rank, calls, lost in _traced(traced):
            seen.add(rank)
            differ = {name: (calls.get(name, 0), n) for name, n in counts[rank].items() if calls.get(name, 0) != n}
            if differ or lost or sum(calls.values()) != sum(counts[rank].values()):
                yield f"rank {rank}: traced and counted {differ}, {lost} lost"
    except IncprofError as error:
        yield f"the trace cannot be read: {error}"
    if seen != set(range(ranks)):
        yield f"traces of ranks {sorted(seen)} of {ranks}"


def run(seed: int, budget: Budget, scratch: Path, keeper: Keeper, only: str = "") -> collections.Counter[str]:
    """Run drawn programs until the budget is spent. only: the number of one."""
    done = collections.Counter[str]()
    place = empty(scratch / "mpi")
    benches = make_benches(place)
    if not benches:
        print("mpi: no mpicc.openmpi and no mpicc.mpich: nothing is drawn", flush=True)
        return done
    for number, dice in budget.drawn("mpi", seed, only):
        bench = dice.choice(benches)
        ranks, words = dice.randint(FEWEST_RANKS, MOST_RANKS), [str(dice.randrange(1 << 32)), str(dice.randint(1, 60))]
        for wrong in _wrong(bench, place / "case", ranks, words):
            keeper.keep(f"mpi/{number}", f"{bench.mpi}, {ranks} ranks, draws {' '.join(words)}: {wrong}", {})
        done[bench.mpi] += 1
        done["ranks"] += ranks
    shutil.rmtree(place, ignore_errors=True)
    return done
