"""From recorded loops to an answer: names, speedups, estimates, and what could not be said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from incprof.analysis.omp.counted import counted_loop
from incprof.analysis.omp.speedup import Estimate, Speedup, estimate, speedup
from incprof.errors import NoDataError
from incprof.model.loops import Loop, LoopRun
from incprof.readers.loops import LoopReader, loop_readers
from incprof.readers.loops import read_loops as read_loops
from incprof.readers.symbols.region_names import region_names
from incprof.report.words.loops import Answer, LoopAnswer


class Analyst:
    """Answers for the same run again and again, while it is running and at its end.

    baseline: an earlier run, or None. iterations: how many a loop will have, or None. loop: name of that loop, None for
    the one that they fit best.
    """

    def __init__(self, baseline: LoopRun | None, iterations: int | None, loop: str | None = None):
        self._baseline = baseline
        self._iterations = iterations
        self._wanted = loop
        self._names: dict[int, list[str]] = {}

    def answer(self, run: LoopRun, directory: str, status: int | None, *, final: bool = True) -> Answer:
        """What can be said about the run now; `final`: it has ended."""
        run = replace(run, loops=_rows(run.loops))
        names = self._names.setdefault(len(run.functions), region_names(run))
        main, choice = self._main(run, names)
        ordered = sorted(run.loops, key=lambda loop: (loop is not main, loop.depth, -loop.total_s, loop.id))
        loops = tuple(self._loop(loop, run, names, main, final) for loop in ordered)
        return Answer(run, directory, status, loops, (*choice, *self._notes(run, loops)))

    def _main(self, run: LoopRun, names: list[str]) -> tuple[Loop | None, tuple[str, ...]]:
        """Return the loop whose iterations are counted, and what to know about the choice."""
        if not run.loops or (self._iterations is None and self._wanted is None):
            return run.main_loop(), ()
        if self._wanted is not None:
            called = [loop for loop in run.loops if self._wanted in _names_of(loop, names)]
            if called:
                return LoopRun.longest(called), ()
        if self._iterations is None:
            main, certain = run.main_loop(), False
        else:
            main, certain = counted_loop(run.loops, self._iterations, run, self._baseline)
        assert main is not None
        taken = f"{_name_of(main, names)}, {main.iterations} so far"
        if self._wanted is not None:
            return main, (f"--loop {self._wanted}: no loop has that name; iterations are those of {taken}",)
        note = f"--iterations {self._iterations} are those of {taken}: --loop NAME takes another row of the table"
        return main, () if certain and main is run.main_loop() else (note,)

    def _loop(self, loop: Loop, run: LoopRun, names: list[str], main: Loop | None, final: bool) -> LoopAnswer:
        members = tuple(names[i] if i < len(names) else "?" for i in loop.functions)
        name = _name_of(loop, names)
        end_s = run.end_s if final else None
        return LoopAnswer(loop, name, members, self._speedup(loop, run), self._estimate(loop, main, end_s))

    def _of_baseline(self, loop: Loop) -> Loop | None:
        known = self._baseline.loops if self._baseline is not None else ()
        return next((other for other in known if other.identity == loop.identity), None)

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
            notes.append(f"{run.app} did not end cleanly: what it did after {run.end_s:.3g} s is not known")
        if run.other_threads:
            notes.append(f"{run.other_threads} parallel regions were started by other threads: not analysed")
        if run.regions_lost:
            notes.append("there were more loops than can be kept apart: some are missing")
        if not run.parallel_regions and not loops:
            notes.append("no parallel region was seen")
        elif not loops:
            notes.append("the parallel regions do not repeat: there is no loop to time")
        if loops and all(loop.estimate is None for loop in loops):
            notes.append("no estimate of the run time: the number of iterations is not known (--iterations)")
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
    """Return what a user may call a loop: its name, and that without file and line."""
    name = _name_of(loop, names)
    return name, name.rsplit(" (", 1)[0]


def _rows(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """The loops without those that only look like one: never more than twice around, with another loop's functions.

    Equal calls in a row do that, and iterations of a loop in which one within it had nothing to do. Their time is the
    other loop's.
    """
    rows = {loop.id: loop for loop in loops if loop.iterations or loop.kind == "explicit"}
    for loop in sorted(rows.values(), key=lambda loop: (-loop.depth, loop.id)):
        others = [row for row in rows.values() if row.id != loop.id and set(loop.functions) <= set(row.functions)]
        around = [row for row in others if row.kind == loop.kind == "detected"]
        if around and loop.iterations <= 2 * loop.visits:
            other = max(around, key=lambda row: (row.depth < loop.depth, row.depth, row.total_s, -row.id))
            rows[other.id] = replace(other, self_s=other.self_s + (loop.self_s if other.depth < loop.depth else 0))
            del rows[loop.id]
    return tuple(rows.values())


class Progress:
    """Reads what the files of a program that is running have grown by."""

    def __init__(self, directory: str, analyst: Analyst):
        self._directory = directory
        self._analyst = analyst
        self._readers: dict[Path, LoopReader] = {}

    def look(self) -> Answer | None:
        """What can be said of the process with the most parallel regions; None as long as there is none."""
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
