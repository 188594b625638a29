"""Logs of Darshan beside a run. f files, s segments, b bins, n intervals."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray, IntArray
from incprof.report.words.formatting import count
from incprof.safe.inputs import HOSTILE, open_input

SUFFIX = ".darshan"
# By the module's name in the log: the prefix of its counters, and what counts its reads and its writes.
MODULES = {
    "POSIX": (("READS",), ("WRITES",)),
    "MPI-IO": (
        ("INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS"),
        ("INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES"),
    ),
    "STDIO": (("READS",), ("WRITES",)),
}
TRACED = ("DXT_POSIX", "DXT_MPIIO")
TIMES = ("F_READ_TIME", "F_WRITE_TIME", "F_META_TIME")
MISSING = 3
MOST_LOGS, MOST_SECONDS = 16, 120
DAMAGED: tuple[type[Exception], ...] = (*HOSTILE, subprocess.SubprocessError, KeyError)


@dataclass(frozen=True)
class LogFile:
    """What a module of Darshan has counted of a file, over all ranks.

    Attributes:
        module: POSIX, MPI-IO or STDIO. Calls of MPI-IO are made of others, which are counted by POSIX as well.
        name: of the file.
        read_b: bytes.
        written_b: bytes.
        reads: number of calls.
        writes: number of calls.
        seconds: in calls that read, write, open and the like, summed over the ranks.
    """

    module: str
    name: str
    read_b: int
    written_b: int
    reads: int
    writes: int
    seconds: float


@dataclass(frozen=True)
class DarshanLog:
    """A log.

    Attributes:
        name: of its file.
        start_s: of the job, seconds since 1970.
        processes: number.
        files: with the most bytes first.
        traced: module of the segments; None: none were traced (DXT).
        rank: (s,) of each transfer.
        is_write: (s,) whether it writes.
        begin_s: (s,) seconds since the start of the job.
        end_s: (s,) likewise.
        bytes: (s,) transferred.
    """

    name: str
    start_s: float
    processes: int
    files: tuple[LogFile, ...]
    traced: str | None
    rank: IntArray
    is_write: IntArray
    begin_s: FloatArray
    end_s: FloatArray
    bytes: FloatArray

    def moved(self, edges: FloatArray, rank: int, since_s: float) -> FloatArray:
        """Return the bytes that a rank has read and written between edges, (2, b). A transfer has a steady rate.

        Args:
            edges: (b + 1,) seconds.
            rank: of the job.
            since_s: of the edges, seconds since 1970.
        """
        at, out = edges + (since_s - self.start_s), np.zeros((2, len(edges) - 1))
        for way in range(2):
            use = (self.rank == rank) & (self.is_write == way)
            begin_s = self.begin_s[use]
            length_s = np.maximum(self.end_s[use] - begin_s, 1e-9)
            rate = self.bytes[use] / length_s
            out[way] = np.diff(_grown(at, begin_s, rate) - _grown(at, begin_s + length_s, rate))
        return np.maximum(out, 0.0)


def _grown(at: FloatArray, since: FloatArray, rate: FloatArray) -> FloatArray:
    """Return what has grown at rates since their times, at some times."""
    order = np.argsort(since)
    rates, first = (np.concatenate([[0.0], np.cumsum(each[order])]) for each in (rate, rate * since))
    begun = np.searchsorted(since[order], at, side="right")
    grown: FloatArray = rates[begun] * at - first[begun]
    return grown


def logs_beside(directory: str | Path) -> tuple[list[DarshanLog], list[str]]:
    """Return the logs of Darshan in the directory of a run, and sentences on those that cannot be read."""
    logs, notes = list[DarshanLog](), list[str]()
    paths = sorted(Path(directory).glob(f"*{SUFFIX}"))
    for path in paths[:MOST_LOGS]:
        try:
            logs.append(read_log(path, directory))
        except NoDataError as error:
            notes.append(str(error))
    if len(paths) > MOST_LOGS:
        notes.append(f"{count(len(paths) - MOST_LOGS, 'log')} of Darshan left out: at most {MOST_LOGS} are read")
    return logs, notes


def read_log(path: Path, within: str | Path | None = None) -> DarshanLog:
    """Return a log.

    Raises: NoDataError if it cannot be read, or pydarshan is missing.
    """
    try:
        open_input(path, within=within).close()
        words = [sys.executable, "-m", "incprof.systems.io.darshan", str(path.absolute())]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=MOST_SECONDS, check=False)
        if done.returncode == MISSING:
            raise NoDataError(f"{path.name} needs pydarshan, which reads it: pip install 'incprof[darshan]'")
        if done.returncode == 0:
            return _log(path.name, json.loads(done.stdout))
    except DAMAGED as error:
        raise NoDataError(f"{path.name}: a log of Darshan that cannot be read: {error}") from error
    raise NoDataError(f"{path.name}: a log of Darshan that cannot be read: it is damaged, or of a later version")


def _log(name: str, raw: dict[str, list[list[object]]]) -> DarshanLog:
    """Return a log from what was printed of it."""
    sums = dict[tuple[str, str], list[float]]()
    for module, file, _, *values in raw["files"]:
        each = sums.setdefault((str(module), str(file)), [0.0] * 5)
        for at, value in enumerate(values):
            each[at] += max(float(str(value)), 0.0)
    files = [
        LogFile(module, file, round(read_b), round(written_b), round(reads), round(writes), seconds)
        for (module, file), (read_b, written_b, reads, writes, seconds) in sums.items()
    ]
    segments = raw["segments"]
    traced = next((module for module in TRACED if any(one[0] == module for one in segments)), None)
    table = np.array([one[1:] for one in segments if one[0] == traced], dtype=np.float64).reshape(-1, 5)
    return DarshanLog(
        name=name,
        start_s=float(str(raw["start_s"])),
        processes=int(str(raw["processes"])),
        files=tuple(sorted(files, key=lambda one: (-one.read_b - one.written_b, one.module, one.name))),
        traced=traced,
        rank=table[:, 0].astype(np.int64),
        is_write=table[:, 1].astype(np.int64),
        begin_s=table[:, 2],
        end_s=table[:, 3],
        bytes=table[:, 4],
    )


def by_module(files: Sequence[LogFile]) -> dict[str, LogFile]:
    """Return the sums over the files of each module that has moved bytes."""
    out = dict[str, LogFile]()
    for module in MODULES:
        own = [one for one in files if one.module == module and one.read_b + one.written_b > 0]
        if own:
            sums = (
                sum(getattr(one, key) for one in own) for key in ("read_b", "written_b", "reads", "writes", "seconds")
            )
            out[module] = LogFile(module, f"{len(own)}", *sums)
    return out


def dump(path: str, backend: Any) -> dict[str, object]:
    """Return what a log has: its times, sums by file, module and rank, and transfers with their times."""
    log = backend.log_open(path)
    if not log["handle"]:
        raise ValueError("no log of Darshan")
    job, modules, names = (
        get(log) for get in (backend.log_get_job, backend.log_get_modules, backend.log_get_name_records)
    )
    files, segments = list[list[object]](), list[list[object]]()
    for module in modules:
        while module in MODULES and (record := backend.log_get_record(log, module, dtype="numpy")) is not None:
            files.append(_file_of(module, record, names, backend))
        while module in TRACED and (record := backend.log_get_dxt_record(log, module, dtype="dict")) is not None:
            for key, is_write in (("read_segments", 0), ("write_segments", 1)):
                segments += [
                    [module, int(record["rank"]), is_write, one["start_time"], one["end_time"], int(one["length"])]
                    for one in record[key]
                ]
    start_s, end_s = (job[f"{edge}_time_sec"] + job.get(f"{edge}_time_nsec", 0) * 1e-9 for edge in ("start", "end"))
    return {"start_s": start_s, "end_s": end_s, "processes": job["nprocs"], "files": files, "segments": segments}


def _file_of(module: str, record: dict[str, Any], names: dict[int, str], backend: Any) -> list[object]:
    """Return the module, the name, the rank, bytes read and written, calls and seconds of a record."""
    values = {
        name.split("_", 1)[1]: value
        for get, of in ((backend.counter_names, "counters"), (backend.fcounter_names, "fcounters"))
        for name, value in zip(get(module), record[of].tolist(), strict=True)
    }
    reads, writes = (sum(max(values.get(name, 0), 0) for name in counters) for counters in MODULES[module])
    seconds = sum(values[name] for name in TIMES)
    name = names.get(record["id"], "")
    return [module, name, int(record["rank"]), values["BYTES_READ"], values["BYTES_WRITTEN"], reads, writes, seconds]


def main() -> int:
    """Print the log that is the argument as JSON, with pydarshan; exit code MISSING without it.

    `read_log` runs this in a process of its own, because a damaged log can end it.
    """
    try:
        backend = importlib.import_module("darshan.backend.cffi_backend")
    except ImportError:
        return MISSING
    # The library reports on standard output.
    out = os.dup(1)
    os.dup2(2, 1)
    text = json.dumps(dump(sys.argv[1], backend))
    with os.fdopen(out, "w") as stream:
        stream.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
