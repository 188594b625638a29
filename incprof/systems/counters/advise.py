"""Advice on a program that is run repeatedly, or on a single recording."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from incprof.analysis.diff.measure import cpu_seconds
from incprof.errors import IncprofError, NoDataError
from incprof.study.diff import compare_sides
from incprof.study.options import SILENT, Listener
from incprof.study.power import SampledCounters, busy_processors
from incprof.study.study import Study
from incprof.systems.counters.advice import Advice, Rule, Setting, by_rule, effects_of
from incprof.systems.counters.analyse import Bound
from incprof.systems.counters.interleaved_runs import Frequencies, Recorded, check_limits, frequencies, record_all
from incprof.systems.counters.read import read_by_phase

# If other programs leave a run this many processors less than it has threads, its times change by that alone.
SHORT = 0.1


def thread_counts() -> list[int]:
    """Return the thread counts to try: the current one, halved repeatedly down to one."""
    setting = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    count = int(setting) if setting.isdecimal() and int(setting) > 0 else len(os.sched_getaffinity(0))
    counts = [count]
    while counts[-1] > 1:
        counts.append(counts[-1] // 2)
    return counts


def advise(
    command: Sequence[str], output: Path, *, threads: Sequence[int], khz: Sequence[int] | None, rounds: int,
    tolerance: float, interval: str, sysfs: str = "/sys", sample: Sequence[str] = (), listener: Listener = SILENT,
) -> Advice:  # fmt: skip
    """Run a program under thread counts and frequencies, and derive advice.

    Args:
        command: the program and its arguments.
        output: a directory for the recordings.
        threads: thread counts, the first is the baseline; empty: the current one alone.
        khz: frequency limits in kHz; None for those that the machine offers, empty for none.
        rounds: runs of each setting.
        tolerance: the accepted increase of a phase's time, a share.
        interval: of the recordings.
        sysfs: root of the sysfs file system, for cpufreq.
        sample: further arguments of incprof sample.
        listener: receives progress.

    Raises:
        IncprofError: the program fails, or a frequency cannot be set.
        UsageError: the processors do not support a frequency.
    """
    limits = frequencies(sysfs) if khz is None or khz else "not asked for"
    if isinstance(limits, str) and khz:
        raise IncprofError(f"--frequencies: {limits}")
    if isinstance(limits, Frequencies):
        check_limits(limits, list(khz or ()))
    base = Setting(threads[0] if threads else None)
    settings = [base, *(Setting(each) for each in threads[1:])]
    if isinstance(limits, Frequencies):
        settings += [Setting(base.threads, each) for each in (limits.steps() if khz is None else khz)]
    try:
        output.mkdir(parents=True)
    except FileExistsError:
        raise IncprofError(f"{output} exists: name another directory with -o") from None
    with listener.progress(f"{len(settings) * rounds} runs"):
        recorded = record_all(
            command, settings, output, rounds=rounds, interval=interval,
            limits=limits if isinstance(limits, Frequencies) else None, sample=sample,
        )  # fmt: skip
    return _from(recorded, tolerance, limits if isinstance(limits, str) else None, listener)


def _from(recorded: Sequence[Recorded], tolerance: float, no_limits: str | None, listener: Listener) -> Advice:
    """Derive advice from recordings; the first are the baseline."""
    base = recorded[0]
    power = all(each.has_power for each in recorded)
    effects = []
    for other in recorded[1:]:
        a, b = ([Study(path) for path in each.runs] for each in (base, other))
        counters = [*base.counters, *other.counters] if power else []
        sides = compare_sides(a, b, [], noise=None, clock="wall", counters=counters)
        listener.warn(dict.fromkeys(sides.warnings))
        effects += effects_of(base.setting, other.setting, sides.comparison, tolerance)
    reasons, what = [], []
    if (missing := _missing(recorded)) > SHORT:
        reasons.append(
            f"other programs left the runs {missing:.2g} processors less than they have threads: no effect is certain; "
            "run advise on an otherwise idle machine"
        )
        effects = [replace(effect, hardly=False) for effect in effects]
    if no_limits is not None:
        reasons.append(f"frequencies were not changed: {no_limits}")
        what.append("frequency")
    if not any(each.setting.threads != base.setting.threads for each in recorded):
        reasons.append("thread counts were not changed: one was given")
        what.append("threads")
    rules = _rules(base.runs[0], base.counters[0] if base.counters else None, what) if what else []
    return Advice(base.setting, len(base.runs), tolerance, tuple(effects), tuple(rules), tuple(reasons))


def _missing(recorded: Sequence[Recorded]) -> float:
    """Return by how many processors the most disturbed run fell short of its threads; 0 without counters."""
    most = 0.0
    for each in recorded:
        threads = each.setting.threads or 1
        for run, path in zip(each.runs, each.counters, strict=False):
            busy = busy_processors(SampledCounters(Study(run), path))
            if busy is not None:
                most = max(most, busy[1] + threads - (os.cpu_count() or threads))
    return most


def advise_on(directory: str, counters: str | None, *, listener: Listener = SILENT) -> Advice:
    """Return the advice of rules on one recording, without running anything.

    Raises:
        NoDataError: the recording holds nothing usable.
        UsageError: the counters have no column of times.
    """
    reason = "the program was not run again: the advice is by rules, from a recording alone"
    rules = _rules(directory, counters, ["frequency", "threads"], listener)
    return Advice(Setting(), 0, 0.0, (), tuple(rules), (reason,))


def _rules(directory: str, counters: str | None, what: Sequence[str], listener: Listener = SILENT) -> list[Rule]:
    """Return the advice of rules on a recording."""
    study = Study(directory, listener=listener)
    bounds: dict[int, Bound | None] = {}
    busy = _busy(study)
    alone_on_machine = False
    if counters is not None:
        sampled = SampledCounters(study, counters)
        bounds = {phase.id: phase.bound for phase in read_by_phase(sampled).phases}
        busy_range = busy_processors(sampled)
        most = max((threads for _, threads in busy.values()), default=1.0)
        is_own_host = study.profile.metadata.raw.get("host") == os.uname().nodename
        alone_on_machine = (
            is_own_host and busy_range is not None and busy_range[1] + most - (os.cpu_count() or 1) <= SHORT
        )
    return by_rule(study.phases(), bounds, busy, what, measured_alone=alone_on_machine)


def _busy(study: Study) -> dict[int, tuple[float, float]]:
    """Return the number of processors that each phase keeps busy, and of its threads."""
    profile, labels = study.profile, study.phases().labels
    wall, cpu, thread_s = profile.end_s - profile.start_s, cpu_seconds(profile), profile.counters.thread_s
    if not len(wall):
        raise NoDataError(f"{study.run.directory}: nothing was recorded")
    busy = {}
    for phase in study.phases().phases:
        own = labels == phase.id
        wall_s = float(wall[own].sum())
        threads = float(np.sum(thread_s[own])) if len(thread_s) else wall_s
        if wall_s > 0:
            busy[phase.id] = (float(cpu[own].sum()) / wall_s, threads / wall_s)
    return busy
