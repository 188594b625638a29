"""What phases read and write, on their cards."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.views.tracks import TimeBins
from incprof.model.section import Amount, CardPart, Column, Lane, edges_of
from incprof.readers.stream.interval_images import RecordedPaths
from incprof.report.render.json import exact, fields, whole
from incprof.report.words.display_names import short
from incprof.report.words.formatting import count, decimal_size, percent, seconds
from incprof.safe.printable import printable
from incprof.study.recorded_paths import Places, names_at, paths_of, places_of
from incprof.study.study import Study
from incprof.systems.io.analyse import FileIo, PhaseCalls, PhaseIo, explained, io_by_phase, rates_over_time
from incprof.systems.io.darshan import DarshanLog, by_module, logs_beside
from incprof.systems.io.read import OPERATIONS, READ, READS, WRITES, WRITTEN, Calls, Totals, read_io

# Below this share, bytes of rows of several phases are not worth a word.
WORTH = 0.01
# Storage has no less than this of a file.
PAGE_B = 4096
# Each call makes up to two more pages dirty than its bytes fill. More are those of mapped files, or large pages of the
# kernel's cache, which counts the whole of one for each write to it.
MOST_DIRTY_B = 2 * PAGE_B
# What moves bytes that no call of a read or write does.
MAPPED = "mapped files or asynchronous calls"
# Bytes from or to storage without a call, from which they are worth one: the division of rows leaves some everywhere.
MAPPED_B = 1e6
# The part of a phase's time from which the time in calls is mentioned, and of transfers from which small ones are.
MUCH_TIME, MANY_SMALL = 0.01, 0.5
LEAST_TRANSFERS = 1000
MOST_NAMED = 3
# The part of the time in calls from which a function is mentioned.
LEAST_SHARE = 0.05
# From this share on, it is all.
ALL = 0.9995
OTHER = "other files"
# Number of files whose names the library keeps.
MOST_NAMES = 4096


MOST_SITES, MOST_CALLERS = 5, 3


@dataclass(frozen=True)
class Site:
    """A function that makes calls in a phase.

    Attributes:
        functions: the innermost of the program's own and those that called it, innermost first, with inlined ones; at
            most MOST_CALLERS + 1. Empty: none was on the path.
        module: of the innermost.
        operation: what it does most of the time in these calls.
        share: of the time in calls of the phase, by the sampled ones.
        own: the innermost on the path that is the program's own; None if none is.
    """

    functions: tuple[str, ...]
    module: str | None
    operation: str
    share: float
    own: str | None = None


def card(study: Study, bins: TimeBins | None) -> CardPart | None:
    """Return what each phase reads and writes; None if it was not recorded."""
    if study.process.series:
        return None
    recorded = read_io(study.process.path)
    totals, calls = recorded.totals, recorded.calls
    if totals is None:
        return None
    by_phase = [] if totals.refusal is not None else io_by_phase(totals, calls, study.profile, study.phases())
    phases = {each.id: each for each in by_phase}
    sites = _sites(study, calls, by_phase)
    columns = (
        Column("Read", lambda phase: _shown(phases, phase, "read_b"), "kB", drop=3, key="read_b"),
        Column("Written", lambda phase: _shown(phases, phase, "written_b"), "kB", drop=3, key="written_b"),
        Column("Input and output", lambda phase: sentence(phases[phase]) if phase in phases else None, sentence=True),
        Column("Files", lambda phase: of_calls(phases[phase]) if phase in phases else None, sentence=True),
        Column("Calls", lambda phase: of_sites(sites.get(phase, [])), sentence=True),
    )
    lanes = () if bins is None or not phases else _lanes(totals, bins)
    logs, unread = logs_beside(study.run.directory)
    traced = _traced(study, logs)
    amounts = (
        Amount("read", "bytes read", "B", {each.id: each.read_b for each in by_phase}),
        Amount("written", "bytes written", "B", {each.id: each.written_b for each in by_phase}),
        Amount(
            "operations", "calls that read and write", "count", {each.id: each.reads + each.writes for each in by_phase}
        ),
    )
    values = {each.id: value(each, sites.get(each.id)) for each in by_phase}
    for phase, moved in _darshan_by_phase(study, traced).items():
        if phase in values:
            values[phase] |= {"darshan": moved}
    if bins is not None:
        lanes += _darshan_lanes(study, traced, bins)
    of_logs = [of_log(log, is_placed=log in traced) for log in logs]
    return CardPart("io", values, columns, lanes, (*notes(totals, calls), *of_logs, *unread), amounts)


def _start_s(study: Study) -> float:
    """Return when the run began, seconds since 1970; 0 if that is unknown."""
    start = study.profile.metadata.raw.get("start_unix_ns")
    return start * 1e-9 if isinstance(start, int) and start > 0 else 0.0


def _traced(study: Study, logs: Sequence[DarshanLog]) -> list[DarshanLog]:
    """Return the logs with transfers of this rank during the run."""
    if not logs or not len(study.profile.end_s) or _start_s(study) == 0:
        return []
    edges = np.array([0.0, study.profile.end_s[-1]])
    return [log for log in logs if log.moved(edges, study.process.rank, _start_s(study)).sum() > 0]


def _darshan_by_phase(study: Study, logs: Sequence[DarshanLog]) -> dict[int, dict[str, int]]:
    """Return the bytes that logs have of each phase: `read_b` and `written_b`."""
    if not logs:
        return {}
    profile, labels = study.profile, study.phases().labels
    pairs = np.stack([profile.start_s, profile.end_s], axis=1).ravel()
    moved = sum(log.moved(pairs, study.process.rank, _start_s(study))[:, ::2] for log in logs)
    sums = np.stack([np.bincount(labels[labels >= 0], weights=each[labels >= 0]) for each in np.asarray(moved)])
    return {
        phase: {"read_b": round(read), "written_b": round(written)}
        for phase, (read, written) in enumerate(sums.T.tolist())
    }


def _darshan_lanes(study: Study, logs: Sequence[DarshanLog], bins: TimeBins) -> tuple[Lane, ...]:
    """Return the transfers of logs over the bins of a page, bytes per second."""
    lanes, pairs = list[Lane](), np.stack([bins.start_s, bins.end_s], axis=1).ravel()
    for log in logs:
        moved = log.moved(pairs, study.process.rank, _start_s(study))[:, ::2]
        for name, values in zip(("read", "written"), moved / np.maximum(bins.end_s - bins.start_s, 1e-9), strict=True):
            if values.any():
                edges, drawn = edges_of(bins.start_s, bins.end_s, values)
                title = f"bytes {name} by {log.traced}, from {printable(log.name)}"
                lanes.append(Lane(f"{name} (Darshan)", "kB/s", edges, drawn, title, f"darshan_{name}"))
    return tuple(lanes)


def of_log(log: DarshanLog, *, is_placed: bool) -> str:
    """Return what a log of Darshan has counted, over all ranks."""
    parts = [
        f"{module} read {decimal_size(one.read_b)} and wrote {decimal_size(one.written_b)} "
        f"in {count(one.reads + one.writes, 'call')} on {count(int(one.name), 'file')}, {seconds(one.seconds)}"
        for module, one in by_module(log.files).items()
    ]
    most = [
        f"{printable(one.name)} ({one.module} {decimal_size(one.read_b + one.written_b)})"
        for one in log.files[:MOST_NAMED]
        if one.read_b + one.written_b > 0
    ]
    text = f"Darshan, {printable(log.name)}, {count(log.processes, 'rank')}: " + ("; ".join(parts) or "no transfers")
    text += f"; most: {', '.join(most)}" if most else ""
    return (
        text if is_placed else f"{text}; it has no times of this rank's transfers during the run (DXT_ENABLE_IO_TRACE)"
    )


def _sites(study: Study, calls: Calls | None, phases: list[PhaseIo]) -> dict[int, list[Site]]:
    """Return the functions that make the calls of each phase, where any were sampled."""
    if calls is None or not len(calls.node):
        return {}
    paths = paths_of(study)
    nodes = np.unique(np.concatenate([calls.node[each.calls.sampled] for each in phases if each.calls is not None]))
    places = places_of(study, paths, (at for node in nodes.tolist() for at in paths.path_to(node)[-MOST_CALLERS - 1 :]))
    return {each.id: sites_of(paths, places, calls, each.calls) for each in phases if each.calls is not None}


def _functions_at(paths: RecordedPaths, places: Places, node: int) -> tuple[tuple[str, ...], str | None, str | None]:
    """Return the functions on the path to a node, as a site has them, the module of the innermost, and the own one."""
    functions, names = paths.functions_to(node), names_at(paths, places, node)
    own = None if names.own is None else names.functions[names.own]
    return tuple(names.functions[: MOST_CALLERS + 1]), functions[-1].module if functions else None, own


def sites_of(paths: RecordedPaths, places: Places, calls: Calls, phase: PhaseCalls) -> list[Site]:
    """Return the functions with most of the time of a phase's sampled calls, at most MOST_SITES."""
    weight = calls.weight[phase.sampled] * calls.event_duration_s[phase.sampled]
    total = float(weight.sum())
    if total <= 0:
        return []
    node, operation = calls.node[phase.sampled], calls.event_operation[phase.sampled]
    pairs, which = np.unique(np.stack([node, operation], axis=1), axis=0, return_inverse=True)
    seconds = np.bincount(which.ravel(), weights=weight, minlength=len(pairs))
    sums = dict[tuple[tuple[str, ...], str | None, str | None], dict[int, float]]()
    for (at, kind), own in zip(pairs.tolist(), seconds.tolist(), strict=True):
        each = sums.setdefault(_functions_at(paths, places, at), {})
        each[kind] = each.get(kind, 0.0) + own
    ordered = sorted(sums.items(), key=lambda one: -sum(one[1].values()))
    return [
        Site(
            functions,
            module,
            OPERATIONS[max(each, key=lambda kind: each[kind])],
            sum(each.values()) / total,
            own,
        )
        for (functions, module, own), each in ordered[:MOST_SITES]
    ]


