"""The loops of a run as text."""

from __future__ import annotations

from typing import TextIO

from incprof.printable import printable
from incprof.report.words.loops import Answer, LoopAnswer, estimate_words, seconds, speedup_words


def write_text(answer: Answer, out: TextIO) -> None:
    """Write a table of the loops, and what follows from them."""
    run = answer.run
    regions = "1 parallel region" if run.parallel_regions == 1 else f"{run.parallel_regions} parallel regions"
    out.write(f"{printable(run.app)}, rank {run.rank}, {regions}, {seconds(run.end_s)}\n")
    if answer.loops:
        out.write("\n")
        rows = [_row(loop) for loop in answer.loops]
        _table(
            [("Region", "Period", "Threads", "Iterations", "Mean", "Min", "Max", "Std", "Total", "Self"), *rows], out
        )
    said = [line for loop in answer.loops for line in _lines(loop)]
    if said:
        out.write("\n" + "".join(f"{line}\n" for line in said))


def _row(answer: LoopAnswer) -> tuple[str, ...]:
    loop, times = answer.loop, answer.loop.times
    timed = [seconds(value) for value in (times.mean_s, times.min_s, times.max_s, times.std_s)]
    threads = str(loop.threads)
    if 0 < loop.fewest_threads < loop.threads:
        threads = f"{loop.fewest_threads}-{loop.threads}"
    period = str(loop.period) if loop.period else "-"
    if loop.longest_period > loop.period:
        period += f"-{loop.longest_period}"
    shown = timed if times.count else ["-"] * 4
    own = seconds(loop.self_s) if loop.kind == "detected" else "-"
    name = "  " * loop.depth + printable(answer.name)
    return (name, period, threads, str(loop.iterations), *shown, seconds(loop.total_s), own)


def _lines(answer: LoopAnswer) -> list[str]:
    lines = []
    if answer.speedup is not None:
        lines.append(f"{printable(answer.name)}: {speedup_words(answer.speedup)}")
    if answer.estimate is not None:
        done = f"after {answer.estimate.done} of {answer.estimate.expected} iterations"
        lines.append(f"{printable(answer.name)}: {estimate_words(answer.estimate)}, {done}")
    return lines


def _table(rows: list[tuple[str, ...]], out: TextIO) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        out.write("  ".join(cells).rstrip() + "\n")
