"""What the GPUs do in each phase. m rows, k phases."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from incprof.analysis.energy import overlaps
from incprof.analysis.phase_result import Phase, PhaseResult
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.systems.gpu.read import (
    ANY_DEVICE,
    COPY_NAMES,
    DEVICE_OR_WAIT,
    HOST,
    MAPPED,
    UNSAMPLED,
    WITHIN_DEVICE,
    GpuActivity,
    GpuRows,
)

# A phase launches kernels one by one that are too short, if so many launches a second take a mean of at most so long.
SHORT_KERNEL_S, MANY_PER_S = 10e-6, 1000.0
# A phase in which the GPU is idle for a larger share, although it is used, is worth a sentence.
IDLE_SHARE = 0.3
# Kernels and copies that begin within a slot belong to the phases of the slot, in proportion to their time in it.
MOST_KERNELS = 5
MOST_COPY_PATHS = 3
# A thread is in a function for nearly all of a phase, by its samples.
NEARLY_ALL = 0.9
# Kinds of CPU time in which the host does not work.
NO_WORK = ("device", "waiting", "off_cpu")


@dataclass(frozen=True)
class Use:
    """A kernel as launched by one call path, or copies of one direction.

    Attributes:
        name: of the kernel, mangled; empty: unknown. Or the direction, "host to device" for example.
        node: of the launching call path; 0: of a thread without functions of the program; UNSAMPLED: not recorded, or
            several.
        count: launches, or copies.
        seconds: of all of them.
        bytes: of copies.
        paths: nodes of the call paths that copy most, with the bytes of each.
    """

    name: str
    node: int
    count: float
    seconds: float
    bytes: float = 0.0
    paths: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class DeviceUse:
    """A device in a phase.

    Attributes:
        device: number.
        busy_s: seconds in which kernels or copies ran.
        streams: those that were used in the phase, with the seconds in which each was busy.
    """

    device: int
    busy_s: float
    streams: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Together:
    """Which of the host and the devices were busy, in seconds of a phase.

    Attributes:
        both_s: a device was busy, and no thread waited for it.
        host_s: no device was busy, and no thread waited for one.
        idle_s: of that, the host did not work either: a lower bound.
    """

    both_s: float
    host_s: float
    idle_s: float


@dataclass(frozen=True)
class PhaseGpu:
    """The GPUs in a phase.

    Attributes:
        id: of the phase.
        seconds: of the phase.
        busy_s: seconds in which kernels or copies ran, summed over the devices.
        devices: number of devices that were used in the run.
        waiting_s: seconds in which at least one thread waited for a device.
        launches: number of kernels.
        kernel_s: sum of their durations.
        kernels: those with most time.
        copies: by direction.
        by_device: the devices one by one.
        together: None in recordings of earlier versions.
        within: functions that the first thread is in for nearly all of the phase, outermost first; empty if all kernels
            have a launching path.
    """

    id: int
    seconds: float
    busy_s: float
    devices: int
    waiting_s: float
    launches: float
    kernel_s: float
    kernels: tuple[Use, ...]
    copies: tuple[Use, ...]
    by_device: tuple[DeviceUse, ...] = ()
    together: Together | None = None
    within: tuple[str, ...] = ()

    @property
    def busy(self) -> float:
        """Share of the time of the used devices in which they were busy."""
        return min(self.busy_s / (self.seconds * max(self.devices, 1)), 1.0) if self.seconds > 0 else 0.0

    @property
    def waiting(self) -> float:
        """Share of the phase's time in which a thread waited."""
        return min(self.waiting_s / self.seconds, 1.0) if self.seconds > 0 else 0.0

    @property
    def is_idle(self) -> bool:
        """Whether the devices are used, but idle for much of the time, and no thread waits for them then."""
        return self.busy_s > 0 and 1 - self.busy >= IDLE_SHARE and self.host_alone >= IDLE_SHARE

    @property
    def host_alone(self) -> float:
        """Share of the phase's time in which no device was busy, and no thread waited for one."""
        if self.together is not None and self.seconds > 0:
            return self.together.host_s / self.seconds
        return 1 - max(self.busy, self.waiting)

    @property
    def is_launch_bound(self) -> bool:
        """Whether it launches many short kernels."""
        if not self.launches or self.seconds <= 0:
            return False
        return self.launches / self.seconds >= MANY_PER_S and self.kernel_s / self.launches <= SHORT_KERNEL_S


