"""Say whether this machine can record, and how well.

Exit status 0 if recording works, 1 if not. A line marked `-` costs a feature, one marked `FAIL` the recording.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from appekg import _library
from incprof import __version__, launch, machine
from incprof.errors import IncprofError

NAME = "doctor"
SCHEMA = "incprof.doctor/1"

COMPILERS = ("gcc", "g++", "gfortran", "clang", "clang++", "flang")
LAUNCHERS = ("mpirun", "mpiexec", "srun", "flux")
PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "pyelftools", "cffi", "rich")
DEFAULT_RATE_HZ = 100
ARCHITECTURES = ("x86_64",)
# Since then CPU-time timers send their signals when the thread is about to leave the kernel.
QUIET_TIMERS = (5, 9)


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer. `state` is ok, lacking (a feature is missing) or fail (recording cannot work)."""

    name: str
    state: str
    text: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Ask every probe, and print what it found."""
    found = list(findings())
    failed = [finding for finding in found if finding.state == "fail"]
    if args.json:
        answer = {"schema": SCHEMA, "usable": not failed, "findings": [asdict(finding) for finding in found]}
        print(json.dumps(answer, indent=1))
    else:
        width = max(len(finding.name) for finding in found)
        for finding in found:
            mark = {"ok": "ok", "lacking": "-", "fail": "FAIL"}[finding.state]
            print(f"{mark:4}  {finding.name:{width}}  {finding.text}")
        print("recording works" if not failed else f"recording cannot work: {failed[0].name}: {failed[0].text}")
    return 1 if failed else 0


def findings() -> Iterator[Finding]:
    """Every finding, what recording depends on first."""
    yield library()
    yield heartbeats()
    yield architecture()
    yield from c_library()
    yield timer()
    yield perf()
    yield directory()
    yield from tools()
    yield Finding("versions", "ok", versions())


def library() -> Finding:
    """Whether libincprof.so is there and can be preloaded."""
    try:
        path = launch.find_library(os.environ)
        launch.preload_value(path, "")
    except IncprofError as error:
        return Finding("library", "fail", str(error))
    problem = machine.preload_error(path)
    return Finding("library", "fail" if problem else "ok", f"{path}: {problem}" if problem else str(path))


def heartbeats() -> Finding:
    """Whether libappekg, for programs with heartbeats, is there and can be loaded. Recording does not need it."""
    try:
        path = _library.find(os.environ).library
    except FileNotFoundError as error:
        return Finding("heartbeats", "lacking", str(error))
    problem = machine.load_error(path)
    return Finding("heartbeats", "lacking" if problem else "ok", problem or str(path))


def architecture() -> Finding:
    """Whether the library's entry stubs exist for this processor."""
    name = platform.machine()
    known = name in ARCHITECTURES and platform.system() == "Linux"
    return Finding("machine", "ok" if known else "fail", f"{platform.system()} {platform.release()}, {name}")


def c_library() -> Iterator[Finding]:
    """glibc, whose profiling hooks the library takes over."""
    version = machine.glibc_version()
    yield Finding("glibc", "ok" if version else "fail", version or "another C library; only glibc is supported")
    there = machine.has_dl_find_object()
    yield Finding("_dl_find_object", "ok" if there else "lacking", "present" if there else "absent (glibc before 2.35)")


def timer() -> Finding:
    """The highest sampling rate of the cpu clock."""
    rate, hz = machine.highest_timer_rate(), machine.kernel_hz()
    if rate is None:
        return Finding("cpu clock", "fail", "a CPU-time timer delivered no signal")
    text = f"{rate:.0f} samples per second at most" + (f", kernel HZ {hz}" if hz else "")
    quiet = machine.kernel_version() >= QUIET_TIMERS
    if not quiet:
        text += "; before Linux 5.9 a sample may end a program's poll or nanosleep early, with EINTR"
    return Finding("cpu clock", "ok" if quiet and rate >= 0.9 * DEFAULT_RATE_HZ else "lacking", text)


def perf() -> Finding:
    """Whether the perf clock, for higher rates, can be used."""
    problem, level = machine.perf_error(), machine.perf_event_paranoid()
    setting = f"perf_event_paranoid {'unknown' if level is None else level}"
    text = f"cannot be opened: {problem}, {setting}" if problem else f"can be opened, {setting}"
    return Finding("perf clock", "lacking" if problem else "ok", text)


def directory() -> Finding:
    """Whether a run directory can be created here."""
    here = os.getcwd()
    good = machine.is_writable(here)
    return Finding("directory", "ok" if good else "lacking", here if good else f"{here} is not writable; use record -o")


def tools() -> Iterator[Finding]:
    """Compilers, gprof and MPI launchers."""
    compilers = machine.tool_versions(COMPILERS)
    for name, version in compilers.items():
        yield Finding(name, "ok", version)
    if not compilers:
        yield Finding("compiler", "lacking", "none found; programs must be built with -pg elsewhere")
    gprof = machine.tool_versions(["gprof"])
    yield Finding("gprof", "ok" if gprof else "lacking", gprof.get("gprof", "not found (nothing needs it)"))
    launchers = machine.tool_versions(LAUNCHERS)
    for name, version in launchers.items():
        yield Finding(name, "ok", version)
    if not launchers:
        yield Finding("MPI", "lacking", "no launcher found")


def versions() -> str:
    """Versions of incprof, Python and the packages that the analysis uses."""
    parts = [f"incprof {__version__}", f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            parts.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            parts.append(f"{package} missing")
    return ", ".join(parts)
