"""The cost of analysing MPI traces: drawn traces of many processes, and a comparison of the paper's two orders."""

from __future__ import annotations

import json
import math
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.bed import Bed
from benchmarks.measure import Result, compare, run
from incprof.systems.mpi.analyse.event_phases import SignatureOptions
from incprof.systems.mpi.run_signature import find_signature
from tests.unit.tracefile import BARRIER, KNOWN, Coder, Timed, block, end, metadata, send, thing

HERE = Path(__file__).resolve().parent
PROCESSES, EVENTS = 256, (1_000_000, 10_000_000, 100_000_000)
SECONDS, MB, EXPONENT, FASTER, BYTES = 60, 1024, 1.05, 24, 4
# Few enough that all of them fit into memory at once.
ORDERED_PROCESSES, ORDERED_EVENTS = 64, 256_000
# Events of which a drawn trace consists, repeatedly.
DRAWN = 6000


def benchmarks(bed: Bed) -> Iterator[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield name and measurement of each benchmark."""
    yield "signature-scale", lambda: _scale(bed)
    yield "signature-orders", lambda: _orders(bed)


def draw(directory: Path, processes: int, events: int) -> int:
    """Write traces of that many events in all; return their bytes.

    Steps of two messages and a barrier, as in a stencil, with work that varies by a few percent. Encoding events one by
    one would take far longer than reading them, so the bytes of some steps are repeated; the trace remains valid,
    because all times in it are differences.
    """
    directory.mkdir(parents=True)
    chance, now, steps = random.Random(18), 0, []
    for _ in range(2 * DRAWN // 3):
        for key, gap, duration in ((send(1), 200_000, 900), (send(-1), 1_500, 700), (BARRIER, 800, 15_000)):
            gap, duration = (round(length * chance.uniform(0.97, 1.03)) for length in (gap, duration))
            steps.append(Timed(key, now + gap, now + gap + duration, gap))
            now += gap + duration
    coder = Coder()
    first, again = coder.events(steps[:DRAWN]), coder.events(steps[DRAWN:])
    repeated = block(2, 0, again) * max(round(events / processes / DRAWN) - 1, 0)
    size = 0
    for rank in range(processes):
        world = thing(1, 0, rank, processes, [(0, 1, processes)])
        data = metadata(rank=rank, ranks=processes) + block(2, 0, KNOWN + world + first) + repeated + end()
        (directory / f"rank-{rank:05}.mpi").write_bytes(data)
        size += len(data)
    return size


def _scale(bed: Bed) -> list[Result]:
    """Measure time and memory from the fewest to the most events, in two processes."""
    taken: dict[int, dict[str, Any]] = {}
    size = 0
    for events in EVENTS:
        place = bed.scratch / f"traces-{events}"
        if not place.exists():
            draw(place, PROCESSES, events)
        size = sum(path.stat().st_size for path in place.iterdir())
        taken[events] = _measured(bed, place, "robust", 2)
    few, most = taken[EVENTS[0]], taken[EVENTS[-1]]
    ratio = math.log(most["events"] / few["events"])
    exponents = [math.log(most[key] / few[key]) / ratio for key in ("elapsed_s", "cpu_s")]
    each = "; ".join(
        f"{events:.0e}: {one['elapsed_s']:.1f} s, CPU {one['cpu_s']:.1f} s" for events, one in taken.items()
    )
    memory = most["own_mb"] + 2 * most["reader_mb"]
    return [
        Result(f"signature of drawn traces, {PROCESSES} ranks, 2 processes", f"1e8 under {SECONDS} s", each,
               most["elapsed_s"] < SECONDS),
        Result("its memory, all processes", f"under {MB} MB", f"{memory:.0f} MB", memory < MB),
        Result("exponent from the fewest to the most events, elapsed (CPU time)", f"at most {EXPONENT}",
               f"{exponents[0]:.2f} ({exponents[1]:.2f})", exponents[0] <= EXPONENT),
        Result("bytes a call of these, a steady loop", f"at most {BYTES}", f"{size / most['events']:.2f}",
               size / most["events"] <= BYTES),
    ]  # fmt: skip


def _orders(bed: Bed) -> Result:
    """Compare the paper's order of each process by itself with the logical order of all, on the same traces."""
    place = bed.scratch / "traces-ordered"
    if not place.exists():
        draw(place, ORDERED_PROCESSES, ORDERED_EVENTS)

    def elapsed(method: str) -> float:
        return float(_measured(bed, place, method, 1)["elapsed_s"])

    ratio = compare(lambda: elapsed("global"), lambda: elapsed("paper"), min(bed.pairs, 3))
    what = f"PAS2P's order of all against EPAS, {ORDERED_PROCESSES} ranks, {ORDERED_EVENTS} calls"
    return Result(what, f"at least {FASTER}x", str(ratio), ratio.median >= FASTER)


def _measured(bed: Bed, place: Path, method: str, jobs: int) -> dict[str, Any]:
    """Return the results of a separate process."""
    command = [sys.executable, "-m", "benchmarks.signature", str(place), method, str(jobs)]
    answer: dict[str, Any] = json.loads(run(command, HERE.parent).output)
    return answer


def find(place: Path, method: Any, jobs: int) -> dict[str, Any]:
    """Find the phases of drawn traces."""
    before, begun = _cpu_s(), time.perf_counter()
    signature, unread = find_signature(str(place), method, SignatureOptions(), jobs=jobs)
    elapsed, cpu = time.perf_counter() - begun, _cpu_s() - before
    assert not unread
    own, readers = (resource.getrusage(processes).ru_maxrss / 1024 for processes in _WHO)
    events = sum(one.events for one in signature.processes)
    return {"elapsed_s": elapsed, "cpu_s": cpu, "own_mb": own, "reader_mb": readers, "events": events}


_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _cpu_s() -> float:
    return math.fsum(sum(resource.getrusage(processes)[:2]) for processes in _WHO)


if __name__ == "__main__":
    print(json.dumps(find(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
