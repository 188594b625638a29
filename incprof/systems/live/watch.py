"""Watch a run: its streams as they grow, and their analysis."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from incprof.analysis.features import WORKS
from incprof.analysis.segment_sums import pooled_by_ticks
from incprof.analysis.thresholds import PHASES
from incprof.errors import IncprofError, NoDataError
from incprof.model import Run
from incprof.readers.run import of_program
from incprof.readers.stream.follow import RunFollower
from incprof.readers.stream.inlined import Known, with_known_inlined
from incprof.readers.stream.stream_files import split
from incprof.study.phase_options import StudyOptions
from incprof.systems.live.track import LiveRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from incprof.analysis.phase_result import PhaseResult
    from incprof.model import IntervalProfile, Process
    from incprof.readers.stream import records
    from incprof.readers.stream.follow import Follower
    from incprof.study.phase_options import Libs
    from incprof.systems.live.job_state import IntervalProfiles, LiveView


# Number of last intervals that phases are fitted to.
WINDOW = 3600
# Greatest share of time for fitting phases.
FIT_SHARE = 0.05
# A local process that does not exist, and whose file has not grown for this many intervals, was killed.
SILENT_INTERVALS, SILENT_S = 3.0, 2.0
# With fewer samples in total, the usual number per interval cannot be estimated.
LEAST_SAMPLES = 2 * PHASES.samples
# Greatest time to wait for a fit when leaving.
PATIENCE_S = 1.0
# Which process leads is chosen again after this time, and whenever the time since then has doubled.
FIRST_CHOICE_S = 1.0
# The lowest priority: on Linux, each thread has its own.
LEAST = 19


def _runs(pid: int) -> bool:
    """Return whether a local process runs. A zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as raw:
            return raw.read(4096).rpartition(b")")[2].split()[:1] not in ([b"Z"], [b"X"])
    except OSError:
        return False


