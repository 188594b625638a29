"""Plan the edits of each file from placed sites."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from incprof.errors import NoDataError
from incprof.source.c.exits import macros_of
from incprof.source.c.paired_calls import calls_refusal
from incprof.source.languages import HEADERS, parse_file, read_source
from incprof.source.model import Announcement, Beat, SourceFile, Style
from incprof.source.plan import FilePlan
from incprof.source.tree import SourceTree
from incprof.study.sites.placed import PlacedSite
from incprof.study.study import Study
from incprof.symbols.source_lines import main_place

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
    found: dict[bytes, bytes] = {}
    for path in SourceTree(root).files():
        if Path(path).suffix.lower() in HEADERS:
            with suppress(NoDataError):
                found |= macros_of(read_source(root / path))
    return found


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
        raise NoDataError("where it is in the source is not known (no -g?)")
    path = SourceTree(root).find(place[0])
    file = files.get(path) or parse_file(root, path, blank=blank)
    main = next((function for function in file.functions if function.is_main), None)
    if main is None or main.refusal:
        reason = main.refusal if main and main.refusal else "made by a macro"
        raise NoDataError(f"{path}:{place[1]}: {reason}")
    return file


def _with_constructor(files: dict[str, SourceFile], style: Style) -> str | None:
    """Return the first file that can have a function which is called before main; included files come last."""
    able = [
        path for path, file in files.items() if file.language == "c++" or (file.language == "c" and style == "scope")
    ]
    return min(able, key=lambda path: (Path(path).suffix.lower() in HEADERS, path), default=None)
