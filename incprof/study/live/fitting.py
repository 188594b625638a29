"""Finding phases beside the screen of `incprof top`, in a thread that gives way to the job."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from incprof.errors import NoDataError

if TYPE_CHECKING:
    from incprof.analysis.phases.results import PhaseResult
    from incprof.model import IntervalProfile, Process


class Fitting(threading.Thread):
    """Finds phases while the screen goes on. found: None where there are no samples yet. problem: what went wrong.

    nice: of this thread. end: number of intervals up to the window's end. restarts: how often the file had been
    replaced when it began.
    """

    def __init__(self, lead: Process, window: IntervalProfile, end: int, restarts: int, *, nice: int):
        super().__init__(daemon=True)
        self.lead, self.window, self.end, self.restarts = lead, window, end, restarts
        self.found: PhaseResult | None = None
        self.problem: Exception | None = None
        self.took_s = 0.0
        self._nice = max(nice, os.nice(0))

    def run(self) -> None:
        """Find them."""
        begin = time.monotonic()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.native_id or 0, self._nice)
        try:
            from incprof.analysis.answer.find import find_phases

            begin = time.monotonic()  # the import, a second or two, comes once
            self.found = find_phases(self.window)
        except NoDataError:
            self.found = None
        except Exception as error:  # told where the thread is waited for
            self.problem = error
        self.took_s = time.monotonic() - begin
