"""The effect of heartbeats on whole programs: a million per second, thinned ones, and the cost that files predict."""

from __future__ import annotations

import statistics
from pathlib import Path

import appekg
from benchmarks.bed import Bed
from benchmarks.heartbeats import build, environment
from benchmarks.measure import Result, compare, run

ALIGNED = ("-falign-functions=64", "-falign-loops=64")
# Of the prediction: about the duration of a step, of which a beat is then several percent, and the number of steps.
STEP_S, STEPS = 0.4e-6, 2_000_000


def whole_run(bed: Bed, work: str) -> list[Result]:
    """Compare a program with a million beats a second with the same program built with -DEKG_OFF (CPU time).

    The last row shows the effect of two bare counter reads in the place of each beat.
    """
    with_beats, without = _programs(bed)
    reads = build(bed, "beats_work.c", *ALIGNED, "-DEKG_OFF", "-DREADS", name="beats_work_reads")
    words = _steps_of(bed, without, work, 1e-6, 500_000)
    rates: list[float] = []

    def cost(program: Path) -> float:
        usage = run([program, *words], bed.scratch, environment(bed))
        if program == with_beats:
            rates.append(1 / float(usage.output))
        return usage.cpu_s

    ratio = compare(lambda: cost(with_beats), lambda: cost(without), 3 * bed.pairs)
    limit = compare(lambda: cost(reads), lambda: cost(without), 3 * bed.pairs)
    what = f"whole run with 1e6 beats a second against -DEKG_OFF: {work}"
    reached = f"{ratio}; {statistics.median(rates):.3g} beats per CPU second"
    return [
        Result(what, "at most 1.06x", reached, ratio.median <= 1.06),
        Result("the same, two counter reads instead of each beat", "-", str(limit), None),
    ]


def thinned(bed: Bed, work: str) -> Result:
    """Measure a program whose steps are far too small for a beat each, with the default limit of overhead.

    Against the same program built with -DEKG_OFF (CPU time).
    """
    with_beats, without = _programs(bed)
    words = _steps_of(bed, without, work, 1e-6, 500_000)

    def cost(program: Path) -> float:
        return run([program, *words], bed.scratch, environment(bed, overhead=1)).cpu_s

    ratio = compare(lambda: cost(with_beats), lambda: cost(without), 3 * bed.pairs)
    what = f"whole run with 1e6 beats a second, thinned to 1 %, against -DEKG_OFF: {work}"
    return Result(what, "at most 1.03x", str(ratio), ratio.median <= 1.03)


def _programs(bed: Bed) -> tuple[Path, Path]:
    """Return the program with its beats and without."""
    without = build(bed, "beats_work.c", *ALIGNED, "-DEKG_OFF", name="beats_work_off")
    return build(bed, "beats_work.c", *ALIGNED), without


def _steps_of(bed: Bed, without: Path, work: str, step_s: float, steps: int) -> list[str]:
    """Return the arguments for that many steps of about that many seconds."""
    probes = [float(run([without, work, "1000", "200000"], bed.scratch).output) for _ in range(5)]
    return [work, str(max(round(1000 * step_s / min(probes)), 3)), str(steps)]


def prediction(bed: Bed, work: str) -> Result:
    """Compare the predicted time of heartbeats with the difference of whole runs.

    The prediction is beats times their cost, as measured by the library at the start of the run. Runs with and without
    heartbeats (-DEKG_OFF) alternate; CPU time.
    """
    with_beats, without = _programs(bed)
    words = _steps_of(bed, without, work, STEP_S, STEPS)
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
