"""Counters sampled during a run, aligned to its time axis, and the power among them."""

from __future__ import annotations

import numpy as np

from incprof.analysis.diff.measure import cpu_seconds
from incprof.analysis.diff.reasons import NodePower
from incprof.analysis.energy import phase_power
from incprof.errors import NoDataError
from incprof.model import Metadata
from incprof.model.series import CounterSeries
from incprof.readers.series.counter_series import read_counters
from incprof.study.study import Study

# Starts further apart belong to different recordings; a sampler that starts the program begins before it.
LARGEST_GAP = 0.1
# Other programs' use of a node is reported from this share of its busy processors on.
WORTH_SAYING = 0.05


class SampledCounters:
    """The counters in a file, sampled during a run.

    Raises, on construction:
        NoDataError: the file does not exist, has no row, or none of the run's time.
        UsageError: none of its columns holds times.
    """

    def __init__(self, study: Study, path: str):
        """Read the file, and determine when it began."""
        self.study, self.path = study, path
        self.series = read_counters(path)
        offset = _offset(self.series, study.profile.metadata)
        self.by_clock, self.offset_s = offset is not None, offset or 0.0
        host = study.profile.metadata.raw.get("host")
        if self.series.host not in (None, host):
            study.listener.warn([f"{path} is of the machine {self.series.host}, and the run of {host}"])
        self._check()

    def _check(self) -> None:
        """Check that the file covers the run's time, and warn about assumptions."""
        last, length = self.offset_s + float(self.series.end_s[-1]), float(self.study.profile.end_s[-1])
        if last <= 0 or self.offset_s >= length:
            gap_s = -last if last <= 0 else self.offset_s - length
            when = "ends before the run begins" if last <= 0 else "begins after the run ended"
            raise NoDataError(f"{self.path} {when}, by {gap_s:.3g} s: give counters sampled during the run")
        sampled = float(self.series.end_s[-1])
        if not self.by_clock and abs(sampled - length) > LARGEST_GAP * length:
            lengths = f"is {sampled:.3g} s long, the run {length:.3g} s"
            warning = f"{self.path} has no start time and {lengths}: it is aligned with the start of the run"
            self.study.listener.warn([warning])


def node_power(study: Study, path: str) -> tuple[NodePower, list[str]]:
    """Return the power of a run's node by phase, and remarks.

    Raises:
        NoDataError: the file has no power, or none of the run's time.
        UsageError: none of its columns holds times.
    """
    sampled = SampledCounters(study, path)
    power = phase_power(sampled.series, study.profile, study.phases(confidence=False), sampled.offset_s)
    if power is None or sampled.series.power is None:
        raise NoDataError(f"{path}: contains no power, in watts or joules: incprof sample --system records it")
    if not power.measured_s.sum() > 0:
        raise NoDataError(f"{path}: contains no power during the run")
    busy, not_own = busy_processors(sampled) or (0.0, 0.0)
    others = not_own / busy if busy > 0 else 0.0
    remarks = []
    if others >= WORTH_SAYING:
        remarks.append(
            f"{path}: {100 * others:.0f} % of the node's busy processors ran other programs: the energy includes theirs"
        )
    if sampled.series.power.simulated is not None:
        remarks.append(f"{path}: power is simulated by {sampled.series.power.simulated}")
    return NodePower(power, others, sampled.series.power.simulated is not None), remarks


def busy_processors(sampled: SampledCounters) -> tuple[float, float] | None:
    """Return the node's busy processors during the run, and those of them used by other programs.

    None without such counters.
    """
    series, study, offset_s = sampled.series, sampled.study, sampled.offset_s
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
    """Return the start of sampling in seconds after the start of the recording; None if one of them is missing."""
    recorded = metadata.raw.get("start_unix_ns")
    if series.begun_unix_s is None or not isinstance(recorded, int) or recorded <= 0:
        return None
    return series.begun_unix_s - recorded / 1e9
