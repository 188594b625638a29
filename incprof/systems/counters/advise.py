"""Advice on a program that is run repeatedly, or on a single recording."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from incprof.analysis.diff.measure import cpu_seconds
from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.readers.series.counter_series import read_counters
from incprof.study.comparison import compare_sides
from incprof.study.phase_options import SILENT, Listener
from incprof.study.run_counters import SampledCounters, busy_processors
from incprof.study.study import Study
from incprof.systems.counters.advice import Advice, Rule, Setting, by_rule, effects_of
from incprof.systems.counters.analyse import Bound
from incprof.systems.counters.read import read_by_phase

OWN = (sys.executable, "-m", "incprof")
# Exit status of incprof sample without anything to sample.
NO_COUNTERS = 4


@dataclass
class Recorded:
    """The recordings of a setting.

    Attributes:
        setting: the setting.
        runs: run directories.
        counters: the counter file of each run; empty where the machine's counters cannot be sampled.
    """

    setting: Setting
    runs: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)

    @property
    def has_power(self) -> bool:
        """Return whether power was sampled during all of them."""
        return len(self.counters) == len(self.runs) and all(read_counters(path).power for path in self.counters)


def record_all(
    command: Sequence[str], settings: Sequence[Setting], output: Path, *, rounds: int, interval: str,
    limits: Frequencies | None, sample: Sequence[str] = (),
) -> list[Recorded]:  # fmt: skip
    """Run a program that many times under each setting.

    Args:
        command: the program and its arguments. Its input is empty, and its output goes to stderr.
        settings: the first is the baseline.
        output: an existing empty directory for the recordings.
        rounds: runs of each setting.
        interval: of the recording.
        limits: sets frequencies, if settings have some.
        sample: further arguments of incprof sample.

    Raises:
        IncprofError: the program does not exit with status 0, or a frequency cannot be set.
    """
    recorded = [Recorded(setting) for setting in settings]
    for number in range(1, rounds + 1):
        for each in recorded:
            directory = output / f"{each.setting.slug}-{number}"
            words = [*OWN, "record", "-i", interval, "-o", str(directory), "--", *command]
            counters = output / f"{directory.name}.csv"
            recorder_words = [*OWN, "sample", "--system", "-i", interval, *sample, "-o", str(counters), "--", *words]
            if limits is None:
                status = _run(recorder_words, words, each.setting, directory)
            else:
                with limits.limited(each.setting.khz):
                    status = _run(recorder_words, words, each.setting, directory)
            if status != 0:
                raise IncprofError(
                    f"{command[0]} ended with status {status} under {each.setting.name}: no advice; "
                    f"recordings are in {output}"
                )
            each.runs.append(str(directory))
            if counters.is_file():
                each.counters.append(str(counters))
    return recorded


def _run(recorder_words: Sequence[str], words: Sequence[str], setting: Setting, directory: Path) -> int:
    """Run with the machine's counters, or without if there are none; return the exit status."""
    status = _wait(recorder_words, setting)
    if status == NO_COUNTERS and not directory.exists():
        status = _wait(words, setting)
    return status


def _wait(words: Sequence[str], setting: Setting) -> int:
    """Run and wait. A terminating signal ends the program first, so that frequencies are restored."""
    environment = dict(os.environ)
    if setting.threads is not None:
        environment["OMP_NUM_THREADS"] = str(setting.threads)
    process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno())
    ends = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(each, lambda number, frame: process.send_signal(number)) for each in ends]
    try:
        status = process.wait()
    except KeyboardInterrupt:
        process.wait()  # the terminal has signalled it as well
        raise
    finally:
        for each, handler in zip(ends, before, strict=True):
            signal.signal(each, handler)
    return 128 - status if status < 0 else status


# Frequency limits of processors, set through Linux's cpufreq and restored afterwards.


@dataclass(frozen=True)
class Frequencies:
    """The policies of a machine and their frequency limits.

    Attributes:
        policies: directories in sysfs.
        lowest: the lowest limit that all of them support, kHz.
        highest: the highest such limit, kHz.
        now: the current limit of each policy, kHz.
    """

    policies: tuple[Path, ...]
    lowest: int
    highest: int
    now: tuple[int, ...]

    def steps(self) -> tuple[int, ...]:
        """Return limits worth trying: two thirds of the way down, and the lowest."""
        middle = self.highest - (self.highest - self.lowest) // 2
        return tuple(dict.fromkeys(each for each in (middle, self.lowest) if each < self.highest))

    @contextmanager
    def limited(self, khz: int | None) -> Iterator[None]:
        """Limit the frequency while the body runs; None leaves it unchanged.

        Raises:
            IncprofError: the kernel rejects the limit.
        """
        try:
            if khz is not None:
                for policy in self.policies:
                    _write(policy, khz)
            yield
        finally:
            if khz is not None:
                for policy, before in zip(self.policies, self.now, strict=True):
                    _write(policy, before)


def frequencies(sysfs: str) -> Frequencies | str:
    """Return the limits that may be set here, or the reason why none may be."""
    policies = sorted(Path(sysfs, "devices/system/cpu/cpufreq").glob("policy[0-9]*"))
    if not policies:
        return "this machine, or its hypervisor, has no cpufreq"
    if not all(os.access(policy / "scaling_max_freq", os.W_OK) for policy in policies):
        return f"{policies[0] / 'scaling_max_freq'} is writable for root only"
    try:
        lowest = max(_read(policy, "cpuinfo_min_freq") for policy in policies)
        highest = min(_read(policy, "cpuinfo_max_freq") for policy in policies)
        now = tuple(_read(policy, "scaling_max_freq") for policy in policies)
    except (OSError, ValueError) as error:
        return f"its cpufreq cannot be read: {error}"
    if lowest >= highest:
        return "its processors have one frequency"
    return Frequencies(tuple(policies), lowest, min(highest, *now), now)


def check_limits(frequencies: Frequencies, limits: list[int]) -> None:
    """Reject limits that the processors do not support.

    Raises:
        UsageError: one of them is too low or too high.
    """
    for khz in limits:
        if not frequencies.lowest <= khz <= frequencies.highest:
            span = f"{frequencies.lowest / 1e6:g} to {frequencies.highest / 1e6:g} GHz"
            raise UsageError(f"--frequencies: {khz / 1e6:g} GHz: these processors support {span}")


def _read(policy: Path, name: str) -> int:
    return int((policy / name).read_text())


def _write(policy: Path, khz: int) -> None:
    try:
        (policy / "scaling_max_freq").write_text(f"{khz}\n")
    except OSError as error:
        raise IncprofError(f"{policy / 'scaling_max_freq'}: cannot be set to {khz}: {error.strerror}") from None


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
