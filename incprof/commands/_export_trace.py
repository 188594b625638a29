"""From a recorded run to its trace: ranks one after the other, so that only one is in memory."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from incprof import __version__
from incprof.analysis.views.rankmap import PhaseMixes, phase_mixes, rank_row
from incprof.analysis.views.stack_slices import ThreadSlices, thread_slices
from incprof.analysis.views.stacks import stack_series
from incprof.analysis.views.timebins import time_bins
from incprof.analysis.views.tracks import MOST, Curve, beat_curves, phase_stretches, profile_curves, stretches
from incprof.commands._agreement import load_beats, offset_s
from incprof.commands._beats import summaries
from incprof.commands._common import chosen_libs, progress, warn
from incprof.commands._output import write_text
from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.report.files.trace import RankTracks, write_trace

if TYPE_CHECKING:
    from incprof.analysis.phases.results import PhaseResult
    from incprof.model import IntervalProfile, Run

# About 120 bytes each.
MOST_SLICES = 100_000


class Gatherer:
    """Collects the tracks of ranks. damaged: a part of the input was left out."""

    def __init__(self, recorded: Run, result: PhaseResult, mixes: PhaseMixes, args: argparse.Namespace, ranks: int):
        self.recorded, self.result, self.mixes, self.args = recorded, result, mixes, args
        self.most = max(MOST_SLICES // ranks, 100), max(MOST // ranks, 100)
        self.damaged = self.beaten = False

    def own(self, profile: IntervalProfile) -> RankTracks:
        """Return the tracks of the rank that the phases are of."""
        return self._tracks(profile, phase_stretches(profile, self.result.labels, self.most[1]))

    def other(self, rank: int) -> RankTracks | None:
        """Read another rank, whose time is given to the same phases; None and a warning if it cannot be read."""
        from incprof.readers import read_profile

        libs = chosen_libs(self.args.libs)
        try:
            profile = read_profile(
                self.recorded, rank=rank, libs=libs, exe=self.args.exe, arcs=False, inlined=True
            )  # fmt: skip
        except IncprofError as error:
            self.damaged = True
            warn((f"rank {rank} is left out: {error}",))
            return None
        self.damaged |= profile.damaged
        row = rank_row(profile, self.mixes)
        return self._tracks(profile, stretches(self.mixes.start_s, self.mixes.end_s, row.label))

    def _tracks(self, profile: IntervalProfile, phases: list[tuple[float, float, int]]) -> RankTracks:
        """Return the tracks of a rank whose phases are known."""
        metadata = profile.metadata
        beats = [] if self.args.heartbeats is None else self._beats(profile)
        details = [f"{key} {metadata.raw[key]}" for key in ("host", "pid") if metadata.raw.get(key) is not None]
        title = f"rank {metadata.rank}: {self.recorded.app}" + (f" ({', '.join(details)})" if details else "")
        curves = [*profile_curves(profile, self.most[1]), *beats]
        return RankTracks(metadata.rank, title, phases, self._threads(profile), curves)

    def _threads(self, profile: IntervalProfile) -> tuple[ThreadSlices, ...]:
        """Return the flame charts."""
        series = stack_series(profile, libraries=chosen_libs(self.args.libs) != "drop")
        return thread_slices(series, profile.metadata.rate_hz, self.most[0])

    def _beats(self, profile: IntervalProfile) -> list[Curve]:
        """Return the curves of the rank's heartbeats, from where they lie in time, else from the start on."""
        try:
            beaten = load_beats(self.args.heartbeats, profile)
        except (NoDataError, UsageError) as error:
            # Where all ranks are wanted, one without heartbeats is no mistake; a directory without any is.
            if self.args.all_ranks and (isinstance(error, UsageError) or self.beaten):
                return []
            raise
        self.beaten = True
        warn(beaten.found.warnings)
        self.damaged |= beaten.found.damaged
        process, rows = beaten.process, beaten.found.rows
        mine = rows[rows["process"] == beaten.place].copy()
        mine["process"] = 0
        found = replace(beaten.found, processes=(process,), rows=mine)
        offset = offset_s(profile, process) or 0.0
        curves = [beat_curves(beat, process.interval_s, offset, self.most[1]) for beat in summaries(found)]
        return [curve for pair in curves for curve in pair]


def export_trace(recorded: Run, profile: IntervalProfile, result: PhaseResult, args: argparse.Namespace) -> bool:
    """Write the trace; say whether a part of the input other than the profile was left out."""
    own = profile.metadata.rank
    ranks = recorded.ranks if args.all_ranks else (own,)
    mixes = phase_mixes(profile, result, time_bins(profile, result.labels, max(MOST // len(ranks), 100)))
    gatherer = Gatherer(recorded, result, mixes, args, len(ranks))
    first = gatherer.own(profile)

    def each() -> Iterator[RankTracks]:
        with progress("ranks") as report:
            for done, rank in enumerate(ranks):
                report(done, len(ranks))
                tracks = first if rank == own else gatherer.other(rank)
                if tracks is not None:
                    yield tracks

    about = {
        "tool": f"incprof {__version__}", "app": recorded.app, "ranks": len(ranks),
        "interval_s": profile.metadata.interval_s, "rate_hz": profile.metadata.rate_hz,
        "unordered_within_us": max((thread.span_us for thread in first.threads), default=0),
    }  # fmt: skip
    write_text(args.output, lambda out: write_trace(each(), result, out, about=about))
    return gatherer.damaged
