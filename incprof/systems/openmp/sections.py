"""Recorded loops: names, speedups, estimates, notes; as a table, JSON of schema incprof.selfanalyze/1, and a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

import numpy as np

from incprof.errors import NoDataError
from incprof.model import Module
from incprof.model.names import region_of, without_marks
from incprof.model.section import Column, Table
from incprof.report.render.json import exact, fields, nano, write
from incprof.report.render.plain import write_plain
from incprof.report.words.formatting import seconds
from incprof.safe.printable import printable
from incprof.symbols.addr2line import Place, look_up
from incprof.symbols.demangle import display_names
from incprof.symbols.symbol_files import find_symbols
from incprof.systems.openmp.analyse import (
    Estimate,
    Loop,
    LoopRun,
    RegionCode,
    Speedup,
    Times,
    counted_loop,
    estimate,
    speedup,
)
from incprof.systems.openmp.read import LoopReader, loop_readers


@dataclass(frozen=True, slots=True)
class LoopAnswer:
    """Results for a loop.

    Attributes:
        loop: The loop.
        name: Its name.
        members: Names of its functions with parallel regions.
        speedup: Its speedup; None if not available.
        estimate: Estimate of the run time based on it; None if not available.
    """

    loop: Loop
    name: str
    members: tuple[str, ...]
    speedup: Speedup | None
    estimate: Estimate | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Results for a run.

    Attributes:
        run: The run.
        directory: Its directory.
        status: The program's exit status; None for an earlier run.
        loops: Its loops, the main one first.
        notes: Notes to the user.
    """

    run: LoopRun
    directory: str
    status: int | None
    loops: tuple[LoopAnswer, ...]
    notes: tuple[str, ...]


class Analyst:
    """Analyses the same run repeatedly, while it is running and at its end.

    baseline: an earlier run, or None. iterations: number of iterations that a loop will have, or None. loop: name of
    that loop, None for the best match.
    """

    def __init__(self, baseline: LoopRun | None, iterations: int | None, loop: str | None = None):
        self._baseline = baseline
        self._iterations = iterations
        self._loop_name = loop
        self._names: dict[int, list[str]] = {}

    def answer(self, run: LoopRun, directory: str, status: int | None, *, final: bool = True) -> Answer:
        """Return the answer so far; `final`: the run has ended."""
        run = replace(run, loops=_rows(run.loops))
        names = self._names.setdefault(len(run.functions), region_names(run))
        main, choice = self._main(run, names)
        ordered = sorted(run.loops, key=lambda loop: (loop is not main, loop.depth, -loop.total_s, loop.id))
        loops = tuple(self._loop(loop, run, names, main, final) for loop in ordered)
        return Answer(run, directory, status, loops, (*choice, *self._notes(run, loops)))

    def _main(self, run: LoopRun, names: list[str]) -> tuple[Loop | None, tuple[str, ...]]:
        """Return the loop whose iterations are counted, and notes on the choice."""
        if not run.loops or (self._iterations is None and self._loop_name is None):
            return run.main_loop(), ()
        if self._loop_name is not None:
            called = [loop for loop in run.loops if self._loop_name in _names_of(loop, names)]
            if called:
                return LoopRun.longest(called), ()
        if self._iterations is None:
            main, certain = run.main_loop(), False
        else:
            main, certain = counted_loop(run.loops, self._iterations, run, self._baseline)
        assert main is not None
        taken = f"{_name_of(main, names)}, {main.iterations} so far"
        if self._loop_name is not None:
            return main, (f"--loop {self._loop_name}: no loop has that name; iterations are those of {taken}",)
        note = f"--iterations {self._iterations} are those of {taken}: --loop NAME takes another row of the table"
        return main, () if certain and main is run.main_loop() else (note,)

    def _loop(self, loop: Loop, run: LoopRun, names: list[str], main: Loop | None, final: bool) -> LoopAnswer:
        members = tuple(names[i] if i < len(names) else "?" for i in loop.functions)
        name = _name_of(loop, names)
        end_s = run.end_s if final else None
        return LoopAnswer(loop, name, members, self._speedup(loop, run), self._estimate(loop, main, end_s))

    def _of_baseline(self, loop: Loop) -> Loop | None:
        loops = self._baseline.loops if self._baseline is not None else ()
        return next((other for other in loops if other.identity == loop.identity), None)

    def _speedup(self, loop: Loop, run: LoopRun) -> Speedup | None:
        before = self._of_baseline(loop)
        if before is not None:
            return speedup(loop.times, loop.threads, before.times, before.threads)
        return speedup(loop.times, loop.threads, loop.fewer, run.fewer_threads)

    def _estimate(self, loop: Loop, main: Loop | None, end_s: float | None) -> Estimate | None:
        before = self._of_baseline(loop)
        expected = loop.expected
        if loop is main:
            expected = self._iterations or expected or (before.iterations if before is not None else 0)
        return estimate(loop, expected, end_s)

    def _notes(self, run: LoopRun, loops: tuple[LoopAnswer, ...]) -> list[str]:
        notes = []
        if run.damaged:
            notes.append(f"{run.path}: {run.damaged} damaged lines were left out")
        if not run.ended:
            notes.append(f"{run.app} did not end cleanly: what it did after {run.end_s:.3g} s is unknown")
        if run.other_threads:
            notes.append(f"{run.other_threads} parallel regions were started by other threads: not analysed")
        if run.regions_lost:
            notes.append("there were more loops than incprof can track: some are missing")
        if not run.parallel_regions and not loops:
            notes.append("no parallel region was recorded")
        elif not loops:
            notes.append("the parallel regions do not repeat: there is no loop to time")
        if loops and all(loop.estimate is None for loop in loops):
            notes.append("no estimate of the run time: the number of iterations is unknown (--iterations)")
        if loops and self._baseline is not None and all(self._of_baseline(loop.loop) is None for loop in loops):
            notes.append(f"no loop of this run is in the baseline {self._baseline.path}: no speedup")
        if loops and run.fewer_threads and all(loop.loop.fewer.count == 0 for loop in loops):
            notes.append("no loop went on for long enough, or with enough threads, to measure it with fewer")
        return notes


