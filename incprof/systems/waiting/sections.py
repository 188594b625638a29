"""What phases wait for, on their cards."""

from __future__ import annotations

import numpy as np

from incprof.analysis.views.tracks import TimeBins
from incprof.model.section import Amount, CardPart, Column, Lane, edges_of
from incprof.report.render.json import exact, fields
from incprof.report.words.display_names import path_text, short, where
from incprof.report.words.formatting import count, percent
from incprof.study.recorded_paths import Places, names_at, places_of
from incprof.study.study import Study
from incprof.systems.waiting.analyse import CauseWaits, Holder, PhaseWaits, WaitPath, waiting_over_time, waits_by_phase
from incprof.systems.waiting.causes import CAUSES, GLOBAL_LOCK, Cause, Kinds, kinds_of
from incprof.systems.waiting.read import Waits, read_waits, with_short_threads_joined

NAMES: dict[Cause, str] = {
    "lock": "locks",
    "sleep": "sleep",
    "io": "files",
    "network": "sockets and pipes",
    "mpi": "MPI",
    "openmp": "OpenMP",
    "device": "a device",
    "fault": "page faults",
    "run-queue": "a processor",
    "suspended": "being stopped",
    "join": "threads to end",
    "child": "child processes",
    "other": "something else",
    "unknown": "waits too short to be seen",
}
# A smaller share of a phase's time is in no sentence, and a smaller one of a path in its cause.
WORTH, WORTH_PATH = 0.01, 0.2
MOST_NAMED, MOST_OTHERS, MOST_CALLERS, MOST_LANES = 3, 2, 2, 4
# Standard errors are shown from this part of a share on.
SHOWN_ERROR = 0.05
# The share of samples left out from which it is worth a note.
THINNED = 0.05


def card(study: Study, bins: TimeBins | None) -> CardPart | None:
    """Return what each phase waits for; None if it was not recorded."""
    if study.process.series:
        return None
    arch = str(study.recorded.metadata.raw.get("arch") or "x86_64")
    waits = read_waits(study.process.path, study.run.directory, arch=arch, exe=study.exe)
    if waits is None:
        return None
    kinds = kinds_of(waits)
    waits = with_short_threads_joined(waits, study.recorded.metadata.interval_s)
    by_phase = waits_by_phase(waits, kinds, study.profile, study.phases())
    phases = {each.id: each for each in by_phase}
    places = _places(study, waits, by_phase)
    columns = (
        Column("Waiting", lambda phase: _shown(phases.get(phase)), "", drop=1, key="waiting"),
        Column(None, lambda phase: phases[phase].share if phase in phases else None, "%", key="waiting_share"),
        Column("Waits", lambda phase: _sentence(phases[phase], waits, places) if phase in phases else None,
               sentence=True),
        Column("Other threads", lambda phase: _others(phases[phase], waits, places) if phase in phases else None,
               sentence=True),
    )  # fmt: skip
    values = {each.id: _value(each, waits, places) for each in by_phase}
    lanes = () if bins is None else _lanes(waits, kinds, by_phase, bins)
    return CardPart("waiting", values, columns, lanes, tuple(_notes(waits)), _amounts(by_phase))


def _shown(phase: PhaseWaits | None) -> str | None:
    """Return "61 %, locks"."""
    if phase is None:
        return None
    largest = next((each for each in phase.causes if each.share >= WORTH and each.cause != "unknown"), None)
    return percent(phase.share) + (f", {NAMES[largest.cause]}" if largest else "")


def _value(phase: PhaseWaits, waits: Waits, places: Places) -> dict[str, object]:
    """Return the JSON value of a phase: an object for each cause."""
    return {
        each.cause: {
            **fields(each, "seconds error_s share share_error spinning_s threads", exact),
            "paths": [_path_value(path, waits, places) for path in each.paths],
        }
        for each in phase.causes
    }


def _path_value(path: WaitPath, waits: Waits, places: Places) -> dict[str, object]:
    """Return the JSON value of a path."""
    names, place = _names(waits, path.node, places), places.get(path.node)
    value: dict[str, object] = {
        **fields(path, "seconds busy_s", exact),
        "kind": path.kind or None,
        "called": path.called or None,
        "function": names[-1] if names else None,
        "path": names,
        "file": place and place.file,
        "line": place and place.line,
        "threads": list(path.threads),
    }
    if path.holder is not None:
        holder_path = _names(waits, path.holder.node, places)
        value["holder"] = {
            **fields(path.holder, "thread share", exact),
            "function": holder_path[-1] if holder_path else None,
            "called": path.holder.called or None,
        }
    return value


