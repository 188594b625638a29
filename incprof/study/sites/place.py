"""The place of a chosen function and kind in the source: the function as written, or one of its loops."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.segment_sums import episodes_of
from incprof.analysis.sites.rates import Basis, CallLine, Executions, LoopLines, calls_by_phase, choose_loop, iterations
from incprof.analysis.sites.times import heaviest_callers
from incprof.analysis.uncounted.sampled_calls import repeatedly_called
from incprof.errors import NoDataError
from incprof.model import FloatArray, Function, IntervalProfile, Process, Run
from incprof.model.names import begins_inside, parse, region_of
from incprof.model.time_use import entries
from incprof.readers.stream.function_code import CodeReader, FunctionCode, Level
from incprof.source.languages import language_of, parse_file, read_source
from incprof.source.model import (
    CHANGED,
    Loop,
    SourceFile,
    begins_at,
    find_function,
    functions_named,
    is_fortran,
    name_line,
)
from incprof.source.source_tree import KnownSources, SourceTree
from incprof.symbols.demangle import display_names
from incprof.symbols.source_lines import locate

# At most this many clones or instances of a function are searched for lines with calls.
MOST_INSTANCES = 64
NOT_RECORDED = "not in the recording: inlined everywhere, or never called"


@dataclass(frozen=True)
class SourcePlace:
    """A place in the source.

    Attributes:
        function: the function as written.
        loop: one of its loops, None for its body.
        runs: number of its executions.
        share: of the function's samples in the loop, 0..1; None for a body.
        note: a remark on the choice.
    """

    function: WrittenFunction
    loop: int | None
    runs: Executions
    share: float | None = None
    note: str | None = None


class Placer:
    """Places functions of a profile. result: its k phases."""

    def __init__(
        self,
        run: Run,
        process: Process,
        profile: IntervalProfile,
        result: PhaseResult,
        sources: Sources,
        *,
        exe: str | None = None,
    ):
        self._reader = CodeReader(run, process, profile, result.labels, exe=exe)
        self._counted, self._repeated = profile.counted, set[int]()
        if not self._counted:  # samples give lower bounds
            self._repeated = repeatedly_called(profile)
            entry_counts = entries(profile, profile.own_tree, np.ones(len(profile.functions), dtype=np.bool_))
            profile = replace(profile, calls=entry_counts)
        self._run, self._profile, self._sources, self._exe = run, profile, sources, exe
        self._code: dict[int, FunctionCode] = {}
        self._begin: dict[int, Function] = {}
        self._families = families(profile.functions)
        self._calls, self._labels = calls_by_phase(profile, result.labels), result.labels
        self._options = result.options.sites

    def look_up(self, functions: Iterable[int]) -> None:
        """Look up all that placing these functions will need, in one batch."""
        order = sorted({other for index in functions for other in self._family(index)} - self._code.keys())
        self._code.update(self._reader.look_up(order))
        begin = locate(self._run, self._profile, [self._profile.functions[i] for i in order], exe=self._exe)
        self._begin.update(zip(order, begin, strict=True))

    def place(self, index: int, kind: str, phases: Sequence[int], *, around: bool = False) -> SourcePlace:
        """Place a function of the profile: its body, or the loop that represents some phases.

        The body of a parallel region is the loop around it, else the function, which is called as often; with `around`
        always that. Without either it is a loop in the region.

        Raises: NoDataError with the reason when it cannot be placed.
        """
        self.look_up([index])
        begin, name = self._begin[index], self._profile.functions[index].name
        if begin.file is None or begin.line is None:
            return self._without_lines(index, kind)
        function = self._sources.function(begin.file, begin.line, name, entry=bool(begin.address or begin.code))
        region = region_of(name) is not None  # its start and end are not those of a function as written
        if kind == "body" and not region:
            return _body(function, Executions(self._calls_of(index), self._certainty(index)))
        if (
            kind == "body"
            and (spot := self._around(index, function, begin.line + function.shift, around=around)) is not None
        ):
            return spot
        code, selected = self._code[index], list(phases)
        with_callees = bool(
            code.seconds[:, selected].sum() < self._options.by_callees * code.inclusive[:, selected].sum()
        )
        return self._loop(index, function, Level(code, begin.file, whole=with_callees), phases)

    def _around(self, index: int, function: WrittenFunction, line: int, *, around: bool) -> SourcePlace | None:
        """Return the nearest loop around a parallel region that begins at a line, else the function; or None."""
        runs, loops = Executions(self._calls_of(index), "at most"), loop_lines(function)
        inside = [i for i, loop in enumerate(loops) if loop.first < line <= loop.last]
        candidates = [i for i in inside if loops[i].refusal is None]
        if candidates and not around:
            return SourcePlace(function, candidates[-1], runs, note="the loop around its parallel region")
        if around or not function.file.functions[function.position].refusal:
            return _body(function, runs)
        return None

    def begin(self, index: int) -> tuple[str | None, int | None]:
        """Return the file and line in the binary at which a looked-up function begins."""
        return self._begin[index].file, self._begin[index].line

    def phases_of(self, index: int) -> tuple[int, ...]:
        """Return the phases in which a looked-up function or its callees run."""
        time = self._code[index].inclusive.sum(axis=0)
        return tuple(np.flatnonzero((time > 0) & (time >= self._options.runs_in * time.sum())).tolist())

    def works_for(self, index: int, phase: int) -> bool:
        """Return whether a function has nearly all of its inclusive time in a phase."""
        time = self._code[index].inclusive.sum(axis=0)
        return bool(time[phase] >= self._options.loop * time.sum())

    def lasts_through(self, index: int, phases: Sequence[int]) -> tuple[int, ...]:
        """Return the other phases that a function's long calls reach: a beat around its body cannot distinguish them.

        A call no longer than its phase reaches another one only at the change point.
        """
        if not self.lasts_on(index, phases) or self._ends_within(index, phases):
            return ()
        return tuple(phase for phase in self.phases_of(index) if phase not in phases)

    def lasts_on(self, index: int, phases: Sequence[int]) -> bool:
        """Return whether a function is called so rarely in some of the phases that its body says little about them."""
        return any(self._rare(phase)(index) for phase in phases)

    def callers(self, index: int, phase: int) -> list[tuple[int, str]]:
        """Return the callers of a function in a phase, nearest first, with the kind of site that suits each."""
        own = self._reader.own_s[:, phase]
        is_rare = self._rare(phase)

        def above(function: int) -> list[int]:
            return heaviest_callers(self._profile.paths, own, function, self._options.caller)

        nearest = above(index)
        if not nearest and self._profile.inlined is not None:
            nodes = self._profile.inlined.nodes_of(index)
            seconds = np.bincount(self._profile.paths.function[nodes], weights=own[nodes])
            holder = [int(seconds.argmax())] if seconds.any() else []
            nearest = holder + [caller for h in holder for caller in above(h)]
        return [(caller, "loop" if is_rare(caller) else "body") for caller in nearest]

    def _ends_within(self, index: int, phases: Sequence[int]) -> bool:
        """Return whether a call of a function takes, on average, no longer than an episode of any of its phases.

        The episode's ends are known to half an interval each.
        """
        seconds, calls, episodes = (
            self._code[index].inclusive.sum(axis=0),
            self._calls_of(index),
            episodes_of(self._labels),
        )
        wall, selected = self._profile.end_s - self._profile.start_s, list(phases)
        counts = np.array([np.count_nonzero(episodes.group == phase) for phase in selected])
        seconds_of_phase = np.array([wall[self._labels == phase].sum() for phase in selected])
        longest = seconds_of_phase / np.maximum(counts, 1) + np.median(wall)
        return bool(np.all(seconds[selected] <= calls[selected] * longest))

    def _rare(self, phase: int) -> Callable[[int], bool]:
        """Return a function that tests whether calls of a function occur in at most half of a phase's intervals."""
        members = np.flatnonzero(self._labels == phase)
        calls = self._profile.calls[members].tocsc()
        repeated = self._repeated
        return lambda i: i not in repeated and 2 * int((calls[:, [i]].toarray() > 0).sum()) <= len(members)

    def _without_lines(self, index: int, kind: str) -> SourcePlace:
        """Return the body of the only function of that name, if the binary has no line numbers."""
        function = self._profile.functions[index]
        if not function.address:
            raise NoDataError("no function of the program")
        source = self._sources.named(function.name)
        which = "; its body, as no loop can be identified" if kind == "loop" else ""
        note = f"no line numbers (build with -g): found by its name{which}"
        return _body(source, Executions(self._calls_of(index), "counted"), note)

    def place_unrecorded(self, name: str, kind: str) -> SourcePlace:
        """Place a function that is in the source only.

        Raises: NoDataError when no function has that name, several have it, or its loop is ambiguous.
        """
        source = self._sources.named(name)
        never = Executions(np.zeros(self._calls.shape[0]), "unknown")
        if kind == "body":
            return _body(source, never, NOT_RECORDED)
        loops = loop_lines(source)
        outer = [i for i, loop in enumerate(loops) if loop.parent is None and loop.busy and loop.refusal is None]
        if len(outer) != 1:
            raise NoDataError(
                f"{len(outer)} loops of {name} can hold a beat: without samples, none of them can be chosen"
            )
        return SourcePlace(source, outer[0], never, note=NOT_RECORDED)

    def _loop(self, index: int, function: WrittenFunction, level: Level, phases: Sequence[int]) -> SourcePlace:
        """Return the loop, in the function or in the inlined one that has nearly all of the time."""
        calls = self._calls_of(index)
        while True:
            own_lines, other_phases = (
                {line + function.shift: value for line, value in lines.items()} for lines in level.seconds(phases)
            )
            loops = loop_lines(function)
            choice = choose_loop(own_lines, loops, other_phases, self._options)
            if choice.loop is not None:
                runs = iterations(self._call_lines(index, level, function.shift), loops, choice.loop, calls)
                return SourcePlace(function, choice.loop, runs, choice.share, choice.note)
            inner = self._inner(level, function, phases) if choice.share < self._options.largest_loop else None
            if inner is None:
                runs = Executions(calls, "at least" if level.depth else self._certainty(index))
                return _body(function, runs, f"its body: {choice.note}")
            level, function = inner

    def _inner(
        self, level: Level, function: WrittenFunction, phases: Sequence[int]
    ) -> tuple[Level, WrittenFunction] | None:
        """Return the inlined function that has nearly all of the time of a level, as written; None without one."""
        inner = level.inner(phases, self._options.loop)
        if inner is None:
            return None
        fortran = is_fortran(function.file.language)
        name = display_names([inner[1].function], fortran=fortran)[0]
        try:
            return inner[0], self._sources.function(inner[1].file, inner[1].line, name, entry=False)
        except NoDataError:
            return None

    def _call_lines(self, index: int, level: Level, shift: int) -> list[CallLine]:
        """Return the lines of the function that call, in all of its clones and instances together."""
        total: defaultdict[tuple[int, int, bool], FloatArray] = defaultdict(lambda: np.zeros(self._calls.shape[0]))
        for other in self._family(index):
            for key, calls in replace(level, code=self._code[other]).calls().items():
                total[key] = total[key] + calls
        return [CallLine(line + shift, total[line, to, inlined], inlined) for line, to, inlined in sorted(total)]

    def _certainty(self, index: int) -> Basis:
        """Return the basis of a function's call counts: they are not exact where it was inlined, or without -pg."""
        inlined = self._profile.inlined
        return "counted" if self._counted and (inlined is None or index not in inlined.function) else "at least"

    def _family(self, index: int) -> list[int]:
        """Return the function, its clones and its template instances."""
        return sorted({index, *self._families[_written(self._profile.functions[index])][:MOST_INSTANCES]})

    def _calls_of(self, index: int) -> FloatArray:
        """Return the calls of the function as written in each phase, shape (k,)."""
        family = self._families[_written(self._profile.functions[index])]
        return np.asarray(self._calls[:, family].sum(axis=1), dtype=np.float64)


