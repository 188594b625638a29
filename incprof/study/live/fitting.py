"""Looking up code and finding phases beside the screen of `incprof top`, in a thread that gives way to the job."""

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

    from incprof.analysis.live.mixes import MadeOf
    from incprof.analysis.phases.results import PhaseResult
    from incprof.model import IntervalProfile, Process
    from incprof.readers.symbols.inlined_known import Known


class Fitting(threading.Thread):
    """Finds phases while the screen goes on. found: None where there are no samples yet. problem: what went wrong.

    nice: of this thread. end: number of intervals up to the window's end. restarts: how often the file had been
    replaced when it began. finish: looks up what the window does not say of its functions. libraries: time in them is
    their callers'. known: what was looked up. made_of: the intervals, by that. by: recorded intervals in one of those.
    too_few: what to say of those that were recorded.
    """

    def __init__(
        self, lead: Process, window: IntervalProfile, end: int, restarts: int, *, nice: int, libraries: bool, by: int,
        finish: Callable[[IntervalProfile], IntervalProfile],
    ):  # fmt: skip
        super().__init__(daemon=True)
        self.lead, self.window, self.end, self.restarts = lead, window, end, restarts
        self._finish, self._libraries, self.by, self.too_few = finish, libraries, by, ""
        self.found: PhaseResult | None = None
        self.made_of: MadeOf | None = None
        self.known: Known = {}
        self.problem: Exception | None = None
        self.took_s = 0.0
        self._nice = max(nice, os.nice(0))

    def run(self) -> None:
        """Find them."""
        begin = time.monotonic()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.native_id or 0, self._nice)
        try:
            from incprof.analysis.answer.budget import within_budget
            from incprof.analysis.answer.find import find_phases, site_chooser
            from incprof.analysis.live.mixes import made_of
            from incprof.analysis.options.phases import PHASES
            from incprof.model import pooled
            from incprof.readers.symbols.inlined_known import known_from
            from incprof.study.pooling import too_few
            from incprof.study.sites.cost import TYPICAL

            begin = time.monotonic()  # the import, a second or two, comes once
            window = self._finish(self.window)
            if self.by > 1:
                self.too_few = too_few(window, self.by, PHASES)
                window = pooled(window, self.by)
            self.known, self.made_of = known_from(window), made_of(window, libraries=self._libraries)
            chooser = site_chooser(window, "robust")
            found = find_phases(window, chooser=chooser)
            self.found = within_budget(chooser, found, TYPICAL, StudyOptions().overhead_pct)
        except NoDataError:
            self.found = None
        except Exception as error:  # told where the thread is waited for
            self.problem = error
        self.took_s = time.monotonic() - begin