def _names(waits: Waits, node: int, places: Places) -> list[str]:
    """Return the functions on the path to a node, outermost first."""
    return names_at(waits.paths, places, node).functions[::-1]


def _places(study: Study, waits: Waits, phases: list[PhaseWaits]) -> Places:
    """Return file and line at which the nodes of the phases' paths wait, as far as the program has them."""
    paths = [path for phase in phases for cause in phase.causes for path in cause.paths]
    nodes = {path.node for path in paths} | {path.holder.node for path in paths if path.holder is not None}
    return places_of(study, waits.paths, nodes)


def _sentence(phase: PhaseWaits, waits: Waits, places: Places) -> str | None:
    """Return "waits 61 % of its time: for locks 40 % (pthread_mutex_lock in ..., sleep 21 %"; None if it does not."""
    causes_shown = [each for each in phase.causes if each.share >= WORTH]
    # What may be nothing is not named beside what is certain: a wait at the end of another phase, mostly.
    causes_shown = [each for each in causes_shown if each.share > each.share_error] or causes_shown[:1]
    spins = [each for each in phase.causes if each.spinning_s >= WORTH * phase.seconds]
    clauses = []
    if phase.share >= WORTH and causes_shown:
        causes = ", ".join(_cause(each, waits, places) for each in causes_shown[:MOST_NAMED])
        clauses.append(f"waits {percent(phase.share)} of {_time_owner(phase, waits)}: {causes}")
    clauses += [f"spins for {each.spinning_s:.3g} s of CPU time, waiting for {NAMES[each.cause]}" for each in spins]
    return "; ".join(clauses) or None


def _time_owner(phase: PhaseWaits, waits: Waits) -> str:
    """Return whose time the shares are of."""
    if phase.threads <= 1:
        return "its time"
    if len(phase.busy) == 1:
        return f"the time of {_thread(phase.busy[0], waits)}"
    short = set(phase.busy) & set(waits.short[:1])
    return f"the time of its {count(len(phase.busy) - len(short), 'busy thread')}" + (
        " and short ones" if short else ""
    )


def _thread(number: int, waits: Waits) -> str:
    """Return a thread in words."""
    return (
        "its main thread" if number == 0 else "its short threads" if number in waits.short[:1] else f"thread {number}"
    )


def _cause(cause: CauseWaits, waits: Waits, places: Places) -> str:
    """Return "locks 40 % +- 3 % (pthread_mutex_lock in step (a.c:20) < main; held by thread 1 in usleep < holder)"."""
    error = f" +- {percent(cause.share_error)}" if cause.share_error > SHOWN_ERROR * cause.share else ""
    text = f"{NAMES[cause.cause]} {percent(cause.share)}{error}"
    total = sum(path.busy_s for path in cause.paths)
    paths = [path for path in cause.paths if path.busy_s > 0 and path.busy_s >= WORTH_PATH * total]
    # Paths that differ only further out have the same words.
    clauses = dict.fromkeys(words for path in paths if (words := _path(path, waits, places)))
    return text + (f" ({'; '.join([*clauses][:MOST_NAMED])})" if clauses else "")


def _path(path: WaitPath, waits: Waits, places: Places) -> str:
    """Return a path in words: what waits, where, and who holds the lock."""
    names, place = names_at(waits.paths, places, path.node), places.get(path.node)
    chain = path_text(*names, 1 + MOST_CALLERS)
    if place and chain:
        first, *others = chain.split(" < ", 1)
        chain = " < ".join([f"{first} ({where(place.file, place.line)})", *others])
    # A function of C that waits for the interpreter's lock is chance: any may.
    called = path.kind if path.kind == GLOBAL_LOCK or not path.called else short(path.called)
    text = " in ".join(part for part in (called, chain) if part)
    return text + (_holder_text(path.holder, waits, places) if path.holder is not None else "")