def _shown(phases: dict[int, PhaseIo], phase: int, name: str) -> int | None:
    """Return bytes of a phase; None where they are not available."""
    return round(getattr(phases[phase], name)) if phase in phases else None


def value(one: PhaseIo, sites: Sequence[Site] | None = None) -> dict[str, object]:
    """Return the JSON value of a phase."""
    moved = {
        **fields(one, "read_b written_b", whole),
        "operations": round(one.reads) + round(one.writes),
        **fields(one, "reads writes from_storage_b to_storage_b", whole),
        "divided": round(one.divided, 4),
    }
    if one.calls is None:
        return moved
    return moved | _calls_value(one.calls) | {"sites": [_site_value(each) for each in sites or ()]}


def _site_value(site: Site) -> dict[str, object]:
    """Return the JSON value of a function that makes calls."""
    return {
        "function": site.functions[0] if site.functions else None,
        "module": site.module,
        "callers": list(site.functions[1:]),
        **fields(site, "own operation share", exact),
    }


def _calls_value(calls: PhaseCalls) -> dict[str, object]:
    """Return the JSON values of what was recorded with --io."""
    return {
        **fields(calls, "seconds sync_s metadata_s", exact),
        "calls": {name: round(number) for name, number in calls.by_operation.items()},
        "small": calls.small / calls.transfers if calls.transfers >= 0.5 else None,
        **fields(calls, "received_b sent_b", whole),
        "files": [{**fields(one, "name read_b written_b calls", whole), "seconds": one.seconds} for one in calls.files],
        "mpi_io": [{**fields(one, "function=name calls moved_b", whole), "seconds": one.seconds} for one in calls.mpi],
    }


