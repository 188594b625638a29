"""Run directories as a whole: made from profiles of other tools, joined, and cleaned of reproducible files."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.model import Module, Run
from incprof.readers.foreign import formats
from incprof.readers.foreign.timeline import Imported, Ticks, TooLittleError
from incprof.readers.foreign.write import copy_gmon, write_timeline
from incprof.readers.run import CLASSIC, SERIES, STREAM, TRACE, modules_of, open_all, open_run
from incprof.readers.stream.collect import first_metadata
from incprof.readers.stream.stream_files import NODE, WINDOW, Source, split
from incprof.safe.inputs import inside, open_input, read_input
from incprof.safe.jsonstore import temporary_prefix
from incprof.symbols.symbol_files import copy_of, is_original_unchanged

DEFAULT_INTERVAL_S = 1.0
GMON = "gmon-dir"


@dataclass(frozen=True)
class ImportedRun:
    """The directory that was written.

    Attributes:
        kind: the format of the profile.
        app: the program.
        processes: their number.
        intervals: their number.
        rate_hz: samples per second of CPU time.
        notes: remarks on the profile, a line each.
        damaged: whether a part could not be read.
    """

    kind: str
    app: str
    processes: int
    intervals: int
    rate_hz: float
    notes: tuple[str, ...] = ()
    damaged: bool = False


def import_profiles(
    inputs: Sequence[str], out: str, *, kind: str | None = None, interval_s: float | None = None,
    rate_hz: float | None = None, exe: str | None = None,
) -> ImportedRun:  # fmt: skip
    """Write a new run directory from the recordings of other tools.

    Args:
        inputs: files of the profile.
        out: the new directory.
        kind: a format, detected from the content unless given.
        interval_s: length of an interval, seconds; of a series, the time covered by each of its files.
        rate_hz: samples per second of CPU time, instead of the profile's own.
        exe: the program.

    Raises: UsageError when `out` exists, or the format cannot be detected; NoDataError when the input holds nothing
        usable; IncprofError when `out` cannot be written.
    """
    target = _new(out)
    kind = kind or formats.detect_format(inputs)
    imported = None if kind == GMON else formats.read(inputs, kind, formats.ImportRequest(interval_s, rate_hz, exe))
    with _new_directory(target, out) as directory:
        if imported is None:
            app, intervals, rate = copy_gmon(inputs, directory, exe, interval_s or DEFAULT_INTERVAL_S)
            result = ImportedRun(kind, app, 1, intervals, rate)
        else:
            result = _write(imported, directory, interval_s or DEFAULT_INTERVAL_S, 1 / rate_hz if rate_hz else None)
    return result


def _new(out: str) -> Path:
    """Return the path of a directory that does not exist yet."""
    target = Path(os.path.abspath(out))
    if os.path.lexists(target):
        raise UsageError(f"{out} exists: give the name of a new directory")
    return target


@contextlib.contextmanager
def _new_directory(target: Path, out: str) -> Iterator[Path]:
    """Yield an empty directory that becomes `target` if all goes well; `out`: its name in messages."""
    try:
        with tempfile.TemporaryDirectory(
            dir=target.parent, prefix=temporary_prefix(target), ignore_cleanup_errors=True
        ) as temporary:
            directory = Path(temporary) / "made"
            directory.mkdir()
            yield directory
            directory.rename(target)
    except OSError as error:
        raise IncprofError(f"{error.filename or out}: {error.strerror}: {out} was not made") from error


def _write(imported: Imported, directory: Path, interval_s: float, tick_s: float | None) -> ImportedRun:
    """Write the processes: those of the program become ranks, others are stored with rank 0."""
    app, notes = imported.timelines[0].app, list(imported.notes)
    written: list[Ticks] = []
    ranks = 0
    for number, timeline in enumerate(imported.timelines):
        own = timeline.app == app
        rank, suffix = (ranks, "") if own else (0, f".{timeline.pid or number}")
        name = f"rank-{rank:05}{suffix}.gmon"
        try:
            ticks = write_timeline(
                timeline, directory, name, kind=imported.kind, interval_s=interval_s, rank=rank, tick_s=tick_s
            )
        except TooLittleError:
            if not written and number == len(imported.timelines) - 1:
                raise
            continue
        ranks += own
        written.append(ticks)
    if without := len(imported.timelines) - len(written):
        notes.append(f"{without} processes have less than half a sample's time, and are left out")
    # Where samples have times, phases do not depend on intervals.
    if imported.timelines[0].edges_s is not None and all(len(ticks.end_s) == 1 for ticks in written):
        notes.append("one interval has no phases: give a file for each")
    shown, first = app.rpartition("/")[2] or app, written[0]
    return ImportedRun(
        imported.kind, shown, len(written), len(first.end_s), 1 / first.tick_s, tuple(notes), imported.damaged
    )


# Join run directories: those of nodes that wrote to local disks, or of runs that belong together.
#
# The directories are not modified. Files are linked where the file system can, else copied; the new directory appears
# whole or not at all.


META = re.compile(r"gmon-meta\.(\d{1,9})(\.\d{1,9}(?:-\d{1,9})?)?\.json")
SYMBOLS = re.compile(r"[^/]+\.(?:elf|lines\.json)")
LONGEST_LAUNCH = 4096
# Identity of a launch without a scheduler or launcher that names it; it differs on each node.
OF_A_NODE = ("parent ", "process ")


@dataclass(frozen=True)
class Merged:
    """The directory that was written.

    Attributes:
        directory: its path.
        ranks: ranks in it.
        processes: their number.
        missing: ranks of the launch that are in none of its parts.
        traces: number of MPI traces left out, because they name other ranks by their old numbers.
    """

    directory: str
    ranks: tuple[int, ...]
    processes: int
    missing: tuple[int, ...]
    traces: int


@dataclass(frozen=True)
class _Part:
    """A directory to join.

    Attributes:
        run: the run in it.
        launch: identity of the launch; empty where unknown.
        ranks: the new number of each of its ranks.
    """

    run: Run
    launch: str
    ranks: dict[int, int]


def merge(out: str, directories: Sequence[str], *, renumber: bool = False) -> Merged:
    """Join run directories into a new one. renumber: number the ranks from 0, in the order given.

    Raises: UsageError when `out` exists, a directory is given twice, ranks collide, or the directories are of different
        launches; NoDataError when one of them is empty; IncprofError when `out` cannot be written.
    """
    target = _new(out)
    parts = _parts(directories, renumber)
    if not renumber:
        _refuse_collisions(parts)
    missing = () if renumber else _missing(parts)
    with _new_directory(target, out) as directory:
        for part in parts:
            _add(part, directory, renumber)
        (directory / "launch").write_text(parts[0].launch + "\n", encoding="utf-8", errors="surrogateescape")
    merged = open_run(target)
    traces = sum(bool(TRACE.fullmatch(name)) for part in parts for name in _listed(Path(part.run.directory)))
    return Merged(out, merged.ranks, len(merged.processes), missing, traces if renumber else 0)


def _parts(directories: Sequence[str], renumber: bool) -> list[_Part]:
    """Open the directories."""
    by_path: dict[str, str] = {}
    parts: list[_Part] = []
    count = 0
    for directory in directories:
        real = os.path.realpath(directory)
        if real in by_path:
            raise UsageError(f"{directory} is given twice")
        by_path[real] = directory
        run = open_run(directory, exe="")
        if any(CLASSIC.fullmatch(name) for name in os.listdir(directory)):
            raise UsageError(f"{directory}: files of glibc's gprof runtime name no rank: record with incprof record")
        ranks = {rank: count + i if renumber else rank for i, rank in enumerate(run.ranks)}
        count += len(ranks)
        parts.append(_Part(run, _launch(directory), ranks))
    return parts


def _launch(directory: str) -> str:
    """Return the identity of a directory's launch; empty where it is not recorded."""
    try:
        text = read_input(Path(directory) / "launch", LONGEST_LAUNCH, within=directory)
    except OSError:
        return ""
    return text.decode("utf-8", "surrogateescape").strip()