def gpu_by_phase(activity: GpuActivity, profile: IntervalProfile, result: PhaseResult) -> list[PhaseGpu]:
    """Return what the GPUs do in each phase."""
    kernel_parts, copy_parts, busy_parts, stream_parts, overlap_parts = (
        _parts(rows, activity.slot_s, profile, result)
        for rows in (activity.kernels, activity.copies, activity.busy, activity.streams, activity.overlaps)
    )
    devices = sorted({*activity.busy.device.tolist()} - {HOST})
    out = []
    for phase in result.present:
        part = kernel_parts[phase.id]
        sums = {
            device: seconds for (device, _), seconds in seconds_by_lane(activity.busy, busy_parts[phase.id]).items()
        }
        busy, waiting_s = {device: sums.get(device, 0.0) for device in devices}, sums.get(HOST, 0.0)
        streams = seconds_by_lane(activity.streams, stream_parts[phase.id])
        overlaps = seconds_by_lane(activity.overlaps, overlap_parts[phase.id])
        kernels = kernel_uses(activity, part, MOST_KERNELS)
        out.append(
            PhaseGpu(
                id=phase.id,
                seconds=phase.seconds,
                busy_s=sum(busy.values()),
                devices=len(devices),
                waiting_s=waiting_s,
                launches=float((part * activity.kernels.count).sum()),
                kernel_s=float((part * activity.kernels.seconds).sum()),
                kernels=kernels,
                copies=_copies(activity.copies, copy_parts[phase.id]),
                by_device=tuple(
                    DeviceUse(device, seconds, tuple((on, s) for (its, on), s in streams.items() if its == device))
                    for device, seconds in busy.items()
                ),
                together=_together(phase, overlaps, waiting_s) if activity.has_overlaps else None,
                within=common_path(profile, result, phase.id) if any(each.node == 0 for each in kernels) else (),
            )
        )
    return out


def kernel_table(
    activity: GpuActivity, profile: IntervalProfile, result: PhaseResult
) -> list[tuple[Use, dict[int, float]]]:
    """Return all kernels of the run, by launching path, with the seconds of each in each phase."""
    by_phase = dict[tuple[str, int], dict[int, float]]()
    for phase, part in enumerate(_parts(activity.kernels, activity.slot_s, profile, result)):
        for each in kernel_uses(activity, part):
            by_phase.setdefault((each.name, each.node), {})[phase] = each.seconds
    every = kernel_uses(activity)
    return [(each, by_phase.get((each.name, each.node), {})) for each in every]


def seconds_by_lane(rows: GpuRows, part: FloatArray | None = None) -> dict[tuple[int, int], float]:
    """Return the seconds of each device and `what`, in ascending order. part: of each row, (m,); default: all."""
    sums = _sums(rows.device, rows.what, part, rows.seconds)
    return {key: seconds for key, (seconds,) in sums.items() if seconds > 0}


def _sums(
    one: IntArray, other: IntArray, part: FloatArray | None, *columns: FloatArray
) -> dict[tuple[int, int], list[float]]:
    """Return the sums of columns by pairs of numbers, in ascending order. part: of each row, (m,); default: all."""
    keys, index = np.unique(np.stack([one, other]), axis=1, return_inverse=True)
    weighted = columns if part is None else [part * column for column in columns]
    sums = [np.bincount(index.ravel(), column, minlength=keys.shape[1]).tolist() for column in weighted]
    return {(first, second): list(row) for (first, second), *row in zip(keys.T.tolist(), *sums, strict=True)}


def _together(phase: Phase, overlaps: dict[tuple[int, int], float], waiting_s: float) -> Together:
    any_s, either_s = (min(overlaps.get((HOST, what), 0.0), phase.seconds) for what in (ANY_DEVICE, DEVICE_OR_WAIT))
    either_s = max(either_s, any_s)
    host_s = phase.seconds - either_s
    working_s = sum(seconds for kind, seconds in phase.spent.items() if kind not in NO_WORK)
    idle_s = max(host_s - working_s, 0.0) if phase.spent else 0.0
    return Together(min(max(either_s - waiting_s, 0.0), any_s), host_s, idle_s)


def _parts(rows: GpuRows, slot_s: float, profile: IntervalProfile, result: PhaseResult) -> FloatArray:
    """Return the part of each row that belongs to each phase, (k, m): by the time of its slot in the phases.

    What does not lie in any phase, as in transitions, belongs to none.
    """
    slots, index = np.unique(rows.start_s, return_inverse=True)
    # The first slot begins before the run, and the last one ends after it.
    end_s = float(profile.end_s[-1]) if profile.n_intervals else 0.0
    low, high = np.clip(slots, 0.0, end_s), np.clip(slots + slot_s, 0.0, end_s)
    inside = overlaps(low, high, profile.start_s, profile.end_s, result.labels, result.k)
    parts: FloatArray = (inside / np.maximum(high - low, 1e-12))[:, index]
    return np.clip(parts, 0.0, 1.0)