def sentence(one: PhaseIo) -> str | None:
    """Return what a phase reads and writes; None if it does neither."""
    parts = [
        _part("reads", one.read_b, one.reads, one.seconds, one.from_storage_b, _from_storage(one)),
        _part("writes", one.written_b, one.writes, one.seconds, one.to_storage_b, _to_storage(one)),
    ]
    clauses = [part for part in parts if part]
    if not clauses:
        return None
    remark = f"; {percent(one.divided)} of it divided among phases of the same interval" if one.divided >= WORTH else ""
    return " and ".join(clauses) + remark


def _from_storage(one: PhaseIo) -> str:
    """Return what fetched the bytes from storage, if calls that read explain less than half."""
    if not round(one.reads):
        return f"from storage, by {MAPPED}"
    is_explained = one.from_storage_b < 2 * one.read_b + MAPPED_B
    return "from storage" if is_explained else "from storage, most by mapped files, asynchronous calls or reading ahead"


def _to_storage(one: PhaseIo) -> str:
    """Return where the bytes go of the pages that a phase made dirty."""
    if not round(one.writes):
        return f"to storage, by {MAPPED}"
    is_explained = one.to_storage_b <= one.written_b + MOST_DIRTY_B * one.writes
    return (
        "to storage"
        if is_explained
        else "in pages made dirty, by mapped files, asynchronous calls or whole large pages"
    )


def _part(verb: str, amount: float, calls: float, seconds: float, storage: float, where: str) -> str:
    """Return "reads 12 MB in 30 calls of 400 kB (3 MB/s), 1 MB from storage"; "" for nothing."""
    number = round(calls)
    if not number:
        return f"{verb} {decimal_size(round(storage))} {where}" if storage >= MAPPED_B else ""
    each = f" of {decimal_size(round(amount / calls))}" if number > 1 else ""
    speed = f" ({decimal_size(round(amount / seconds))}/s)" if seconds > 0 and amount >= seconds else ""
    stored = f", {decimal_size(round(storage))} {where}" if storage >= PAGE_B else ""
    return f"{verb} {decimal_size(round(amount))} in {count(number, 'call')}{each}{speed}{stored}"