def _refuse_collisions(parts: Sequence[_Part]) -> None:
    """Reject parts that cannot be one launch."""
    owner: dict[int, str] = {}
    named = [part for part in parts if part.launch and not part.launch.startswith(OF_A_NODE)]
    for part in parts:
        directory = part.run.directory
        for rank in part.ranks:
            if rank in owner:
                what = f"rank {rank} is in {owner[rank]} and in {directory}"
                raise UsageError(f"{what}: --renumber gives all ranks new numbers, directory after directory")
            owner[rank] = directory
    for part in named[1:]:
        if part.launch != named[0].launch:
            both = f"{named[0].run.directory} ({named[0].launch}) and {part.run.directory} ({part.launch})"
            raise UsageError(f"{both} are of different launches: --renumber joins them all the same")


def _missing(parts: Sequence[_Part]) -> tuple[int, ...]:
    """Return the ranks of the launch that no directory has, and that were not deselected."""
    recorded = {rank for part in parts for rank in part.ranks}
    for process in (process for part in parts for process in part.run.processes if not process.series):
        try:
            with Source(process.path) as source:
                metadata = first_metadata(source)
        except NoDataError:
            continue
        selected = metadata.raw.get("selected") is True
        ranks = 0 if selected else metadata.ranks or 0
        return tuple(sorted(set(range(min(ranks, 10_000_000))) - recorded))
    return ()


def _add(part: _Part, directory: Path, renumber: bool) -> None:
    """Add the files of a directory to the new one."""
    root = Path(part.run.directory)
    for source, name in _renumbered(part) if renumber else _files(part):
        if source is None:
            _extract(str(root / name[0]), directory / name[1])
        else:
            _link_or_copy(source, _free(directory / name[1]), root)
    for elf in sorted(entry for entry in _listed(root / "symbols") if SYMBOLS.fullmatch(entry)):
        _link_symbols(root / "symbols" / elf, directory / "symbols" / elf, root)


def _listed(directory: Path) -> list[str]:
    return os.listdir(directory) if directory.is_dir() else []