def loop_lines(written: WrittenFunction) -> list[LoopLines]:
    """Return the loops of a function in the form that the analysis takes."""
    loops = written.file.functions[written.position].loops
    return [LoopLines(x.line, x.last_line, x.parent, x.busy and not runs_once(x), x.refusal) for x in loops]


def runs_once(loop: Loop) -> bool:
    """Return whether a loop is the `do ... while (0)` of a statement macro."""
    node = loop.syntax
    condition = node.child_by_field_name("condition") if node is not None and node.type == "do_statement" else None
    return condition is not None and condition.text in (b"(0)", b"(false)")


def families(functions: Sequence[Function]) -> defaultdict[tuple[str, str], list[int]]:
    """Return the indices of functions that are one in the source: clones, and instances of a template."""
    members = defaultdict[tuple[str, str], list[int]](list)
    for index, function in enumerate(functions):
        members[_written(function)].append(index)
    return members


def _body(written: WrittenFunction, runs: Executions, note: str | None = None) -> SourcePlace:
    """Return a function's body.

    Raises: NoDataError when no beat can go around it.
    """
    function = written.file.functions[written.position]
    if function.refusal:
        raise NoDataError(f"{written.file.path}:{function.line}: {function.refusal}")
    return SourcePlace(written, None, runs, note=note)


