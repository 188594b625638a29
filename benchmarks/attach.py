"""Recording from outside: its cost for the recorded program, and the CPU time of the recorder."""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Callable, Iterable

from benchmarks.bed import Bed
from benchmarks.measure import Command, Result, compare, run
from incprof.record import launch

# Work of callheavy: some two seconds.
ROUNDS = "1500"
BAR = 1.005


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], list[Result]]]]:
    """Yield the measurements by name."""
    yield "attach-callheavy", lambda: whole_run(bed)


def whole_run(bed: Bed) -> list[Result]:
    """Measure the CPU time of a program recorded during its whole run at 100 Hz, against the same unrecorded."""
    command: Command = [bed.compile("callheavy.c", pg=False), ROUNDS]
    shares: list[float] = []

    def attached() -> float:
        host_s, recorder_s = _attached(bed, command)
        shares.append(100 * recorder_s / host_s)
        return host_s

    ratio = compare(attached, lambda: run(command, bed.scratch).cpu_s, bed.pairs)
    recorder = f"{statistics.median(shares):.2g} % ({min(shares):.2g}-{max(shares):.2g}, {len(shares)} runs)"
    return [
        Result(
            "recorded from outside against unrecorded: callheavy", f"at most {BAR}x", ratio.text(4), ratio.median <= BAR
        ),
        Result("the recorder's own CPU time, of that of callheavy", "-", recorder, None),
    ]


def _attached(bed: Bed, command: Command) -> tuple[float, float]:
    """Return the CPU seconds of the program, and of the recorder."""
    environment = {**os.environ, "INCPROF_DIR": str(bed.scratch / "attached"), "INCPROF_LOG": "quiet"}
    host = subprocess.Popen([str(word) for word in command], cwd=bed.scratch, stdout=subprocess.DEVNULL)
    recorder = subprocess.Popen([launch.find_attacher({}), "--pid", str(host.pid)], env=environment)
    return _cpu_s(host), _cpu_s(recorder)


def _cpu_s(process: subprocess.Popen[bytes]) -> float:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return usage.ru_utime + usage.ru_stime
