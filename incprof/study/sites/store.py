"""A site's place in the source or the reason why it has none, and what is stored of heartbeats beside a run."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from incprof.analysis.phase_result import Phase, PhaseResult, Site, SiteCost, Step, all_steps
from incprof.analysis.sites.rates import BeatCost, Rate
from incprof.analysis.views.site_rows import ExcerptLine, SiteRow, SitesAnswer, printable_line
from incprof.model import IntervalProfile, Run
from incprof.model.names import parse
from incprof.safe.jsonstore import JsonStore
from incprof.source.languages import language_of
from incprof.source.model import CHANGED, SourceFile, is_fortran, line_text, name_line
from incprof.study.sites.place import SourcePlace
from incprof.symbols.python_code import label
from incprof.symbols.source_lines import line_weights, locate

if TYPE_CHECKING:
    from incprof.model import Function, IntArray, IntervalProfile

# Inserted heartbeats; places of the chosen sites in the source.
STORE, FOUND = "placed-sites.json", "found-sites.json"
VERSION = 4


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
    profile: numbers the functions of its sites. store: which sites, STORE or FOUND. phases: identifies the phases, see
    `digest`.
    """

    def understood(stored: dict[str, Any]) -> list[dict[str, Any]] | None:
        return [_entry(item) for item in stored["sites"]] if stored["phases"] == phases else None

    entries = JsonStore(directory, store, VERSION).load(understood)
    if entries is None:
        return result
    index = {function.name: i for i, function in reversed(list(enumerate(profile.functions)))}
    known_entries = [entry for entry in entries if entry["function"] in index]
    phases_with = [_with_sites(phase, known_entries, index, profile) for phase in result.phases]
    if store == STORE:
        phases_with = [_as_heartbeats(phase, known_entries) for phase in phases_with]
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


# A site's place in the source, or the reason why it has none.


UNKNOWN_RATE = Rate(None, "unknown", 1, None)

Kind = Literal["body", "loop"]


@dataclass(frozen=True)
class PlacedSite:
    """A site and its place, or the reason why it has none.

    Attributes:
        heartbeat: its id; 0 for a refused one.
        name: of the heartbeat, "function:kind", or "function@line:kind" where two would be equal.
        phases: that it represents.
        recorded: the function's name in the program.
        kind: its final kind; a loop that cannot be identified becomes a body.
        source: the parsed file; None for a refused site.
        function: index of the function in it; None for a refused site.
        loop: index of the loop in the function; None for a body.
        file: of the function or the loop; relative to the source directory for a placed site.
        line: of the function or the loop.
        phase_pct: of the phase's intervals, see Site.
        rate: beats per second, and their cost.
        share: of the function's samples in the loop, 0..1.
        note: a remark on the choice.
        refusal: the reason why it has no place.
    """

    heartbeat: int
    name: str
    phases: tuple[int, ...]
    recorded: str
    kind: Kind
    source: SourceFile | None
    function: int | None
    loop: int | None
    file: str | None
    line: int | None
    phase_pct: float
    rate: Rate
    share: float | None = None
    note: str | None = None
    refusal: str | None = None

    @property
    def is_changed(self) -> bool:
        """Whether it was refused because the source is known to differ from the compiled one."""
        reason = self.refusal or ""
        return CHANGED in reason and f"or {CHANGED}" not in reason


def describe(
    heartbeat: int, recorded: str, spot: SourcePlace, phases: tuple[int, ...], phase_pct: float, rate: Rate
) -> PlacedSite:
    """Describe a site that has a place."""
    file, position = spot.function.file, spot.function.position
    function = file.functions[position]
    kind: Kind = "body" if spot.loop is None else "loop"
    line = name_line(file, position) if spot.loop is None else function.loops[spot.loop].line
    # A PROGRAM has another name in the recording, and so for everything that reads it.
    program = function.is_main and is_fortran(file.language)
    name = parse(recorded).last if program else function.name
    if file.language == "python":
        name = recorded if ":" in recorded else f"{label(file.path)}:{function.name}"
    return PlacedSite(
        heartbeat, f"{name}:{kind}", phases, recorded, kind, file, position, spot.loop, file.path, line, phase_pct,
        rate, spot.share, spot.note,
    )  # fmt: skip


def merged(sites: Sequence[PlacedSite]) -> list[PlacedSite]:
    """Merge sites: one heartbeat for each place, by id; then the refused sites, each once."""
    places: dict[tuple[object, ...], PlacedSite] = {}
    for site in sites:
        place = (site.file, site.function, site.loop) if site.function is not None else (site.name,)
        key = place if not site.refusal else (site.name, site.refusal)
        first = places.setdefault(key, site)
        if first is not site:
            ids = [i for i in (first.heartbeat, site.heartbeat) if i]
            phases = tuple(sorted({*first.phases, *site.phases}))
            places[key] = replace(first, heartbeat=min(ids, default=0), phases=phases)
    placed = _numbered([site for site in places.values() if not site.refusal])
    placed = _unique_names(_unique_names(placed, lambda site: site.line), lambda site: site.heartbeat)
    return placed + [site for site in places.values() if site.refusal]


