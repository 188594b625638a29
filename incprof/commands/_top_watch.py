"""What `incprof top` knows: the streams of a run as they grow, and what the analysis makes of them."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from incprof.analysis.live import LiveRun
from incprof.errors import NoDataError
from incprof.readers.follow_run import RunFollower

if TYPE_CHECKING:
    from incprof.analysis.live_results import LiveView
    from incprof.commands._common import Libs
    from incprof.model import Process
    from incprof.readers.follow import Follower

# Phases are found in the last so many intervals.
WINDOW = 3600
# Finding phases takes at most this part of the time.
FIT_SHARE = 0.05
# A process of this machine that is gone, and whose file has not grown for so many intervals, was killed.
SILENT_INTERVALS, SILENT_S = 3.0, 2.0


class Watch:
    """Looks at a run directory again and again. news: whether the last look found new intervals of the lead.

    silent_s: for how long nothing has come from any process that has not ended. killed: a process went without an end.
    """

    def __init__(self, directory: str, *, rank: int | None, libs: Libs, exe: str | None):
        self.directory = directory
        self.news = self.killed = False
        self.warnings: list[str] = []
        self._run = RunFollower(directory, rank=rank, libs=libs, exe=exe)
        self._live = LiveRun(WINDOW)
        self._grew: dict[str, float] = {}
        self._over: set[str] = set()
        self._bad: set[str] = set()
        self._fit_again = 0.0

    @property
    def lead(self) -> Process | None:
        """The process that phases are fitted to: the first one of the lowest rank that can be read."""
        return next((process for process, _ in self._run.processes if process.path not in self._bad), None)

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
        """Take what has come. The lead is brought up to date first: the others' intervals belong to its phases.

        Raises:
            NoDataError: the directory or the only stream in it cannot be used.
        """
        self.news = False
        self._run.scan()
        lead = self.lead
        for process, follower in self._run.processes:
            follower.keep = WINDOW if process is lead else 0
        for process, follower in self._run.processes:
            if process.path not in self._bad:
                self._follow(process, follower, lead=process is lead)
                if process is lead and self._live.fitted == 0:
                    self.fit()
        if self._bad and self.lead is None:
            raise NoDataError(self.warnings[-1])

    def _follow(self, process: Process, follower: Follower, *, lead: bool) -> None:
        """Take what has come from a process."""
        more = True
        while more:
            try:
                look = follower.look()
            except NoDataError as error:
                self._bad.add(process.path)
                self.warnings.append(str(error))
                return
            more = look.more
            if look.restarted:
                self._live.restart(process)
                self._over.discard(process.path)
            if look.profile is not None:
                self._live.add(process, look.profile, lead=lead)
                self._grew[process.path] = time.monotonic()
                self.news = self.news or lead
        if process.path not in self._over and (follower.ended or self._gone(process, follower)):
            self._over.add(process.path)
            self.killed = self.killed or not follower.ended
            self._live.end(process)

    def _gone(self, process: Process, follower: Follower) -> bool:
        """Say whether a process has left without an end: it was of this machine, is not there, and is silent."""
        if follower.metadata is None:
            return False
        raw, silent = follower.metadata.raw, time.monotonic() - self._grew.setdefault(process.path, time.monotonic())
        if silent < SILENT_S + SILENT_INTERVALS * follower.metadata.interval_s:
            return False
        pid = raw.get("pid")
        return raw.get("host") == os.uname().nodename and isinstance(pid, int) and not os.path.exists(f"/proc/{pid}")

    def fit(self, *, last: bool = False) -> bool:
        """Find phases again if it is time, or if it is the `last` chance; whether they were found."""
        lead = self.lead
        if lead is None or not (self._live.behind(lead) if last else self._live.due(lead)):
            return False
        if not last and time.monotonic() < self._fit_again:
            return False
        follower = next(f for process, f in self._run.processes if process is lead)
        window, start = follower.window(), time.monotonic()
        if window is None:
            return False
        # Clustering takes one thread. Else scikit-learn would count cores.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        from incprof.analysis.phases import find_phases

        try:
            found = find_phases(window)
        except NoDataError:  # no samples yet
            return False
        finally:
            self._fit_again = time.monotonic() + (time.monotonic() - start) / FIT_SHARE
        self._live.refit(lead, found, window.metadata.interval_s * window.metadata.rate_hz)
        return True

    def view(self) -> LiveView | None:
        """Return what there is to see; None before the first interval."""
        lead = self.lead
        return self._live.view(lead) if lead is not None else None
