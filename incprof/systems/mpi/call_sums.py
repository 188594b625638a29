"""Sums over the MPI calls of a run's processes, whose traces are read as streams."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from incprof.errors import NoDataError
from incprof.model import Module
from incprof.symbols.addr2line import chains
from incprof.symbols.source_lines import DEBUG_LINES
from incprof.symbols.symbol_files import binaries
from incprof.systems.mpi.trace_file import Trace, find_traces
from incprof.systems.mpi.trace_types import NO_PROCESS, Call, CallSum, Message, MpiObject, Site, TraceSummary

SENDING = frozenset({"send", "isend", "sendrecv", "isendrecv", "rma"})
AMONG_ALL = frozenset({"collective", "icollective", "io", "iio"})
Moved = tuple[Message, MpiObject | None]
Place = tuple[str, int]


def summarise(directory: str, rank: int | None = None) -> list[TraceSummary]:
    """Return a summary of each process that has a trace, by rank; with `rank`, of that one only.

    Raises: NoDataError if there is none that can be read.
    """
    summaries = []
    problems: list[NoDataError] = []
    for path in find_traces(directory):
        try:
            with Trace(path) as trace:
                if rank is None or trace.metadata.rank == rank:
                    summaries.append(_summary(trace))
        except NoDataError as error:
            problems.append(error)
    if not summaries and problems:
        raise problems[0]
    if not summaries:
        raise NoDataError(f"{directory}: no trace of rank {rank} in it")
    for summary in summaries[:1]:
        summary.end.damaged += len(problems)
    places = places_of(directory, (call.site for each in summaries for call in each.calls if call.site is not None))
    return [replace(each, calls=[_placed(call, places) for call in each.calls]) for each in summaries]


def incompleteness_notes(summaries: Sequence[TraceSummary]) -> Iterator[str]:
    """Yield a line for each reason why the sums are incomplete."""
    damaged = [each for each in summaries if each.end.damaged or each.end.torn]
    if damaged:
        yield f"{_listed_ranks(damaged)}: damaged or torn, what cannot be read is left out"
    killed = [each for each in summaries if each.end.how is None and not each.end.torn]
    if killed:
        yield f"{_listed_ranks(killed)}: the trace did not end cleanly: the process was killed, or goes on"
    aborted = [each for each in summaries if each.end.how == "abort"]
    if aborted:
        yield f"{_listed_ranks(aborted)}: ended by MPI_Abort"
    lost = sum(each.end.lost for each in summaries)
    if lost:
        yield f"{lost} calls were not traced, as the disk was too slow"
    shared = sum(each.end.shared for each in summaries)
    if shared:
        yield f"before {shared} calls, other programs used the processor's counters at times: counts are estimates"


def _listed_ranks(summaries: Sequence[TraceSummary]) -> str:
    if len(summaries) == 1:
        return f"rank {summaries[0].metadata.rank}"
    return f"{len(summaries)} processes, the first of rank {summaries[0].metadata.rank}"


def _summary(trace: Trace) -> TraceSummary:
    sums: dict[tuple[str, Site | None], CallSum] = {}
    templates: dict[int, Moved] = {}
    threads = set()
    for event in trace.events():
        call = event.call
        own = sums.get((call.function, call.site))
        if own is None:
            own = sums[call.function, call.site] = CallSum(call.function, call.kind, call.site)
        own.calls += 1
        own.time_ns += event.end_ns - event.start_ns
        threads.add((event.lane, event.thread))
        if call.template is not None and call.message is not None and "recv" not in call.function.lower():
            templates[call.template] = (call.message, call.where)
        for message, where, leaves in _moved(call, templates):
            size, world = message.bytes or 0, _world_rank(message, where)
            own.bytes += size
            if world is not None:
                own.peers[world] = own.peers.get(world, 0) + size
                if leaves:
                    own.sent[world] = own.sent.get(world, 0) + size
    calls = [
        replace(own, peers=dict(sorted(own.peers.items())), sent=dict(sorted(own.sent.items())))
        for own in sums.values()
    ]
    calls.sort(key=lambda each: (-each.time_ns, each.function, each.site[::2] if each.site else ()))
    return TraceSummary(
        path=trace.path,
        metadata=trace.metadata,
        end=trace.end,
        threads=len(threads),
        events=trace.end.events,
        elapsed_ns=trace.end.end_ns,
        mpi_ns=sum(each.time_ns for each in calls),
        calls=calls,
        counts=dict(zip(trace.metadata.counters, map(int, trace.counts.total.tolist()), strict=True)),
    )


def _moved(call: Call, templates: Mapping[int, Moved]) -> Iterator[tuple[Message, MpiObject | None, bool]]:
    """Yield the messages that a call has moved, and whether each was sent. A posted receive moves nothing."""
    if call.message is not None and call.kind in SENDING:
        yield call.message, call.where, True
    elif call.message is not None and call.kind in AMONG_ALL:
        # The partner is the root, which does not transfer everything.
        yield call.message._replace(instead=NO_PROCESS), call.where, True
    if call.actual is not None and call.kind != "probe":
        yield call.actual, call.where, False
    for number in call.started:
        if number in templates:
            yield *templates[number], True
    for completion in call.completed:
        if completion.message is not None:
            yield completion.message, completion.where, False


def _world_rank(message: Message, where: MpiObject | None) -> int | None:
    rank = message.rank_in(where) if where is not None else None
    return where.world_rank(rank) if where is not None and rank is not None else None


def places_of(directory: str, sites: Iterable[Site]) -> dict[Site, Place]:
    """Return the file and line of each call site that has them; each binary is read once."""
    addresses_of: defaultdict[tuple[str, str | None], set[int]] = defaultdict(set)
    for site in sites:
        if site.module:
            addresses_of[site.module, site.build_id].add(site.address)
    places: dict[Site, Place] = {}
    for (path, build_id), addresses in sorted(addresses_of.items(), key=lambda each: each[0][0]):
        ordered = sorted(addresses)
        binary = _with_lines(path, build_id, directory)
        for address, chain in zip(ordered, chains(binary, ordered) if binary else (), strict=False):
            # Valid even if the calling function is inlined: the innermost line names the call.
            if chain and chain[0].line:
                places[Site(path, build_id, address)] = (chain[0].file, chain[0].line)
    return places


def _placed(call: CallSum, places: Mapping[Site, Place]) -> CallSum:
    place = places.get(call.site) if call.site is not None else None
    return replace(call, file=place[0], line=place[1]) if place else call


def _with_lines(path: str, build_id: str | None, directory: str) -> str | None:
    """Return the file of a module if it has line numbers."""
    for elf in binaries(Module(1, path, build_id, 0, 0, True), directory):
        if any(elf.section(name) for name in DEBUG_LINES):
            return elf.path
    return None
