"""Java Flight Recorder, as printed by `jfr print --json`: samples of threads that run Java code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.readers.foreign.foreign_files import document, understood
from incprof.readers.foreign.frames import is_shared
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline, usual_distance
from incprof.symbols.function_table import JAVA

# Samples of threads that run Java code; CPU-time samples, since Java 25, and lost ones.
SAMPLE, CPU_SAMPLE, CPU_LOST = "jdk.ExecutionSample", "jdk.CPUTimeSample", "jdk.CPUTimeSamplesLost"
# States of a running thread: the JVM's own, and async-profiler's.
RUNNING = ("STATE_RUNNABLE", "STATE_DEFAULT")
# The option that lets a JVM resolve code between safepoints. If it was not set, it is missing from the listed flags.
FLAG, KEPT = "jdk.BooleanFlag", "DebugNonSafepoints"
ADVICE = f"without java -XX:+UnlockDiagnosticVMOptions -XX:+{KEPT}, time of inlined methods may be misplaced"
# Defaults of the JVM, seconds, for a recording with too few samples to measure the period.
DEFAULT_S, LEAST_S, MOST_S = 0.02, 1e-3, 1.0
NS = 1e-9
# Default depth of the stacks that jfr prints, innermost frames; and the depth of recorded stacks.
DEFAULT_FRAMES, MOST_FRAMES = 5, "2048"
EVENTS = (SAMPLE, CPU_SAMPLE, CPU_LOST, FLAG)
PERIOD = re.compile(r"PT(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?")
# async-profiler puts native code into classes named after its libraries.
NATIVE, LIBRARY = ("Kernel", "C++"), re.compile(r"\.so(?:\.|$)|^$|^\[")


@dataclass(frozen=True)
class _Sample:
    """A sample. period_s: the time that it stands for, 0 if not recorded."""

    unix_ns: int
    thread: int
    frames: tuple[Frame, ...]
    period_s: float


def read_jfr(path: str, where: str | None = None) -> Imported:
    """Read the output of jfr as a timeline; `where` names the recording in messages.

    Raises: NoDataError if it contains no sample.
    """
    where = where or path
    return understood(where, "output of jfr print --json", lambda: _imported(document(path), where))


def _imported(document: dict[str, Any], path: str) -> Imported:
    events = document["recording"]["events"]
    samples, lost = _samples(events, CPU_SAMPLE)
    of_cpu = bool(samples)
    if not of_cpu:
        samples, _ = _samples(events, SAMPLE)
    flags = {str(e["values"].get("name")) for e in events if e["type"] == FLAG and e["values"].get("value") is True}
    if not samples:
        raise NoDataError(f"{path}: no {SAMPLE} or {CPU_SAMPLE} in it that has a stack")
    samples.sort(key=lambda sample: sample.unix_ns)
    first = samples[0].unix_ns
    times = np.array([sample.unix_ns - first for sample in samples], dtype=np.float64) * NS
    usual = usual_distance(times, np.array([sample.thread for sample in samples]), DEFAULT_S)
    periods = sorted(sample.period_s for sample in samples if sample.period_s > 0)
    tick = round(min(max(periods[len(periods) // 2] if periods else usual, LEAST_S), MOST_S), 3)
    timeline = Timeline(_program(samples), Paths(), tick, start_unix_ns=first - round(tick / NS))
    for time, sample in zip(times.tolist(), samples, strict=True):
        timeline.add(sample.frames, time, sample.period_s or tick, thread=sample.thread)
    timeline.lost = [((at - first) * NS, count) for at, count in lost]
    notes = [] if periods else [f"a sample represents {tick:g} s, the distance between samples of a thread"]
    if total := sum(count for _, count in lost):
        notes.append(f"{path}: the JVM lost {total} samples")
    if max(len(sample.frames) for sample in samples) == DEFAULT_FRAMES:
        notes.append(f"{path}: no stack has more than {DEFAULT_FRAMES} frames: print with --stack-depth {MOST_FRAMES}")
    if not of_cpu and flags and KEPT not in flags:
        notes.append(ADVICE)
    return Imported("jfr", [timeline], notes)


def _samples(events: list[dict[str, Any]], kind: str) -> tuple[list[_Sample], list[tuple[int, int]]]:
    """Return the samples of an event kind, and the times, nanoseconds since 1970, and numbers of lost samples."""
    samples, lost = list[_Sample](), list[tuple[int, int]]()
    threads: dict[str, int] = {}
    for event in events:
        values = event["values"]
        if event["type"] == CPU_LOST:
            lost.append((_unix_ns(values["startTime"]), int(values["lostSamples"])))
        if event["type"] != kind or values.get("state", RUNNING[0]) not in RUNNING:
            continue
        if values.get("failed") is True:
            lost.append((_unix_ns(values["startTime"]), 1))
        elif values.get("stackTrace"):
            thread = values.get("sampledThread") or values.get("eventThread") or {}
            thread_key = f"{thread.get('osThreadId')}/{thread.get('javaThreadId')}/{thread.get('javaName')}"
            frames = tuple(_frame(frame) for frame in reversed(values["stackTrace"]["frames"]))
            number, period = threads.setdefault(thread_key, len(threads)), _seconds(values.get("samplingPeriod"))
            samples.append(_Sample(_unix_ns(values["startTime"]), number, frames, period))
    return samples, lost


def _seconds(period: Any) -> float:
    """Return the seconds of a duration such as PT0.01S; 0 if it is not one."""
    match = PERIOD.fullmatch(period) if isinstance(period, str) else None
    if match is None:
        return 0.0
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds


def _unix_ns(text: str) -> int:
    """Return nanoseconds since 1970 of a time with up to nine decimals."""
    whole, _, fraction = text.partition(".")
    zone = fraction.lstrip("0123456789")
    digits = fraction[: len(fraction) - len(zone)]
    if not digits:  # no decimals
        whole = text
    moment = datetime.fromisoformat((whole + zone).replace("Z", "+00:00") if digits else whole.replace("Z", "+00:00"))
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * 10**9 + int(digits[:9].ljust(9, "0"))


def _frame(frame: dict[str, Any]) -> Frame:
    """Return a frame. A class's source file has the name of its outermost class, as compilers require."""
    method = frame["method"]
    owner = str(method["type"]["name"]).replace("/", ".")
    if frame.get("type") in NATIVE or LIBRARY.search(owner):
        own = owner and not owner.startswith("[") and not is_shared(owner) and frame.get("type") not in NATIVE
        return Frame(owner or "[native]", str(method["name"]), shared=not own)
    line = frame.get("lineNumber")
    line = line if isinstance(line, int) and 0 < line < 65536 else 0
    file = owner.split("$")[0].replace(".", "/") + ".java"
    shared = JAVA.match(owner) is not None
    name = "::".join([*owner.rpartition(".")[2].split("$"), str(method["name"])])
    return Frame("[java]" if shared else "", name, file, line, f"{owner}{method.get('descriptor')}", 0, shared)


def _program(samples: list[_Sample]) -> str:
    """Return the class in which most samples begin."""
    count: dict[str, int] = {}
    for sample in samples:
        first = next((frame.name.rpartition("::")[0] for frame in sample.frames if not frame.shared), None)
        if first:
            count[first] = count.get(first, 0) + 1
    return max(sorted(count), key=lambda name: count[name]) if count else "java"
