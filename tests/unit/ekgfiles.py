"""Writes heartbeat files from lists of rows, for tests."""

import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = ("interval", "thread", "id", "count", "pulses", "sum_ns", "min_ns", "max_ns", "sumsq_ns2", "nested_ns",
           "open", "open_ns")  # fmt: skip
SECOND = 10**9


def beats(thread, number, durations=(), *, pulses=0, nested_ns=0, running=(), **more):
    """A row of a thread and id, from the durations (ns) of the beats that ended and the ages of those that run."""
    return {
        "thread": thread, "id": number, "count": len(durations), "pulses": pulses, "sum_ns": sum(durations),
        "min_ns": min(durations, default=0), "max_ns": max(durations, default=0),
        "sumsq_ns2": float(sum(d * d for d in durations)), "nested_ns": nested_ns,
        "open": len(running), "open_ns": max(running, default=0), **more,
    }  # fmt: skip


@dataclass
class EkgFile:
    """A file; `intervals` remembers where each interval begins and ends in `data`."""

    rank: int | None = 0
    columns: tuple = COLUMNS
    interval_ns: int = SECOND
    metadata: dict = field(default_factory=dict)
    data: bytearray = field(default_factory=bytearray)
    spans: list = field(default_factory=list)
    number: int = 0
    now_ns: int = 0

    def __post_init__(self):
        head = {
            "format": "appekg", "version": 1, "app": "app", "pid": 4711, "rank": self.rank, "ranks": None,
            "interval_s": self.interval_ns / 1e9, "start_unix_ns": 1_700_000_000 * SECOND, "forked": False,
        } | self.metadata  # fmt: skip
        self.line("#appekg", head)
        self.data += ",".join(self.columns).encode() + b"\n"
        self._begin = len(self.data)

    def line(self, word, value):
        self.data += f"{word} ".encode() + json.dumps(value, separators=(",", ":")).encode() + b"\n"

    def beat(self, number, name=None, rate_factor=1):
        self.line("#beat", {"id": number, "name": name, "rate_factor": rate_factor})
        return self

    def thread(self, number, tid):
        self.line("#thread", {"thread": number, "tid": tid})
        return self

    def interval(self, *rows, length_ns=None, **counters):
        """Add an interval with these rows; `counters` go into its #interval line, over what is right."""
        for row in rows:
            full = {"interval": self.number} | row
            self.data += ",".join(text(full.get(name, 0)) for name in self.columns).encode() + b"\n"
        end = self.now_ns + (self.interval_ns if length_ns is None else length_ns)
        info = {"interval": self.number, "start_ns": self.now_ns, "end_ns": end, "rows": len(rows)} | counters
        self.data += b"#interval " + json.dumps(info, separators=(",", ":")).encode()[:-1]
        self.data += b',"crc32":"%08x"}\n' % zlib.crc32(self.data[self._begin :])
        self.spans.append((self._begin, len(self.data)))
        self._begin = len(self.data)
        self.number, self.now_ns = self.number + 1, end
        return self

    def end(self):
        self.line("#end", {"end_ns": self.now_ns})
        self._begin = len(self.data)
        return self

    def save(self, path: Path, data=None):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data if data is None else data)
        return path


def text(value):
    return f"{value:.17g}" if isinstance(value, float) else str(value)


def simple_run(directory: Path, *, ranks=1, intervals=4):
    """In each interval: id 1 two beats of 200 ms; id 2 one of 100 ms in thread 0, two in thread 1."""
    for rank in range(ranks):
        file = EkgFile(rank).beat(1, "assemble:body").beat(2, "solve:loop").thread(0, 4711).thread(1, 4712)
        for _ in range(intervals):
            one, two = beats(0, 1, [200_000_000] * 2), beats(0, 2, [100_000_000])
            file.interval(one, two, beats(1, 2, [100_000_000] * 2))
        file.end().save(directory / f"rank-{rank:05}.ekg")
    return directory
