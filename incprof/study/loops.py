"""From recorded loops to an answer: names, speedups, estimates, and what could not be said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from incprof.analysis.omp.speedup import Estimate, Speedup, estimate, speedup
from incprof.errors import NoDataError
from incprof.model.loops import Loop, LoopRun
from incprof.readers.loops import LoopReader, loop_readers
from incprof.readers.loops import read_loops as read_loops
from incprof.readers.symbols.region_names import region_names
from incprof.report.words.loops import Answer, LoopAnswer


class Analyst:
    """Answers for the same run again and again, while it is running and at its end.

    baseline: an earlier run, or None. iterations: how many the main loop will have, or None.
    """

    def __init__(self, baseline: LoopRun | None, iterations: int | None):
        self._baseline = baseline
        self._iterations = iterations
        self._names: dict[int, list[str]] = {}

    def answer(self, run: LoopRun, directory: str, status: int | None, *, final: bool = True) -> Answer:
        """What can be said about the run now; `final`: it has ended."""
        run = replace(run, loops=_rows(run.loops))
        main = run.main_loop()
        names = self._names.setdefault(len(run.functions), region_names(run))
        ordered = sorted(run.loops, key=lambda loop: (loop is not main, loop.depth, -loop.total_s, loop.id))
        loops = tuple(self._loop(loop, run, names, main, final) for loop in ordered)
        return Answer(run, directory, status, loops, tuple(self._notes(run, loops)))

    def _loop(self, loop: Loop, run: LoopRun, names: list[str], main: Loop | None, final: bool) -> LoopAnswer:
        members = tuple(names[i] if i < len(names) else "?" for i in loop.functions)
        name = loop.name or (members[0] if members else f"region {loop.id}")
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
