"""Edits of the source files: with heartbeats, without them, as a patch."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from appekg import _flags, _fortran_module, _library
from incprof.errors import IncprofError, NoDataError
from incprof.source.c.exits import macros_of
from incprof.source.c.paired_calls import calls_refusal
from incprof.source.changes import FilePlan, Version, difference, replace_all, with_heartbeats, without_heartbeats
from incprof.source.compile_check import check_command, syntax_check
from incprof.source.compile_commands import Command, read_commands
from incprof.source.languages import HEADERS, language_of, parse_file, read_source
from incprof.source.model import Announcement, Beat, SourceFile, Style
from incprof.source.source_tree import SourceTree
from incprof.study.phase_options import Listener
from incprof.study.sites.store import PlacedSite
from incprof.study.study import Study
from incprof.symbols.source_lines import main_place


@dataclass(frozen=True)
class Edits:
    """Edits of a source tree. root: its directory. versions: the files that change."""

    root: Path
    versions: list[Version]

    @property
    def files(self) -> str:
        """Return "1 file", "2 files"."""
        return "1 file" if len(self.versions) == 1 else f"{len(self.versions)} files"

    def patch(self) -> bytes:
        """Return the unified diff."""
        return b"".join(difference(version.path, version.old, version.new) for version in self.versions)

    def write(self) -> None:
        """Write the new versions.

        Raises: IncprofError when any of them cannot be written; then no file has changed.
        """
        replace_all(self.root, self.versions)

    @classmethod
    def removing(cls, root: Path) -> Edits:
        """Return the edits that take out all heartbeats."""
        return cls(root, without_heartbeats(root))

    @classmethod
    def inserting(
        cls, study: Study, root: Path, sites: Sequence[PlacedSite], *, style: Style, blank: Sequence[str]
    ) -> Edits:
        """Return the edits that insert heartbeats.

        Args:
            study: of the sites.
            root: the directory that holds the source.
            sites: placed ones; refused ones are ignored.
            style: of heartbeats in C.
            blank: macros hidden from the parser.
        """
        return cls(root, with_heartbeats(root, plan_files(study, root, sites, style=style, blank=blank), style))


# Plan the edits of each file from placed sites.


NAMELESS = "heartbeats start by themselves at the first beat, without names and rate factors"


def beat_of(site: PlacedSite) -> Beat:
    """Return the heartbeat of a placed site."""
    assert site.function is not None
    return Beat(site.heartbeat, site.function, site.loop)


def with_style(root: Path, sites: Iterable[PlacedSite], style: Style) -> list[PlacedSite]:
    """Return the sites, refusing those that the style does not support."""
    macros = _macros(root) if style == "calls" else {}
    checked = []
    for site in sites:
        if style == "calls" and not site.refusal and site.source is not None and site.source.language == "c":
            site = replace(site, refusal=calls_refusal(site.source, beat_of(site), macros))
        checked.append(site)
    return checked


def _macros(root: Path) -> dict[bytes, bytes]:
    """Return the macro definitions in the headers of a tree: a macro may hide a return."""
    macros: dict[bytes, bytes] = {}
    for path in SourceTree(root).files():
        if Path(path).suffix.lower() in HEADERS:
            with suppress(NoDataError):
                macros |= macros_of(read_source(root / path))
    return macros


def plan_files(
    study: Study, root: Path, sites: Sequence[PlacedSite], *, style: Style, blank: Sequence[str]
) -> list[FilePlan]:
    """Plan the edits of each file, in order of their paths. Warns if names cannot be set in main.

    A file in Python names its own heartbeats: any program may import it.
    """
    files: dict[str, SourceFile] = {}
    beats: defaultdict[str, list[Beat]] = defaultdict(list)
    for site in sites:
        if site.source is not None and not site.refusal:
            files[site.source.path] = site.source
            beats[site.source.path].append(beat_of(site))
    announce = {path: _announced(site for site in sites if site.source is file) for path, file in files.items()}
    compiled = [site for site in sites if site.source is not None and site.source.language != "python"]
    if not any(not site.refusal for site in compiled):
        return [FilePlan(file, tuple(beats[path]), announce[path]) for path, file in sorted(files.items())]
    try:
        main = _main_file(study, root, files, blank)
        files[main.path] = main
        announcing: str | None = main.path
    except NoDataError as error:
        announcing = _with_constructor(files, style)
        instead = f"{announcing} names the heartbeats before it starts" if announcing else NAMELESS
        study.listener.warn([f"nothing is put into main: {error}; {instead}"])
    ids = _announced(compiled)
    return [
        FilePlan(
            file,
            tuple(beats[path]),
            announce[path] if file.language == "python" else ids if path == announcing else (),
        )
        for path, file in sorted(files.items())
    ]


def _announced(sites: Iterable[PlacedSite]) -> tuple[Announcement, ...]:
    """Return the announcements of the heartbeats of sites."""
    return tuple(Announcement(site.heartbeat, site.name, site.rate.factor) for site in sites if not site.refusal)


def _main_file(study: Study, root: Path, files: dict[str, SourceFile], blank: Sequence[str]) -> SourceFile:
    """Return the file with main.

    Raises: NoDataError when it is unknown, not below the root, or main cannot be edited.
    """
    place = main_place(study.run, study.profile, exe=study.exe)
    if place is None:
        raise NoDataError("its place in the source is unknown (built without -g?)")
    path = SourceTree(root).find(place[0])
    file = files.get(path) or parse_file(root, path, blank=blank)
    main = next((function for function in file.functions if function.is_main), None)
    if main is None or main.refusal:
        reason = main.refusal if main and main.refusal else "made by a macro"
        raise NoDataError(f"{path}:{place[1]}: {reason}")
    return file


def _with_constructor(files: dict[str, SourceFile], style: Style) -> str | None:
    """Return the first file that can have a function which is called before main; included files come last."""
    candidates = [
        path for path, file in files.items() if file.language == "c++" or (file.language == "c" and style == "scope")
    ]
    return min(candidates, key=lambda path: (Path(path).suffix.lower() in HEADERS, path), default=None)


# Checks of the changed files before anything is written.


COMMANDS = "compile_commands.json"


def check_edits(edits: Edits, listener: Listener, *, compile_commands: str | None, check: str | None) -> None:
    """Check the new versions with compilers, and with a command of the user's.

    Args:
        edits: to check.
        listener: receives warnings about files that could not be checked.
        compile_commands: the file with the compile commands; None: search for it.
        check: a shell command that must succeed in a changed copy of the source.

    Raises:
        IncprofError: one of them fails.
    """
    root, changed = edits.root, {version.path: version.new for version in edits.versions}
    compiled = {path: new for path, new in changed.items() if language_of(path, new) != "python"}
    commands = _commands(root, compile_commands)
    if commands is not None and compiled:
        checked = syntax_check(root, compiled, commands, c_flags=_c_flags(), fortran_flags=_fortran_flags(compiled))
        listener.warn(f"{path}: not checked: {reason}" for path, reason in checked.unchecked)
        if checked.errors:
            path, message = checked.errors[0]
            more = f" (and {len(checked.errors) - 1} more files)" if len(checked.errors) > 1 else ""
            raise IncprofError(f"{path} would not compile: {message}{more}; nothing was written")
    if check is not None and changed and (reason := check_command(root, changed, check)):
        raise IncprofError(f"{reason}; nothing was written")


def _commands(root: Path, database: str | None) -> list[Command] | None:
    """Return the compile commands; None when there are none."""
    if database is not None:
        return read_commands(Path(database))
    for path in (root / COMMANDS, root / "build" / COMMANDS):
        if path.is_file():
            return read_commands(path)
    return None


def _c_flags() -> list[str]:
    """Return the compiler flags for appekg.h."""
    try:
        return _flags.compile_flags(_library.find(os.environ))
    except FileNotFoundError as error:
        raise IncprofError(str(error)) from None


def _fortran_flags(changed: dict[str, bytes]) -> list[str]:
    """Return the flags for the Fortran module, which is compiled only where a Fortran file changes."""
    if not any(language_of(path, b"") in ("fortran", "fixed") for path in changed):
        return []
    try:
        library = _library.find(os.environ)
        return _flags.fortran_flags(library, _fortran_module.module_directory(library, None, os.environ))
    except (FileNotFoundError, _fortran_module.CompilerError) as error:
        raise IncprofError(str(error)) from None