def _unique_names(sites: Sequence[PlacedSite], number: Callable[[PlacedSite], int | None]) -> list[PlacedSite]:
    """Make names unique by a number after the function's: `main@86:loop`."""
    count = Counter(site.name for site in sites)
    unique = []
    for site in sites:
        function = site.name.removesuffix(f":{site.kind}")
        name = f"{function}@{number(site)}:{site.kind}" if count[site.name] > 1 else site.name
        unique.append(replace(site, name=name))
    return unique


def _numbered(sites: Sequence[PlacedSite]) -> list[PlacedSite]:
    """Number sites from 1, in order of their phases; those without a phase, and those without an id, come last."""
    order = sorted(sites, key=lambda site: (not site.phases, site.phases[:1], not site.heartbeat, site.heartbeat))
    return [replace(site, heartbeat=number) for number, site in enumerate(order, 1)]


# Sites as input of the reports, with the lines of source around each.


CONTEXT = 3


def described(
    result: PhaseResult, sites: Sequence[PlacedSite], cost: BeatCost, source: str | None, *, by_hand: bool = False
) -> SitesAnswer:
    """Describe the sites for the reports. source: as given. by_hand: the sites were named, not chosen."""
    every = tuple(
        SiteRow(
            s.heartbeat, s.name, s.phases, s.recorded, s.kind, s.file, s.line, s.phase_pct, s.share, s.rate.beats_hz,
            s.rate.basis, s.rate.factor, s.rate.overhead_pct, s.note, excerpt(s), s.refusal,
        )
        for s in sites
    )  # fmt: skip
    rows, refused = (tuple(row for row in every if (row.reason is None) is placed) for placed in (True, False))
    if rows and all(language_of(row.file or "", b"") == "python" for row in rows):
        cost = cost.in_python()
    served = {phase for row in rows for phase in row.phases}
    missing = tuple(p.id for p in result.phases if p.id not in served and not p.off_cpu and not by_hand)
    return SitesAnswer(
        result.method, result.k, source, cost.pair_ns, cost.skipped_ns, rows, refused, missing, result.warnings
    )


def excerpt(site: PlacedSite) -> tuple[ExcerptLine, ...]:
    """Return the line of the function's name and the place of the beat, each with the lines around it."""
    if site.source is None or site.function is None or site.line is None:
        return ()
    function = site.source.functions[site.function]
    head = name_line(site.source, site.function)
    marked = site.line if site.loop is not None else head
    low, high = max(marked - CONTEXT, function.line), min(marked + CONTEXT, function.last_line)
    numbers = sorted({head, *range(low, high + 1)})
    lines, before = [], numbers[0]
    for number, text in zip(numbers, line_text(site.source.data, numbers), strict=True):
        lines.append(ExcerptLine(number, printable_line(text), number == marked, number > before + 1))
        before = number
    return tuple(lines)


# Places of sites and steps in the source, from the program's debug information.


def located(run: Run, profile: IntervalProfile, result: PhaseResult, exe: str | None) -> PhaseResult:
    """Give each site its file and line: the function's, or for a loop the line with the most samples in its phase."""
    functions = [site.function for phase in result.phases for site in phase.sites]
    functions += [step.function for phase in result.phases for step in all_steps(phase.steps)]
    begin = dict(zip(functions, locate(run, profile, functions, exe=exe), strict=True))

    def place(site: Site, phase: Phase) -> Site:
        file, line = begin[site.function].file, begin[site.function].line
        if site.kind == "loop":
            members = np.flatnonzero(result.labels == phase.id)
            lines = line_weights(run, profile, site.index, intervals=members, exe=exe)
            # Code inlined from elsewhere may be the hottest; the loop to instrument is in the function's own file.
            own = [entry for entry in lines if entry[0] == file] or lines
            file, line = own[0][:2] if own else (file, line)
        return replace(site, file=file, line=line)

    def place_step(step: Step) -> Step:
        at, below = begin[step.function], tuple(place_step(inner) for inner in step.steps)
        return replace(step, file=at.file, line=at.line, steps=below)

    def place_all(phase: Phase) -> Phase:
        sites, steps = (place(site, phase) for site in phase.sites), (place_step(step) for step in phase.steps)
        return replace(phase, sites=tuple(sites), steps=tuple(steps))

    return replace(result, phases=tuple(map(place_all, result.phases)))
