"""Builds fixture programs, runs them with and without the collector, and reads back what it recorded."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from incprof.model import BROKEN, ELIDED, PROFILER, ROOT, IntervalProfile
from incprof.readers.run import open_run, read_profile
from incprof.record.launch import find_library

FIXTURES = Path(__file__).parent / "fixtures"
COMPILER_OF = {".c": "gcc", ".S": "gcc", ".o": "gcc", ".cpp": "g++", ".f90": "gfortran"}

PathNames = tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How a process ended. `cpu_s` is its user and system time by wait4."""

    status: int
    stdout: str
    stderr: str
    cpu_s: float

    def values(self) -> dict[str, int]:
        """The lines `name number` that a fixture printed."""
        found = re.findall(r"^([\w:.]+) (-?\d+)$", self.stdout, re.MULTILINE)
        return {name: int(number) for name, number in found}


@dataclass(frozen=True)
class Recording:
    """A run under the collector."""

    outcome: Outcome
    directory: Path
    libs: str = "caller"
    _cache: dict[str, object] = field(default_factory=dict, compare=False)

    @cached_property
    def profile(self) -> IntervalProfile:
        """The recorded process (the primary one)."""
        return read_profile(open_run(self.directory))

    def calls(self) -> dict[str, int]:
        """Calls by mangled name."""
        totals = self.profile.calls.sum(axis=0)
        return {f.mangled: int(n) for f, n in zip(self.profile.functions, np.ravel(totals), strict=True) if n}

    def arcs(self) -> dict[tuple[str, str], int]:
        """Calls by (caller, callee); the caller is "" where it lies outside the known functions."""
        arcs, functions = self.profile.arcs, self.profile.functions
        totals: Counter[tuple[str, str]] = Counter()
        for caller, callee, count in zip(arcs.caller, arcs.callee, arcs.count, strict=True):
            name = functions[caller].mangled if caller >= 0 else ""
            totals[name, functions[callee].mangled] += int(count)
        return dict(totals)

    def paths(self) -> Counter[PathNames]:
        """Ticks by path, outermost frame first; "..." for frames left out, "?" for an unknown outer end.

        Samples inside the profiler are not counted.
        """
        samples = self.profile.samples
        use = samples.kind != PROFILER
        nodes, where = np.unique(samples.node[use], return_inverse=True)
        ticks = np.bincount(where, weights=samples.weight[use], minlength=len(nodes))
        totals: Counter[PathNames] = Counter()
        for node, weight in zip(nodes.tolist(), ticks.tolist(), strict=True):
            totals[self._path(node)] += int(weight)
        return totals

    def _path(self, node: int) -> PathNames:
        tree, names = self.profile.paths, {ELIDED: "...", BROKEN: "?", ROOT: ""}
        path = []
        while node > 0:
            function = int(tree.function[node])
            path.append(names[function] if function < 0 else self.profile.functions[function].mangled)
            node = int(tree.parent[node])
        return tuple(reversed(path))

    def lost_in_full_rings(self) -> bool:
        """Return whether samples were lost only where a thread had as many as fill its ring before they were taken.

        That is a matter of how long the interval thread waits for a processor. A ring has room for 124 of the longest.
        """
        counters = self.profile.counters
        return bool((counters.samples[counters.lost > 0] >= 120).all())

    def handler_excess_s(self, share: float) -> float:
        """Return the handler's CPU time beyond a share of the program's, without the five intervals that have most.

        In virtual machines, CPU time includes time without a processor, which may be in the middle of the handler.
        """
        counters = self.profile.counters
        return float(np.sort(counters.handler_s - share * counters.cpu_s)[:-5].sum())

    def ticks(self, *kinds: int) -> int:
        """Ticks of these kinds of sample."""
        samples = self.profile.samples
        return int(samples.weight[np.isin(samples.kind, kinds)].sum())


@dataclass(frozen=True)
class Verdict:
    """How many ticks lie on legal paths. `each`: ticks by legal pattern. `wrong`: the most frequent other paths."""

    share: float
    total: int
    each: dict[str, int]
    wrong: list[tuple[str, int]]

    def right(self, share: float) -> bool:
        """Whether so many are right. However few there are, three may be of what runs before and after it all."""
        right = sum(self.each.values())
        return 0 < right >= self.total - max((1 - share) * self.total, 3)

    def __str__(self) -> str:
        return f"{self.share:.2%} of {self.total} ticks right; {self.each}; wrong: {self.wrong}"


def judge(recording: Recording, legal: Sequence[str]) -> Verdict:
    """Compare recorded paths, joined by ">", with patterns that must match them in full."""
    each = dict.fromkeys(legal, 0)
    wrong: Counter[str] = Counter()
    for path, ticks in recording.paths().items():
        joined = ">".join(path)
        for pattern in legal:
            if re.fullmatch(pattern, joined):
                each[pattern] += ticks
                break
        else:
            wrong[joined if len(joined) < 400 else f"{joined[:200]} [...] {joined[-200:]}"] += ticks
    right = sum(each.values())
    total = right + wrong.total()
    return Verdict(right / total if total else 0.0, total, each, wrong.most_common(8))


def run(command: Sequence[str | Path], directory: Path, env: Mapping[str, str], timeout_s: float = 600) -> Outcome:
    """Run a command in `directory` to its end; output goes through files, so that no process waits for a pipe."""
    out, err = directory / "stdout", directory / "stderr"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=directory,
            env={**clean_environment(), **env},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )
        with _KillAfter(process, timeout_s):
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Outcome(
        process.returncode,
        out.read_text(errors="replace"),
        err.read_text(errors="replace"),
        usage.ru_utime + usage.ru_stime,
    )


class _KillAfter:
    """Kills a process that takes too long."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float):
        self._timer = threading.Timer(seconds, process.kill)

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def clean_environment() -> dict[str, str]:
    """This process's environment without what would change a recording.

    No heartbeat is thinned: programs of tests do nothing but beat, and count. appekg/test_thinning.py lets them be.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("INCPROF_", "LD_"))}
    return {**clean, "EKG_OVERHEAD": "0"}


def variables(
    directory: Path, *, clock: str = "cpu", rate: int = 250, interval: float = 0.25, preload: str = ""
) -> dict[str, str]:
    """The environment that records into `directory`."""
    return {
        "LD_PRELOAD": ":".join(filter(None, [str(find_library(os.environ)), preload])),
        "INCPROF_DIR": str(directory),
        "INCPROF_CLOCK": clock,
        "INCPROF_RATE": str(rate),
        "INCPROF_INTERVAL": str(interval),
        # More than its default of 2 %: on a busy machine some samples cost several times as much.
        "INCPROF_OVERHEAD": "5",
    }


def sources(names: Sequence[str | Path]) -> Iterator[Path]:
    """Paths of fixture sources; a path stays what it is."""
    for name in names:
        path = FIXTURES / name
        assert path.is_file(), path
        yield path