def of_calls(one: PhaseIo) -> str | None:
    """Return what the calls of a phase show: their time, files, small transfers; None for nothing."""
    calls = one.calls
    if calls is None:
        return None
    sentences = []
    if calls.seconds >= MUCH_TIME * one.seconds:
        parts = [("synchronising", calls.sync_s), ("without moving data", calls.metadata_s)]
        of_these = [f"{seconds(time_s)} {what}" for what, time_s in parts if time_s >= MUCH_TIME * one.seconds]
        sentences.append(f"{seconds(calls.seconds)} in calls that read and write" + _listed(of_these, ", of this "))
    functions = [
        f"{one.name} {count(round(one.calls), 'call')}, {decimal_size(round(one.moved_b))} in {seconds(one.seconds)}"
        for one in calls.mpi[:MOST_NAMED]
        if one.seconds >= MUCH_TIME * calls.mpi[0].seconds
    ]
    if functions:
        sentences.append("by MPI-IO: " + "; ".join(functions))
    least_b = max(WORTH * (one.read_b + one.written_b), 0.5)
    named = [
        each for each in calls.files
        if each.moved_b >= least_b or each.seconds >= MUCH_TIME * one.seconds
    ]  # fmt: skip
    files = [_file(each) for each in named[:MOST_NAMED]]
    if files:
        more = calls.file_count - len(files)
        sentences.append("files: " + ", ".join(files) + (f" and {count(more, 'other')}" if more > 0 else ""))
    if calls.transfers >= LEAST_TRANSFERS and calls.small >= MANY_SMALL * calls.transfers:
        sentences.append(f"{percent(calls.small / calls.transfers)} of the transfers are below 4 KiB")
    return "; ".join(sentences) or None


def of_sites(sites: Sequence[Site]) -> str | None:
    """Return which functions make a phase's calls; None for none that matters."""
    named = [
        f"{short(site.functions[0])} {100 * site.share:.0f} % ({site.operation}{_callers(site)})"
        for site in sites[:MOST_NAMED]
        if site.functions and site.share >= LEAST_SHARE
    ]
    return "time in calls by function: " + ", ".join(named) if named else None


def _callers(site: Site) -> str:
    """Return ", called by flush < ... < main.py:step"; "" for none."""
    own = site.own if site.own not in site.functions[:2] else None
    callers = [*site.functions[1:2], *([own] if own else [])]
    return f", called by {' < ... < '.join(map(short, callers))}" if callers else ""


def _listed(parts: list[str], start: str) -> str:
    """Return parts with a start, or nothing."""
    return start + " and ".join(parts) if parts else ""


def _file(one: FileIo) -> str:
    """Return "/data/in.nc (3 GB read in 2 s)"."""
    amounts = ((one.read_b, "read"), (one.written_b, "written"))
    moved = [f"{decimal_size(round(amount))} {verb}" for amount, verb in amounts if amount >= 0.5]
    name = OTHER if one.name is None else printable(one.name)
    time = f" in {seconds(one.seconds)}" if one.seconds > 0 else ""
    return f"{name} ({', '.join(moved)}{time})"


def _lanes(totals: Totals, bins: TimeBins) -> tuple[Lane, ...]:
    """Return bytes read and written per second over the bins of a page, if there are any."""
    read, written = rates_over_time(totals, bins.start_s, bins.end_s)
    lanes = []
    for name, values, column in (("read", read, READ), ("written", written, WRITTEN)):
        if totals.values[:, column].sum() > 0:
            edges, drawn = edges_of(bins.start_s, bins.end_s, values)
            lanes.append(Lane(name, "kB/s", edges, drawn, f"bytes {name} by calls of the process", name))
    return tuple(lanes)


def notes(totals: Totals, calls: Calls | None = None) -> list[str]:
    """Return sentences about all phases."""
    if totals.refusal is not None:
        why = os.strerror(totals.refusal)
        return [f"What the process read and wrote is not available: /proc/self/io: {why}"]
    read, written = (decimal_size(float(totals.values[:, column].sum())) for column in (READ, WRITTEN))
    calls_made = count(round(float(totals.values[:, (READS, WRITES)].sum())), "call")
    sentences = [f"The process read {read} and wrote {written} in {calls_made}, as the kernel counted"]
    if calls is not None:
        share = explained(totals, calls)
        sentences[0] += f"; files and calls are known of {'all' if share >= ALL else percent(share)} of these bytes"
        if len(calls.names) >= MOST_NAMES:
            sentences.append(f"Names of {MOST_NAMES} files are kept: the rest are {OTHER}")
    if totals.with_children:
        sentences.append("This includes what its child processes read and wrote: some of its threads had ended")
    elif totals.children[[READ, WRITTEN]].any():
        read, written = (decimal_size(float(totals.children[column])) for column in (READ, WRITTEN))
        sentences.append(f"Child processes that it waited for read {read} and wrote {written} more, in no phase")
    if totals.damaged:
        sentences.append(f"{count(totals.damaged, 'record')} of input and output could not be read")
    return sentences