def _name_of(loop: Loop, names: list[str]) -> str:
    """Return the name of a loop: its own, or that of the first region in it."""
    first = loop.functions[0] if loop.functions else None
    return loop.name or (f"region {loop.id}" if first is None else names[first] if first < len(names) else "?")


def _names_of(loop: Loop, names: list[str]) -> tuple[str, str]:
    """Return the names that a user may give a loop: its name with and without file and line."""
    name = _name_of(loop, names)
    return name, name.rsplit(" (", 1)[0]


def _rows(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """Return the loops without spurious ones: at most two iterations per episode, with another loop's functions.

    Consecutive equal calls cause them, and iterations in which an inner loop had nothing to do. Their time is added to
    the other loop.
    """
    rows = {loop.id: loop for loop in loops if loop.iterations or loop.kind == "explicit"}
    for loop in sorted(rows.values(), key=lambda loop: (-loop.depth, loop.id)):
        others = [row for row in rows.values() if row.id != loop.id and set(loop.functions) <= set(row.functions)]
        around = [row for row in others if row.kind == loop.kind == "detected"]
        if around and loop.iterations <= 2 * loop.episodes:
            other = max(around, key=lambda row: (row.depth < loop.depth, row.depth, row.total_s, -row.id))
            rows[other.id] = replace(other, self_s=other.self_s + (loop.self_s if other.depth < loop.depth else 0))
            del rows[loop.id]
    return tuple(rows.values())


class Progress:
    """Reads the growing files of a running program."""

    def __init__(self, directory: str, analyst: Analyst):
        self._directory = directory
        self._analyst = analyst
        self._readers: dict[Path, LoopReader] = {}

    def poll(self) -> Answer | None:
        """Return the answer for the process with the most parallel regions; None if there is none yet."""
        runs = []
        for new in loop_readers(Path(self._directory)):
            reader = self._readers.setdefault(new.path, new)
            try:
                reader.update()
                runs.append(reader.run())
            except (OSError, NoDataError):
                continue
        if not runs:
            return None
        run = max(runs, key=lambda run: (-run.rank, run.parallel_regions))
        return self._analyst.answer(run, self._directory, None, final=False)


def region_names(run: LoopRun) -> list[str]:
    """Return a name for each of run.functions: `function (file:line)`, as far as its file provides them."""
    names = [""] * len(run.functions)
    modules = {(code.module, code.build_id) for code in run.functions if code.module is not None}
    for path, build_id in sorted(modules, key=str):
        at = [i for i, code in enumerate(run.functions) if (code.module, code.build_id) == (path, build_id)]
        described = _named(str(path), build_id, [run.functions[i].address for i in at])
        for i, name in zip(at, described, strict=True):
            names[i] = name
    return [name or _plain(code) for name, code in zip(names, run.functions, strict=True)]


def _plain(code: RegionCode) -> str:
    return f"{Path(code.module).name}+{code.address:#x}" if code.module else f"{code.address:#x}"


def _named(path: str, build_id: str | None, addresses: list[int]) -> list[str]:
    try:
        symbols = find_symbols(Module(1, path, build_id, 0, 0, True), str(Path(path).parent))
    except (NoDataError, OSError):
        return [""] * len(addresses)
    if symbols.path is None:
        return [""] * len(addresses)
    owners = symbols.table.find(np.array(addresses, dtype=np.uint64)).tolist()
    mangled = [symbols.table.name(owner) if owner >= 0 else "" for owner in owners]
    starters = [name if (starter := region_of(name)) is None else starter for name in mangled]
    shown = map(without_marks, display_names(starters, fortran=symbols.table.fortran))
    places = look_up(symbols.path, addresses)
    return [_with_place(name, place) for name, place in zip(shown, places, strict=True)]


def _with_place(name: str, place: Place | None) -> str:
    where = f"{Path(place[0]).name}:{place[1]}" if place else ""
    if name and where:
        return f"{name} ({where})"
    return name or where


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
