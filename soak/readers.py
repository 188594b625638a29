"""Readers without the command line, which takes most of the time of a small case."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import appekg
import incprof
from incprof.errors import IncprofError
from incprof.readers.gmon_directory import read_gmon
from incprof.readers.run import open_run, read_profile
from incprof.readers.series import SeriesRequest
from incprof.readers.stream.collect import collect, parse_metadata, parse_modules
from incprof.readers.stream.records import chunks, parse_images
from incprof.readers.stream.stream_files import Source
from incprof.record.settings import read_file, resolve
from incprof.source.changes import FilePlan, insertions
from incprof.source.languages import parse_file, strip
from incprof.source.model import Announcement, Beat, SourceFile, insert
from incprof.symbols.addr2line import from_line_tables
from incprof.symbols.demangle import display_names
from incprof.symbols.elf import open_elf
from incprof.symbols.elf.preflight import warning_for
from incprof.symbols.elf.program_file import read_traits
from incprof.symbols.elf_symbols import read_symbols
from incprof.systems.mpi.trace_file import Trace
from incprof.systems.openmp.read import read_loops
from incprof.systems.periods.read import read_series


def read_run(directory: str) -> None:
    """Read a recording as from Python, and store the answers about lines beside it."""
    recording = incprof.open(directory)
    for rank in recording.ranks:
        recording.profile(rank)


def read_stream(directory: str, exe: str | None = None) -> None:
    """Read it without lines."""
    run = open_run(directory, exe=exe)
    for rank in run.ranks:
        read_profile(run, rank=rank, exe=exe)


def read_images(path: str) -> None:
    """Read the part of a stream that needs no names."""
    with Source(path) as source:
        found = collect(source)
        for chunk in chunks(found):
            parse_images(found, chunk)


def read_records(path: str) -> None:
    """Read one gmon.out file."""
    read_gmon(path)


def read_objects(path: str) -> None:
    """Read what a recording contains about itself."""
    data = Path(path).read_bytes()
    parse_modules(data, path)
    parse_metadata(data, path)


def read_settings(path: str) -> None:
    """Read a settings file."""
    read_file(Path(path))
    resolve({}, {})


def read_beats(directory: str) -> None:
    """Read heartbeats as from Python."""
    appekg.read(directory)


def read_omp(directory: str) -> None:
    """Read the loops of an OpenMP program."""
    read_loops(directory)


def read_calls(path: str) -> None:
    """Read a trace of MPI calls."""
    with Trace(path) as opened:
        for _ in opened.events():
            pass


def read_values(path: str, column: str | None = None) -> None:
    """Read a series of samples."""
    read_series(path, SeriesRequest(column))


def read_program(path: str) -> None:
    """Read a program before it is run: its description, its symbols, and the lines of a few of them."""
    read_traits(path)
    warning_for(path, [])
    table = read_symbols(open_elf(path))
    from_line_tables(path, [int(address) for address in table.address[:4]])
    display_names([table.name(symbol) for symbol in range(min(len(table), 100))], fortran=True)


def read_names(path: str) -> None:
    """Read linker names, one a line, and format them for users."""
    display_names(Path(path).read_bytes().decode("utf-8", "replace").split("\n"), fortran=True)


def read_source(path: str) -> None:
    """Insert heartbeats at every possible place of a source, and remove them again."""
    file = parse_file(Path(), path)
    announced = (Announcement(1, "name", 2),) * any(f.is_main and f.refusal is None for f in file.functions)
    for beats in _beats(file):
        plan = FilePlan(file, tuple(beats), announced)
        for style in ("scope", "calls"):
            with_beats = insert(file.data, insertions(plan, style))
            if strip(with_beats, file.language) != file.data:
                raise AssertionError(f"heartbeats that were put in are not taken out again: {style}, {beats}")


def _beats(file: SourceFile) -> list[list[Beat]]:
    """Return heartbeats for all bodies, and for all loops, that accept one."""
    bodies = [Beat(1, at) for at, function in enumerate(file.functions) if function.refusal is None]
    loops = [
        Beat(2, at, number)
        for at, function in enumerate(file.functions)
        for number, loop in enumerate(function.loops)
        if loop.refusal is None
    ]
    return [bodies, loops]


# Those that write nothing beside what they read.
PURE: dict[str, Callable[..., None]] = {
    "read-stream": read_stream,
    "read-images": read_images,
    "read-gmon": read_records,
    "read-metadata": read_objects,
    "read-settings": read_settings,
    "read-beats": read_beats,
    "read-series": read_values,
    "read-loops": read_omp,
    "read-trace": read_calls,
    "read-program": read_program,
    "read-names": read_names,
    "read-source": read_source,
}
READERS: dict[str, Callable[..., None]] = {"read-run": read_run, **PURE}


def read(words: Sequence[str]) -> int:
    """Run a reader, and report its errors like a command line. Return the corresponding exit status."""
    try:
        READERS[words[0]](*words[1:])
    except (IncprofError, appekg.AppekgError) as error:
        print(f"incprof: {str(error)!a}", file=sys.stderr)
        return getattr(error, "exit_code", 4)
    except OSError as error:
        print(f"incprof: {error!a}", file=sys.stderr)
        return 1
    return 0
