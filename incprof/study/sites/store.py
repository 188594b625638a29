"""Which heartbeats were put in for which phases, kept in the run directory for whoever compares them later.

A heartbeat may stand where no site was chosen: another function took a refused one's place, a loop became a body, a
function inlined into main has the loop. Names alone do not tell that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from incprof.analysis.phases.results import Phase, PhaseResult, Site
from incprof.jsonstore import JsonStore

if TYPE_CHECKING:
    from incprof.model import IntArray, IntervalProfile
    from incprof.study.sites.placed import PlacedSite

STORE = "placed-sites.json"
VERSION = 2


def remember(directory: str, profile: IntervalProfile, labels: IntArray, sites: Sequence[PlacedSite]) -> None:
    """Keep the placed sites of a run's phases, labels (n,); a directory that cannot be written to is left alone."""
    kept = [
        {"name": s.name, "function": s.recorded, "kind": s.kind, "heartbeat": s.heartbeat, "phases": list(s.phases)}
        for s in sites
        if not s.refusal
    ]
    JsonStore(directory, STORE, VERSION).save({"phases": _digest(profile, labels), "sites": kept})


def as_placed(result: PhaseResult, profile: IntervalProfile, directory: str) -> PhaseResult:
    """The result with the sites that heartbeats were put in for; as it is if none were, for these very phases."""
    phases = _digest(profile, result.labels)

    def understood(stored: dict[str, Any]) -> list[dict[str, Any]] | None:
        return [_entry(item) for item in stored["sites"]] if stored["phases"] == phases else None

    entries = JsonStore(directory, STORE, VERSION).load(understood)
    if entries is None:
        return result
    index = {function.name: i for i, function in reversed(list(enumerate(profile.functions)))}
    known = [entry for entry in entries if entry["function"] in index]
    return replace(result, phases=tuple(_with_sites(phase, known, index, profile) for phase in result.phases))


def _with_sites(
    phase: Phase, entries: Sequence[dict[str, Any]], index: dict[str, int], profile: IntervalProfile
) -> Phase:
    """A phase with the sites that stand for it."""
    old = {(site.function.name, site.kind): site for site in phase.sites}
    sites = []
    for entry in entries:
        if phase.id not in entry["phases"]:
            continue
        function = profile.functions[index[entry["function"]]]
        name = entry["name"].removesuffix(f":{entry['kind']}")
        was = old.get((function.name, entry["kind"]))
        site = Site(entry["heartbeat"], index[entry["function"]], function, entry["kind"], 0.0, 0.0)
        sites.append(replace(was or site, function=replace(function, name=name)))
    return replace(phase, sites=tuple(sites))


def _entry(item: dict[str, Any]) -> dict[str, Any]:
    """A stored site, its fields of the types that they should have."""
    phases = [int(phase) for phase in item["phases"]]
    words = {key: str(item[key]) for key in ("name", "function", "kind")}
    return {**words, "heartbeat": int(item["heartbeat"]), "phases": phases}


def _digest(profile: IntervalProfile, labels: IntArray) -> str:
    """What says that phases are the same: of the same rank, and in the same intervals."""
    text = json.dumps([profile.metadata.rank, labels.tolist()])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