class Watch:
    """Watches a run directory.

    Attributes:
        has_news: Whether the last update found new intervals of the lead.
        killed: Whether a rank left without an end record.
    """

    def __init__(self, directory: str, *, rank: int | None, libs: Libs, exe: str | None):
        self.directory = directory
        self.has_news = self.killed = False
        self.warnings: list[str] = []
        self.rank = rank
        self._run = RunFollower(directory, rank=rank, libs=libs, exe=exe)
        self._live = LiveRun(WINDOW)
        self._lookup = Lookup(libs)
        self._grew: dict[str, float] = {}
        self._over: set[str] = set()
        self._bad: set[str] = set()
        self._fit_again = 0.0
        self._looked_up = False
        # Number of recorded intervals and samples at the last decision on how many to pool.
        self._counts_at_grouping = (1, 0.5)
        self._fitting: Fitting | None = None
        self._chosen = ""
        self._began_s, self._choose_at_s = time.monotonic(), 0.0

    @property
    def _readable(self) -> list[tuple[Process, Follower]]:
        """The processes whose files can be read."""
        return [(process, follower) for process, follower in self._run.processes if process.path not in self._bad]

    @property
    def lead(self) -> Process | None:
        """The process that phases are fitted to: of the lowest rank, the one chosen, else the first."""
        readable = [process for process, _ in self._readable]
        return next((process for process in readable if process.path == self._chosen), next(iter(readable), None))

    @property
    def missing(self) -> str:
        """Message on missing data, before there is any."""
        if not os.path.isdir(self.directory):
            return "no such directory"
        if self.rank is not None and self.lead is None:
            return f"nothing of rank {self.rank}"
        return "no complete interval of a recording"

    @property
    def silent_s(self) -> float:
        """Seconds since the last data from any process that has not ended."""
        running = [grew for path, grew in self._grew.items() if path not in self._over]
        return time.monotonic() - max(running) if running else 0.0

    @property
    def ended(self) -> bool:
        """Whether all processes found so far have ended."""
        usable = [process.path for process, _ in self._run.processes if process.path not in self._bad]
        return bool(usable) and all(path in self._over for path in usable)

    def poll(self) -> None:
        """Read new data, of the lead first.

        Raises:
            NoDataError: the directory or the only stream in it cannot be used.
        """
        self.has_news = False
        self._run.scan()
        lead = self.lead
        for process, follower in self._run.processes:
            follower.keep = WINDOW if process is lead else 0
        for process, follower in self._run.processes:
            if process.path not in self._bad and (process is lead or not self.others_wait):
                self._follow(process, follower, lead=process is lead)
            if self.lead is not lead:  # it is unreadable: the next one becomes the lead, and is read from its beginning
                self.poll()
                return
        if self._bad and self.lead is None:
            raise NoDataError(self.warnings[-1])
        if lead is not None and (self._leads_another(lead) or self._regrouped(lead)):
            self.poll()

    def _leads_another(self, lead: Process) -> bool:
        """Let the process lead that `incprof phases` would show: a script starts the program that works."""
        processes = tuple(process for process, _ in self._readable if process.rank == lead.rank)
        age_s = time.monotonic() - self._began_s
        if len(processes) == 1 or age_s < self._choose_at_s:
            return False
        self._choose_at_s = 2 * age_s + FIRST_CHOICE_S
        try:
            self._chosen = of_program(Run(self.directory, "", processes)).processes[0].path
        except IncprofError:
            return False
        if self._chosen == lead.path:
            return False
        self._start_over(self._run.by)
        return True

    def _regrouped(self, lead: Process) -> bool:
        """Change the number of recorded intervals pooled into one, if they hold too few samples, or enough by now."""
        ticks = np.array(self._follower(lead).ticks)
        n, total = len(ticks), float(ticks.sum())
        grown = n >= 2 * self._counts_at_grouping[0] or total >= 2 * self._counts_at_grouping[1]
        if lead.path not in self._over and (not grown or total < LEAST_SAMPLES):
            return False
        self._counts_at_grouping = (max(n, 1), max(total, 1.0))
        by = pooled_by_ticks(ticks) if n > 1 else 1
        if by == self._run.by:
            return False
        self._start_over(by)
        return True

    def _start_over(self, by: int) -> None:
        """Read all data again, with `by` recorded intervals pooled into one."""
        self._run.regroup(by)
        self._live = LiveRun(WINDOW)
        self._lookup.start_over()
        self._over.clear()

    def _follower(self, process: Process) -> Follower:
        """Return the follower of a process."""
        return next(follower for other, follower in self._run.processes if other is process)

    @property
    def others_wait(self) -> bool:
        """Whether other processes have to wait: if there is much data at once, the lead's code is resolved first."""
        lead = self.lead
        return lead is not None and len(self._run.processes) > 1 and not self._looked_up and self._live.due(lead)

    def _follow(self, process: Process, follower: Follower, *, lead: bool) -> None:
        """Read new data of a process."""
        more = True
        while more:
            try:
                new_data = follower.poll()
            except NoDataError as error:
                self._bad.add(process.path)
                self._warn_once(str(error))
                return
            more = new_data.more
            if new_data.restarted:
                self._live.restart(process)
                self._lookup.forget(process)
                self._over.discard(process.path)
            if follower.holes:
                self._warn_once(f"{process.path}: damaged places were skipped: see incprof phases")
            if new_data.profile is not None:
                profile = self._lookup.with_inlined(
                    process, self._live.intervals_of(process), new_data.profile, lead=lead
                )
                self._live.add(process, profile, lead=lead)
                self._grew[process.path] = time.monotonic()
                self.has_news = self.has_news or lead
        if process.path not in self._over and (follower.ended or self._has_died(process, follower)):
            if not follower.ended and not follower.flush and follower.by > 1:
                follower.flush = True
                self._follow(process, follower, lead=lead)
                return
            self._over.add(process.path)
            # A killed child is its parent's concern.
            self.killed = self.killed or (process.primary and not follower.ended)
            self._live.end(process, killed=not follower.ended)

    def _warn_once(self, line: str) -> None:
        """Add a warning, unless it was given before."""
        if line not in self.warnings:
            self.warnings.append(line)

    def _has_died(self, process: Process, follower: Follower) -> bool:
        """Return whether a process left without an end record: it is local, does not exist, and its file is silent."""
        if follower.metadata is None:
            return False
        raw = follower.metadata.raw
        # The age of the file reveals processes killed long before the first update.
        try:
            silent_s = time.time() - os.stat(split(process.path)[0]).st_mtime
        except OSError:
            silent_s = 0.0
        silent_s = max(silent_s, time.monotonic() - self._grew.setdefault(process.path, time.monotonic()))
        if silent_s < SILENT_S + SILENT_INTERVALS * follower.metadata.interval_s:
            return False
        pid = raw.get("pid")
        return raw.get("host") == os.uname().nodename and isinstance(pid, int) and not _runs(pid)

    @property
    def fitting(self) -> bool:
        """Whether a fit is running, or its result has not been adopted."""
        return self._fitting is not None

    def fit(self) -> bool:
        """Start a background fit if it is due; return whether a finished one has changed the phases."""
        if self._fitting is not None and self._fitting.is_alive():
            return False
        if self._fitting is not None:
            done, self._fitting = self._fitting, None
            self._fit_again = time.monotonic() + done.elapsed_s / FIT_SHARE
            return self._taken(done)
        lead = self.lead
        if lead is not None and time.monotonic() >= self._fit_again and self._live.due(lead, self._lookup.unseen):
            self._fitting = self._started(lead)
        return False

    def fit_now(self) -> bool:
        """Fit phases to all data now; return whether there was new data."""
        while self._fitting is not None and self._fitting.is_alive():
            self._fitting.join(0.1)
        lead, self._fitting = self.lead, None
        if lead is None or not self._live.has_new_intervals(lead):
            return False
        fitting = self._started(lead, at_once=True)
        # Joined in short steps, so that signals are handled.
        while fitting is not None and fitting.is_alive():
            fitting.join(0.1)
        return fitting is not None and self._taken(fitting)

    def _started(self, lead: Process, *, at_once: bool = False) -> Fitting | None:
        """Start a fit to the lead's window; None without one."""
        follower = self._follower(lead)
        window = follower.window()
        if window is None:
            self._looked_up = True
            return None
        # If the caller waits for the fit, it runs at normal priority.
        fitting = Fitting(
            lead, window, follower.n_intervals, follower.restarts, nice=0 if at_once else LEAST,
            finish=self._run.finished, by=self._run.by,
        )  # fmt: skip
        fitting.start()
        return fitting

    def _taken(self, done: Fitting) -> bool:
        """Adopt the result of a fit, unless the recording was replaced meanwhile; return whether it was adopted."""
        if done.problem is not None:
            raise done.problem
        self._looked_up = True
        follower = next((f for process, f in self._run.processes if process.path == done.lead.path), None)
        if done.result is None or follower is None or follower.restarts != done.restarts:
            return False
        data = done.window.metadata
        self._lookup.store(done.inlined)
        self._live.refit(done.lead, done.result, done.end, data.interval_s * done.by * data.rate_hz, done.profiles)
        for process, _ in self._run.processes:
            for first, profile in self._lookup.early(process, done.end if process.path == done.lead.path else 0):
                self._live.replace_from(process, first, profile)
        return True

    def close(self) -> bool:
        """Wait briefly for a running fit; return whether none is left: Python must not exit during one."""
        if self._fitting is not None:
            self._fitting.join(PATIENCE_S)
        return self._fitting is None or not self._fitting.is_alive()

    def view(self) -> LiveView | None:
        """Return the state to show; None before the first interval."""
        lead = self.lead
        view = self._live.view(lead) if lead is not None else None
        if lead is None or view is None or view.front.cpus >= WORKS:
            return view
        front = replace(view.front, wait=self._follower(lead).wait)
        return replace(view, processes=(*view.processes[: view.lead], front, *view.processes[view.lead + 1 :]))


