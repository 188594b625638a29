"""Waits of servers under load, of an MPI program with a late sender, and under a limit of CPU time."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from incprof.cli.main import main
from incprof.systems.waiting.analyse import waits_by_thread
from incprof.systems.waiting.causes import kinds_of
from incprof.systems.waiting.read import read_waits
from tests.integration.collector import find_library, run, variables
from tests.integration.conftest import Build, Record
from tests.integration.hosts import need

NOBODY = 65534
INCPROF = [sys.executable, "-m", "incprof"]
# fdatasync() of a file in memory takes .3 us, on a disk .15 ms and more.
DISK_S = 0.00005
PORT = 20000 + os.getpid() % 10000
MPI = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_hwloc_base_binding_policy": "none"}
pytestmark = pytest.mark.slow


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A directory that other users may enter."""
    with tempfile.TemporaryDirectory(prefix="incprof-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def found_in(streams: Iterable[Path]) -> tuple[dict[tuple[str, str], float], float]:
    """Seconds of the first threads by reason, and without a processor."""
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    delayed = 0.0
    for stream in streams:
        waits = read_waits(str(stream), str(stream.parent))
        if waits is None:
            continue
        kinds = kinds_of(waits)
        table = waits_by_thread(waits, kinds, waits.end_s - waits.begin_s)
        row = table.threads.tolist().index(0)
        delayed += float(table.delayed[row])
        for reason, value in zip([*kinds.reason, ("unknown", "")], table.seconds[row].tolist(), strict=True):
            seconds[reason[0], reason[1]] += value
    return seconds, delayed


def until(works: Callable[[], bool]) -> None:
    for _ in range(600):
        if works():
            return
        time.sleep(0.1)
    pytest.fail("the server does not answer")


def two_longest(seconds: dict[tuple[str, str], float]) -> set[tuple[str, str]]:
    return set(sorted(seconds, key=lambda reason: -seconds[reason])[:2])


def reasons_of_redis(directory: Path) -> set[tuple[str, str]]:
    """What a redis that stores each write in ``directory`` waits for: its clients, and the disk if there is one."""
    took_s = []
    with (directory / "probe").open("wb", buffering=0) as probe:
        for _ in range(50):
            probe.write(bytes(64))
            begin_s = time.monotonic()
            os.fdatasync(probe.fileno())
            took_s.append(time.monotonic() - begin_s)
    is_on_disk = statistics.median(took_s) >= DISK_S
    return {("network", "epoll"), *([("io", "file")] if is_on_disk else [])}


def test_redis_waits_for_clients_and_for_its_file(tmp_path: Path) -> None:
    need("redis-server", "redis-cli", "redis-benchmark")
    client = ["redis-cli", "-p", str(PORT)]
    options = ["--port", str(PORT), "--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    with (tmp_path / "log").open("w") as log:
        words = [*INCPROF, "record", "-o", tmp_path / "run", "--", "redis-server", *options, "--dir", tmp_path]
        server = subprocess.Popen(words, stdout=log, stderr=log)
        until(lambda: subprocess.run([*client, "ping"], capture_output=True, check=False).stdout == b"PONG\n")
        before_s = delay_of(server.pid)
        subprocess.run(["redis-benchmark", "-p", str(PORT), "-t", "set", "-c", "10", "-n", "40000", "-q"], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        after_s = delay_of(server.pid)
        subprocess.run([*client, "shutdown", "nosave"], check=False)
        assert server.wait(60) == 0
    seconds, delayed = found_in([tmp_path / "run" / "rank-00000.gmon"])
    assert reasons_of_redis(tmp_path) <= two_longest(seconds)
    # Page faults take longer where other programs use the memory and the disk.
    but_faults_s = sum(seconds.values()) - seconds["fault", ""]
    assert seconds["network", "epoll"] + seconds["io", "file"] >= 0.95 * but_faults_s
    assert 0.9 * (after_s - before_s) - 0.1 <= delayed <= after_s + 0.1 + 0.1 * delayed


def delay_of(pid: int) -> float:
    """Seconds in which the first thread was ready to run, without a processor."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1]) * 1e-9


def test_backends_of_postgresql_wait_for_clients_locks_and_files(scratch: Path) -> None:
    need("pgbench", "setpriv")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        pytest.skip("postgres is not installed")
    binaries = found[-1].parent
    other = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    if subprocess.run([*other, "test", "-r", find_library(os.environ)], check=False).returncode != 0:
        pytest.skip("other users cannot read the library")
    data, directory = scratch / "data", scratch / "run"
    directory.mkdir()
    directory.chmod(0o777)
    at = ["-h", scratch, "-p", str(PORT), "-U", "user"]

    def call(*words: str | Path, is_needed: bool = True) -> bool:
        done = subprocess.run([*other, *words], cwd=scratch, capture_output=True, check=is_needed)
        return done.returncode == 0

    call(binaries / "initdb", "-D", data, "-A", "trust", "-U", "user")
    words = [*INCPROF, "record", "-o", directory, "--", *other, binaries / "postgres", "-D", data, "-p", str(PORT),
             "-k", scratch, "-c", "listen_addresses="]  # fmt: skip
    with (scratch / "log").open("w") as log:
        server = subprocess.Popen(words, stdout=log, stderr=log, cwd=scratch)
        until(lambda: call(binaries / "pg_isready", *at, is_needed=False))
        call("pgbench", *at, "-i", "-s", "2", "postgres")
        call("pgbench", *at, "-c", "4", "-T", "5", "postgres")
        call(binaries / "pg_ctl", "-D", data, "stop", "-m", "fast")
        assert server.wait(60) == 0
    backends = sorted(directory.glob("rank-*.gmon"), key=lambda each: -each.stat().st_size)[:4]
    seconds, _ = found_in(backends)
    of_cause: dict[str, float] = defaultdict(float)
    for (cause, _), value in seconds.items():
        of_cause[cause] += value
    assert of_cause["network"] + of_cause["lock"] + of_cause["io"] >= 0.95 * sum(of_cause.values())
    assert seconds["network", "epoll"] >= 0.95 * of_cause["network"]
    assert seconds["lock", "semaphore"] + seconds["io", "file"] > 0


def test_time_behind_a_cpu_quota_is_without_a_processor(build: Build, record: Record) -> None:
    program = build("wait_script.c", flags="-O0 -pthread", pg=False)
    group = next((each / "incprof-quota" for each in map(Path, ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"])
                  if (each / "cgroup.procs").exists()), None)  # fmt: skip
    try:
        assert group is not None
        group.mkdir(exist_ok=True)
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text("30000 100000")
        else:
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text("30000")
    except (OSError, AssertionError):
        pytest.skip("no control group may be made here")
    try:
        enter = f'echo $$ > "{group}/cgroup.procs" && exec "$@"'
        recording = record(["sh", "-c", enter, "sh", program, "1", "burn:600"], env={"INCPROF_EXE": str(program)})
    finally:
        group.rmdir()
    _, delayed = found_in([recording.directory / "rank-00000.gmon"])
    assert delayed == pytest.approx(recording.outcome.values()["delayed"] * 1e-6, rel=0.1, abs=0.1)
    assert delayed > 0.8


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_late_sender_is_waited_for_in_mpi(
    build: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str], mpi: str
) -> None:
    need(f"mpicc.{mpi}", f"mpirun.{mpi}")
    program = build("late_sender.c", flags="-O1", compiler=f"mpicc.{mpi}", pg=False)
    flags = ["--oversubscribe", "--allow-run-as-root"] if mpi == "openmpi" else []
    environment = {**variables(tmp_path / "run"), **MPI, "INCPROF_EXE": str(program)}
    truth = run([f"mpirun.{mpi}", *flags, "-np", "2", program, "12", "250"], tmp_path, environment).values()
    assert main(["phases", str(tmp_path / "run"), "--json", "--card", "--rank", "0"]) == 0
    cards = [phase["card"]["waiting"] for phase in json.loads(capsys.readouterr().out)["phases"]]
    spinning_s = sum(card["mpi"]["spinning_s"] for card in cards if "mpi" in card)
    first, second = (found_in([tmp_path / "run" / f"rank-0000{rank}.gmon"])[0] for rank in range(2))
    received_s = (truth["cpu0"] + truth["off0"]) * 1e-6
    # A receiver that spins on a busy machine mostly waits for a processor, which is no waiting for MPI.
    assert received_s > 0
    assert first["mpi", ""] + spinning_s >= 0.85 * received_s - 0.1
    assert spinning_s == pytest.approx(truth["cpu0"] * 1e-6, rel=0.15, abs=0.2)
    assert second["sleep", ""] >= 0.9 * truth["off1"] * 1e-6