def _written(function: Function) -> tuple[str, str]:
    """Return the common part of a function's clones and template instances."""
    return function.module, parse(function.name).written


# The parsed files of a source tree, found by their names in the binary.


# The prefix in the qualified name of a function of Python: `run.py:Solver.`
WORD_BEFORE = re.compile(r"^.*[:.](?=\w)")


@dataclass(frozen=True)
class WrittenFunction:
    """A function of a parsed file.

    Attributes:
        file: the parsed file.
        position: index of the function in it.
        shift: number of lines by which it moved down since it was compiled.
    """

    file: SourceFile
    position: int
    shift: int = 0


class Sources:
    """Files below a directory, each parsed once.

    start_ns: start of the recording, nanoseconds since 1970, or None. allow_changed: accept files that were changed
    since, and find their functions by name.
    Raises: NoDataError when the directory does not exist.
    """

    def __init__(
        self, root: Path, directory: str, start_ns: int | None, *, allow_changed: bool, blank: Sequence[str] = ()
    ):
        self._tree = SourceTree(root)
        self._source_states = KnownSources(directory, start_ns)
        self._allow_changed, self._blank = allow_changed, tuple(blank)
        self._parsed: dict[str, SourceFile] = {}
        self._answers: dict[str, tuple[SourceFile, bool] | str] = {}

    def function(self, recorded: str, line: int, name: str, *, entry: bool) -> WrittenFunction:
        """Return the function as written, given its recorded file, line and name. entry: the line is that of its entry.

        Raises: NoDataError when it cannot be found, or when the file is not the one that was compiled.
        """
        file, proven = self._file(recorded)
        position = find_function(file, line, name, moved=self._allow_changed, proven=proven)
        is_entry = entry and not begins_inside(name)
        if proven or not is_entry or begins_at(file, position, line):
            return WrittenFunction(file, position)
        if not self._allow_changed:
            raise NoDataError(f"{file.path}:{line}: {parse(name).last} does not begin there: {CHANGED}")
        return WrittenFunction(file, position, name_line(file, position) - line)

    def named(self, name: str) -> WrittenFunction:
        """Return the only function of that name below the directory, for programs without line numbers.

        Raises: NoDataError when there is none, or several.
        """
        plain_name = WORD_BEFORE.sub("", parse(name).last)
        matches = []
        for path in self._tree.files():
            if (file := self._mentioning(path, plain_name)) is not None:
                matches += [WrittenFunction(file, position) for position in functions_named(file, name)]
        if len(matches) == 1:
            self._is_unchanged(matches[0].file.path, matches[0].file)
            return matches[0]
        if not matches:
            raise NoDataError(f"no function {plain_name} below {self._tree.root}")
        places = ", ".join(f"{f.file.path}:{f.file.functions[f.position].line}" for f in matches[:4])
        raise NoDataError(f"several functions are called {plain_name}: {places}; build with -g to tell them apart")

    def save(self) -> None:
        """Store which files are unchanged."""
        self._source_states.save()

    def _file(self, recorded: str) -> tuple[SourceFile, bool]:
        """Return the parsed file, and whether it is known to be unchanged."""
        if recorded not in self._answers:
            try:
                file = self._parse(self._tree.find(recorded))
                self._answers[recorded] = file, self._is_unchanged(recorded, file)
            except NoDataError as error:
                self._answers[recorded] = str(error)
        answer = self._answers[recorded]
        if isinstance(answer, str):
            raise NoDataError(answer)
        return answer

    def _is_unchanged(self, recorded: str, file: SourceFile) -> bool:
        """Return whether a file is known to be unchanged.

        Raises: NoDataError when it is known to have changed, unless that is allowed.
        """
        verdict = self._source_states.state_of(recorded, self._tree.root / file.path, file)
        if verdict == "changed" and not self._allow_changed:
            raise NoDataError(f"{file.path} {CHANGED}")
        return verdict == "unchanged"

    def _parse(self, path: str) -> SourceFile:
        if path not in self._parsed:
            self._parsed[path] = parse_file(self._tree.root, path, blank=self._blank)
        return self._parsed[path]

    def _mentioning(self, path: str, word: str) -> SourceFile | None:
        """Parse a source file that contains a name; None for all others."""
        if language_of(path, b"") is None:
            return None
        try:
            mentioned = word.lower().encode("utf-8", "replace") in read_source(self._tree.root / path).lower()
            return self._parse(path) if mentioned else None
        except NoDataError:
            return None
