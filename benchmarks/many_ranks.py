"""The collector with many threads and ranks: its memory, its file system calls, and a stalled file system."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from benchmarks.bed import Bed
from benchmarks.measure import Result, run
from incprof.readers.run import open_run, read_profile

THREADS, MEMORY_MIB = 64, 64
# Half of them before memory is measured, half after: by then each ring has been full once.
INTERVALS, INTERVAL_S, RATE_HZ = 40_000, 0.003, 1000
FLAT = 1.05
RANKS = 16
MPIRUNS = (["mpirun.mpich"], ["mpirun.openmpi", "--oversubscribe", "--allow-run-as-root"])
PATH_CALL = re.compile(r"^(?:\d+ +)?(\w+)\(")
STALL_S, IMAGE_MIB = 60, 64


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield name and measurement of each benchmark."""
    yield "collector-memory", lambda: _memory(bed)
    for gather in ("rank", "node"):
        yield f"collector-metadata-{gather}", functools.partial(_metadata, bed, gather)
    yield "collector-stall", lambda: _stall(bed)


def _launcher() -> list[str] | None:
    """Return the launcher that starts ranks here, if there is one."""
    return next((words for words in MPIRUNS if shutil.which(words[0])), None)


def _memory(bed: Bed) -> list[Result]:
    """Measure the memory of threads with the collector beyond that without it."""
    program = bed.compile("threads_memory.c", "-fno-optimize-sibling-calls")
    command = [program, str(1.1 * INTERVALS * INTERVAL_S), str(THREADS)]
    bare = [int(word) for word in run([program, "2", str(THREADS)], bed.scratch).output.split()]
    settings = bed.environment(interval=INTERVAL_S, rate=RATE_HZ)
    half, late = (int(word) for word in run(command, bed.scratch, settings).output.split())
    count = len(read_profile(open_run(bed.scratch / "run")).end_s)
    taken = (late - bare[1]) / 1024
    what = f"memory of the collector, {THREADS} threads, {RATE_HZ} samples a CPU second, {count} intervals"
    grown = (late - bare[1]) / (half - bare[0])
    return [
        Result(what, f"under {MEMORY_MIB} MiB", f"{taken:.1f} MiB", taken < MEMORY_MIB and count >= INTERVALS // 4),
        Result("the same, over that after half of the intervals", f"at most {FLAT}x", f"{grown:.2f}x", grown <= FLAT),
    ]


def _metadata(bed: Bed, gather: str) -> list[Result]:
    """Count the calls that name a file in the run directory, by all processes of a launch."""
    launcher = _launcher()
    what = f"calls with a path in the run directory, {RANKS} ranks that start together, a file per {gather}"
    if launcher is None or shutil.which("strace") is None:
        return [Result(what, "-", "not measured: no mpirun, or no strace", None)]
    program = bed.compile("threads_memory.c", "-fno-optimize-sibling-calls")
    settings = bed.environment(interval=0.1, gather=gather)
    inside = ["-E", f"LD_PRELOAD={settings.pop('LD_PRELOAD')}"]
    traces = bed.scratch / "traces"
    shutil.rmtree(traces, ignore_errors=True)
    traces.mkdir()
    strace = ["strace", "-D", "-ff", "-qq", "-o", traces / "of", "-e", "trace=%file", *inside]
    run([*launcher, "-np", str(RANKS), *strace, program, "3", "1"], bed.scratch, settings)
    found = _calls(traces, str(bed.scratch / "run"))
    files = sum(1 for path in (bed.scratch / "run").glob("*.gmon"))
    text = ", ".join(f"{name} {count}" for name, count in sorted(found.items()))
    return [
        Result(what, "-", f"{sum(found.values())}, {sum(found.values()) / RANKS:.1f} a rank ({text})", None),
        Result("files of recordings that they leave", "-", str(files), None),
    ]


def _calls(traces: Path, directory: str) -> Counter[str]:
    """Return the number of each call."""
    found: Counter[str] = Counter()
    for path in traces.iterdir():
        for line in path.read_text(errors="replace").splitlines():
            called = PATH_CALL.match(line)
            if called and f'"{directory}' in line:
                found[called[1]] += 1
    return found


def _stall(bed: Bed) -> Result:
    """Freeze a separate file system while a program is recorded into it. Needs root."""
    what = f"intervals of 1 s, a file system that stands still for {STALL_S} s: whole, longest, dropped"
    place, image = bed.scratch / "mounted", bed.scratch / "image"
    place.mkdir(exist_ok=True)
    image.write_bytes(b"")
    os.truncate(image, IMAGE_MIB << 20)
    mount = [["mkfs.ext4", "-q", "-F", str(image)], ["mount", "-o", "loop", str(image), str(place)]]
    if os.geteuid() != 0 or any(subprocess.run(step, capture_output=True, check=False).returncode for step in mount):
        return Result(what, "none lost", "not measured: no mount, or not root", None)
    try:
        program = bed.compile("threads_memory.c", "-fno-optimize-sibling-calls")
        settings = bed.environment(interval=1) | {"INCPROF_DIR": str(place / "run")}
        with subprocess.Popen([program, str(STALL_S + 10), "2"], env=settings, stdout=subprocess.DEVNULL) as recorded:
            time.sleep(5)
            subprocess.run(["fsfreeze", "-f", place], check=True)
            try:
                time.sleep(STALL_S)
            finally:
                subprocess.run(["fsfreeze", "-u", place], check=True)
            status = recorded.wait()
        profile = read_profile(open_run(place / "run"))
    finally:
        subprocess.run(["umount", place], check=True)
    lengths = profile.end_s - profile.start_s
    whole = bool(np.all(profile.start_s[1:] == profile.end_s[:-1])) and not profile.warnings
    text = f"{len(lengths)}, {lengths.max():.2f} s, {'; '.join(profile.warnings) or 'none'}"
    return Result(what, "none lost", text, whole and status == 0 and lengths.max() < STALL_S / 2)
