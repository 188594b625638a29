"""What the GPUs do in each phase. m rows, k phases."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from incprof.analysis.energy import overlaps
from incprof.analysis.phase_result import PhaseResult
from incprof.model import FloatArray, IntArray, IntervalProfile
from incprof.systems.gpu.read import COPY_NAMES, HOST, WITHIN_DEVICE, GpuActivity, GpuRows

# A phase launches kernels one by one that are too short, if so many launches a second take a mean of at most so long.
SHORT_KERNEL_S, MANY_PER_S = 10e-6, 1000.0
# A phase in which the GPU is idle for a larger share, although it is used, is worth a sentence.
IDLE_SHARE = 0.3
# Kernels and copies that begin within a slot belong to the phases of the slot, in proportion to their time in it.
MOST_KERNELS = 5


@dataclass(frozen=True)
class KernelUse:
    """A kernel, as launched by one call path.

    Attributes:
        name: mangled; empty: unknown.
        node: of the launching call path; 0: unknown.
        count: launches.
        seconds: of all of them.
    """

    name: str
    node: int
    count: float
    seconds: float


@dataclass(frozen=True)
class CopyUse:
    """Copies of one direction: their number, bytes and seconds."""

    direction: str
    count: float
    bytes: float
    seconds: float


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
    """

    id: int
    seconds: float
    busy_s: float
    devices: int
    waiting_s: float
    launches: float
    kernel_s: float
    kernels: tuple[KernelUse, ...]
    copies: tuple[CopyUse, ...]

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
        return self.busy_s > 0 and 1 - self.busy >= IDLE_SHARE and 1 - max(self.busy, self.waiting) >= IDLE_SHARE

    @property
    def is_launch_bound(self) -> bool:
        """Whether it launches many short kernels."""
        if not self.launches or self.seconds <= 0:
            return False
        return self.launches / self.seconds >= MANY_PER_S and self.kernel_s / self.launches <= SHORT_KERNEL_S


def gpu_by_phase(activity: GpuActivity, profile: IntervalProfile, result: PhaseResult) -> list[PhaseGpu]:
    """Return what the GPUs do in each phase."""
    kernel_parts = _parts(activity.kernels, activity.slot_s, profile, result)
    copy_parts = _parts(activity.copies, activity.slot_s, profile, result)
    busy_parts = _parts(activity.busy, activity.slot_s, profile, result)
    is_host = activity.busy.device == HOST
    devices = len(np.unique(activity.busy.device[~is_host]))
    out = []
    for phase in result.present:
        part = kernel_parts[phase.id]
        busy_s = busy_parts[phase.id] * activity.busy.seconds
        out.append(
            PhaseGpu(
                id=phase.id,
                seconds=phase.seconds,
                busy_s=float(busy_s[~is_host].sum()),
                devices=devices,
                waiting_s=float(busy_s[is_host].sum()),
                launches=float((part * activity.kernels.count).sum()),
                kernel_s=float((part * activity.kernels.seconds).sum()),
                kernels=_kernels(activity, part),
                copies=_copies(activity.copies, copy_parts[phase.id]),
            )
        )
    return out


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


def _kernels(activity: GpuActivity, part: FloatArray) -> tuple[KernelUse, ...]:
    """Return the kernels with most time, by launching path.

    Launches whose path was not recorded are divided among the recorded paths of their kernel, in proportion.
    """
    rows = activity.kernels
    known = dict[int, dict[int, FloatArray]]()
    unknown: dict[int, FloatArray] = defaultdict(lambda: np.zeros(2))
    use = np.flatnonzero(part * rows.count > 0)
    for what, node, share, count, seconds in zip(
        rows.what[use].tolist(), rows.node[use].tolist(), part[use], rows.count[use], rows.seconds[use], strict=True
    ):
        amount = share * np.array([count, seconds])
        if node > 0:
            by_node = known.setdefault(what, {})
            by_node[node] = by_node.get(node, np.zeros(2)) + amount
        else:
            unknown[what] += amount
    out = list[KernelUse]()
    for what in {**known, **unknown}:
        by_node, name = known.get(what, {}), activity.names.get(what, "")
        total = sum(by_node.values(), np.zeros(2))
        scale = 1 + unknown[what] / np.maximum(total, 1e-12)
        for node, amount in by_node.items():
            out.append(KernelUse(name, node, *(float(number) for number in amount * scale)))
        if not by_node:
            out.append(KernelUse(name, 0, *(float(number) for number in unknown[what])))
    out.sort(key=lambda one: (-one.seconds, one.name, one.node))
    return tuple(out[:MOST_KERNELS])


def _copies(rows: GpuRows, part: FloatArray) -> tuple[CopyUse, ...]:
    out = []
    names = [COPY_NAMES.get(what, "other") for what in rows.what.tolist()]
    for direction in sorted(set(names)):
        of = part * np.array([name == direction for name in names])
        if (of * rows.count).sum() > 0:
            sums = (float((of * column).sum()) for column in (rows.count, rows.bytes, rows.seconds))
            out.append(CopyUse(direction, *sums))
    return tuple(sorted(out, key=lambda one: -one.bytes))


def moved(copies: tuple[CopyUse, ...]) -> tuple[float, float]:
    """Return the bytes and seconds of copies between host and devices, or between devices."""
    between = [one for one in copies if one.direction not in (WITHIN_DEVICE, COPY_NAMES[0])]
    return sum(one.bytes for one in between), sum(one.seconds for one in between)


def busy_over_time(activity: GpuActivity, device: int, start_s: FloatArray, end_s: FloatArray) -> FloatArray:
    """Return the share of time in which a device was busy, (b,), in the bins between start_s and end_s."""
    own = activity.busy.device == device
    slots: IntArray = np.round(activity.busy.start_s[own] / activity.slot_s).astype(np.int64)
    last = int(slots.max(initial=0)) + 1
    edges = np.arange(last + 1) * activity.slot_s
    until = np.concatenate([[0.0], np.cumsum(np.bincount(slots, activity.busy.seconds[own], minlength=last))])
    inside = np.interp(end_s, edges, until) - np.interp(start_s, edges, until)
    share: FloatArray = np.clip(inside / np.maximum(end_s - start_s, 1e-12), 0.0, 1.0)
    return share
