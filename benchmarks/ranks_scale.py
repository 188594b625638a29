"""Time and memory for finding the phases of many ranks, and whether they are the true ones."""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bed import Bed
from benchmarks.measure import Result, compare, run
from benchmarks.simulate_ranks import simulate
from benchmarks.simulated.story import Options
from benchmarks.simulated.truth import Truth
from incprof.analysis.ranks.summary import adjusted_rand
from incprof.model import IntArray
from incprof.study import Study, StudyOptions
from incprof.study.shared_phases import SharedPhases

HERE = Path(__file__).resolve().parent
SIZES, INTERVALS = (64, 256, 1024), 3600
SECONDS, MB, EXPONENT, FASTER, ARI = 60, 2048, 1.05, 1.7, 0.98


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield name and measurement of each benchmark."""
    yield "ranks-scale", lambda: _scale(bed)
    yield "ranks-processes", lambda: _processes(bed)


def _scale(bed: Bed) -> list[Result]:
    """Measure time, memory and answers from the fewest to the most ranks, in two processes."""
    found = {ranks: _measured(bed, ranks, 2) for ranks in SIZES}
    few, most = found[SIZES[0]], found[SIZES[-1]]
    ratio = math.log(SIZES[-1] / SIZES[0])
    exponents = [math.log(most[key] / few[key]) / ratio for key in ("elapsed_s", "cpu_s")]
    each = "; ".join(f"{ranks}: {one['elapsed_s']:.0f} s, CPU {one['cpu_s']:.0f} s" for ranks, one in found.items())
    memory = most["own_mb"] + 2 * most["reader_mb"]
    worst = min(one["ari"] for one in found.values())
    slow = [f"{one['right']} of {one['stragglers']}, {one['false']} false" for one in found.values()]
    right = all(one["right"] == one["stragglers"] and not one["false"] for one in found.values())
    what = f"phases of {SIZES[-1]} ranks x {INTERVALS} intervals, 2 processes"
    return [
        Result(what, f"under {SECONDS} s", each, most["elapsed_s"] < SECONDS),
        Result("its memory, all processes", f"under {MB} MB", f"{memory:.0f} MB", memory < MB),
        Result(
            f"exponent from {SIZES[0]} to {SIZES[-1]} ranks, elapsed (CPU time)", f"at most {EXPONENT}",
            f"{exponents[0]:.2f} ({exponents[1]:.2f})", exponents[0] <= EXPONENT,
        ),
        Result("labels over all ranks against the truth, ARI", f"at least {ARI}", f"{worst:.4f}", worst >= ARI),
        Result("stragglers found", "all, none false", "; ".join(slow), right),
    ]  # fmt: skip


def _processes(bed: Bed) -> Result:
    """Compare two processes with one."""
    what = f"{SIZES[0]} ranks x {INTERVALS} intervals: one process against two"

    def elapsed(jobs: int) -> float:
        return float(_measured(bed, SIZES[0], jobs)["elapsed_s"])

    ratio = compare(lambda: elapsed(1), lambda: elapsed(2), min(bed.pairs, 3))
    return Result(what, f"at least {FASTER}x", str(ratio), ratio.median >= FASTER)


def _measured(bed: Bed, ranks: int, jobs: int) -> dict[str, Any]:
    """Measure that many ranks in a separate process; the simulated run is kept for the next time."""
    place = bed.scratch / f"ranks-{ranks}"
    if not (place / "truth.json").exists():
        simulate(place, Options(ranks=ranks, intervals=INTERVALS), jobs=2)
    command = [sys.executable, "-m", "benchmarks.ranks_scale", str(place), str(jobs)]
    answer: dict[str, Any] = json.loads(run(command, HERE.parent).output)
    return answer


def labels_of(found: SharedPhases, truth: Truth) -> tuple[IntArray, IntArray]:
    """Return found and true phases of all recorded intervals that lie in one phase."""
    pairs = []
    for own in found.ranks.labels:
        true = truth.labels(own.rank)
        middle_s = (np.arange(len(true)) + 0.5) * found.profile.metadata.interval_s
        piece = np.minimum(np.searchsorted(own.end_s, middle_s), len(own.label) - 1)
        pairs.append(np.stack([own.label[piece], true])[:, true >= 0])
    both = np.hstack(pairs)
    return both[0] + 1, both[1]


def find(place: Path, jobs: int) -> dict[str, Any]:
    """Find the phases of a simulated run, and compare them with the truth."""
    (place / "run" / "ranks.json").unlink(missing_ok=True)
    before, begun = _cpu_s(), time.perf_counter()
    study = Study(place / "run", options=StudyOptions(jobs=jobs))
    found = study.shared
    elapsed, cpu = time.perf_counter() - begun, _cpu_s() - before
    assert found is not None
    own, readers = (resource.getrusage(processes).ru_maxrss / 1024 for processes in _WHO)
    truth = Truth(place / "truth.json")
    name = {phase.id: phase.sites[0].function.name for phase in found.result.phases if phase.sites}
    slow = {(one.rank, name.get(one.phase, "")) for one in found.ranks.stragglers}
    return {
        "elapsed_s": elapsed, "cpu_s": cpu, "own_mb": own, "reader_mb": readers, "k": found.result.k,
        "ari": adjusted_rand(*labels_of(found, truth)), "stragglers": len(truth.stragglers),
        "right": len(slow & truth.stragglers), "false": len(slow - truth.stragglers),
    }  # fmt: skip


_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _cpu_s() -> float:
    return math.fsum(sum(resource.getrusage(processes)[:2]) for processes in _WHO)


if __name__ == "__main__":
    print(json.dumps(find(Path(sys.argv[1]), int(sys.argv[2]))))
