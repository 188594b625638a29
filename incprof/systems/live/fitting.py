"""Resolve code and fit phases in a background thread of `incprof top`, at a lower priority than the job."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from incprof.errors import NoDataError
from incprof.study.options import StudyOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from incprof.analysis.phase_result import PhaseResult
    from incprof.model import IntervalProfile, Process
    from incprof.readers.stream.inline_cache import Known
    from incprof.systems.live.analyse.mixes import MadeOf


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
            from incprof.analysis.answer.budget import within_budget
            from incprof.analysis.answer.find import find_phases, site_chooser
            from incprof.model import pooled
            from incprof.readers.stream.inline_cache import known_from
            from incprof.study.sites.cost import TYPICAL
            from incprof.systems.live.analyse.mixes import made_of

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
