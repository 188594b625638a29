"""From placed sites to what goes into which file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from incprof.commands._common import warn
from incprof.commands._sites import PlacedSite
from incprof.errors import NoDataError
from incprof.model import IntervalProfile, Run
from incprof.readers.entry import main_place
from incprof.source.c_calls import calls_refusal
from incprof.source.c_macros import macros_of
from incprof.source.languages import HEADERS, parse_file, read_source
from incprof.source.model import Announcement, Beat, SourceFile, Style
from incprof.source.plan import FilePlan
from incprof.source.tree import SourceTree

NAMELESS = "heartbeats start by themselves at the first beat, without names and rate factors"


def beat_of(site: PlacedSite) -> Beat:
    """The heartbeat of a placed site."""
    assert site.function is not None
    return Beat(site.heartbeat, site.function, site.loop)


def with_style(root: Path, sites: Iterable[PlacedSite], style: Style) -> list[PlacedSite]:
    """The sites, those refused that the style has no way for."""
    macros = _macros(root) if style == "calls" else {}
    checked = []
    for site in sites:
        if style == "calls" and not site.refusal and site.source is not None and site.source.language == "c":
            site = replace(site, refusal=calls_refusal(site.source, beat_of(site), macros))
        checked.append(site)
    return checked


def _macros(root: Path) -> dict[bytes, bytes]:
    """What the headers of a tree define: a macro may hide a return."""
    found: dict[bytes, bytes] = {}
    for path in SourceTree(root).files():
        if Path(path).suffix.lower() in HEADERS:
            with suppress(NoDataError):
                found |= macros_of(read_source(root / path))
    return found


def plan_files(
    root: Path,
    run: Run,
    profile: IntervalProfile,
    sites: Sequence[PlacedSite],
    *,
    exe: str | None,
    blank: Sequence[str],
) -> list[FilePlan]:
    """What goes into each file, in order of their paths. Says so when main cannot be found."""
    files: dict[str, SourceFile] = {}
    beats: defaultdict[str, list[Beat]] = defaultdict(list)
    for site in sites:
        if site.source is not None and not site.refusal:
            files[site.source.path] = site.source
            beats[site.source.path].append(beat_of(site))
    main = _main_file(root, run, profile, files, exe=exe, blank=blank)
    announce = tuple(Announcement(site.heartbeat, site.name, site.rate.factor) for site in sites if not site.refusal)
    return [
        FilePlan(file, tuple(beats[path]), announce if path == main else ()) for path, file in sorted(files.items())
    ]


def _main_file(
    root: Path,
    run: Run,
    profile: IntervalProfile,
    files: dict[str, SourceFile],
    *,
    exe: str | None,
    blank: Sequence[str],
) -> str | None:
    """The path of the file with main, which is then among the files; None when it is not below the root."""
    place = main_place(run, profile, exe=exe)
    if place is None:
        warn((f"where main is in the source is not known (-g?): {NAMELESS}",))
        return None
    try:
        path = SourceTree(root).find(place[0])
        file = files.get(path) or parse_file(root, path, blank=blank)
    except NoDataError as error:
        warn((f"main: {error}: {NAMELESS}",))
        return None
    main = next((function for function in file.functions if function.is_main), None)
    if main is None or main.refusal:
        reason = main.refusal if main and main.refusal else "made by a macro"
        warn((f"{path}:{place[1]}: nothing is put into main: {reason}: {NAMELESS}",))
        return None
    files[path] = file
    return path
