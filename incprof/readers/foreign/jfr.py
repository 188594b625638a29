"""Java Flight Recorder, as `jfr print --json` tells of it: samples of threads that run Java code."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.readers.foreign.files import document, understood
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline
from incprof.readers.symbols.compiled import JAVA

SAMPLE, RUNNING = "jdk.ExecutionSample", "STATE_RUNNABLE"
# What a JVM needs to know what runs between safepoints. One that was not told has the flag not among those it lists.
FLAG, KEPT = "jdk.BooleanFlag", "DebugNonSafepoints"
ADVICE = f"without java -XX:+UnlockDiagnosticVMOptions -XX:+{KEPT}, time of inlined methods may be misplaced"
# What the JVM's own settings have, where a recording has too few samples to tell, seconds.
DEFAULT_S, LEAST_S, MOST_S = 0.02, 1e-3, 1.0
NS = 1e-9


def read_jfr(path: str) -> Imported:
    """Make a timeline of what jfr prints.

    Raises: NoDataError when there is no sample in it.
    """
    return understood(path, "output of jfr print --json", lambda: _imported(document(path), path))


def _imported(found: dict[str, Any], path: str) -> Imported:
    rows: list[tuple[int, int, tuple[Frame, ...]]] = []
    threads: dict[str, int] = {}
    flags: set[str] = set()
    for event in found["recording"]["events"]:
        values = event["values"]
        if event["type"] == FLAG and values.get("value") is True:
            flags.add(str(values.get("name")))
        if event["type"] != SAMPLE or values.get("state", RUNNING) != RUNNING or not values.get("stackTrace"):
            continue
        thread = values.get("sampledThread") or {}
        who = f"{thread.get('osThreadId')}/{thread.get('javaThreadId')}/{thread.get('javaName')}"
        frames = tuple(_frame(frame) for frame in reversed(values["stackTrace"]["frames"]))
        rows.append((_unix_ns(values["startTime"]), threads.setdefault(who, len(threads)), frames))
    if not rows:
        raise NoDataError(f"{path}: no {SAMPLE} in it: print with --events {SAMPLE}")
    rows.sort(key=lambda row: row[0])
    first = rows[0][0]
    times = np.array([row[0] - first for row in rows], dtype=np.float64) * NS
    thread_of = np.array([row[1] for row in rows])
    order = np.argsort(thread_of, kind="stable")
    apart = np.diff(times[order])[np.diff(thread_of[order]) == 0]
    usual = float(np.median(apart)) if len(apart) else DEFAULT_S
    tick = round(min(max(usual, LEAST_S), MOST_S), 3)
    timeline = Timeline(_program(rows), Paths(), tick, start_unix_ns=first - round(tick / NS))
    for time, (_, thread_number, frames) in zip(times.tolist(), rows, strict=True):
        timeline.add(frames, time, tick, thread=thread_number)
    notes = [f"a sample is taken as {tick:g} s, the distance between those of a thread"]
    if flags and KEPT not in flags:
        notes.append(ADVICE)
    return Imported("jfr", [timeline], notes)


def _unix_ns(text: str) -> int:
    """Nanoseconds since 1970 of a time with nine digits behind the point."""
    whole, _, rest = text.partition(".")
    zone = rest.lstrip("0123456789")
    digits = rest[: len(rest) - len(zone)]
    if not digits:  # none behind the point
        whole = text
    moment = datetime.fromisoformat((whole + zone).replace("Z", "+00:00") if digits else whole.replace("Z", "+00:00"))
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * 10**9 + int(digits[:9].ljust(9, "0"))


def _frame(frame: dict[str, Any]) -> Frame:
    """A frame: a class knows its source file by name; it is called as its outermost class, as compilers want it."""
    method = frame["method"]
    owner = str(method["type"]["name"]).replace("/", ".")
    line = frame.get("lineNumber")
    line = line if isinstance(line, int) and 0 < line < 65536 else 0
    file = owner.split("$")[0].replace(".", "/") + ".java"
    shared = JAVA.match(owner) is not None
    name = "::".join([*owner.rpartition(".")[2].split("$"), str(method["name"])])
    return Frame("[java]" if shared else "", name, file, line, f"{owner}{method.get('descriptor')}", 0, shared)


def _program(rows: list[tuple[int, int, tuple[Frame, ...]]]) -> str:
    """The class that most samples begin in."""
    count: dict[str, int] = {}
    for _, _, frames in rows:
        first = next((frame.name.rpartition("::")[0] for frame in frames if not frame.shared), None)
        if first:
            count[first] = count.get(first, 0) + 1
    return max(sorted(count), key=lambda name: count[name]) if count else "java"
