"""Probes of the machine's features and of its kernel's settings. Each is independent and never raises."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

TIMEOUT_S = 10

# Requests 5 000 signals per second of CPU time, and prints how many arrived in a quarter of one.
TIMER_PROBE = """
import signal, time
count = 0
def tick(number, frame):
    global count
    count += 1
signal.signal(signal.SIGPROF, tick)
start = time.process_time()
signal.setitimer(signal.ITIMER_PROF, 0.0002, 0.0002)
while time.process_time() - start < 0.25:
    pass
signal.setitimer(signal.ITIMER_PROF, 0)
print(count / (time.process_time() - start))
"""

CLOCK_THREAD_CPUTIME_ID, SIGEV_NONE, SIGEVENT_SIZE = 3, 1, 64
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
# The same numbers on every architecture.
NEWER_CALLS = {"pidfd_open": 434, "pidfd_getfd": 438, "close_range": 436}
PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES = 0, 0
PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK = 1, 1
PERF_DISABLED, PERF_EXCLUDE_KERNEL, PERF_EXCLUDE_HV = 1 << 0, 1 << 5, 1 << 6
PERF_ATTR_SIZE = 64  # the first published size of the structure, which every kernel takes


def output(command: Sequence[str], environment: dict[str, str] | None = None) -> str | None:
    """Return what the command prints on stdout and stderr; None if it fails or takes too long."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            timeout=TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")


def first_line(text: str | None) -> str | None:
    """Return the first line that is not blank."""
    lines = (line.strip() for line in (text or "").splitlines())
    return next((line for line in lines if line), None)


def preload_error(library: Path) -> str | None:
    """Return why a program cannot be started with the library preloaded; None if it can."""
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    printed = output([shutil.which("true") or "/bin/true"], environment)
    if printed is None:
        return "a program started with it fails"
    return first_line(printed)  # the loader prints an error but goes on


def load_error(library: Path) -> str | None:
    """Return why the loader refuses the library; None if it loads it."""
    try:
        ctypes.CDLL(str(library))
    except OSError as error:
        return first_line(str(error)) or "it cannot be loaded"
    return None


def glibc_version() -> str | None:
    """Return the version of glibc; None on another C library."""
    try:
        name = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        return None
    return name.removeprefix("glibc ") if name else None


def has_dl_find_object() -> bool:
    """Return whether glibc lets unwinders find loaded objects without a lock (2.35 and later)."""
    return hasattr(ctypes.CDLL(None), "_dl_find_object")


def kernel_version() -> tuple[int, int]:
    """Return the major and minor number of the running kernel; (0, 0) if they cannot be read."""
    match = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def missing_calls() -> list[str]:
    """Return those of NEWER_CALLS that the kernel lacks, or a filter forbids."""
    libc = ctypes.CDLL(None, use_errno=True)
    missing = []
    for name, number in NEWER_CALLS.items():
        # Arguments that none of them accepts: no such process, no such descriptor, an empty range.
        libc.syscall(ctypes.c_long(number), ctypes.c_long(-1), ctypes.c_long(-2), ctypes.c_long(0))
        if ctypes.get_errno() in (errno.ENOSYS, errno.EPERM):
            missing.append(name)
    return missing


def kernel_hz() -> int | None:
    """Return CONFIG_HZ of the running kernel, if its configuration can be read."""
    try:
        text = Path(f"/boot/config-{os.uname().release}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(r"^CONFIG_HZ=(\d+)$", text, re.MULTILINE)
    return int(match[1]) if match else None


def timer_error() -> str | None:
    """Return why the collector's timers, on a thread's own CPU clock, cannot be created; None if they can."""
    libc = ctypes.CDLL(None, use_errno=True)
    event = (ctypes.c_char * SIGEVENT_SIZE)()
    struct.pack_into("=Qii", event, 0, 0, 0, SIGEV_NONE)
    timer = ctypes.c_void_p()
    try:
        refused = libc.timer_create(CLOCK_THREAD_CPUTIME_ID, event, ctypes.byref(timer)) != 0
    except AttributeError:
        return "no timer_create in the C library"
    if refused:
        return os.strerror(ctypes.get_errno())
    libc.timer_delete(timer)
    return None


def highest_timer_rate() -> float | None:
    """Return the signals per second of CPU time that a CPU-time timer delivers, measured."""
    text = output([sys.executable, "-S", "-E", "-c", TIMER_PROBE])
    try:
        return float(text or "")
    except ValueError:
        return None


def perf_event_paranoid() -> int | None:
    """Return the kernel's perf_event_paranoid setting."""
    try:
        return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def perf_error() -> str | None:
    """Return why the task-clock event, which INCPROF_CLOCK=perf samples with, cannot be opened; None if it can."""
    error = _event_error(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK)
    return None if error is None else os.strerror(error) if error else "not supported on this machine"


def lack_of_counters() -> str | None:
    """Return what `record` says where hardware events cannot be counted; None if they can, or that is unknown."""
    error = _event_error(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)
    if not error:
        return None
    if error in (errno.EACCES, errno.EPERM, errno.ENOSYS):
        why = "counters are not permitted here (see kernel.perf_event_paranoid and incprof doctor)"
    else:
        why = "this machine offers no hardware counters (a virtual machine?)"
    return f"{why}: only page faults, context switches and memory are counted"


def _event_error(kind: int, config: int) -> int | None:
    """Return the errno with which an event of this thread cannot be opened; 0: unknown machine; None: it can."""
    number = PERF_EVENT_OPEN.get(os.uname().machine)
    if number is None:
        return 0
    flags = PERF_DISABLED | PERF_EXCLUDE_KERNEL | PERF_EXCLUDE_HV
    period_ns = 1_000_000
    layout = "<IIQQQQQ"  # type, size, config, sample period, sample type, read format, flags
    attr = struct.pack(layout, kind, PERF_ATTR_SIZE, config, period_ns, 0, 0, flags).ljust(PERF_ATTR_SIZE, b"\0")
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    descriptor = syscall(ctypes.c_long(number), attr, 0, -1, -1, ctypes.c_ulong(0))
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return None


def tool_versions(names: Sequence[str]) -> dict[str, str]:
    """Return the installed tools among these, each with the first line of its --version."""
    versions = {}
    for name in names:
        if shutil.which(name):
            versions[name] = first_line(output([name, "--version"])) or "found, version unknown"
    return versions


def is_writable(directory: str) -> bool:
    """Return whether files can be created in the directory."""
    return os.access(directory, os.W_OK | os.X_OK)