def _holder_text(holder: Holder, waits: Waits, places: Places) -> str:
    """Return ", held by thread 1 in usleep < holder"."""
    names = _names(waits, holder.node, places)
    place = " in " + " < ".join([short(holder.called), *(short(name) for name in names[-1:])]) if holder.called else ""
    who = "a short thread" if holder.thread in waits.short[:1] else f"thread {holder.thread}"
    return f", held by {who}{place}"


def _others(phase: PhaseWaits, waits: Waits, places: Places) -> str | None:
    """Return what the threads wait for that are not busy, and where; None if there are none."""
    idle = phase.threads - len(phase.busy)
    if idle <= 0:
        return None
    busy = set(phase.busy)
    seconds = {
        each: each.seconds - each.share * phase.seconds * len(busy)
        for each in phase.causes
        if each.cause != "unknown" and set(each.threads) - busy
    }
    if not seconds:
        return None
    largest = sorted(seconds, key=lambda each: -seconds[each])[:MOST_OTHERS]
    total = sum(seconds.values())
    named = [largest[0], *(each for each in largest[1:] if seconds[each] >= WORTH_PATH * total)]
    has_short = phase.has_short and not busy & set(waits.short[:1])
    names = [count(idle - has_short, "other thread")] * (idle > has_short) + ["short threads"] * has_short
    causes = " and ".join(_other_cause(each, waits, places) for each in named)
    return f"{' and '.join(names)}, most of the time waiting for {causes}"


def _other_cause(cause: CauseWaits, waits: Waits, places: Places) -> str:
    """Return "locks (pthread_mutex_lock in flush (a.c:20) < main)": the path on which other threads wait longest."""
    longest = max(cause.paths, key=lambda path: path.seconds - path.busy_s, default=None)
    words = "" if longest is None or not longest.seconds > longest.busy_s else _path(longest, waits, places)
    return NAMES[cause.cause] + (f" ({words})" if words else "")


def _lanes(waits: Waits, kinds: Kinds, phases: list[PhaseWaits], bins: TimeBins) -> tuple[Lane, ...]:
    """Return the shares of the largest causes over the bins of a page, of threads that are busy in some phase."""
    threads = sorted({thread for phase in phases for thread in phase.busy})
    shares = waiting_over_time(waits, kinds, threads, bins.start_s, bins.end_s)
    largest = sorted(shares, key=lambda cause: -float(np.nansum(shares[cause])))[:MOST_LANES]
    out = []
    for cause in largest:
        edges, values = edges_of(bins.start_s, bins.end_s, shares[cause])
        title = f"share of the time of busy threads, waiting for {NAMES[cause]}"
        out.append(Lane(f"waiting: {NAMES[cause]}", "%", edges, values, title, f"wait_{cause}"))
    return tuple(out)


def _notes(waits: Waits) -> list[str]:
    """Return sentences about all phases."""
    out = []
    if waits.refused:
        out.append("The kernel denies what threads are blocked in (/proc/PID/task/TID/syscall): no causes of waits")
    all_samples = waits.taken + waits.left_out
    if waits.left_out >= THINNED * max(all_samples, 1):
        part = percent(waits.left_out / all_samples)
        out.append(f"{part} of the samples of waiting threads were left out, to limit their cost")
    if waits.damaged:
        out.append(f"{count(waits.damaged, 'damaged image')} of waits left out")
    return out


def _amounts(phases: list[PhaseWaits]) -> tuple[Amount, ...]:
    """Return the seconds that each phase's busy threads wait, on average, in all and by cause.

    The total has no waiting for a processor, which depends on what else runs on the node.
    """

    def seconds(*causes: Cause) -> dict[int, float]:
        return {each.id: sum(c.share for c in each.causes if c.cause in causes) * each.seconds for each in phases}

    def errors(cause: Cause) -> dict[int, float]:
        return {
            each.id: float(np.hypot.reduce([c.share_error for c in each.causes if c.cause == cause])) * each.seconds
            for each in phases
        }

    waited_s = seconds(*(cause for cause in CAUSES if cause != "run-queue"))
    return (
        Amount("wait", "waiting", "s", waited_s),
        *(Amount(f"wait.{cause}", _amount_name(cause), "s", seconds(cause), errors(cause)) for cause in CAUSES),
    )


def _amount_name(cause: Cause) -> str:
    return NAMES[cause] if cause == "unknown" else f"waiting for {NAMES[cause]}"