def _files(part: _Part) -> Iterator[tuple[Path, tuple[str, str]]]:
    """Yield the files of a recording under their own names."""
    root = Path(part.run.directory)
    for name in sorted(_listed(root)):
        if any(kind.fullmatch(name) for kind in (STREAM, NODE, SERIES, META, TRACE)):
            yield root / name, (name, name)


def _renumbered(part: _Part) -> Iterator[tuple[Path | None, tuple[str, str]]]:
    """Yield the files under other numbers; a file of several ranks is split into one for each (no path)."""
    root = Path(part.run.directory)
    for process in part.run.processes:
        if process.series:
            continue
        name = os.path.basename(process.path)
        new = f"rank-{part.ranks[process.rank]:05}{name[name.index('.') :]}"
        old = os.path.relpath(process.path, root)
        yield None if split(process.path)[1] else root / old, (old, new)
    for name in sorted(_listed(root)):
        if match := SERIES.fullmatch(name):
            new = f"gmon-{match[1]}.{part.ranks[int(match[2])]}{name[match.end(2) :]}"
        elif match := META.fullmatch(name):
            new = f"gmon-meta.{part.ranks.get(int(match[1]), int(match[1]))}{name[match.end(1) :]}"
        else:
            continue
        yield root / name, (name, new)


def _free(path: Path) -> Path:
    """Return the path, or another one if a file of another node has that name."""
    number, free = 2, path
    while os.path.lexists(free):
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return free


def _extract(stream: str, target: Path) -> None:
    """Extract a stream from a file of several into one of its own."""
    with Source(stream) as source, target.open("xb") as file:
        for offset in range(0, source.size, WINDOW):
            file.write(source.bytes_at(offset, WINDOW))


def _link_or_copy(source: Path, target: Path, root: Path) -> None:
    """Link a file of a run into the new directory, or copy it."""
    with open_input(source, within=root) as file:
        try:
            os.link(os.path.realpath(source), target)
        except OSError:
            with target.open("xb") as copy:
                shutil.copyfileobj(file, copy, WINDOW)
            shutil.copystat(source, target)


def _link_symbols(source: Path, target: Path, root: Path) -> None:
    """Link or copy a module's symbols, of which all directories may have a copy."""
    target.parent.mkdir(exist_ok=True)
    if not target.exists():
        _link_or_copy(source, target, root)
    elif target.name.startswith("path-") and not _same_contents(source, target, root):
        raise IncprofError(
            f"{source}: another program than in the directories before it, and none has a build-id: "
            f"link it with -Wl,--build-id and record again"
        )


def _same_contents(one: Path, other: Path, root: Path) -> bool:
    with open_input(one, within=root) as a, other.open("rb") as b:
        while True:
            x, y = a.read(WINDOW), b.read(WINDOW)
            if x != y:
                return False
            if not x:
                return True


# Remove reproducible files from a run directory. Samples are never removed.


# Answers, and intermediate results. Sites that were placed in the source are kept.
ANSWERS = ("answers.json", "ranks.json", "kmeans.json")
# Symbols of a module: they can be read again while its file exists.
SYMBOL_ENDINGS = (".json", ".jumps.json")


@dataclass(frozen=True)
class Cleaned:
    """The removed files.

    Attributes:
        files: their number.
        size: bytes.
        copies: how many of them were copies of symbols.
        failed: paths that could not be removed.
    """

    files: int
    size: int
    copies: int
    failed: tuple[str, ...]


def clean(directory: str, *, dry_run: bool = False) -> Cleaned:
    """Remove answers, and the symbols of modules whose files are unchanged where they were recorded.

    dry_run: remove nothing, and return what would be removed.

    Raises:
        NoDataError: the directory holds no recorded run.
    """
    sizes, failed = list[tuple[Path, int]](), list[str]()
    for path in dict.fromkeys(_reproducible_files(directory)):
        with contextlib.suppress(FileNotFoundError, ValueError):
            size = path.lstat().st_size
            try:
                if not dry_run:
                    path.unlink()
                sizes.append((path, size))
            except FileNotFoundError:
                raise
            except OSError:
                failed.append(str(path))
    copies = sum(path.suffix == ".elf" for path, _ in sizes)
    return Cleaned(len(sizes), sum(size for _, size in sizes), copies, tuple(failed))


def _reproducible_files(directory: str) -> Iterator[Path]:
    """Yield reproducible files."""
    run = open_all(directory, exe="")
    yield from (path for name in ANSWERS if _is_file(path := Path(directory) / name))
    if not inside(Path(directory) / "symbols", directory):
        return
    modules: dict[str, Module] = {}
    for process in run.processes:
        with contextlib.suppress(NoDataError):  # its modules stay
            modules.update({module.build_id: module for module in modules_of(process) if module.build_id})
    for module in modules.values():
        copy = copy_of(module, directory)
        if is_original_unchanged(module, directory):
            paths = (copy, *(copy.with_suffix(suffix) for suffix in SYMBOL_ENDINGS))
            yield from filter(_is_file, paths)


def _is_file(path: Path) -> bool:
    """Return whether a path is a file, and no symbolic link."""
    return os.path.isfile(path) and not os.path.islink(path)
