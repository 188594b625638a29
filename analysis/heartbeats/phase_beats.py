"""Match heartbeats to sites: by name, `function:kind`, else by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incprof.analysis.compare.match import common_components
from incprof.analysis.phase_result import Phase, Site

Key = tuple[int, str]
Sites = dict[Key, Site]
KINDS = ("body", "loop")
NAME_BYTES = 119  # the library truncates longer ones


@dataclass(frozen=True)
class Matched:
    """Heartbeats of each phase. Heartbeats are indices into the list of ids, phases into PhaseResult.phases.

    Attributes:
        of_phase: for each phase its heartbeats.
        functions: for each heartbeat the columns in the profile of the functions whose sites it stands for.
        loops: for each heartbeat whether one of these sites is a loop.
        missing: for each phase the sites without a heartbeat, `function:kind`.
    """

    of_phase: tuple[tuple[int, ...], ...]
    functions: tuple[tuple[int, ...], ...]
    loops: tuple[bool, ...]
    missing: tuple[tuple[str, ...], ...]

    @property
    def used(self) -> tuple[int, ...]:
        """Heartbeats that belong to a phase."""
        return tuple(place for place, columns in enumerate(self.functions) if columns)


def match(phases: Sequence[Phase], ids: Sequence[int], names: Sequence[str | None]) -> Matched:
    """Find the heartbeats of each phase. A heartbeat whose site several phases have belongs to each of them.

    A name need not be equally qualified on both sides: `solve:body` is `ns::Mesh::solve(int):body` unless another
    site's name fits better. Whether a function is instrumented as a body or in a loop may depend on a few samples:
    where no heartbeat has a site's kind, one with the other kind stands for it.
    """
    sites: Sites = {(s.index, s.kind): s for phase in phases for s in phase.sites}
    stands_for = [_sites_of(number, name, sites) for number, name in zip(ids, names, strict=True)]
    matched_sites = set[Key]().union(*stands_for)
    rest = {key: site for key, site in sites.items() if key not in matched_sites}
    for place, name in enumerate(names):
        if name is not None and not stands_for[place]:
            stands_for[place] = _sites_of(ids[place], _other_kind(name), rest)
    of_phase, missing = [], []
    matched_sites = set[Key]().union(*stands_for)
    for phase in phases:
        own = {(site.index, site.kind) for site in phase.sites}
        of_phase.append(tuple(place for place, beat_sites in enumerate(stands_for) if beat_sites & own))
        left = [site for site in phase.sites if (site.index, site.kind) not in matched_sites]
        missing.append(tuple(f"{site.function.name}:{site.kind}" for site in left))
    functions = tuple(tuple(sorted({index for index, _ in beat_sites})) for beat_sites in stands_for)
    kinds = [name.rpartition(":")[2] if name is not None else None for name in names]
    loops = tuple(
        kind == "loop" if kind in KINDS else any(other == "loop" for _, other in beat_sites)
        for kind, beat_sites in zip(kinds, stands_for, strict=True)
    )
    return Matched(tuple(of_phase), functions, loops, tuple(missing))


def _other_kind(name: str) -> str:
    """Return the name of the same function's other kind of site; a name without a kind unchanged."""
    function, _, kind = name.rpartition(":")
    return f"{function}:{KINDS[1 - KINDS.index(kind)]}" if kind in KINDS else name


def _sites_of(number: int, name: str | None, sites: Sites) -> set[Key]:
    """Return the sites that a heartbeat stands for."""
    if name is None:
        return {key for key, site in sites.items() if site.heartbeat == number}
    function, _, kind = name.rpartition(":")
    fits = {
        key: fit
        for key, site in sites.items()
        if site.kind == kind and (fit := _fit(function, site.function.name, site.function.mangled)) > 0
    }
    best = max(fits.values(), default=0)
    if not best and len(name.encode()) >= NAME_BYTES - 3:  # truncated, perhaps in the middle of a character
        return {key for key, site in sites.items() if f"{site.function.name}:{site.kind}".startswith(name)}
    return {key for key, fit in fits.items() if fit == best}


def _fit(given: str, name: str, mangled: str) -> int:
    """Return how well two names match, 0 for not at all: equal, or equal in their last components."""
    if given in (name, mangled):
        return 1_000_000
    return common_components(given, name)
