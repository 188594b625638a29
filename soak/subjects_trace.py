"""Traces of MPI calls."""

from __future__ import annotations

from soak.mutate_trace import mutate_trace
from soak.subject import Command, Subject, Tree
from tests.unit.tracefile import BARRIER, KNOWN, Coder, Timed, block, counts, end, metadata, send, steady, trace

COMMANDS: tuple[tuple[float, Command], ...] = (
    (2000, ("read-trace", "run/rank-00000.mpi")),
    (5, ("trace", "--show", "run")),
    (5, ("trace", "--show", "run", "--json")),
    (1, ("trace", "--show", "run", "--rank", "1")),
    (2, ("signature", "run", "--method", "paper", "--jobs", "1")),
)


def subjects() -> list[Subject]:
    """A steady loop, one in which every event is another, and one with counts."""
    mixed = [
        Timed(send(1, 7**i % 9001) if i % 3 else BARRIER, 900 * i, 900 * i + 13**i % 800, 5) for i in range(1, 200)
    ]
    seeds: list[Tree] = [
        {f"run/rank-{rank:05}.mpi": trace(events, rank=rank) for rank in range(2)} for events in (steady(50), mixed)
    ]
    counted = metadata(counters=["instructions", "cache-misses"], ranks=1) + block(2, 0, KNOWN + Coder().events(mixed))
    counted += counts(0, 0, [(None, None), *((7**i % 10**9, i) for i in range(198))])
    seeds.append({"run/rank-00000.mpi": counted + end(uncounted=1)})
    return [Subject("trace", 8, seeds, r"run/rank-.*\.mpi", mutate_trace, COMMANDS)]
