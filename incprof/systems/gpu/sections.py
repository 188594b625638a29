"""What the GPUs do in phases, on their cards."""

from __future__ import annotations

import numpy as np

from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.views.tracks import TimeBins
from incprof.model.section import Amount, CardPart, Column, Lane, edges_of
from incprof.readers.stream.interval_images import RecordedPaths
from incprof.report.render.json import exact, fields
from incprof.report.words.display_names import short, where
from incprof.report.words.formatting import count, decimal_size, percent, seconds
from incprof.study.recorded_paths import Places, paths_of, places_of
from incprof.study.study import Study
from incprof.systems.gpu.analyse import PhaseGpu, Use, busy_over_time, gpu_by_phase, moved, seconds_by_lane
from incprof.systems.gpu.launches import functions_to, kernel_name, launched_by_program
from incprof.systems.gpu.read import (
    HOST,
    NO_CUPTI,
    NS,
    OLD_CUPTI,
    OLD_ROCPROFILER,
    OTHER_STREAMS,
    OTHER_SUBSCRIBER,
    RECORDED,
    REFUSED,
    ROCPROFILER_REFUSED,
    GpuActivity,
    read_gpu,
    why_not_recorded,
)

MOST_NAMED, MOST_LANES = 3, 4
# Smaller shares of the kernels' time, and of a phase's time, are in no sentence.
WORTH = 0.05
REASONS = {
    NO_CUPTI: "libcupti was not found",
    OTHER_SUBSCRIBER: "another profiler used CUPTI",
    OLD_CUPTI: "libcupti is older than CUDA 11.0",
    REFUSED: "CUPTI refused",
    OLD_ROCPROFILER: "rocprofiler-sdk is older than that of ROCm 6.4",
    ROCPROFILER_REFUSED: "rocprofiler-sdk refused",
}


def card(study: Study, bins: TimeBins | None) -> CardPart | None:
    """Return what the GPUs do in each phase; None if it was not recorded."""
    if study.process.series:
        return None
    activity = read_gpu(study.process.path)
    if activity is None:
        reason = why_not_recorded(study.process.path)
        return CardPart("device", {}, (), notes=(f"No GPU activity was recorded: {reason}",)) if reason else None
    result = study.phases()
    used = activity.state == RECORDED and (len(activity.busy.count) > 0 or len(activity.kernels.count) > 0)
    paths = paths_of(study) if used else None
    by_phase = gpu_by_phase(launched_by_program(study, activity, paths), study.profile, result) if used else []
    phases = {each.id: each for each in by_phase}
    nodes = {kernel.node for each in by_phase for kernel in each.kernels}
    nodes |= {node for each in by_phase for copy in each.copies for node, _ in copy.paths}
    places = {} if paths is None else places_of(study, paths, nodes)
    columns = (
        Column("GPU", lambda phase: phases[phase].busy if phase in phases else None, "%", drop=2, key="gpu_busy"),
        Column("GPUs", lambda phase: _sentence(phases.get(phase), result, paths, places), sentence=True),
        Column("Kernels", lambda phase: _kernels_text(phases.get(phase), paths, places), sentence=True),
    )
    values = {each.id: value(each, activity, paths, places) for each in by_phase}
    amounts = (
        Amount("gpu.busy", "GPUs busy", "s", {each.id: each.busy_s for each in by_phase}),
        Amount("gpu.waiting", "waiting for GPUs", "s", {each.id: each.waiting_s for each in by_phase}),
        Amount("gpu.kernels", "kernels", "count", {each.id: each.launches for each in by_phase}),
    )
    lanes = () if bins is None or not phases else _lanes(activity, bins)
    return CardPart("device", values, columns, lanes, tuple(notes(activity)), amounts if phases else ())


def value(one: PhaseGpu, activity: GpuActivity, paths: RecordedPaths | None, places: Places) -> dict[str, object]:
    """Return the JSON value of a phase."""
    return {
        **fields(one, "busy_s busy waiting_s", exact),
        "both_busy_s": one.together.both_s if one.together else None,
        "host_alone_s": one.together.host_s if one.together else None,
        "both_idle_s": one.together.idle_s if one.together else None,
        "devices": one.devices,
        "by_device": [
            {"device": each.device, "name": activity.devices.get(each.device), "busy_s": each.busy_s,
             "streams": [{"stream": None if stream == OTHER_STREAMS else stream, "busy_s": busy_s}
                         for stream, busy_s in each.streams]}
            for each in one.by_device
        ],
        "launches": round(one.launches),
        "launches_per_s": one.launches / one.seconds if one.seconds > 0 else None,
        "kernels": [_kernel_value(each, one.within, paths, places) for each in one.kernels],
        "copies": [
            {"direction": each.name, "count": round(each.count), "bytes": round(each.bytes),
             "seconds": each.seconds,
             "paths": [{"bytes": round(amount), **_path_value(node, paths, places)} for node, amount in each.paths]}
            for each in one.copies
        ],
        "findings": [name for name, is_one in (("idle", one.is_idle), ("launch-bound", one.is_launch_bound)) if is_one],
    }  # fmt: skip


def _kernel_value(one: Use, within: tuple[str, ...], paths: RecordedPaths | None, places: Places) -> dict[str, object]:
    return {
        "name": kernel_name(one.name),
        "count": round(one.count),
        "seconds": one.seconds,
        "mean_s": one.seconds / one.count if one.count else None,
        **_path_value(one.node, paths, places),
        "within": list(within) if one.node == 0 else [],
    }


def _path_value(node: int, paths: RecordedPaths | None, places: Places) -> dict[str, object]:
    place = places.get(node)
    return {"path": functions_to(node, paths), "file": place and place.file, "line": place and place.line}