# Work beside a running job: fit phases in a background thread, and resolve inlined functions.


class Fitting(threading.Thread):
    """Fits phases in the background.

    Attributes:
        lead: The process that phases are fitted to.
        window: Its last intervals.
        end: Number of intervals up to the window's end.
        restarts: How often the file had been replaced at the start of the fit.
        by: Number of recorded intervals pooled into one.
        result: The phases; None if there are no samples yet.
        profiles: Profiles of the window's intervals, after resolving.
        inlined: Resolved code.
        problem: The exception that ended the fit.
        elapsed_s: Duration, in seconds.

    The parameter `nice` is the thread's nice value; `finish` resolves the window's functions.
    """

    def __init__(
        self, lead: Process, window: IntervalProfile, end: int, restarts: int, *, nice: int, by: int,
        finish: Callable[[IntervalProfile], IntervalProfile],
    ):  # fmt: skip
        super().__init__(daemon=True)
        self.lead, self.window, self.end, self.restarts = lead, window, end, restarts
        self._finish, self.by = finish, by
        self.result: PhaseResult | None = None
        self.profiles: IntervalProfiles | None = None
        self.inlined: Known = {}
        self.problem: Exception | None = None
        self.elapsed_s = 0.0
        self._nice = max(nice, os.nice(0))

    def run(self) -> None:
        """Resolve the code and fit the phases."""
        begin = time.monotonic()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.native_id or 0, self._nice)
        try:
            from incprof.analysis.answer import find_phases, site_chooser, within_budget
            from incprof.model import pooled
            from incprof.readers.stream.inlined import inlined_by_address
            from incprof.study.sites.store import TYPICAL
            from incprof.systems.live.job_state import interval_profiles

            begin = time.monotonic()  # excludes the imports, a second or two, which happen once
            window = self._finish(self.window)
            if self.by > 1:
                window = pooled(window, self.by)
            self.inlined, self.profiles = inlined_by_address(window), interval_profiles(window)
            chooser = site_chooser(window, "robust")
            result = find_phases(window, chooser=chooser)
            self.result = within_budget(chooser, result, TYPICAL, StudyOptions().overhead_pct)
        except NoDataError:
            self.result = None
        except Exception as error:  # raised where the thread is joined
            self.problem = error
        self.elapsed_s = time.monotonic() - begin


