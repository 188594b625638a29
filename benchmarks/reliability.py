"""The cost of the collector in extreme cases: deep stacks, high rates, each sample, and when it is off."""

from __future__ import annotations

from benchmarks.bed import Bed
from benchmarks.measure import Result, compare, run

DEPTHS = (10, 1_000, 20_000, 65_000)
RATES = (100, 1_000, 10_000)


def deep_stacks(bed: Bed) -> list[Result]:
    """Measure the CPU time of whole runs of a recursion, recorded against not, at several rates."""
    program = bed.compile("deep.c")
    results = []
    for depth in DEPTHS:
        command = ["sh", "-c", 'ulimit -s 1000000 2>/dev/null; exec "$@"', "sh", program, str(depth), "500"]
        for rate in RATES:

            def ours(command: list[object] = command, rate: int = rate) -> float:
                return run(command, bed.scratch, bed.environment(clock="perf", rate=rate)).cpu_s

            def alone(command: list[object] = command) -> float:
                return run(command, bed.scratch).cpu_s

            ratio = compare(ours, alone, bed.pairs)
            what = f"CPU of a stack {depth} deep at {rate} Hz, recorded against not"
            results.append(Result(what, "at most 1.1x", str(ratio), ratio.median <= 1.1))
    return results


def handler(bed: Bed) -> list[Result]:
    """Measure the duration of the sample handler, at usual and great depth, next to disturbances of 2 us of work.

    An interval of a millisecond has one sample or none, and records the time of the handler in it.
    """
    import numpy as np

    from incprof.readers import open_run, read_profile

    program = bed.compile("deep.c")
    output = run([bed.compile("noise.c"), "20000"], bed.scratch).output
    noise = np.array([int(line) / 1000 for line in output.splitlines()])
    results = []
    for depth, most_us, longest_us in ((50, 20, 100), (20_000, None, 100)):
        run([program, str(depth), "20000"], bed.scratch, bed.environment(clock="perf", rate=1000, interval=0.001))
        counters = read_profile(open_run(str(bed.scratch / "run"))).counters
        times = 1e6 * counters.handler_s[counters.samples == 1]
        what = f"sampling handler at depth {depth}, {len(times)} samples"
        for name, bar, percent in (("median", None, 50), ("99.9 %", most_us, 99.9), ("longest", longest_us, 100)):
            reached, beside = float(np.percentile(times, percent)), float(np.percentile(noise, percent))
            text = f"{reached:.3g} us (2 us of work beside it: {beside:.3g} us)"
            met = None if bar is None else reached <= bar
            results.append(Result(f"{what}: {name}", f"{bar} us" if bar else "", text, met))
    return results


def disabled_call(bed: Bed) -> Result:
    """Compare a call with the collector loaded and off to one that is counted."""
    program = bed.compile("calls.c")
    command = [program, "40000000"]

    def off() -> float:
        return float(run(command, bed.scratch, bed.environment(disable=1)).output)

    def on() -> float:
        return float(run(command, bed.scratch, bed.environment()).output)

    ratio = compare(off, on, bed.pairs)
    return Result("cost per call, collector off against on", "at most 1x", str(ratio), ratio.median <= 1.02)
