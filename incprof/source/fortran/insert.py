"""Insertions into a Fortran file for its heartbeats: USE, ekg_begin, and ekg_end before every exit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from incprof.errors import IncprofError
from incprof.source.fortran.exits import RefusedError
from incprof.source.fortran.marks import name_lines
from incprof.source.fortran.procedures import Sites, sites_of
from incprof.source.fortran.refusals import names_taken, start_refusal
from incprof.source.fortran.work import Work, begin_call
from incprof.source.model import Announcement, Beat, Insertion, SourceFile


def fortran_insertions(
    file: SourceFile, beats: Sequence[Beat], announce: Sequence[Announcement] = ()
) -> list[Insertion]:
    """Return the insertions for these heartbeats.

    Args:
        file: From parse_fortran.
        beats: The heartbeats, with ids from 0 to 2**31-1.
        announce: Heartbeats that the PROGRAM in this file announces when it starts.

    Raises:
        IncprofError: No heartbeat can go there, or there is no PROGRAM.
    """
    sites = sites_of(file.data, file.language == "fixed")
    by_function: dict[int, list[Beat]] = defaultdict(list)
    for beat in beats:
        by_function[beat.function].append(beat)
    if announce:
        main = next((at for at, function in enumerate(file.functions) if function.is_main), None)
        if main is None:
            raise IncprofError(f"{file.path}: no PROGRAM that could name the heartbeats")
        if reason := _start_refusal(sites, main):
            raise IncprofError(f"{file.path}:{file.functions[main].line}: the PROGRAM cannot name heartbeats: {reason}")
        by_function[main] = by_function.get(main, [])
    found: list[Insertion] = []
    for at, of_function in sorted(by_function.items()):
        function = file.functions[at]
        wanted = announce if function.is_main else ()
        for beat in of_function:
            reason = function.refusal if beat.loop is None else function.loops[beat.loop].refusal
            if reason:
                raise IncprofError(f"{file.path}:{function.line}: {function.name}: {reason}")
        try:
            found += insertions_of(sites, at, of_function, wanted)
        except RefusedError as error:
            raise IncprofError(f"{file.path}:{function.line}: {function.name}: {error}") from error
    return sorted(found, key=lambda each: each.offset)


def insertions_of(
    sites: Sites, function: int, beats: Sequence[Beat], announce: Sequence[Announcement] = ()
) -> list[Insertion]:
    """Return the insertions into one procedure, in the order of the file.

    Raises: RefusedError if no heartbeat can go there.
    """
    site = sites.functions[function]
    body = [beat.id for beat in beats if beat.loop is None]
    loops: dict[int, list[int]] = defaultdict(list)
    for beat in beats:
        if beat.loop is not None:
            loops[site.loops[beat.loop]].append(beat.id)
    work = Work(sites.source, sites.places, sites.source.units[site.unit], site.facts, body, dict(loops))
    names = ["ekg_begin", "ekg_end"] if beats else []
    if announce:
        names += ["ekg_init", "ekg_name"] + ["ekg_rate"] * any(each.rate_factor != 1 for each in announce)
    work.use(names)
    start = _announcing(announce, fixed=sites.source.fixed) if announce else []
    if start or body:
        work.start([*start, *map(begin_call, body)])
    for block in loops:
        work.loop(block)
    work.ways_out()
    if body:
        work.entries()
        work.end()
    return [insertion for _, _, insertion in sorted(work.found, key=lambda each: (each[0], each[1]))]


def _start_refusal(sites: Sites, function: int) -> str | None:
    site = sites.functions[function]
    return start_refusal(sites.source, sites.source.units[site.unit], site.facts, names_taken(sites.source))


def _announcing(announce: Sequence[Announcement], *, fixed: bool) -> list[bytes]:
    lines = [b"call ekg_init()"]
    for each in announce:
        lines += name_lines(each.id, each.name, fixed=fixed)
        if each.rate_factor != 1:
            lines.append(b"call ekg_rate(%d_4, %d_4)" % (each.id, each.rate_factor))
    return lines
