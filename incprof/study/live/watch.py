"""What `incprof top` knows: the streams of a run as they grow, and what the analysis makes of them."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import numpy as np

from incprof.analysis.live import LiveRun
from incprof.analysis.options.phases import PHASES
from incprof.analysis.phases.pooling import pooled_by_ticks
from incprof.errors import NoDataError
from incprof.readers.stream.follow_run import RunFollower
from incprof.readers.stream.gathered import split
from incprof.study.live.fitting import Fitting
from incprof.study.live.lookup import Lookup

if TYPE_CHECKING:
    from incprof.analysis.live.results import LiveView
    from incprof.model import Process
    from incprof.readers.stream.follow import Follower
    from incprof.study.options import Libs

# Phases are found in the last so many intervals.
WINDOW = 3600
# Finding phases takes at most this part of the time.
FIT_SHARE = 0.05
# A process of this machine that is gone, and whose file has not grown for so many intervals, was killed.
SILENT_INTERVALS, SILENT_S = 3.0, 2.0
# Of fewer in all nobody can say how many an interval usually has.
LEAST_SAMPLES = 2 * PHASES.samples
# How long leaving may take.
PATIENCE_S = 1.0
# The least of claims to a processor: on Linux, a thread has its own.
LEAST = 19


def _runs(pid: int) -> bool:
    """Say whether a process of this machine runs. One that is dead, and that its parent has not asked for, does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as raw:
            return raw.read(4096).rpartition(b")")[2].split()[:1] not in ([b"Z"], [b"X"])
    except OSError:
        return False