# Resolve inlined functions of a running job: results are reused for new intervals, and earlier ones are updated.


# Intervals with a smaller share of time in unresolved code are sufficiently resolved.
LEAST_SHARE = 0.05
# Intervals with at least this share cannot be assigned to a phase.
UNASSIGNED = 0.25
# Number of profiles kept for a process other than the lead: its code is mostly the lead's, and soon resolved.
KEPT_OF_OTHERS = 16


@dataclass(frozen=True)
class _Early:
    """Intervals that arrived before their code was resolved.

    Attributes:
        first: Index of the first one.
        profile: Their profile.
    """

    first: int
    profile: IntervalProfile


class Lookup:
    """Resolved code of a job. libs: how time in libraries is counted.

    unseen: number of the lead's intervals since the last update that are mostly unresolved.
    """

    def __init__(self, libs: records.Libs) -> None:
        self.unseen, self._libs = 0, libs
        self._inlined: Known = {}
        self._early: dict[str, list[_Early]] = {}

    def with_inlined(self, process: Process, first: int, profile: IntervalProfile, *, lead: bool) -> IntervalProfile:
        """Return the profile with resolved inlined functions; keep it if code is unresolved. first: its index."""
        resolved, share = with_known_inlined(profile, self._inlined, self._libs)
        if (share >= LEAST_SHARE).any():
            early = self._early.setdefault(process.path, [])
            early.append(_Early(first, profile))
            if not lead:
                del early[:-KEPT_OF_OTHERS]
        if lead:
            self.unseen += int((share >= UNASSIGNED).sum())
        return resolved

    def forget(self, process: Process) -> None:
        """Discard the intervals of a process whose file was replaced."""
        self._early.pop(process.path, None)

    def start_over(self) -> None:
        """Discard the intervals of all processes, but keep the resolved code."""
        self._early.clear()
        self.unseen = 0

    def store(self, inlined: Known) -> None:
        """Store newly resolved code."""
        self._inlined, self.unseen = inlined, 0

    def early(self, process: Process, since: int) -> list[tuple[int, IntervalProfile]]:
        """Return the intervals of a process from `since` on that arrived unresolved, now resolved if possible; once."""
        waiting, self._early[process.path] = self._early.get(process.path, []), []
        return [
            (early.first, self.with_inlined(process, early.first, early.profile, lead=False))
            for early in waiting
            if early.first >= since
        ]