def kernel_uses(activity: GpuActivity, part: FloatArray | None = None, most: int | None = None) -> tuple[Use, ...]:
    """Return the kernels with most time, by launching path. part: of each row, (m,); default: the whole run.

    Launches whose path was not recorded are divided among the recorded paths of their kernel, in proportion. Those of
    threads without a function of the program, as autograd's, have path 0.
    """
    rows, out = activity.kernels, list[Use]()
    sums = _sums(rows.what, rows.node, part, rows.count, rows.seconds)
    for what, group in groupby(sums.items(), key=lambda item: item[0][0]):
        by_node = {node: np.array(amount) for (_, node), amount in group if amount[0] > 0}
        unknown = by_node.pop(UNSAMPLED, np.zeros(2))
        scale = 1 + unknown / np.maximum(sum(by_node.values(), np.zeros(2)), 1e-12)
        amounts = {node: amount * scale for node, amount in by_node.items()} or {UNSAMPLED: unknown}
        name = activity.names.get(what, "")
        out += [Use(name, node, *amount.tolist()) for node, amount in amounts.items() if amount[0] > 0]
    out.sort(key=lambda one: (-one.seconds, one.name, one.node))
    return tuple(out[:most])


def common_path(profile: IntervalProfile, result: PhaseResult, phase: int) -> tuple[str, ...]:
    """Return the functions that the first thread is in for nearly all of a phase, outermost first."""
    samples, tree = profile.samples, profile.tree
    if not len(samples.time_s):
        return ()
    interval = np.minimum(np.searchsorted(profile.end_s, samples.time_s), profile.n_intervals - 1)
    use = (samples.thread == samples.thread.min()) & (result.labels[interval] == phase)
    ticks = np.bincount(tree.of_node[samples.node[use]], samples.weight[use], minlength=len(tree.parent))
    weight = tree.inclusive(ticks.astype(np.float64))
    path, node = list[str](), 0
    while weight[0] > 0:
        below = np.flatnonzero(tree.parent[1:] == node) + 1
        if not len(below) or weight[below].max() < NEARLY_ALL * weight[0]:
            break
        node = int(below[np.argmax(weight[below])])
        if tree.function[node] >= 0:
            path.append(profile.functions[tree.function[node]].name)
    return tuple(path)


def _copies(rows: GpuRows, part: FloatArray) -> tuple[Use, ...]:
    """Return the copies of a phase by direction, with the paths that copy most."""
    by_direction = dict[str, list[Use]]()
    for use in copy_table(rows, part):
        by_direction.setdefault(use.name, []).append(use)
    out = []
    for name, uses in by_direction.items():
        number, seconds, amount_b = (sum(getattr(use, each) for use in uses) for each in ("count", "seconds", "bytes"))
        paths = tuple((use.node, use.bytes) for use in uses if use.node > 0 and use.bytes > 0)
        out.append(Use(name, UNSAMPLED, number, seconds, amount_b, paths[:MOST_COPY_PATHS]))
    return tuple(sorted(out, key=lambda one: (-one.bytes, one.name)))


def copy_table(rows: GpuRows, part: FloatArray | None = None) -> list[Use]:
    """Return copies by direction and call path, those with most bytes first.

    part: of each row, (m,); default: the whole run.
    """
    directions = [*dict.fromkeys(COPY_NAMES.values()), "other"]  # several kinds have one
    names = np.array([directions.index(COPY_NAMES.get(what, "other")) for what in rows.what.tolist()], dtype=np.int64)
    sums = _sums(names, rows.node, part, rows.count, rows.seconds, rows.bytes)
    uses = [
        Use(directions[name], node, number, seconds, amount_b)
        for (name, node), (number, seconds, amount_b) in sums.items()
        if number > 0
    ]
    return sorted(uses, key=lambda one: -one.bytes)


def moved(copies: tuple[Use, ...]) -> tuple[float, float]:
    """Return the bytes and seconds of copies between host and devices, or between devices."""
    between = [one for one in copies if one.name not in (WITHIN_DEVICE, *MAPPED, COPY_NAMES[0])]
    return sum(one.bytes for one in between), sum(one.seconds for one in between)


def busy_over_time(
    activity: GpuActivity, device: int, start_s: FloatArray, end_s: FloatArray, stream: int | None = None
) -> FloatArray:
    """Return the share of time in which a device, or a stream of it, was busy in the bins, (b,)."""
    rows = activity.busy if stream is None else activity.streams
    own = rows.device == device if stream is None else (rows.device == device) & (rows.what == stream)
    slots: IntArray = np.round((rows.start_s[own] + activity.offset_s) / activity.slot_s).astype(np.int64)
    # Few of a long run's slots may be in use.
    used, index = np.unique(slots, return_inverse=True)
    ends = np.stack([used, used + 1], axis=1).ravel() * activity.slot_s - activity.offset_s
    sums = np.bincount(index, rows.seconds[own], minlength=len(used))
    until = np.stack([np.cumsum(sums) - sums, np.cumsum(sums)], axis=1).ravel()
    edges, until = np.concatenate([[-activity.offset_s], ends]), np.concatenate([[0.0], until])
    inside = np.interp(end_s, edges, until) - np.interp(start_s, edges, until)
    share: FloatArray = np.clip(inside / np.maximum(end_s - start_s, 1e-12), 0.0, 1.0)
    return share
