"""A recorded run as a study: its profile, its phases, their sites, each computed once and on demand."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from incprof.errors import NoDataError, UsageError
from incprof.study.phase_options import SILENT, Listener, StudyOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incprof.analysis.explain import Explanation
    from incprof.analysis.phase_result import PhaseResult, RunSummary
    from incprof.analysis.ranks.ranks_result import RanksResult
    from incprof.analysis.sites import SiteChooser
    from incprof.analysis.sites.rates import BeatCost
    from incprof.model import FloatArray, IntervalProfile, Process, Run
    from incprof.study.phase_options import Libs
    from incprof.study.shared_phases import SharedPhases
    from incprof.study.sites.store import PlacedSite

# Parts of a job's time, for each of which the CPU time of its programs is known.
PARTS_OF_JOB = 200


class Study:
    """One process of a recorded run, and the results of its analysis.

    Raises, on any access:
        NoDataError: the recording holds nothing usable.
        UsageError: there is no such rank or process, or k exceeds the number of intervals.
    """

    def __init__(
        self,
        run: Run | str | os.PathLike[str],
        *,
        rank: int | None = None,
        program: str | None = None,
        pid: int | None = None,
        exe: str | None = None,
        libs: Libs = "named",
        nameless: bool = False,
        options: StudyOptions | None = None,
        profile: IntervalProfile | None = None,
        ranks: Sequence[int] | None = None,
        listener: Listener = SILENT,
    ):
        """Select the process to study. Only the list of files is read.

        Args:
            run: an opened run, or its directory.
            rank: its number, the lowest unless given.
            program: name of the program to study, of a job's several; the busiest unless given.
            pid: of one process.
            exe: the program, if it is not where it was recorded.
            libs: time in libraries counts for their called functions ("named"; the paper's method has none), their
                callers, the libraries ("separate"), or is left out ("drop").
            nameless: a program without symbols becomes one unknown function instead of an error.
            options: how phases are found.
            profile: of that process, if it has been read before: nothing else is read.
            ranks: those whose phases are found, all unless given. With one alone, or none, phases are those of `rank`
                alone.
            listener: receives warnings and progress.
        """
        from incprof.readers.run import open_run

        self.run = open_run(run, exe=exe, program=program) if isinstance(run, str | os.PathLike) else run
        self.rank, self.pid, self.exe, self.nameless = rank, pid, exe, nameless
        self.options, self.listener = options or StudyOptions(), listener
        self.libs: Libs = "caller" if libs == "named" and self.options.method == "paper" else libs
        self.thresholds = self.options.thresholds
        self._shared_ranks = self._select_ranks(ranks) if profile is None and pid is None else ()
        if profile is not None:
            self.recorded = self.profile = profile

    def _select_ranks(self, requested: Sequence[int] | None) -> tuple[int, ...]:
        """Return the ranks whose phases are found together; empty unless there are several."""
        from incprof.readers.run import listed

        recorded = self.run.ranks
        for rank in requested or ():
            if rank not in recorded:
                raise UsageError(f"{self.run.directory}: no rank {rank} for --ranks, only {listed(recorded)}")
        ranks = tuple(sorted(set(recorded if requested is None else requested)))
        if self.rank is not None and self.rank not in recorded:
            return ()
        if self.rank is not None and ranks and self.rank not in ranks:
            raise UsageError(f"--rank {self.rank} is not among the ranks of --ranks: {listed(ranks)}")
        if self.rank is None and requested:
            self.rank = ranks[0]
        return ranks if len(ranks) > 1 else ()

    @property
    def inlined(self) -> bool:
        """Whether inlined functions are looked up: the paper's method has none."""
        return self.options.method != "paper"

    @cached_property
    def shared(self) -> SharedPhases | None:
        """The shared phases of all ranks; None if there is one rank, or one process is studied alone."""
        from incprof.study.ranks_read import SharedRequest
        from incprof.study.shared_phases import Shared

        if not self._shared_ranks:
            return None
        request = SharedRequest(
            self.run, self._shared_ranks, self.rank, self.libs, self.exe, self.options, self.listener
        )
        answer = Shared(request).find()
        self.listener.warn(answer.problems)
        if self.rank is None:
            self.rank = answer.ranks.shown
        elif self.rank not in answer.ranks.ranks and self.rank in self.run.ranks:
            raise NoDataError(f"{self.run.directory}: rank {self.rank} is left out, see above")
        return answer

    @property
    def ranks(self) -> RanksResult | None:
        """The results for all ranks together; None if there is one rank, or one is studied alone."""
        return self.shared.ranks if self.shared is not None else None

    def without_waits(self) -> Study:
        """Return the same, with phases by CPU time alone."""
        return Study(
            self.run, rank=self.rank, pid=self.pid, exe=self.exe, libs=self.libs, nameless=self.nameless,
            options=replace(self.options, waits=False), ranks=self._shared_ranks or None, listener=self.listener,
        )  # fmt: skip

    def of_rank(self, rank: int) -> Study:
        """Return the study of another rank in the same phases; in its own ones if these are of one rank alone."""
        other = Study(
            self.run, rank=rank, exe=self.exe, libs=self.libs, nameless=True, options=self.options,
            ranks=self._shared_ranks or (rank,),
        )  # fmt: skip
        other.__dict__["shared"] = self.shared
        return other

    @property
    def partial(self) -> bool:
        """Whether a part of the input is missing in the answer."""
        return self.shared.partial if self.shared is not None else self.profile.damaged

    @cached_property
    def recorded(self) -> IntervalProfile:
        """The profile of the process, interval by interval."""
        from incprof.readers.run import read_profile

        with self.listener.progress("reading") as report:
            profile = read_profile(
                self.run, rank=self.rank, process=self.pid, libs=self.libs, exe=self.exe, inlined=self.inlined,
                nameless=self.nameless, waits=self.options.reads_waits, progress=report,
            )  # fmt: skip
        if self.pid is None:
            self.listener.warn([*_others(self.run, profile), *_busier(self.run, profile, self.options)])
        return profile

    @cached_property
    def profile(self) -> IntervalProfile:
        """The same in intervals that lie in one phase each; as recorded for the paper's method.

        Functions of all ranks' phases come first, including those that this rank never ran.
        """
        from incprof.model.joining import on_functions, union
        from incprof.study.ranks_read import binned

        shared = self.shared
        profile = binned(self.recorded, self.options)
        if shared is None:
            return profile
        return on_functions(profile, union([shared.profile.functions, profile.functions]))

    @cached_property
    def process(self) -> Process:
        """The process that is studied."""
        from incprof.readers.run import choose_process

        return choose_process(self.run, self.rank, self.pid)

    @cached_property
    def summary(self) -> RunSummary:
        """A summary of the run."""
        from incprof.analysis.answer.describe import summarise

        return summarise(self.profile, len(self.run.ranks), self.run.app, self.recorded.n_intervals)

    @property
    def suspensions(self) -> FloatArray:
        """Start and end of the times in which the program was stopped, (s, 2), seconds since the start of the run."""
        from incprof.model.intervals import suspensions

        return suspensions(self.profile)

    @property
    def used(self) -> FloatArray | None:
        """CPU seconds that each program of a job had used over time (programs, times); None if there is one process."""
        from incprof.readers.run import used_over_time

        return used_over_time(self.run, PARTS_OF_JOB) if self.run.is_job else None

    @property
    def found_in(self) -> IntervalProfile:
        """The profile in which phases were found: `profile`, or parts of several ranks joined to one run."""
        return self.shared.profile if self.shared is not None else self.profile

    @cached_property
    def chooser(self) -> SiteChooser:
        """The input of the phase search, which also chooses sites."""
        from incprof.analysis.answer import site_chooser

        if self.shared is not None:
            return self.shared.chooser
        return site_chooser(self.profile, self.options.method, self.thresholds)

    def phases(self, rank: int | None = None, *, confidence: bool = True) -> PhaseResult:
        """Return the phases in the intervals of `profile`, with their sites; `model` is the answer for `found_in`.

        Args:
            rank: another rank, in the same phases.
            confidence: also estimate the confidence of each phase, which takes longer.
        """
        if rank is not None and rank != self.rank:
            return self.of_rank(rank).phases(confidence=confidence)
        return self._confident if confidence else self._result

    @cached_property
    def _model(self) -> PhaseResult:
        """The phases of `found_in`, with affordable sites and their places."""
        from incprof.analysis.answer import find_phases, within_budget
        from incprof.study.ranks_read import kmeans_runs
        from incprof.study.sites.store import TYPICAL, located

        options = self.options
        if self.shared is not None:
            result = self.shared.result
        else:
            directory, progress = self.run.directory, self.listener.progress("clustering")
            with progress as report, kmeans_runs(directory, options.method) as runs:
                report(0, 1)
                result = find_phases(
                    self.profile, method=options.method, k=options.k, level=options.level, random_state=options.seed,
                    jobs=options.jobs or 1, options=self.thresholds, chooser=self.chooser, runs=runs,
                )  # fmt: skip
        # The paper's sites are not changed. A measured cost would make the choice depend on the machine.
        result = within_budget(self.chooser, result, TYPICAL, options.overhead_pct, move=options.method == "robust")
        return located(self.run, self.found_in, result, self.exe)

    @cached_property
    def _result(self) -> PhaseResult:
        """The phases without their confidence."""
        return self._in_own_intervals(self._model)

    @cached_property
    def _confident(self) -> PhaseResult:
        """The phases with their confidence."""
        from incprof.analysis.answer.confidence import with_confidence
        from incprof.study.ranks_read import kmeans_runs

        with kmeans_runs(self.run.directory, self.options.method) as runs:
            model = with_confidence(
                self.chooser.profile, self.chooser.features, self._model, random_state=self.options.seed, runs=runs
            )
        return self._in_own_intervals(model)

    def _in_own_intervals(self, model: PhaseResult) -> PhaseResult:
        """Return phases of `found_in` in the intervals of `profile`."""
        from incprof.analysis.ranks.relabel import relabelled_result

        shared = self.shared
        if shared is None or (len(shared.ranks.parts) == 1 and shared.ranks.parts[0].rank == self.rank):
            return model
        own = shared.ranks.of_rank(self.profile.metadata.rank)
        return relabelled_result(self.profile, own, shared.modes, model, self.options.k)

    def as_placed(self, result: PhaseResult, store: str) -> PhaseResult:
        """Return a result with the sites as placed in the source, if they were: see sites/store.py."""
        from incprof.study.sites.store import as_placed

        return as_placed(result, self.profile, self.run.directory, store=store, phases=self._phases_key)

    def remember(self, sites: Sequence[PlacedSite], store: str) -> None:
        """Store placed sites for later answers about the same phases."""
        from incprof.study.sites.store import remember

        remember(self.run.directory, sites, store=store, phases=self._phases_key)

    @cached_property
    def _phases_key(self) -> str:
        """The identity of the phases."""
        from incprof.study.sites.store import digest

        return digest(self.found_in, self._model.labels)

    def explain(self) -> Explanation:
        """Return the reasons for these phases and sites, and the next best ones, in the profile they were found in."""
        from incprof.analysis.explain import explain

        return explain(self.chooser, self.phases().model)

    def sites(
        self,
        source: str | os.PathLike[str] | None,
        cost: BeatCost,
        *,
        requested: Sequence[str] = (),
        allow_changed: bool = False,
        blank: Sequence[str] = (),
    ) -> list[PlacedSite]:
        """Find the places of the sites: placed sites by heartbeat id, then the refused ones.

        Args:
            source: the directory that holds the program's source; without it, places come from the binary.
            cost: of a heartbeat.
            requested: sites named by hand, "FUNC" or "FUNC:body" or "FUNC:loop", instead of those of the phases.
            allow_changed: accept files that were changed since the recording.
            blank: macros hidden from the parser.

        Raises:
            NoDataError: the directory does not exist.
            UsageError: a site named by hand does not exist, or its name is ambiguous.
        """
        from incprof.readers.run import choose_process
        from incprof.study.sites import located_sites, recorded_sites
        from incprof.study.sites.store import FOUND

        if source is None:
            return recorded_sites(self.found_in, self.as_placed(self._model, FOUND), cost)
        process = choose_process(self.run, self.found_in.metadata.rank, self.pid)
        placed = located_sites(
            self.run, process, self.chooser, self._model, Path(source), exe=self.exe, requested=requested,
            allow_changed=allow_changed, blank=blank, cost=cost,
        )  # fmt: skip
        # A missing source, or one that differs from the compiled one, may be in place the next time.
        if not requested and any(not site.refusal for site in placed) and not any(site.is_changed for site in placed):
            self.remember(placed, FOUND)
        return placed


def _busier(run: Run, profile: IntervalProfile, options: StudyOptions) -> list[str]:
    """Name the program with the busiest process, if the one shown has few samples: there may be many of it."""
    from incprof.study.ranks_read import few_samples

    busiest = max(run.programs, key=lambda program: max(program.cpu_s), default=None)
    if (
        busiest is None
        or busiest.name == run.app
        or not (few_samples(profile, options) or "").startswith("few samples")
    ):
        return []
    return [f"{busiest.name} has a process with {max(busiest.cpu_s):.2g} s of CPU time: --program {busiest.name}"]


def _others(run: Run, profile: IntervalProfile) -> list[str]:
    """Name the recorded processes of a rank that are not shown: others, or programs that it became by exec."""
    rank, own = profile.metadata.rank, profile.metadata.raw.get("pid")
    pids = [process.pid for process in run.processes if process.rank == rank and not process.primary]
    others, became = [pid for pid in pids if pid != own], [pid for pid in pids if pid == own]
    lines = [f"rank {rank} became another program by exec, on record and not shown here: --pid {own}"] if became else []
    if others:
        empty = "" if profile.self_s.sum() else "the process shown has no samples; "
        number = f"{len(others)} other process{'es' * (len(others) > 1)}"
        which = " or ".join(map(str, others[:8]))
        lines.append(f"rank {rank}: {empty}{number}, on record and not shown here: --pid {which}")
    return lines