def _sentence(one: PhaseGpu | None, result: PhaseResult, paths: RecordedPaths | None, places: Places) -> str | None:
    """Return how busy the GPUs are, what is copied, and what that means; None if they are not used."""
    if one is None or (one.busy_s <= 0 and one.waiting_s <= 0):
        return None
    which = "the GPU is" if one.devices <= 1 else f"{one.devices} GPUs are"
    clauses = [f"{which} busy {percent(one.busy)} of the time"]
    if one.waiting >= WORTH:
        clauses.append(f"the host waits {percent(one.waiting)} for it")
    if one.together and one.together.both_s >= WORTH * one.seconds:
        clauses.append(f"host and device are both busy {percent(one.together.both_s / one.seconds)}")
    if one.together and one.together.idle_s >= WORTH * one.seconds:
        clauses.append(f"host and device are both idle at least {percent(one.together.idle_s / one.seconds)}")
    moved_b, moved_s = moved(one.copies)
    if moved_b > 0:
        rate = f" at {decimal_size(moved_b / moved_s)}/s" if moved_s > 0 else ""
        clauses.append(f"{decimal_size(moved_b)} copied{rate}")
    if one.is_idle:
        clauses.append(_idle(one, result))
    if one.is_launch_bound:
        mean = seconds(one.kernel_s / one.launches)
        clauses.append(f"kernels of {mean} are launched one by one, {one.launches / one.seconds:.3g} a second: "
                       "launch-bound")  # fmt: skip
    return "; ".join(clauses)


def _idle(one: PhaseGpu, result: PhaseResult) -> str:
    """Return "the GPU idles 61 % of the phase, while `host_work` runs"."""
    phase = next(each for each in result.present if each.id == one.id)
    own = [each.function for each in phase.functions if not each.function.imported]
    running = f", while {short(own[0].name)} runs" if own else ""
    return f"the GPU idles {percent(one.host_alone)} of the phase{running}"


def _kernels_text(one: PhaseGpu | None, paths: RecordedPaths | None, places: Places) -> str | None:
    """Return the kernels with most time, with what launches them; None if there are none."""
    if one is None or one.kernel_s <= 0:
        return None
    shown = [each for each in one.kernels if each.seconds >= WORTH * one.kernel_s][:MOST_NAMED]
    texts = []
    for each in shown:
        functions, line = functions_to(each.node, paths), places.get(each.node)
        place = f" ({where(line.file, line.line)})" if line else ""
        within = f", launched within {short(one.within[-1])}" if one.within and each.node == 0 else ""
        launched = f", launched by {short(functions[-1])}{place}" if functions else within
        mean = seconds(each.seconds / max(each.count, 1.0))
        share = percent(each.seconds / one.kernel_s)
        texts.append(f"{short(kernel_name(each.name))} {share}, {each.count:.0f} of {mean} on average{launched}")
    return f"kernels: {'; '.join(texts)}" if texts else None


def _lanes(activity: GpuActivity, bins: TimeBins) -> tuple[Lane, ...]:
    """Return the shares of time in which devices and streams are busy, and the host waits, over the bins of a page."""
    found = [int(device) for device in np.unique(activity.busy.device)]
    out = []

    def add(device: int, stream: int | None, name: str, key: str, what: str) -> None:
        shares = busy_over_time(activity, device, bins.start_s, bins.end_s, stream)
        edges, values = edges_of(bins.start_s, bins.end_s, shares)
        out.append(Lane(name, "%", edges, values, f"share of the time in which {what}", key))

    for device in [each for each in found if each != HOST][:MOST_LANES]:
        add(device, None, f"GPU {device}", f"gpu_{device}", "it is busy")
    if HOST in found:
        add(HOST, None, "waiting for GPUs", "gpu_wait", "a thread waits for a GPU")
    sums = seconds_by_lane(activity.streams)
    devices = [device for device, _ in sums]
    several = [key for key in sums if devices.count(key[0]) > 1]
    for device, stream in sorted(sorted(several, key=lambda key: -sums[key])[:MOST_LANES]):
        number = "others" if stream == OTHER_STREAMS else str(stream)
        key = f"gpu_{device}_stream_{stream}"
        add(device, stream, f"GPU {device}, stream {number}", key, "kernels or copies of the stream run")
    return tuple(out)


def notes(activity: GpuActivity) -> list[str]:
    """Return sentences about all phases: what is missing."""
    if activity.state != RECORDED:
        return [f"GPU activity was not recorded: {REASONS.get(activity.state, 'unknown reason')}"]
    out, totals = list[str](), activity.totals
    if activity.devices:
        names = (f"GPU {number} {name}" for number, name in sorted(activity.devices.items()))
        out.append(f"Devices: {', '.join(names)}")
    if activity.missing:
        out.append(f"{count(activity.missing, 'kernel')} of {totals.launches} launched are missing from the record")
    if totals.dropped:
        out.append(f"CUPTI had no room for {count(totals.dropped, 'record')}")
    if totals.lost:
        out.append(f"{count(totals.lost, 'record')} or paths of launches had no room in the tables")
    if totals.incomplete:
        out.append(f"{count(totals.incomplete, 'kernel')} had not ended when the program did")
    if totals.late_ns:
        out.append(f"{seconds(totals.late_ns * NS)} of device time were recorded too late to count as busy")
    if activity.launches_per_path > 1:
        out.append(f"Launching paths were recorded for down to one of {activity.launches_per_path} launches, "
                   "to limit the cost")  # fmt: skip
    if activity.damaged:
        out.append(f"{count(activity.damaged, 'image')} of GPU activity could not be read")
    return out
