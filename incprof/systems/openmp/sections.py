"""Reports on the loops of a run: a table, JSON of schema incprof.selfanalyze/1, and a line while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TextIO

from incprof.model.section import Column, Table
from incprof.report.render.json import exact, fields, nano, write
from incprof.report.render.plain import write_plain
from incprof.report.words.formatting import seconds
from incprof.safe.printable import printable
from incprof.systems.openmp.analyse import Estimate, Loop, Speedup, Times
from incprof.systems.openmp.loop_answer import Answer, LoopAnswer

SCHEMA = "incprof.selfanalyze/1"


def speedup_words(speedup: Speedup) -> str:
    """Format a speedup: `1.87x (1.82-1.92) of 1 thread`."""
    against = "1 thread" if speedup.base_threads == 1 else f"{speedup.base_threads} threads"
    text = f"{speedup.relative:.3g}x ({speedup.low:.3g}-{speedup.high:.3g}) of {against}"
    if speedup.base_threads != 1 and speedup.speedup is not None:
        text += f", {speedup.speedup:.3g}x of 1 thread by Amdahl's law"
    return text


def estimate_words(estimate: Estimate) -> str:
    """Format an estimate: `about 41.2 s in all (40.8 s - 41.6 s)`."""
    if estimate.low_s == estimate.high_s:
        return f"{seconds(estimate.total_s)} in all"
    return f"about {seconds(estimate.total_s)} in all ({seconds(estimate.low_s)} - {seconds(estimate.high_s)})"


def progress_words(answer: LoopAnswer) -> str:
    """Return a line on a loop that is running."""
    loop, words = answer.loop, [f"{answer.loop.iterations} iterations"]
    if loop.times.count:
        words.append(f"{seconds(loop.times.mean_s)} each")
    if answer.speedup is not None:
        words.append(speedup_words(answer.speedup))
    if answer.estimate is not None:
        words.append(estimate_words(answer.estimate))
    return f"{answer.name}: " + ", ".join(words)


def write_text(answer: Answer, out: TextIO) -> None:
    """Write a table of the loops, the outermost first, then speedups and estimates."""
    run = answer.run
    regions = "1 parallel region" if run.parallel_regions == 1 else f"{run.parallel_regions} parallel regions"
    out.write(f"{printable(run.app)}, rank {run.rank}, {regions}, {seconds(run.end_s)}\n")
    if answer.loops:
        out.write("\n")
        write_plain(_regions(sorted(answer.loops, key=lambda one: one.loop.depth)), out)
    lines = [line for loop in answer.loops for line in _lines(loop)]
    if lines:
        out.write("\n" + "".join(f"{line}\n" for line in lines))


def _regions(loops: Sequence[LoopAnswer]) -> Table:
    """Return a row for each loop."""

    def period(loop: Loop) -> str:
        text = str(loop.period) if loop.period else "-"
        return f"{text}-{loop.longest_period}" if loop.longest_period > loop.period else text

    def threads(loop: Loop) -> str:
        return f"{loop.fewest_threads}-{loop.threads}" if 0 < loop.fewest_threads < loop.threads else str(loop.threads)

    def timed(value: Callable[[Times], float]) -> Callable[[LoopAnswer], float | None]:
        return lambda one: value(one.loop.times) if one.loop.times.count else None

    columns = (
        Column("Region", lambda one: "  " * one.loop.depth + one.name),
        Column("Period", lambda one: period(one.loop), "count"),
        Column("Threads", lambda one: threads(one.loop), "count"),
        Column("Iterations", lambda one: one.loop.iterations, "count"),
        Column("Mean", timed(lambda times: times.mean_s), "s"),
        Column("Min", timed(lambda times: times.min_s), "s"),
        Column("Max", timed(lambda times: times.max_s), "s"),
        Column("Std", timed(lambda times: times.std_s), "s"),
        Column("Total", lambda one: one.loop.total_s, "s"),
        Column("Self", lambda one: one.loop.self_s if one.loop.kind == "detected" else None, "s"),
    )
    return Table(columns, loops)


def _lines(answer: LoopAnswer) -> list[str]:
    lines = []
    if answer.speedup is not None:
        lines.append(f"{printable(answer.name)}: {speedup_words(answer.speedup)}")
    if answer.estimate is not None:
        done = f"after {answer.estimate.done} of {answer.estimate.expected} iterations"
        lines.append(f"{printable(answer.name)}: {estimate_words(answer.estimate)}, {done}")
    return lines


def write_json(answer: Answer, out: TextIO) -> None:
    """Write one JSON object and a newline."""
    run = answer.run
    document = {
        "schema": SCHEMA,
        "run": {
            **fields(run, "app"),
            **fields(answer, "directory rank=run.rank pid=run.pid status"),
            **fields(run, "seconds=end_s ended parallel_regions other_threads", nano),
        },
        "regions": [_region(loop) for loop in answer.loops],
        "notes": list(answer.notes),
    }
    write(document, out)


def _region(answer: LoopAnswer) -> dict[str, object]:
    loop, speedup, estimate = answer.loop, answer.speedup, answer.estimate
    return {
        "id": {"first": answer.members[0] if answer.members else None, **fields(loop, "period hash")},
        **fields(loop, "longest_period kind"),
        **fields(answer, "name functions=members"),
        **fields(loop, "depth visits=episodes iterations"),
        **fields(loop.times, "timed=count mean_s std_s min_s max_s", nano),
        "total_s": nano(loop.total_s),
        "self_s": nano(loop.self_s) if loop.kind == "detected" else None,
        **fields(loop, "parallel_s threads fewest_threads", nano),
        "speedup": speedup
        and {
            **fields(speedup, "baseline_threads=base_threads baseline_mean_s=base_s baseline_timed=base_count", nano),
            **fields(speedup, "relative low high one_thread_s serial_s speedup", exact),
        },
        "estimate": estimate and fields(estimate, "iterations=done expected total_s low_s high_s", exact),
    }
