"""Whether this machine can record, and how well: one finding per requirement."""

from __future__ import annotations

import glob
import importlib.metadata
import os
import platform
import re
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from appekg import _library as heartbeat_library
from incprof.errors import IncprofError
from incprof.record import launch, machine, mpi_wrappers
from incprof.safe.inputs import open_input
from incprof.symbols.elf import SHT_DYNSYM, ElfFile, Symbol, is_elf, open_elf
from incprof.symbols.elf.program_file import locate, needed_names, search_path, system_directories
from incprof.version import __version__

COMPILERS = ("gcc", "g++", "gfortran", "clang", "clang++", "flang")
LAUNCHERS = ("mpirun", "mpiexec", "srun", "flux")
PACKAGES = ("numpy", "scipy", "pandas", "pyelftools", "cffi", "rich")
DEFAULT_RATE_HZ = 100
ARCHITECTURES = ("x86_64", "aarch64")
# From this version on, CPU-time timers send their signals when the thread is about to leave the kernel.
QUIET_TIMERS = (5, 9)
OLDEST_KERNEL = (4, 18)
# What older kernels do without a missing system call.
INSTEAD = {
    "pidfd_open": "absent (Linux before 5.3): sample -p checks once per interval whether the process has ended",
    "pidfd_getfd": "absent (Linux before 5.6): the collector's lines do not reach a stderr that is a socket",
    "close_range": "absent (Linux before 5.9): descriptors are closed one by one when a recording starts",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Attributes:
        name: the requirement.
        state: ok, lacking (a feature is missing) or fail (recording cannot work).
        text: a line about it.
    """

    name: str
    state: str
    text: str


def findings(python: str | None = None) -> Iterator[Finding]:
    """Yield every finding, required ones first. python: the interpreter to examine; default: python3."""
    yield _library()
    yield _heartbeats()
    yield _architecture()
    yield from _c_library()
    yield from _kernel()
    yield _timer()
    yield _perf()
    yield _directory()
    readable, text = examine_python(python)
    yield Finding("python", "ok" if readable else "lacking", text)
    yield from _tools()
    yield from _mpi_traces()
    yield _gpus()
    yield _rocm()
    yield _opencl()
    yield Finding("versions", "ok", _versions())


def _library() -> Finding:
    """Check whether libincprof.so exists and can be preloaded."""
    try:
        path = launch.find_library(os.environ)
        launch.preload_value(path, "")
    except IncprofError as error:
        return Finding("library", "fail", str(error))
    problem = machine.preload_error(path)
    return Finding("library", "fail" if problem else "ok", f"{path}: {problem}" if problem else str(path))


def _heartbeats() -> Finding:
    """Check whether libappekg, for programs with heartbeats, exists and can be loaded. Recording does not need it."""
    try:
        path = heartbeat_library.find(os.environ).library
    except FileNotFoundError as error:
        return Finding("heartbeats", "lacking", str(error))
    problem = machine.load_error(path)
    return Finding("heartbeats", "lacking" if problem else "ok", problem or str(path))


def _architecture() -> Finding:
    """Check whether the library's entry stubs exist for this processor."""
    name = platform.machine()
    supported = name in ARCHITECTURES and platform.system() == "Linux"
    return Finding("machine", "ok" if supported else "fail", f"{platform.system()} {platform.release()}, {name}")


def _c_library() -> Iterator[Finding]:
    """Check glibc, whose profiling hooks the library replaces."""
    version = machine.glibc_version()
    yield Finding("glibc", "ok" if version else "fail", version or "another C library; only glibc is supported")
    present = machine.has_dl_find_object()
    yield Finding(
        "_dl_find_object", "ok" if present else "lacking", "present" if present else "absent (glibc before 2.35)"
    )


def _kernel() -> Iterator[Finding]:
    """Check system calls that are newer than the oldest kernel. Each has a substitute."""
    if machine.kernel_version() < OLDEST_KERNEL:
        yield Finding("kernel", "lacking", "older than 4.18, the oldest supported")
    missing = machine.missing_calls()
    for name in missing:
        yield Finding(name, "lacking", INSTEAD[name])
    if not missing:
        yield Finding("system calls", "ok", f"{', '.join(INSTEAD)}: present")


def _timer() -> Finding:
    """Measure the highest sampling rate of the cpu clock."""
    problem = machine.timer_error()
    if problem:
        other = machine.perf_error()
        instead = "perf's clock is used" if other is None else "calls are counted, and no samples taken"
        return Finding(
            "cpu clock", "lacking" if other is None else "fail", f"timers are refused ({problem}): {instead}"
        )
    rate, hz = machine.highest_timer_rate(), machine.kernel_hz()
    if rate is None:
        return Finding("cpu clock", "fail", "a CPU-time timer delivered no signal")
    text = f"{rate:.0f} samples per second at most" + (f", kernel HZ {hz}" if hz else "")
    suffices = machine.kernel_version() >= QUIET_TIMERS
    if not suffices:
        text += "; before Linux 5.9 a sample may end a program's poll or nanosleep early, with EINTR"
    return Finding("cpu clock", "ok" if suffices and rate >= 0.9 * DEFAULT_RATE_HZ else "lacking", text)


def _perf() -> Finding:
    """Check whether the perf clock, for higher rates, can be used."""
    problem, level = machine.perf_error(), machine.perf_event_paranoid()
    setting = f"perf_event_paranoid {'unknown' if level is None else level}"
    text = f"cannot be opened: {problem}, {setting}" if problem else f"can be opened, {setting}"
    return Finding("perf clock", "lacking" if problem else "ok", text)


def _directory() -> Finding:
    """Check whether a run directory can be created here."""
    directory = os.getcwd()
    good = machine.is_writable(directory)
    return Finding(
        "directory", "ok" if good else "lacking", directory if good else f"{directory} is not writable; use record -o"
    )


def _tools() -> Iterator[Finding]:
    """Check compilers, gprof and MPI launchers."""
    compilers = machine.tool_versions(COMPILERS)
    for name, version in compilers.items():
        yield Finding(name, "ok", version)
    if not compilers:
        yield Finding("compiler", "lacking", "none found (recording needs none)")
    gprof = machine.tool_versions(["gprof"])
    yield Finding("gprof", "ok" if gprof else "lacking", gprof.get("gprof", "not found (nothing needs it)"))
    launchers = machine.tool_versions(LAUNCHERS)
    for name, version in launchers.items():
        yield Finding(name, "ok", version)
    if not launchers:
        yield Finding("MPI", "lacking", "no launcher found")


def _gpus() -> Finding:
    """Check whether `record --gpu` would find what it needs; a device is not touched."""
    if not os.path.exists("/dev/nvidiactl"):
        return Finding("GPU", "lacking", "no NVIDIA device (only record --gpu of CUDA programs needs one)")
    other, named = os.environ.get(launch.INJECTION), os.environ.get("INCPROF_CUPTI")
    if other and os.path.basename(other) != launch.GPU_LIBRARY:
        text = f"{launch.INJECTION} is set to {other}: record --gpu keeps it, and records nothing of CUDA"
        return Finding("GPU", "lacking", text)
    if named and not os.path.isfile(named):
        return Finding("GPU", "lacking", f"INCPROF_CUPTI={named}: no such file")
    text = "NVIDIA device; record --gpu needs libcupti beside the program's CUDA, or INCPROF_CUPTI"
    return Finding("GPU", "ok", text)


def _rocm() -> Finding:
    """Check whether `record --gpu` would find what it needs of ROCm; neither it nor a device is used."""
    if not os.path.exists("/dev/kfd"):
        return Finding("ROCm", "lacking", "no AMD device (only record --gpu of HIP programs needs one)")
    path = launch.find_rocprofiler(os.environ)
    if path is None:
        text = f"{launch.ROCPROFILER} is not in the loader's path, so record --gpu records nothing of HIP"
        return Finding("ROCm", "lacking", f"{text}; add the lib directory of ROCm 6.4 or later to LD_LIBRARY_PATH")
    return Finding("ROCm", "ok", f"AMD device; record --gpu uses {path}")


OPENCL_LOADER = "libOpenCL.so.1"
# A loader with layers has this name in its text.
OPENCL_WITH_LAYERS = b"OPENCL_LAYERS"
OPENCL_DRIVERS = "/etc/OpenCL/vendors"
MOST_LOADER_BYTES = 16 << 20


def _opencl() -> Finding:
    """Check whether OpenCL's loader supports layers; neither it nor a driver is loaded."""
    environment = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    path = locate(OPENCL_LOADER, [*environment, *system_directories()])
    if path is None:
        return Finding("OpenCL", "lacking", f"no {OPENCL_LOADER} found (only record --gpu of OpenCL programs needs it)")
    try:
        with open_input(path) as loader:
            has_layers = OPENCL_WITH_LAYERS in loader.read(MOST_LOADER_BYTES)
    except OSError as error:
        return Finding("OpenCL", "lacking", f"{path} cannot be read: {error}")
    if not has_layers:
        return Finding("OpenCL", "lacking", f"{path} has no layers: record --gpu records nothing of OpenCL")
    drivers = len(glob.glob(f"{OPENCL_DRIVERS}/*.icd"))
    registered = f"{drivers or 'no'} driver{'s' if drivers != 1 else ''} in {OPENCL_DRIVERS}"
    return Finding("OpenCL", "ok", f"{path} has layers, which record --gpu uses; {registered}")


def _mpi_traces() -> Iterator[Finding]:
    """Check the MPIs whose calls can be traced: the wrappers for each are built by its compiler on first use."""
    try:
        sources = launch.wrapper_sources(launch.find_mpi_library(os.environ))
        wrappers = mpi_wrappers.wrappers_for_all(sources, os.environ)
    except IncprofError as error:
        yield Finding("MPI trace", "lacking", str(error))
        return
    for each in wrappers:
        text = f"{each.soname}, by {each.compiler}" if each.path else f"{each.compiler}: {each.problem}"
        yield Finding("MPI trace", "ok" if each.path else "lacking", text)
    if not wrappers:
        yield Finding("MPI trace", "lacking", "no mpicc in PATH; without it incprof trace finds no MPI")


def _versions() -> str:
    """Return versions of incprof, Python and the packages that the analysis uses."""
    parts = [f"incprof {__version__}", f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            parts.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            parts.append(f"{package} missing")
    return ", ".join(parts)


# Detect from the program's files whether a recording can show functions of Python.


# Required for recognising a frame (preload/python_layout.c), and the symbol with the version since 3.11.
NEEDED = frozenset("_PyRuntime PyCode_Type PyUnicode_Type PyBytes_Type _PyEval_EvalFrameDefault".split())
VERSION = "Py_Version"
NAMED = re.compile(r"python3\.(\d+)")
OLDEST, QUALIFIED, TRIED, NEWEST = 9, 11, 13, 14
KNOWN = f"3.{OLDEST} to 3.{NEWEST}"


def examine_python(program: str | None) -> tuple[bool, str]:
    """Return whether a program's functions of Python are recorded, and a line about it.

    program: Its path or name; None for the python3 in PATH.
    """
    path = shutil.which(program or "python3")
    if path is None:
        return False, f"{program}: not found" if program else "no python3 in PATH (only programs in Python need one)"
    if not is_elf(path):
        return False, f"{path} is a script that starts a program: record with --exe 'python3*', or ask about that one"
    try:
        minor = next((_minor(elf, symbols) for elf, symbols in _files(path) if symbols.keys() >= NEEDED), None)
    except IncprofError as error:
        return False, str(error)
    if minor is None:
        return False, f"{path}: functions of C only: it does not export the symbols that locate CPython's frames"
    if not OLDEST <= minor <= NEWEST:
        version = f"Python 3.{minor}" if minor >= 0 else "a Python without a version"
        return False, f"{path}: {version}: functions of C only; Python functions are recorded for CPython {KNOWN}"
    return True, f"{path}: Python 3.{minor}: {_how(minor)}"


def _how(minor: int) -> str:
    """Describe the support of a known version."""
    if minor < QUALIFIED:
        return "functions are recorded, methods without their classes; from outside (record -p) those of C only"
    return "functions are recorded" + ("" if minor <= TRIED else f", as in 3.{TRIED}; not tried")


def _files(path: str) -> Iterator[tuple[ElfFile, dict[str, Symbol]]]:
    """Yield the program and the libraries of Python that it is linked with, each with the symbols it exports."""
    program = open_elf(path)
    directories, _ = search_path(program, [])
    libraries = (locate(name, directories) for name in needed_names(program) if name.startswith("libpython"))
    for elf in (program, *(open_elf(library) for library in libraries if library)):
        yield elf, {symbol.name: symbol for symbol in elf.symbols(SHT_DYNSYM) if symbol.section}


def _minor(elf: ElfFile, symbols: dict[str, Symbol]) -> int:
    """Return the minor version of Python 3, from the symbol or the file's name; -1 if neither gives it."""
    version = symbols.get(VERSION)
    for segment in elf.segments if version is not None else ():
        if version is not None and segment.address <= version.address < segment.address + segment.size:
            word = elf.read(segment.offset + version.address - segment.address, 8)
            return int(struct.unpack("<Q", word)[0]) >> 16 & 0xFF
    named = NAMED.search(elf.path)
    return int(named[1]) if named else -1
