"""What threads' counters count between MPI calls: page faults stand for instructions, as every kernel counts them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from incprof.model import FloatArray
from incprof.systems.mpi.trace_file import Trace, find_traces
from tests.integration.mpi_traces import FIXTURES, INCPROF, Mpi, run
from tests.paths import ROOT

PROBES = [float(i % 40) for i in range(100)]


def traced(mpi: Mpi, cwd: Path, how: str, asked: str = "page-faults,task-clock") -> tuple[list[FloatArray], str, str]:
    """Counts before the probes of each lane, (probes, 2); what the program wrote; why nothing was counted."""
    done = mpi.trace(1, mpi.build("counted.c"), how, cwd=cwd, INCPROF_TRACE_COUNTERS=asked)
    assert done.returncode == 0, done
    assert done.stdout.endswith("done\n"), done
    (path,) = find_traces(str(cwd / "run"))
    with Trace(path, keep_counts=True) as trace:
        events = list(trace.events())
        lanes = sorted({event.lane for event in events})
        mine = [[event for event in events if event.lane == lane] for lane in lanes]
        counts = [trace.counts.of(lane, len(own)) for lane, own in zip(lanes, mine, strict=True)]
        probes = [[event.call.function == "Iprobe" for event in own] for own in mine]
        return [c[p] for c, p in zip(counts, probes, strict=True)], done.stdout, trace.metadata.counters_missing


def skip_without_events() -> None:
    if not Path("/proc/sys/kernel/perf_event_paranoid").exists():
        pytest.skip("this kernel has no perf events")


def exact(found: FloatArray, expected: list[float], but: int = 3) -> bool:
    """Whether faults are those of the program; the first of a code bring that code into memory too."""
    return bool((found[but:] == np.array(expected[but:])).all())


@pytest.mark.parametrize("how", ["plain", pytest.param("fork", marks=pytest.mark.slow)])
def test_every_call_has_what_was_counted_before_it(mpi: Mpi, tmp_path: Path, how: str) -> None:
    """A forked child has no part in it, and is not counted."""
    skip_without_events()
    ((counts,), _, missing) = traced(mpi, tmp_path, how)
    assert missing == ""
    # A fork makes the parent's pages read-only: it touches those of its stack and data again.
    around = 53 if how == "fork" else 3
    assert exact(counts[:50, 0], PROBES[:50])
    assert exact(counts[around:, 0], PROBES[around:])
    assert (counts[:, 1] > 0).all()


@pytest.mark.slow
def test_threads_have_counters_of_their_own(mpi: Mpi, tmp_path: Path) -> None:
    skip_without_events()
    ((counts, others), _, _) = traced(mpi, tmp_path, "threads")
    assert exact(counts[:50, 0], PROBES[:50])
    assert exact(others[:, 0], [float(i % 40) for i in range(20, 50)])
    # Before the first call of a thread nothing was counted.
    assert np.isnan(others[0]).all()


def test_descriptors_that_the_program_takes_are_not_read(mpi: Mpi, tmp_path: Path) -> None:
    skip_without_events()
    ((counts,), said, _) = traced(mpi, tmp_path, "replace")
    assert "1 replaced, 10 bytes left" in said
    assert exact(counts[:50, 0], PROBES[:50])
    assert np.isnan(counts[50:]).all()


@pytest.mark.slow
def test_no_program_inherits_a_counter(mpi: Mpi, tmp_path: Path) -> None:
    _, said, _ = traced(mpi, tmp_path, "exec")
    assert said.splitlines()[0] == "0"


@pytest.mark.slow
def test_a_program_with_few_descriptors_has_them_all(mpi: Mpi, tmp_path: Path) -> None:
    skip_without_events()
    ((counts,), _, _) = traced(mpi, tmp_path, "few")
    assert np.isnan(counts).all()


@pytest.mark.slow
@pytest.mark.parametrize(("how", "asked", "why"), [("forbidden", "page-faults", "EPERM"), ("plain", "off", "off")])
def test_what_is_not_permitted_is_not_counted(mpi: Mpi, tmp_path: Path, how: str, asked: str, why: str) -> None:
    ((counts,), _, missing) = traced(mpi, tmp_path, how, asked)
    assert (counts.shape, missing) == ((100, 0), why)


def test_a_processor_without_counters_is_named(mpi: Mpi, tmp_path: Path) -> None:
    ((counts,), _, missing) = traced(mpi, tmp_path, "plain", "")
    assert (counts.shape[1] == 0) == (missing != "")
    found = run([*INCPROF, "trace", "--show", tmp_path / "run", "--json"], tmp_path)
    (rank,) = json.loads(found.stdout)["ranks"]
    assert rank["counters_missing"] == (missing or None)


def test_an_unknown_counter_is_named(mpi: Mpi, tmp_path: Path) -> None:
    words = mpi.launch(1, *INCPROF, "trace", "-o", tmp_path / "run", "--", mpi.build("counted.c"))
    done = run(words, tmp_path, INCPROF_TRACE_COUNTERS="instructions,joy")
    (line,) = [line for line in done.stderr.splitlines() if "joy" in line]
    assert "INCPROF_TRACE_COUNTERS" in line
    assert "instructions,cache-misses" in line


def built_part(tmp_path: Path, name: str, *runtime: str) -> Path:
    """Build a program of parts_fixtures that includes a file of trace/, with files of runtime/."""
    folders = (ROOT / "trace", ROOT / "trace/include", ROOT / "runtime/include")
    sources = (FIXTURES.parent / "parts_fixtures" / f"{name}.c", *(ROOT / "runtime" / f"{each}.c" for each in runtime))
    flags = ("-O1", "-g", "-fsanitize=undefined", "-fno-sanitize-recover", '-DINCPROF_VERSION="test"')
    program = tmp_path / name
    command = ["gcc", *flags, *(f"-I{folder}" for folder in folders), *map(str, sources), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def test_pages_of_a_processor_are_read_as_the_kernel_writes_them(tmp_path: Path) -> None:
    program = built_part(tmp_path, "counter_pages", "vdso")
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "done\n"


def test_a_writer_without_memory_for_a_while_goes_on_when_there_is_some(tmp_path: Path) -> None:
    program = built_part(tmp_path, "trace_memory", "buffer", "vdso")
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "done\n"
