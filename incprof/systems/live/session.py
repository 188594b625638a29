"""State of `incprof top`: the run so far, its heartbeats, and the state of the job."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from incprof.errors import NoDataError
from incprof.report.words.formatting import duration
from incprof.systems.live.heartbeat_files import BeatsWatch, found_beside
from incprof.systems.live.top_words import BeatLine

if TYPE_CHECKING:
    from incprof.study.listener import Listener
    from incprof.systems.live.analyse.job_state import LiveView
    from incprof.systems.live.watch import Watch

# Greatest share of time for updating and drawing: with many ranks, updates are less frequent.
SHARE = 0.1
# Number of intervals without new data after which the job is reported as silent.
SILENT = 3.0
# Interval of searches for heartbeats, which may begin later than the recording.
BESIDE_EVERY_S = 5.0


class Session:
    """A watch and the job's heartbeats."""

    def __init__(self, watch: Watch, *, heartbeats: str | None, every_s: float, wait_s: float, listener: Listener):
        """Initialise the session.

        Args:
            watch: The recording to watch.
            heartbeats: Directory of the heartbeats; None for those that the job writes next to its recording.
            every_s: Least number of seconds between updates.
            wait_s: Greatest number of seconds to wait for a job that has not begun.
            listener: Receives warnings.
        """
        self.watch, self.wait_s = watch, wait_s
        self._heartbeats, self._every_s, self._listener = heartbeats, every_s, listener
        self.beats: list[BeatLine] = []
        self.view: LiveView | None = None
        self._beats = BeatsWatch(heartbeats, watch.rank) if heartbeats is not None else None
        self._began, self._beside, self._warned = time.monotonic(), -BESIDE_EVERY_S, 0
        self.took_s = 0.0

    def look(self) -> None:
        """Read new data.

        Raises:
            NoDataError: there is no data, and the wait is over.
        """
        begin = time.monotonic()
        self.watch.look()
        self.view = self.watch.view()
        if self.view is not None:
            self._look_at_beats(self.view)
        elif begin - self._began >= self.wait_s:
            waited = f" in {self.wait_s:g} s" if self.wait_s else ""
            raise NoDataError(f"{self.watch.directory}: {self.watch.missing}{waited}: --wait S waits longer")
        self.took_s = time.monotonic() - begin

    @property
    def pause_s(self) -> float:
        """Seconds to wait for the next update."""
        return max(self._every_s - self.took_s, self.took_s * (1 / SHARE - 1), 0.01)

    def _look_at_beats(self, view: LiveView) -> None:
        """Read new heartbeats."""
        if self._beats is None and time.monotonic() - self._beside >= BESIDE_EVERY_S:
            self._beside = time.monotonic()
            folder = found_beside(self.watch.directory, view.front.metadata)
            self._beats = BeatsWatch(folder, self.watch.rank) if folder is not None else None
        self.beats = self._beats.look() if self._beats is not None else []

    def note(self) -> str:
        """Return the state of the job, empty if it runs."""
        if self.watch.ended:
            return "killed" if self.watch.killed else "ended"
        silent = self.watch.silent_s
        limit = SILENT * self.view.front.metadata.interval_s if self.view else 0.0
        return f"nothing new for {duration(round(silent))}" if silent > max(limit, 2.0) else ""

    def warn(self, *, last: bool = False) -> None:
        """Report new warnings. last: no more data will arrive."""
        self._listener.warn(self.watch.warnings[self._warned :])
        self._warned = len(self.watch.warnings)
        if last and self._heartbeats is not None and not self.beats:
            self._listener.warn([f"{self._heartbeats}: no heartbeats of a complete interval"])

    def hint(self) -> str:
        """Return what the user can do next."""
        how = "was killed" if self.watch.killed else "has ended"
        return f"the job {how}: incprof phases {self.watch.directory}"
