"""Shared phases of all ranks of a run: each rank is summarised independently, the rest works on the summaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from incprof.analysis.answer import find_phases, site_chooser
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.ranks.all_ranks import compare_ranks
from incprof.analysis.ranks.assign import assigned
from incprof.analysis.ranks.kinds import MOST_PARTS, first_part, more_parts, waiting_part
from incprof.analysis.ranks.ranks_result import Modes, Part, RanksResult, RankSummary
from incprof.analysis.ranks.summary import modes_of
from incprof.errors import NoDataError
from incprof.model import IntervalProfile
from incprof.model.joining import joined, some_intervals
from incprof.readers.stream.inlined import with_code_loops
from incprof.study.rank_engines import Work, mapped
from incprof.study.ranks_read import (
    Kept,
    RankRead,
    RanksStore,
    SharedRequest,
    binned_profile,
    jobs_of,
    kmeans_runs,
    lost_rank,
    read_rank,
    usable,
)
from incprof.study.sites.store import digest

if TYPE_CHECKING:
    from incprof.analysis.sites import SiteChooser

# Passes that find further phases in the time that those found before do not explain.
ROUNDS = 3


@dataclass(frozen=True)
class SharedPhases:
    """The shared phases of all ranks.

    Attributes:
        profile: the parts in which phases were found, joined to one run.
        chooser: chooses sites.
        result: the phases in `profile`.
        modes: the recurring behaviours.
        ranks: all ranks relabelled with the phases.
        problems: missing or omitted input, a line each.
        left_out: ranks that are not used at all.
    """

    profile: IntervalProfile
    chooser: SiteChooser
    result: PhaseResult
    modes: Modes
    ranks: RanksResult
    problems: tuple[str, ...]
    left_out: tuple[int, ...]

    @property
    def partial(self) -> bool:
        """Whether a part of the input is missing in the answer."""
        return bool(self.problems)


@dataclass(frozen=True)
class _Model:
    """The phases of some parts of ranks, which are joined to one run in `profile`."""

    profile: IntervalProfile
    chooser: SiteChooser
    result: PhaseResult
    modes: Modes


class Shared:
    """Finds the shared phases of ranks."""

    def __init__(self, request: SharedRequest):
        self._request, self._options = request, request.options.thresholds
        self._read: dict[int, IntervalProfile] = {}
        self._jobs = {job.rank: job for job in jobs_of(request)}

    def find(self) -> SharedPhases:
        """Read all ranks, find the phases, and relabel every rank with them.

        Raises:
            NoDataError: no rank can be read.
        """
        request, store = self._request, RanksStore(self._request)
        if (kept := store.load()) is not None:
            model = self._model(kept.ranks.parts)
            # Another version of the method may find other phases.
            if digest(model.profile, model.result.labels) == kept.phases:
                return self._with(model, kept.ranks, kept.problems)
        with request.listener.progress("reading ranks") as report:
            work = Work(read_rank, list(self._jobs.values()), lost_rank, report, request.listener.warn)
            read = mapped(work, request.options)
        with request.listener.progress("clustering") as report:
            report(0, 1)
            shared = self._reduced(read)
        # Do not cache the result if a worker died: its rank may be readable next time.
        if not any(one.lost for one in read):
            store.save(Kept(shared.ranks, shared.problems, digest(shared.profile, shared.result.labels)))
        return shared

    @property
    def _other_programs(self) -> set[int] | None:
        """Return the ranks of the job's other programs; None if only some ranks of this one are requested."""
        run = self._request.run
        if len(self._request.ranks) != len(run.ranks):
            return None
        return {process.rank for program in run.programs if program.ranked for process in program.processes}

    def _reduced(self, read: Sequence[RankRead]) -> SharedPhases:
        """Find the phases, and relabel every rank with them."""
        good, problems = usable(read, self._other_programs)
        if not good:
            raise NoDataError(next(one.problem for one in read if one.problem is not None))
        summaries = [one.summary for one in good if one.summary is not None]
        options = self._options.phases
        parts, rounds = [self._first(summaries)], ROUNDS if self._request.options.method == "robust" else 1
        for round_ in range(rounds):
            model = self._model(parts)
            intervals = int(next(s.pieces.end[-1] for s in summaries if s.rank == parts[0].rank))
            first_labels = parts[0].rank, model.result.labels[:intervals]
            labels, unexplained = assigned(summaries, model.modes, options, first_labels)
            more = more_parts(summaries, unexplained, MOST_PARTS - len(parts), options) if round_ + 1 < rounds else []
            # If ranks wait long enough for a phase, it is a phase shared by all.
            waiting = waiting_part(summaries) if model.modes.off_cpu is None and round_ + 1 < rounds else None
            more += [waiting] if waiting is not None and waiting not in parts else []
            if not more:
                break
            parts += more
        ranks = compare_ranks(
            summaries, labels, parts, model.result.k, rate_hz=good[0].rate_hz, interval_s=good[0].interval_s
        )
        return self._with(model, ranks, tuple(problems))

    def _with(self, model: _Model, ranks: RanksResult, problems: tuple[str, ...]) -> SharedPhases:
        """Assemble the result."""
        left_out = tuple(sorted(set(self._request.ranks) - set(ranks.ranks)))
        return SharedPhases(model.profile, model.chooser, model.result, model.modes, ranks, problems, left_out)

    def _first(self, summaries: Sequence[RankSummary]) -> Part:
        """Return the rank in which phases are found first: for the paper's method, the one the answer is for."""
        ranks, shown = [summary.rank for summary in summaries], self._request.shown
        if self._request.options.method == "robust":
            return first_part(summaries, self._options.phases)
        return Part(shown if shown in ranks and shown is not None else ranks[0])

    def _model(self, parts: Sequence[Part]) -> _Model:
        """Find the phases of parts of ranks."""
        options, thresholds = self._request.options, self._options
        first = self._profile_of(parts[0].rank)
        pieces = [self._piece(part) for part in parts[1:]]
        profile = joined([first, *(piece for piece in pieces if piece.n_intervals)])
        if first.code_loops is not None and profile is not first:
            profile = with_code_loops(self._request.run, profile, exe=self._request.exe)
        # A phase is long enough if it is long enough in one rank's run.
        part, phases = first.n_intervals / profile.n_intervals, thresholds.phases
        phases = replace(phases, least=part * phases.least, episode=part * phases.episode, large=part * phases.large)
        thresholds = replace(thresholds, phases=phases)
        chooser = site_chooser(profile, options.method, thresholds)
        with kmeans_runs(self._request.run.directory, options.method) as runs:
            result = find_phases(
                profile, method=options.method, k=options.k, level=options.level, random_state=options.seed, jobs=1,
                options=thresholds, chooser=chooser, runs=runs,
            )  # fmt: skip
        result = replace(result, options=self._options)
        return _Model(profile, chooser, result, modes_of(profile, chooser.features, result, self._options))

    def _profile_of(self, rank: int) -> IntervalProfile:
        """Read a rank in the intervals of its own answer, once."""
        if rank not in self._read:
            self._read[rank] = binned_profile(self._jobs[rank])
        return self._read[rank]

    def _piece(self, part: Part) -> IntervalProfile:
        """Read the part of a rank that shows phases."""
        profile = binned_profile(self._jobs[part.rank])
        middle = (profile.start_s + profile.end_s) / 2.0
        use = np.zeros(profile.n_intervals, dtype=np.bool_)
        for start, end in part.spans or ():
            use |= (middle > start) & (middle < end)
        return some_intervals(profile, use)
