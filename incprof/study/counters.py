"""Counters that were recorded beside a run, laid on its time axis."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from incprof.analysis.counters import lay_under, power_under
from incprof.analysis.counters.lanes import CounterLane, lanes_of
from incprof.analysis.counters.results import CountersUnder
from incprof.analysis.diff.energy import NodePower
from incprof.analysis.diff.measure import cpu_seconds
from incprof.analysis.views.timebins import TimeBins
from incprof.errors import NoDataError
from incprof.model import Metadata
from incprof.model.series import CounterSeries
from incprof.readers.series.counters import read_counters
from incprof.study.study import Study

# Starts that are further apart were not of one recording; a sampler that starts the program begins before it.
FAR = 0.1
# What others used of a node is said from this part of its busy processors on.
WORTH_SAYING = 0.05


class StudyCounters:
    """The counters of a file beside a run.

    Raises, when made:
        NoDataError: there is no such file, no row in it, or none of the run's time.
        UsageError: no column of it holds times.
    """

    def __init__(self, study: Study, path: str):
        """Read the file, and find when it began."""
        self.study, self.path = study, path
        self.series = read_counters(path)
        offset = _offset(self.series, study.profile.metadata)
        self.by_clock, self.offset_s = offset is not None, offset or 0.0
        host = study.profile.metadata.raw.get("host")
        if self.series.host not in (None, host):
            study.listener.warn([f"{path} is of the machine {self.series.host}, and the run of {host}"])
        self._check()

    def _check(self) -> None:
        """See that the file is of the run's time, and say what is taken for granted."""
        last, length = self.offset_s + float(self.series.end_s[-1]), float(self.study.profile.end_s[-1])
        if last <= 0 or self.offset_s >= length:
            far = -last if last <= 0 else self.offset_s - length
            when = "ends before the run begins" if last <= 0 else "begins after the run ended"
            raise NoDataError(f"{self.path} {when}, by {far:.3g} s: give counters that were recorded beside it")
        sampled = float(self.series.end_s[-1])
        if not self.by_clock and abs(sampled - length) > FAR * length:
            lengths = f"is {sampled:.3g} s long, the run {length:.3g} s"
            said = f"{self.path} has no start time and {lengths}: it is aligned with the start of the run"
            self.study.listener.warn([said])

    @cached_property
    def under(self) -> CountersUnder:
        """The counters by phase."""
        return lay_under(
            self.series, self.study.profile, self.study.confident, offset_s=self.offset_s, by_clock=self.by_clock,
            path=self.path,
        )  # fmt: skip

    def lanes(self, bins: TimeBins) -> tuple[CounterLane, ...]:
        """Return the counters over time."""
        return lanes_of(self.series, self.offset_s, bins.start_s, bins.end_s)


def power_beside(study: Study, path: str) -> tuple[NodePower, list[str]]:
    """Return the power beside a run by phase, and what to know of it.

    Raises:
        NoDataError: there is none in the file, or none of the run's time.
        UsageError: no column of it holds times.
    """
    beside = StudyCounters(study, path)
    found = power_under(beside.series, study.profile, study.result, beside.offset_s)
    if found is None or beside.series.power is None:
        raise NoDataError(f"{path}: no power in it, in watts or joules: incprof sample --system records it")
    if not found.measured_s.sum() > 0:
        raise NoDataError(f"{path}: no power in it during the run")
    busy, not_own = processors(beside) or (0.0, 0.0)
    others = not_own / busy if busy > 0 else 0.0
    said = []
    if others >= WORTH_SAYING:
        said.append(
            f"{path}: {100 * others:.0f} % of the node's busy processors were not the run's: energy is theirs as well"
        )
    if beside.series.power.simulated is not None:
        said.append(f"{path}: power is simulated by {beside.series.power.simulated}")
    return NodePower(found, others, beside.series.power.simulated is not None), said


def processors(beside: StudyCounters) -> tuple[float, float] | None:
    """Return the processors of the node that were busy during the run, and those of them that were not the run's.

    None where nobody counted.
    """
    series, study, offset_s = beside.series, beside.study, beside.offset_s
    if "cpu" not in series.names:
        return None
    length = float(study.profile.end_s[-1])
    inside = np.minimum(series.end_s + offset_s, length) - np.maximum(series.start_s + offset_s, 0.0)
    busy = series.values[:, series.names.index("cpu")]
    use = (inside > 0) & np.isfinite(busy)
    seconds = float(inside[use].sum())
    if seconds <= 0:
        return None
    node = float(busy[use] @ inside[use]) / seconds
    own = float(cpu_seconds(study.profile).sum()) / length * study.summary.ranks
    return node, min(max(node - own, 0.0), node)


def _offset(series: CounterSeries, metadata: Metadata) -> float | None:
    """Return when sampling began in seconds after the recording did; None where one of them does not say."""
    recorded = metadata.raw.get("start_unix_ns")
    if series.begun_unix_s is None or not isinstance(recorded, int) or recorded <= 0:
        return None
    return series.begun_unix_s - recorded / 1e9
