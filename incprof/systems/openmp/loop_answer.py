"""Analyse recorded loops: names, speedups, estimates, and notes on what is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from incprof.errors import NoDataError
from incprof.model import Module
from incprof.model.names import region_of, without_marks
from incprof.symbols.addr2line import Place, look_up
from incprof.symbols.demangle import display_names
from incprof.symbols.symbol_files import find_symbols
from incprof.systems.openmp.analyse import Estimate, Loop, LoopRun, RegionCode, Speedup, counted_loop, estimate, speedup
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
