"""Reader for files of libincprof_omp: a JSON object per line, where later objects replace earlier ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from incprof.errors import NoDataError
from incprof.safe.inputs import open_input
from incprof.safe.printable import parse_json
from incprof.systems.openmp.analyse import Loop, LoopRun, RegionCode, Times

SUFFIX = ".sa"
FORMAT = "incprof-selfanalyze"
LONGEST_LINE = 1 << 20
MOST = 1 << 13  # loops and functions: the library has no more
NS = 1e-9


class LoopReader:
    """Follows a file that may still be growing. `update` reads new lines; `run` returns the run so far.

    within: the directory of the run, None for a single file.
    """

    def __init__(self, path: Path, within: Path | None = None):
        self.path = path
        self._within = within
        self._offset = 0
        self._tail = b""
        self._start: dict[str, Any] = {}
        self._totals: dict[str, Any] = {}
        self._functions: dict[int, RegionCode] = {}
        self._loops: dict[int, Loop] = {}
        self._damaged = 0

    def update(self) -> bool:
        """Read what was appended since the last call; return whether anything was. A torn last line is kept for later.

        Raises: OSError.
        """
        fresh = False
        with open_input(self.path, within=self._within) as file:
            file.seek(self._offset)
            while block := file.read(LONGEST_LINE):
                fresh = True
                self._offset += len(block)
                *lines, self._tail = (self._tail + block).split(b"\n")
                for line in lines:
                    self._take(line)
                if len(self._tail) > LONGEST_LINE:
                    self._tail, self._damaged = b"", self._damaged + 1
        return fresh

    def run(self) -> LoopRun:
        """Return the run as read so far.

        Raises: NoDataError if the file does not begin correctly.
        """
        if not self._start:
            raise NoDataError(f"{self.path}: not a file of incprof selfanalyze: give the directory of a run")
        start, totals = self._start, self._totals
        last = max((loop.last_s for loop in self._loops.values()), default=0.0)
        count = max(self._functions, default=-1) + 1
        unknown = RegionCode(0, None, None)
        return LoopRun(
            path=str(self.path),
            app=_text(start.get("app")) or "?",
            rank=_number(start.get("rank")),
            pid=_number(start.get("pid")),
            forked=start.get("forked") is True,
            fewer_threads=_number(start.get("fewer_threads")),
            functions=tuple(self._functions.get(i, unknown) for i in range(count)),
            loops=tuple(self._loops[i] for i in sorted(self._loops)),
            parallel_regions=_number(totals.get("parallel_regions")),
            other_threads=_number(totals.get("other_threads")),
            regions_lost=_number(totals.get("regions_lost")),
            end_s=max(_number(totals.get("at_ns")) * NS, last),
            ended=totals.get("type") == "end",
            damaged=self._damaged + bool(self._tail),
            arguments=_words(start.get("argv")),
        )

    def _take(self, line: bytes) -> None:
        try:
            record = parse_json(line) if len(line) <= LONGEST_LINE else None
        except ValueError:
            record = None
        if not isinstance(record, dict) or not self._keep(record):
            self._damaged += 1

    def _keep(self, record: dict[str, Any]) -> bool:
        """Store a record; return whether it is valid."""
        kind, number = record.get("type"), _number(record.get("id"))
        if kind == "start" and record.get("format") == FORMAT and not self._start:
            self._start = record
        elif kind in ("progress", "end"):
            self._totals = record
        elif kind == "function" and number < MOST:
            self._functions[number] = _function(record)
        elif kind == "region" and number < MOST:
            self._loops[number] = _region(number, record)
        elif kind == "state" and number in self._loops:
            self._loops[number] = _state(self._loops[number], record)
        else:
            return False
        return True


def _number(value: object) -> int:
    """Return a count, or 0 for anything else."""
    return value if type(value) is int and 0 <= value < 1 << 64 else 0


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _words(value: object) -> tuple[str, ...]:
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list) else ()


def _function(record: dict[str, Any]) -> RegionCode:
    try:
        address = int(str(record.get("address")), 16)
    except ValueError:
        address = 0
    return RegionCode(address % (1 << 64), _text(record.get("module")), _text(record.get("build_id")))


def _region(number: int, record: dict[str, Any]) -> Loop:
    listed = record.get("functions")
    functions = tuple(_number(value) for value in listed) if isinstance(listed, list) else ()
    kind = "explicit" if record.get("kind") == "explicit" else "detected"
    name, content = _text(record.get("name")), _text(record.get("hash")) or ""
    depth = _number(record.get("depth"))  # in old files; now states contain it
    return Loop(number, kind, name, _number(record.get("period")), depth, content, functions)


def _times(value: object) -> Times:
    fields = value if isinstance(value, dict) else {}
    seconds = [_number(fields.get(key)) * NS for key in ("mean_ns", "std_ns", "min_ns", "max_ns")]
    return Times(_number(fields.get("count")), *seconds)


def _state(loop: Loop, record: dict[str, Any]) -> Loop:
    def seconds(key: str) -> float:
        return _number(record.get(f"{key}_ns")) * NS

    return replace(
        loop,
        period=_number(record.get("period", loop.period)),
        longest_period=_number(record.get("longest_period", loop.period)),
        depth=_number(record.get("depth", loop.depth)),
        episodes=_number(record.get("visits")),
        iterations=_number(record.get("iterations")),
        expected=_number(record.get("expected")),
        threads=_number(record.get("threads")),
        fewest_threads=_number(record.get("fewest_threads")),
        first_s=seconds("first"),
        last_s=seconds("last"),
        total_s=seconds("total"),
        self_s=seconds("self"),
        parallel_s=seconds("parallel"),
        times=_times(record.get("times")),
        fewer=_times(record.get("fewer")),
    )


def loop_readers(where: Path) -> list[LoopReader]:
    """Return readers of the files of a run: those in a directory, or a single file."""
    if not where.is_dir():
        return [LoopReader(where)]
    return [LoopReader(path, where) for path in sorted(where.glob(f"*{SUFFIX}"))]


def read_loops(where: str) -> list[LoopRun]:
    """Return the processes of a run, the lowest rank with the most parallel regions first.

    Raises: NoDataError if there is none; OSError.
    """
    readers = loop_readers(Path(where))
    if not readers:
        raise NoDataError(f"{where}: no parallel region was recorded here (no *{SUFFIX} file)")
    runs = []
    for reader in readers:
        reader.update()
        runs.append(reader.run())
    return sorted(runs, key=lambda run: (run.rank, -run.parallel_regions, run.path))
