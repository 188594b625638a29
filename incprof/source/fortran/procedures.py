"""The procedures and loops of a Fortran file, in the order of SourceFile."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from incprof.source.fortran.facts import Facts, facts_of
from incprof.source.fortran.places import Places
from incprof.source.fortran.structure import LOOPS, PROCEDURES, Source
from incprof.source.fortran.units import structure_of


@dataclass(frozen=True, slots=True)
class Site:
    """A procedure. unit: its position in Source.units. loops: positions of its loops in Source.blocks."""

    unit: int
    facts: Facts
    loops: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sites:
    """The procedures of a file, its structure, and the places for insertions."""

    source: Source
    places: Places
    functions: tuple[Site, ...]


@lru_cache(maxsize=2)
def sites_of(data: bytes, fixed: bool) -> Sites:
    """Return the procedures of a file without heartbeats of ours; those without an end are left out."""
    source = structure_of(data.decode("latin-1"), fixed=fixed)
    found = []
    for position, unit in enumerate(source.units):
        if unit.last < 0 or (unit.kind not in PROCEDURES and unit.kind != "program"):
            continue
        loops = tuple(block for block in unit.blocks if source.blocks[block].kind in LOOPS)
        found.append(Site(position, facts_of(source, unit), loops))
    return Sites(source, Places(source, data), tuple(found))
