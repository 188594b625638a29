"""Work beside a running job: fit phases in a background thread, and resolve inlined functions."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incprof.errors import NoDataError
from incprof.readers.stream.inlined import Known, with_known
from incprof.study.options import StudyOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from incprof.analysis.phase_result import PhaseResult
    from incprof.model import IntervalProfile, Process
    from incprof.readers.stream.records import Libs
    from incprof.systems.live.job_state import MadeOf


class Fitting(threading.Thread):
    """Fits phases in the background.

    Attributes:
        lead: The process that phases are fitted to.
        window: Its last intervals.
        end: Number of intervals up to the window's end.
        restarts: How often the file had been replaced at the start of the fit.
        by: Number of recorded intervals pooled into one.
        found: The phases; None if there are no samples yet.
        made_of: Profiles of the window's intervals, after resolving.
        known: Resolved code.
        problem: The exception that ended the fit.
        took_s: Duration, in seconds.

    The parameter `nice` is the thread's nice value; `finish` resolves the window's functions.
    """

    def __init__(
        self, lead: Process, window: IntervalProfile, end: int, restarts: int, *, nice: int, by: int,
        finish: Callable[[IntervalProfile], IntervalProfile],
    ):  # fmt: skip
        super().__init__(daemon=True)
        self.lead, self.window, self.end, self.restarts = lead, window, end, restarts
        self._finish, self.by = finish, by
        self.found: PhaseResult | None = None
        self.made_of: MadeOf | None = None
        self.known: Known = {}
        self.problem: Exception | None = None
        self.took_s = 0.0
        self._nice = max(nice, os.nice(0))

    def run(self) -> None:
        """Resolve the code and fit the phases."""
        begin = time.monotonic()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.native_id or 0, self._nice)
        try:
            from incprof.analysis.answer.find import find_phases, site_chooser, within_budget
            from incprof.model import pooled
            from incprof.readers.stream.inlined import known_from
            from incprof.study.sites.store import TYPICAL
            from incprof.systems.live.job_state import made_of

            begin = time.monotonic()  # excludes the imports, a second or two, which happen once
            window = self._finish(self.window)
            if self.by > 1:
                window = pooled(window, self.by)
            self.known, self.made_of = known_from(window), made_of(window)
            chooser = site_chooser(window, "robust")
            found = find_phases(window, chooser=chooser)
            self.found = within_budget(chooser, found, TYPICAL, StudyOptions().overhead_pct)
        except NoDataError:
            self.found = None
        except Exception as error:  # raised where the thread is joined
            self.problem = error
        self.took_s = time.monotonic() - begin


# Resolve inlined functions of a running job: results are reused for new intervals, and earlier ones are updated.


# Intervals with a smaller share of time in unresolved code are sufficiently resolved.
LEAST = 0.05
# Intervals with at least this share cannot be assigned to a phase.
UNSEEN = 0.25
# Number of profiles kept for a process other than the lead: its code is mostly the lead's, and soon resolved.
KEPT_BESIDE = 16


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

    def __init__(self, libs: Libs) -> None:
        self.unseen, self._libs = 0, libs
        self._known: Known = {}
        self._early: dict[str, list[_Early]] = {}

    def known(self, process: Process, first: int, profile: IntervalProfile, *, lead: bool) -> IntervalProfile:
        """Return the profile with resolved inlined functions; keep it if code is unresolved. first: its index."""
        found, share = with_known(profile, self._known, self._libs)
        if (share >= LEAST).any():
            early = self._early.setdefault(process.path, [])
            early.append(_Early(first, profile))
            if not lead:
                del early[:-KEPT_BESIDE]
        if lead:
            self.unseen += int((share >= UNSEEN).sum())
        return found

    def forget(self, process: Process) -> None:
        """Discard the intervals of a process whose file was replaced."""
        self._early.pop(process.path, None)

    def begin_again(self) -> None:
        """Discard the intervals of all processes, but keep the resolved code."""
        self._early.clear()
        self.unseen = 0

    def learn(self, known: Known) -> None:
        """Store newly resolved code."""
        self._known, self.unseen = known, 0

    def early(self, process: Process, since: int) -> list[tuple[int, IntervalProfile]]:
        """Return the intervals of a process from `since` on that arrived unresolved, now resolved if possible; once."""
        waiting, self._early[process.path] = self._early.get(process.path, []), []
        return [
            (early.first, self.known(process, early.first, early.profile, lead=False))
            for early in waiting
            if early.first >= since
        ]