class Watch:
    """Looks at a run directory again and again. news: whether the last look found new intervals of the lead.

    silent_s: for how long nothing has come from any process that has not ended. killed: a rank went without an end.
    """

    def __init__(self, directory: str, *, rank: int | None, libs: Libs, exe: str | None):
        self.directory = directory
        self.news = self.killed = False
        self.warnings: list[str] = []
        self.rank = rank
        self._run = RunFollower(directory, rank=rank, libs=libs, exe=exe)
        self._libraries = libs in ("named", "caller")
        self._live = LiveRun(WINDOW, libraries=self._libraries)
        self._lookup = Lookup()
        self._grew: dict[str, float] = {}
        self._over: set[str] = set()
        self._bad: set[str] = set()
        self._fit_again = 0.0
        self._looked_up = False
        # Recorded intervals and samples when it was last asked how many of them are to be taken as one.
        self._judged = (1, 0.5)
        self._said: set[int] = set()
        self._fitting: Fitting | None = None

    @property
    def lead(self) -> Process | None:
        """The process that phases are fitted to: the first one of the lowest rank that can be read."""
        return next((process for process, _ in self._run.processes if process.path not in self._bad), None)

    @property
    def missing(self) -> str:
        """What there is not, as long as there is nothing to see."""
        if not os.path.isdir(self.directory):
            return "no such directory"
        if self.rank is not None and self.lead is None:
            return f"nothing of rank {self.rank}"
        return "no complete interval of a recording"

    @property
    def silent_s(self) -> float:
        """For how long nothing has come from processes that have not ended."""
        alive = [grew for path, grew in self._grew.items() if path not in self._over]
        return time.monotonic() - max(alive) if alive else 0.0

    @property
    def ended(self) -> bool:
        """Whether all processes that have been seen have ended."""
        usable = [process.path for process, _ in self._run.processes if process.path not in self._bad]
        return bool(usable) and all(path in self._over for path in usable)

    def look(self) -> None:
        """Take what has come. The lead is brought up to date first.

        Raises:
            NoDataError: the directory or the only stream in it cannot be used.
        """
        self.news = False
        self._run.scan()
        lead = self.lead
        for process, follower in self._run.processes:
            follower.keep = WINDOW if process is lead else 0
        for process, follower in self._run.processes:
            if process.path not in self._bad and (process is lead or not self.others_wait):
                self._follow(process, follower, lead=process is lead)
            if self.lead is not lead:  # it cannot be read: the next one is followed as such from its beginning
                self.look()
                return
        if self._bad and self.lead is None:
            raise NoDataError(self.warnings[-1])
        if lead is not None and self._regrouped(lead):
            self.look()

    def _regrouped(self, lead: Process) -> bool:
        """Take another number of recorded intervals as one, if they hold too few samples, or enough by now."""
        ticks = np.array(self._follower(lead).ticks)
        n, total = len(ticks), float(ticks.sum())
        grown = n >= 2 * self._judged[0] or total >= 2 * self._judged[1]
        if lead.path not in self._over and (not grown or total < LEAST_SAMPLES):
            return False
        self._judged = (max(n, 1), max(total, 1.0))
        by = pooled_by_ticks(ticks) if n > 1 else 1
        if by == self._run.by:
            return False
        self._run.regroup(by)
        self._live = LiveRun(WINDOW, libraries=self._libraries)
        self._lookup.begin_again()
        self._over.clear()
        return True

    def _follower(self, process: Process) -> Follower:
        """What follows a process."""
        return next(follower for other, follower in self._run.processes if other is process)

    @property
    def others_wait(self) -> bool:
        """Whether the other processes' turn has not come: much of them at once waits for the code of the lead."""
        lead = self.lead
        return lead is not None and len(self._run.processes) > 1 and not self._looked_up and self._live.due(lead)

    def _follow(self, process: Process, follower: Follower, *, lead: bool) -> None:
        """Take what has come from a process."""
        more = True
        while more:
            try:
                look = follower.look()
            except NoDataError as error:
                self._bad.add(process.path)
                self._tell(str(error))
                return
            more = look.more
            if look.restarted:
                self._live.restart(process)
                self._lookup.forget(process)
                self._over.discard(process.path)
            if follower.holes:
                self._tell(f"{process.path}: damaged places were skipped: see incprof phases")
            if look.profile is not None:
                profile = self._lookup.known(process, self._live.known(process), look.profile, lead=lead)
                self._live.add(process, profile, lead=lead)
                self._grew[process.path] = time.monotonic()
                self.news = self.news or lead
        if process.path not in self._over and (follower.ended or self._gone(process, follower)):
            if not follower.ended and not follower.flush and follower.by > 1:
                follower.flush = True
                self._follow(process, follower, lead=lead)
                return
            self._over.add(process.path)
            # What becomes of a forked child is its parent's business.
            self.killed = self.killed or (process.primary and not follower.ended)
            self._live.end(process, killed=not follower.ended)

    def _tell(self, line: str) -> None:
        """Say something once."""
        if line not in self.warnings:
            self.warnings.append(line)

    def _gone(self, process: Process, follower: Follower) -> bool:
        """Say whether a process has left without an end: it was of this machine, is not there, and is silent."""
        if follower.metadata is None:
            return False
        raw = follower.metadata.raw
        # How old the file is tells also of what was killed long before the first look.
        try:
            silent = time.time() - os.stat(split(process.path)[0]).st_mtime
        except OSError:
            silent = 0.0
        silent = max(silent, time.monotonic() - self._grew.setdefault(process.path, time.monotonic()))
        if silent < SILENT_S + SILENT_INTERVALS * follower.metadata.interval_s:
            return False
        pid = raw.get("pid")
        return raw.get("host") == os.uname().nodename and isinstance(pid, int) and not _runs(pid)

    @property
    def fitting(self) -> bool:
        """Whether phases are being found, or were and have not been taken."""
        return self._fitting is not None

    def fit(self) -> bool:
        """Find phases again beside everything else, if it is time; whether new ones have been found since."""
        if self._fitting is not None and self._fitting.is_alive():
            return False
        if self._fitting is not None:
            done, self._fitting = self._fitting, None
            self._fit_again = time.monotonic() + done.took_s / FIT_SHARE
            return self._taken(done)
        lead = self.lead
        if lead is not None and time.monotonic() >= self._fit_again and self._live.due(lead, self._lookup.unseen):
            self._fitting = self._started(lead)
        return False

    def fit_now(self) -> bool:
        """Find phases in what there is; whether there was something new to find them in."""
        while self._fitting is not None and self._fitting.is_alive():
            self._fitting.join(0.1)
        lead, self._fitting = self.lead, None
        if lead is None or not self._live.behind(lead):
            return False
        fitting = self._started(lead, at_once=True)
        # Not for ever at once: signals are looked at in between.
        while fitting is not None and fitting.is_alive():
            fitting.join(0.1)
        return fitting is not None and self._taken(fitting)

    def _started(self, lead: Process, *, at_once: bool = False) -> Fitting | None:
        """Start to find phases in what there is of the lead."""
        follower = self._follower(lead)
        window = follower.window()
        if window is None:
            self._looked_up = True
            return None
        # Somebody waits for the last one.
        fitting = Fitting(
            lead, window, follower.n_intervals, follower.restarts, nice=0 if at_once else LEAST,
            libraries=self._libraries, finish=self._run.finished, by=self._run.by,
        )  # fmt: skip
        fitting.start()
        return fitting

    def _taken(self, done: Fitting) -> bool:
        """Take what was found, unless the recording has been replaced meanwhile."""
        if done.problem is not None:
            raise done.problem
        self._looked_up = True
        follower = next((f for process, f in self._run.processes if process.path == done.lead.path), None)
        if done.found is None or follower is None or follower.restarts != done.restarts:
            return False
        data = done.window.metadata
        self._lookup.learn(done.known)
        self._live.refit(done.lead, done.found, done.end, data.interval_s * done.by * data.rate_hz, done.made_of)
        if done.too_few and done.by not in self._said:
            self._said.add(done.by)
            self._tell(done.too_few)
        for process, _ in self._run.processes:
            for first, profile in self._lookup.early(process, done.end if process.path == done.lead.path else 0):
                self._live.again(process, first, profile)
        return True

    def close(self) -> bool:
        """Wait a moment for a search for phases, and say whether none is left: Python must not end during one."""
        if self._fitting is not None:
            self._fitting.join(PATIENCE_S)
        return self._fitting is None or not self._fitting.is_alive()

    def view(self) -> LiveView | None:
        """Return what there is to see; None before the first interval."""
        lead = self.lead
        return self._live.view(lead) if lead is not None else None
