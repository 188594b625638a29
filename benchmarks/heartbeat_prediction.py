"""The cost of heartbeats predicted from a run's own files, against whole runs with and without them."""

from __future__ import annotations

import statistics

import appekg
from benchmarks.bed import Bed
from benchmarks.heartbeats import build, environment
from benchmarks.measure import Result, run

FLAGS = ("-falign-functions=64", "-falign-loops=64")
# About the duration of a step, of which a beat is then several percent.
STEP_S = 0.4e-6
STEPS = 2_000_000


def prediction(bed: Bed, work: str) -> Result:
    """Compare the predicted time of heartbeats with the difference of whole runs.

    The prediction is beats times their cost, as measured by the library at the start of the run. Runs with and without
    heartbeats (-DEKG_OFF) alternate; CPU time.
    """
    with_beats = build(bed, "beats_work.c", *FLAGS)
    without = build(bed, "beats_work.c", *FLAGS, "-DEKG_OFF", name="beats_work_off")
    probes = [float(run([without, work, "1000", "200000"], bed.scratch).output) for _ in range(5)]
    words = [work, str(max(round(1000 * STEP_S / min(probes)), 3)), str(STEPS)]
    ratios: list[float] = []
    predicted: list[float] = []
    measured: list[float] = []
    for _ in range(3 * bed.pairs):
        plain = run([without, *words], bed.scratch, environment(bed)).cpu_s
        beating = run([with_beats, *words], bed.scratch, environment(bed, interval=0.25)).cpu_s
        cost_s = _from_files(bed)
        predicted.append(100 * cost_s / plain)
        measured.append(100 * (beating - plain) / plain)
        ratios.append(measured[-1] / predicted[-1])
    ratio = statistics.median(measured) / statistics.median(predicted)
    what = f"measured over predicted overhead: {work}"
    reached = (
        f"{ratio:.3g}x ({min(ratios):.2g}-{max(ratios):.2g}, {len(ratios)} pairs); "
        f"{statistics.median(measured):.3g} % measured, {statistics.median(predicted):.3g} % predicted"
    )
    return Result(what, "within a factor of two", reached, 0.5 <= ratio <= 2)


def _from_files(bed: Bed) -> float:
    """Return the seconds taken by the last run's heartbeats, computed from its files like `incprof validate` does."""
    found = appekg.read(bed.scratch / "ekg")
    process = found.processes[0]
    assert process.cost is not None
    recorded = float(found.rows["count"].sum())
    executed = sum(
        float(found.rows["count"][found.rows["id"] == number].sum()) * beat.rate_factor
        for number, beat in found.beats.items()
    )
    own_s = float(process.intervals["own_ns"].sum()) / 1e9
    return 1e-9 * (recorded * process.cost.pair_ns + (executed - recorded) * process.cost.skipped_ns) + own_s
