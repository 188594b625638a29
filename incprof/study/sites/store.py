"""What is stored beside a run about its heartbeats: those inserted for phases, and the cost of one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from incprof.analysis.phase_result import Phase, PhaseResult, Site, SiteCost
from incprof.analysis.sites.rates import BeatCost
from incprof.safe.jsonstore import JsonStore

if TYPE_CHECKING:
    from incprof.model import Function, IntArray, IntervalProfile
    from incprof.study.sites.placed import PlacedSite


# Inserted heartbeats; places of the chosen sites in the source.
STORE, FOUND = "placed-sites.json", "found-sites.json"
VERSION = 3


def remember(directory: str, sites: Sequence[PlacedSite], *, store: str, phases: str) -> None:
    """Store the placed sites of a run's phases; a read-only directory is left alone.

    phases: identifies the phases, see `digest`.
    """
    kept = [
        {
            "name": s.name, "function": s.recorded, "kind": s.kind, "heartbeat": s.heartbeat, "phases": list(s.phases),
            "file": s.file, "line": s.line, "phase_pct": s.phase_pct, "beats_hz": s.rate.beats_hz,
            "rate_factor": s.rate.factor, "overhead_pct": s.rate.overhead_pct,
        }
        for s in sites
        if not s.refusal
    ]  # fmt: skip
    JsonStore(directory, store, VERSION).save({"phases": phases, "sites": kept})


def as_placed(result: PhaseResult, profile: IntervalProfile, directory: str, *, store: str, phases: str) -> PhaseResult:
    """Return the result with the placed sites; unchanged if none were placed for exactly these phases.

    Sites with inserted heartbeats (STORE) have the names of the heartbeats.

    Args:
        result: phases.
        profile: numbers the functions of its sites.
        directory: of the run.
        store: which sites, STORE or FOUND.
        phases: identifies the phases, see `digest`.
    """

    def understood(stored: dict[str, Any]) -> list[dict[str, Any]] | None:
        return [_entry(item) for item in stored["sites"]] if stored["phases"] == phases else None

    entries = JsonStore(directory, store, VERSION).load(understood)
    if entries is None:
        return result
    index = {function.name: i for i, function in reversed(list(enumerate(profile.functions)))}
    known = [entry for entry in entries if entry["function"] in index]
    phases_with = [_with_sites(phase, known, index, profile) for phase in result.phases]
    if store == STORE:
        phases_with = [_as_heartbeats(phase, known) for phase in phases_with]
    return replace(result, phases=tuple(phases_with))


def _with_sites(
    phase: Phase, entries: Sequence[dict[str, Any]], index: dict[str, int], profile: IntervalProfile
) -> Phase:
    """Return a phase with its placed sites."""
    old = {key: site for site in phase.sites for key in (site.function.name, (site.function.name, site.kind))}
    sites = []
    for entry in entries:
        if phase.id not in entry["phases"]:
            continue
        function = profile.functions[index[entry["function"]]]
        was = old.get((function.name, entry["kind"])) or old.get(function.name)
        site = was or _new_site(entry, index[entry["function"]], function, phase)
        # The binary has the whole path of the compiled file.
        file = site.file if (site.file or "").endswith(f"/{entry['file']}") else entry["file"]
        place = {"heartbeat": entry["heartbeat"], "kind": entry["kind"], "file": file, "line": entry["line"]}
        sites.append(replace(site, **place, cost=_cost(entry)))
    return replace(phase, sites=tuple(sites))


def _as_heartbeats(phase: Phase, entries: Sequence[dict[str, Any]]) -> Phase:
    """Return a phase whose sites' functions are named as the heartbeats are."""
    name = {entry["heartbeat"]: entry["name"].removesuffix(f":{entry['kind']}") for entry in entries}
    sites = [replace(s, function=replace(s.function, name=name[s.heartbeat])) for s in phase.sites]
    return replace(phase, sites=tuple(sites))


def _new_site(entry: dict[str, Any], index: int, function: Function, phase: Phase) -> Site:
    """Return a site that was not chosen, with the share of its phase that it represents."""
    return Site(
        entry["heartbeat"], index, function, entry["kind"], entry["phase_pct"],
        entry["phase_pct"] * phase.app_pct / 100, file=function.file,
    )  # fmt: skip


def _cost(entry: dict[str, Any]) -> SiteCost | None:
    """Return the cost of its beats, as far as it is known."""
    if entry["beats_hz"] is None or entry["overhead_pct"] is None:
        return None
    return SiteCost(entry["beats_hz"], entry["rate_factor"], entry["overhead_pct"])


def _entry(item: dict[str, Any]) -> dict[str, Any]:
    """Return a stored site, with its fields converted to their types."""
    phases = [int(phase) for phase in item["phases"]]
    words = {key: str(item[key]) for key in ("name", "function", "kind")}
    numbers = {key: _number(item[key]) for key in ("beats_hz", "overhead_pct")}
    return {
        **words, **numbers, "heartbeat": int(item["heartbeat"]), "phases": phases,
        "file": None if item["file"] is None else str(item["file"]),
        "line": None if item["line"] is None else int(item["line"]),
        "phase_pct": float(item["phase_pct"]), "rate_factor": int(item["rate_factor"]),
    }  # fmt: skip


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def digest(profile: IntervalProfile, labels: IntArray) -> str:
    """Identify phases: their rank, the first of several, and their intervals, (n,) labels."""
    text = json.dumps([profile.metadata.rank, labels.tolist()])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# The cost of a heartbeat, measured once per run, so that the answer is reproducible.


# Used where libappekg is not available: pairs of begin and end as in docs/lab/performance.md.
TYPICAL = BeatCost(pair_ns=30.0, skipped_ns=3.0)
COST_STORE = "beat-cost.json"
COST_VERSION = 1
# An upper bound of the duration of a pair on any processor.
MOST_NS = 1e6


def beat_cost(directory: str) -> BeatCost:
    """Return the cost of a heartbeat on this machine, as measured for the first answer about this run."""
    store = JsonStore(directory, COST_STORE, COST_VERSION)
    if (kept := store.load(_understood)) is not None:
        return kept
    measured = _measured()
    if measured is None:
        return TYPICAL
    store.save(asdict(measured))
    return measured


def _measured() -> BeatCost | None:
    """Measure the cost in nanoseconds, rounded to its precision."""
    try:
        from appekg import cost, python_ns

        measured, passing = cost(), python_ns()
    except (ImportError, OSError):
        return None
    return _plausible(*(float(f"{ns:.2g}") for ns in (measured.pair_ns, measured.skipped_ns, passing)))


def _plausible(pair_ns: float, skipped_ns: float, python_ns: float) -> BeatCost | None:
    """Return the cost, unless it is implausible."""
    possible = 0 < skipped_ns <= pair_ns < MOST_NS and 0 < python_ns < MOST_NS
    return BeatCost(pair_ns, skipped_ns, python_ns) if possible else None


def _understood(stored: dict[str, Any]) -> BeatCost | None:
    """Return the stored cost."""
    python_ns = float(stored.get("python_ns", TYPICAL.python_ns))
    return _plausible(float(stored["pair_ns"]), float(stored["skipped_ns"]), python_ns)
