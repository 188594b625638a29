"""Calls that read and write, by file and path: what `record --io` counts, and that the program does not see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incprof.record.launch import IO_LIBRARY, find_library
from incprof.study import Study
from incprof.systems.io.analyse import explained
from incprof.systems.io.read import (
    BYTES,
    CALLS,
    FAILED,
    FIRST_NAME,
    OF_READING,
    OF_WRITING,
    OPERATIONS,
    READ,
    READS,
    SECONDS,
    WRITES,
    WRITTEN,
    Calls,
    Recorded,
    read_io,
)
from incprof.systems.io.sections import card
from tests.integration.collector import FIXTURES, Recording, clean_environment, run, variables
from tests.integration.conftest import Build, Record
from tests.integration.hosts import need

BURN = "burn:60"
CHARACTERS = 20000  # io_manners.c


@pytest.fixture
def script(build: Build) -> Path:
    return build("io_script.c", flags="-O2 -pthread", pg=False)


@pytest.fixture
def manners(build: Build) -> Path:
    return build("io_manners.c", flags="-O2 -pthread -Wno-unused-result", pg=False)


def library() -> Path:
    return find_library(os.environ).with_name(IO_LIBRARY)


def chosen(program: Path) -> dict[str, str]:
    """Settings that record a program with its calls."""
    return {"INCPROF_EXE": str(program), "LD_PRELOAD": f"{find_library(os.environ)}:{library()}"}


def recorded(recording: Recording, name: str = "rank-00000.gmon") -> Recorded:
    found = read_io(str(recording.directory / name))
    assert found.totals is not None
    assert not found.totals.damaged
    return found


def calls_of(recording: Recording) -> Calls:
    calls = recorded(recording).calls
    assert calls is not None
    return calls


def summed(calls: Calls, value: int, *operations: str, file: str | None = None) -> int:
    """A value of some operations, on one file or on all."""
    use = np.isin(calls.operation, [OPERATIONS.index(each) for each in operations])
    if file is not None:
        use &= np.isin(calls.file, [number for number, name in calls.names.items() if Path(name).name == file])
    return int(calls.values[use, value].sum())


def test_calls_are_counted_by_file_and_operation(script: Path, record: Record) -> None:
    words = [BURN, "open:one:w", "write:4096:100", "pwrite:100:7", "writev:1001:3", "seek:0", "read:1000:50"]
    words += ["open:two:w", "write:10:5", "pread:77:9", "fsync", "stat:missing", "sendfile:5000", BURN]
    calls = calls_of(record([script, *words], env=chosen(script), interval=0.02))
    assert summed(calls, CALLS, "write", file="one") == 110
    assert summed(calls, BYTES, "write", file="one") == 409600 + 700 + 3003
    assert summed(calls, BYTES, "read", file="one") == 50000
    assert summed(calls, CALLS, "seek", file="one") == 1
    assert summed(calls, BYTES, "write", file="two") == 50
    assert summed(calls, CALLS, "sync", file="two") == 1
    assert (summed(calls, CALLS, "stat"), summed(calls, FAILED, "stat")) == (1, 1)
    assert summed(calls, CALLS, "open") == 3
    assert summed(calls, BYTES, "write", file="null") == summed(calls, BYTES, "read", file="two") - 9 * 50


def test_a_file_opened_again_and_again_keeps_its_name_and_a_new_one_gets_its_own(script: Path, record: Record) -> None:
    words = [BURN, *(4 * ["open:one:w", "write:10:1"]), "copy", "write:10:1"]
    words += ["move:one:other", *(3 * ["open:one:w", "write:7:1"]), *(3 * ["open:other:w", "copy", "write:5:1"])]
    words += ["move:other:one", *(3 * ["open:one:w", "write:3:1"]), BURN]
    calls = calls_of(record([script, *words], env=chosen(script), interval=0.02))
    assert summed(calls, BYTES, "write", file="one") == 50 + 21 + 9
    assert summed(calls, BYTES, "write", file="other") == 15


def test_a_file_has_its_name_although_a_thousand_were_opened_before(script: Path, record: Record) -> None:
    words = [BURN, *(word for at in range(1200) for word in (f"open:f{at}:w", "write:10:1", "seek:0", "read:9:1"))]
    calls = calls_of(record([script, *words, "open:last:w", "write:1000:1", BURN], env=chosen(script)))
    assert summed(calls, BYTES, "write", file="last") == 1000
    assert {summed(calls, BYTES, "read", file=f"f{at}") for at in range(1200)} == {9}


def test_the_kernels_totals_are_explained(script: Path, record: Record) -> None:
    words = [BURN, "open:one:w", "write:4096:100", "thread:100:50", "seek:0", "read:512:999", BURN]
    found = recorded(record([script, *words], env=chosen(script)))
    assert found.totals is not None
    assert found.calls is not None
    for column, count, operation in ((READ, READS, "read"), (WRITTEN, WRITES, "write")):
        assert summed(found.calls, BYTES, operation) == found.totals.values[:, column].sum()
        assert summed(found.calls, CALLS, operation) == found.totals.values[:, count].sum()
    assert explained(found.totals, found.calls) == 1.0


def test_streams_are_a_layer_of_their_own(script: Path, record: Record) -> None:
    words = [BURN, "fopen:text:w", "fputs:0:1000", "fwrite:100:50", "fclose", "fopen:text:r"]
    words += ["getline:0:10", "fread:1000:5", "fclose", BURN]
    found = recorded(record([script, *words], env=chosen(script)))
    assert found.totals is not None
    assert found.calls is not None
    calls = found.calls
    assert summed(calls, BYTES, "stream write", file="text") == 15000 + 5000
    assert summed(calls, CALLS, "stream write", file="text") == 5
    # libc reads whole buffers.
    assert summed(calls, BYTES, "stream read", file="text") == 8192
    assert summed(calls, CALLS, "stream read", file="text") == 2
    assert summed(calls, BYTES, "write", file="text") == 0
    assert found.totals.values[:, READ].sum() == 8192
    assert explained(found.totals, calls) == 1.0


def test_rare_calls_have_their_paths(script: Path, record: Record) -> None:
    words = [BURN, "open:one:w", "pwrite:100000:60000", BURN]
    recording = record([script, *words], env=chosen(script), rate=1000)
    calls = calls_of(recording)
    writes = calls.event_operation == OPERATIONS.index("write")
    assert writes.any()
    weighed = float((calls.weight * calls.event_bytes)[writes].sum())
    # One in 5 ms of a thread's time: some sixty, if a call takes 5 us.
    assert 0.4 * 6e9 < weighed < 2.5 * 6e9
    paths = {recording._path(int(node)) for node in np.unique(calls.node[writes])}
    assert any(path[-1] == "step" for path in paths)
    assert all(path[0] == "main" for path in paths if path)
    # Each event is that of a call that took place when it says.
    assert (np.diff(calls.event_s) >= 0).all()
    assert 0 < calls.event_s.min() <= calls.event_s.max() < recording.profile.end_s[-1]


def test_the_time_of_few_large_reads_is_that_of_the_clock(build: Build, record: Record) -> None:
    """Although each follows many short ones, of which few are timed."""
    program = build("io_headers.c", flags="-O2 -pthread", pg=False)
    recording = record([program], env=chosen(program))
    calls = calls_of(recording)
    data = [number for number, name in calls.names.items() if name.endswith("/data")]
    reads = np.isin(calls.file, data) & (calls.operation == OPERATIONS.index("read"))
    assert calls.values[reads, CALLS].sum() == 15 * 41
    assert calls.values[reads, SECONDS].sum() == pytest.approx(recording.outcome.values()["data_ns"] * 1e-9, rel=0.05)


def test_the_card_names_files_and_functions(script: Path, record: Record) -> None:
    words = ["burn:400", "open:one:w", "pwrite:1000000:3000", "fsync", "burn:400"]
    recording = record([script, *words], env=chosen(script), rate=1000)
    part = card(Study(recording.directory), None)
    assert part is not None
    values = [dict(each) for each in part.values.values() if isinstance(each, dict)]
    assert sum(each["written_b"] for each in values) >= 900_000_000
    most = max(values, key=lambda each: each["written_b"])
    assert Path(most["files"][0]["name"]).name == "one"
    assert most["files"][0]["written_b"] >= 0.9 * most["written_b"] > 0
    assert most["sites"][0]["function"] == "step"
    assert most["sites"][0]["callers"][-1] == "main"
    assert any("files and calls are known of all of these bytes" in note for note in part.notes)


def test_the_card_names_inlined_functions(tmp_path: Path, build: Build, record: Record) -> None:
    source = tmp_path / "inlined.c"
    source.write_text(
        "#include <fcntl.h>\n#include <time.h>\n#include <unistd.h>\n"
        '#include "burn.h"\n#define INLINED static inline __attribute__((always_inline))\n'
        "static char block[65536];\n"
        "INLINED void put_block(int file) { if (pwrite(file, block, sizeof block, 0) < 0) _exit(1); }\n"
        "INLINED void checkpoint(int file) { for (int i = 0; i < 20; i++) put_block(file); }\n"
        "NOINLINE void step(int file) { BURN_S(0.02); checkpoint(file); KEEP_FRAME; }\n"
        'int main(void) { int file = open("data", O_RDWR | O_CREAT, 0600);\n'
        "for (int i = 0; i < 30; i++) step(file); return 0; }\n"
    )
    program = build(source, flags=f"-O2 -g -I{FIXTURES}", pg=False, output="inlined")
    part = card(Study(record([program], env=chosen(program), rate=1000).directory), None)
    assert part is not None
    (value,) = (dict(each) for each in part.values.values() if isinstance(each, dict))
    # On a busy machine, opening the file may take longer than all writes.
    most = next(each for each in value["sites"] if each["operation"] == "write")
    assert (most["function"], most["callers"]) == ("put_block", ["checkpoint", "step", "main"])


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["write", "read", "pwrite", "pread", "writev", "readv", "thread", "seek"]),
            st.sampled_from([1, 7, 4095, 4096, 65536]),
            st.integers(1, 300),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_drawn_scripts_are_counted_exactly(script: Path, record: Record, steps: Sequence[tuple[str, int, int]]) -> None:
    words = [BURN, "open:file:w", *(f"{name}:{size}:{times}" for name, size, times in steps), BURN]
    found = recorded(record([script, *words], env=chosen(script), interval=0.05))
    assert found.totals is not None
    assert found.calls is not None
    for column, count, operations in ((READ, READS, OF_READING), (WRITTEN, WRITES, OF_WRITING)):
        use = np.isin(found.calls.operation, operations)
        assert found.calls.values[use, BYTES].sum() == found.totals.values[:, column].sum()
        assert found.calls.values[use, CALLS].sum() == found.totals.values[:, count].sum()


@pytest.mark.parametrize(("end", "status"), [("", 0), ("_exit", 3), ("kill", -9), ("exec", 0)])
def test_the_program_sees_nothing_of_it(manners: Path, record: Record, end: str, status: int) -> None:
    recording = record([manners, *([end] if end else [])], env=chosen(manners), interval=0.05, status=status)
    assert recording.outcome.stdout == "ok\n" + "replaced\n" * (end == "exec")
    assert "libincprof_io" not in recording.outcome.stderr
    if end == "kill":  # the intervals until then are on record
        return
    calls = calls_of(recording)
    assert summed(calls, BYTES, "write", file="child") == 0  # it has its own recording
    assert summed(calls, BYTES, "send") == summed(calls, BYTES, "receive") == 3
    assert summed(calls, BYTES, "write", file="made") >= 14 + 10
    for name in ("characters", "characters2", "characters3"):  # before there are threads, and beside others
        assert summed(calls, BYTES, "stream write", file=name) == CHARACTERS
        assert summed(calls, BYTES, "stream read", file=name) == CHARACTERS


@pytest.mark.parametrize("how", ["alone", "off"])
def test_without_a_recording_it_is_inert(manners: Path, tmp_path: Path, how: str) -> None:
    preload = {"alone": str(library()), "off": f"{find_library(os.environ)}:{library()}"}[how]
    env = clean_environment() | {"LD_PRELOAD": preload, "INCPROF_DISABLE": "1"}
    done = subprocess.run([manners], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "ok\n")
    # The program's own children are preloaded, too.
    assert set(done.stderr.splitlines()) <= {"incprof: libincprof_io.so records nothing without libincprof.so"}
    assert bool(done.stderr) == (how == "alone")


def test_a_forked_child_counts_its_own_calls(script: Path, record: Record, tmp_path: Path) -> None:
    source = tmp_path / "parent.py"
    source.write_text(
        "import os\n"
        "def burn(n):\n    return sum(i * i for i in range(n))\n"
        "burn(2000000)\n"
        "with open('parent', 'wb', buffering=0) as f: [f.write(b'parent') for _ in range(100)]\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    burn(2000000)\n"
        "    with open('child', 'wb', buffering=0) as f: [f.write(b'kid') for _ in range(70)]\n"
        "    burn(2000000)\n    os._exit(0)\n"
        "os.waitpid(pid, 0)\nburn(2000000)\n"
    )
    python = Path(sys.executable).resolve()
    recording = record([python, "-S", "-E", source], env=chosen(python), interval=0.1)
    mine = calls_of(recording)
    assert summed(mine, BYTES, "write", file="parent") == 600
    assert summed(mine, BYTES, "write", file="child") == 0
    (other,) = recording.directory.glob("rank-00000.*.gmon")
    child = recorded(recording, other.name)
    assert child.calls is not None
    assert child.totals is not None
    assert summed(child.calls, BYTES, "write", file="child") == 210
    assert summed(child.calls, BYTES, "write", file="parent") == 0
    assert child.totals.values[:, WRITTEN].sum() == 210
    assert min(child.calls.names) == FIRST_NAME


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_calls_of_mpi_on_files_have_their_bytes(build: Build, tmp_path: Path, mpi: str) -> None:
    need(f"mpicc.{mpi}", f"mpirun.{mpi}")
    program = build("mpi_files.c", flags="-O1", compiler=f"mpicc.{mpi}", pg=False)
    flags = ["--oversubscribe", "--allow-run-as-root"] if mpi == "openmpi" else []
    environment = variables(tmp_path / "run", preload=str(library())) | {"INCPROF_EXE": str(program)}
    run([f"mpirun.{mpi}", *flags, "-np", "2", program, "1000", "30"], tmp_path, environment)
    moved, calls_made, written = dict[str, float](), dict[str, float](), 0.0
    for stream in sorted((tmp_path / "run").glob("rank-*.gmon")):
        calls = read_io(str(stream)).calls
        assert calls is not None
        of_mpi = calls.operation == OPERATIONS.index("MPI-IO")
        for number, values in zip(calls.file[of_mpi].tolist(), calls.values[of_mpi], strict=True):
            name = calls.names[number]
            calls_made[name] = calls_made.get(name, 0) + values[CALLS]
            moved[name] = moved.get(name, 0) + values[BYTES]
            assert values[FAILED] == 0
        of_file = np.isin(calls.file, [number for number, name in calls.names.items() if Path(name).name == "field"])
        written += calls.values[of_file & (calls.operation == OPERATIONS.index("write")), BYTES].sum()
    size = (tmp_path / "field").stat().st_size
    assert size == 2 * 30 * 8000
    assert written == moved["MPI_File_write_at_all"] == size
    assert moved["MPI_File_read_at"] == 2 * 8000
    assert {name: calls_made[name] for name in ("MPI_File_open", "MPI_File_close")} == {
        "MPI_File_open": 2,
        "MPI_File_close": 2,
    }
    assert calls_made["MPI_File_write_at_all"] == 60


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--io", "--format", "gmon", "--", "true"], "record: --io needs a stream: leave out --format gmon"),
        (["--io", "--external", "--", "true"], "record: --io needs a library inside the program"),
    ],
)
def test_it_is_refused_where_nothing_could_be_recorded(words: list[str], message: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "incprof", "record", *words]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.slow
def test_typed_in_a_shell(script: Path, tmp_path: Path) -> None:
    incprof = [sys.executable, "-m", "incprof"]
    words = [str(script), "burn:300", "open:one:w", "pwrite:100000:40000"]
    record = [*incprof, "record", "--io", "-o", "run", "--", *words]
    done = subprocess.run(record, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    shown = [*incprof, "phases", "run", "--card", "--json"]
    done = subprocess.run(shown, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=60)
    cards = [phase["card"]["io"] for phase in json.loads(done.stdout)["phases"]]
    files = {Path(one["name"]).name: one for each in cards for one in each["files"]}
    assert files["one"]["written_b"] >= 2_000_000_000
    assert {site["function"] for each in cards for site in each["sites"]} >= {"step"}
