"""A recorded run as a study: its profile, its phases, their sites, each worked out once and when it is asked for."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from incprof.study.listener import SILENT, Listener
from incprof.study.options import StudyOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incprof.analysis.explain import Explanation
    from incprof.analysis.phases.results import PhaseResult, RunSummary
    from incprof.analysis.sites.choice import SiteChooser
    from incprof.analysis.sites.rates import BeatCost
    from incprof.model import IntervalProfile, Process, Run
    from incprof.study.options import Libs
    from incprof.study.sites.placed import PlacedSite


class Study:
    """One process of a recorded run, and what there is to say of it.

    Raises, whatever is asked for:
        NoDataError: there is nothing usable in the recording.
        UsageError: there is no such rank or process, or k is more than there are intervals.
    """

    def __init__(
        self,
        run: Run | str | os.PathLike[str],
        *,
        rank: int | None = None,
        pid: int | None = None,
        exe: str | None = None,
        libs: Libs = "named",
        nameless: bool = False,
        options: StudyOptions | None = None,
        profile: IntervalProfile | None = None,
        listener: Listener = SILENT,
    ):
        """Choose what is studied. Nothing but the list of files is read.

        Args:
            run: an opened run, or its directory.
            rank: which, the lowest unless given.
            pid: of a process that the rank forked.
            exe: the program, if it is not where it was recorded.
            libs: time in libraries is that of their functions that were called ("named"; the paper's method knows
                none), their callers', the libraries' ("separate"), or left out ("drop").
            nameless: a program without symbols is one nameless function, and no error.
            options: how phases are found.
            profile: of that process, if it has been read before.
            listener: hears warnings and how far it is.
        """
        from incprof.readers import open_run

        self.run = open_run(run, exe=exe) if isinstance(run, str | os.PathLike) else run
        self.rank, self.pid, self.exe, self.nameless = rank, pid, exe, nameless
        self.options, self.listener = options or StudyOptions(), listener
        self.libs: Libs = "caller" if libs == "named" and self.options.method == "paper" else libs
        self.thresholds = self.options.thresholds
        if profile is not None:
            self.recorded = self.profile = profile

    @property
    def inlined(self) -> bool:
        """Whether inlined functions are looked up: the paper's method knows none."""
        return self.options.method != "paper"

    @cached_property
    def recorded(self) -> IntervalProfile:
        """What the process did, interval by interval."""
        from incprof.readers import read_profile

        with self.listener.progress("reading") as report:
            profile = read_profile(
                self.run, rank=self.rank, process=self.pid, libs=self.libs, exe=self.exe, inlined=self.inlined,
                nameless=self.nameless, progress=report,
            )  # fmt: skip
        if self.pid is None and not profile.self_s.sum():
            self.listener.warn(_forked(self.run, profile.metadata.rank))
        return profile

    @cached_property
    def profile(self) -> IntervalProfile:
        """The same in intervals that hold samples enough to say something of: several of those recorded, if need be."""
        from incprof.study.pooling import with_samples

        return with_samples(self.recorded, self.thresholds.phases, pool=self.options.method != "paper")

    @cached_property
    def process(self) -> Process:
        """The process that is studied."""
        from incprof.readers.run import choose_process

        return choose_process(self.run, self.rank, self.pid)

    @cached_property
    def summary(self) -> RunSummary:
        """The run in a few figures."""
        from incprof.analysis.answer.describe import summarise

        return summarise(self.profile, len(self.run.ranks), self.run.app)

    @cached_property
    def chooser(self) -> SiteChooser:
        """What phases are found from, and what chooses their sites."""
        from incprof.analysis.answer.find import site_chooser

        return site_chooser(self.profile, self.options.method, self.thresholds)

    @cached_property
    def clustered(self) -> PhaseResult:
        """The phases, before their sites are weighed by what a heartbeat costs, and looked up."""
        from incprof.analysis.answer.find import find_phases

        options = self.options
        with self.listener.progress("clustering") as report:
            report(0, 1)
            return find_phases(
                self.profile, method=options.method, k=options.k, level=options.level, random_state=options.seed,
                jobs=options.jobs, options=self.thresholds, chooser=self.chooser,
            )  # fmt: skip

    @cached_property
    def result(self) -> PhaseResult:
        """The phases, with sites whose heartbeats cost no more than they may, and where these are in the source."""
        from incprof.analysis.answer.budget import within_budget
        from incprof.study.located import located
        from incprof.study.sites.cost import TYPICAL

        # The paper's sites stay what they are. A measured cost would make the choice depend on the machine.
        found = within_budget(
            self.chooser, self.clustered, TYPICAL, self.options.overhead_pct, move=self.options.method == "robust"
        )
        return located(self.run, self.profile, found, self.exe)

    @cached_property
    def confident(self) -> PhaseResult:
        """The same phases, each with the part of it that would be in it again."""
        from incprof.analysis.phases.confidence import with_confidence

        return with_confidence(self.chooser.features, self.result, random_state=self.options.seed)

    @property
    def found(self) -> PhaseResult:
        """The same, with the sites where they are in the source, once `sites` has looked for them there."""
        from incprof.study.sites.store import as_found

        return as_found(self.confident, self.profile, self.run.directory)

    def explain(self) -> Explanation:
        """Say why these phases and sites, and what was next best."""
        from incprof.analysis.explain import explain

        return explain(self.chooser, self.confident)

    def sites(
        self,
        source: str | os.PathLike[str] | None,
        cost: BeatCost,
        *,
        wanted: Sequence[str] = (),
        allow_changed: bool = False,
        blank: Sequence[str] = (),
    ) -> list[PlacedSite]:
        """Find the places of the sites: those with a place by heartbeat id, then the refused ones.

        Args:
            source: the directory that holds the program's source; without it, sites are where the binary says.
            cost: of a heartbeat.
            wanted: sites named by hand, "FUNC" or "FUNC:body" or "FUNC:loop", instead of those of the phases.
            allow_changed: take files that were changed since the recording.
            blank: macros that the parser shall not see.

        Raises:
            NoDataError: there is no such directory.
            UsageError: a site named by hand does not exist, or is not the only one of that name.
        """
        from incprof.study.sites.find import located_sites, recorded_sites
        from incprof.study.sites.store import FOUND, as_found, remember

        if source is None:
            return recorded_sites(self.profile, as_found(self.result, self.profile, self.run.directory), cost)
        found = located_sites(
            self.run, self.process, self.chooser, self.result, Path(source), exe=self.exe, wanted=wanted,
            allow_changed=allow_changed, blank=blank, cost=cost,
        )  # fmt: skip
        if not wanted:
            remember(self.run.directory, self.profile, self.result.labels, found, store=FOUND)
        return found


def _forked(run: Run, rank: int) -> list[str]:
    """Say that a rank without samples has forked others, if so."""
    pids = [str(process.pid) for process in run.processes if process.rank == rank and not process.primary]
    return [f"rank {rank} itself has no samples; it forked others: --pid {' or '.join(pids[:8])}"] if pids else []
