"""What `incprof top` shows at a time: the run as far as it is known, heartbeats beside it, how the job stands."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from incprof.errors import NoDataError
from incprof.report.words.figures import duration
from incprof.report.words.top import BeatLine
from incprof.study.live.beats import BeatsWatch, found_beside

if TYPE_CHECKING:
    from incprof.analysis.live.results import LiveView
    from incprof.study.listener import Listener
    from incprof.study.live.watch import Watch

# Looking and showing take at most this part of the time: with many ranks, a look comes less often.
SHARE = 0.1
# A job whose intervals do not come any more, for so many of them, is said to be silent.
SILENT = 3.0
# Heartbeats may begin later than the recording.
BESIDE_EVERY_S = 5.0


class Session:
    """A watch and the heartbeats beside it."""

    def __init__(self, watch: Watch, *, heartbeats: str | None, every_s: float, wait_s: float, listener: Listener):
        """Prepare to look.

        Args:
            watch: what is looked at.
            heartbeats: their directory; None for those that the job writes beside its recording.
            every_s: seconds between looks, at least.
            wait_s: how long to wait for a job that has not begun.
            listener: hears what cannot be followed.
        """
        self.watch, self.wait_s = watch, wait_s
        self._heartbeats, self._every_s, self._listener = heartbeats, every_s, listener
        self.beats: list[BeatLine] = []
        self.view: LiveView | None = None
        self._beats = BeatsWatch(heartbeats, watch.rank) if heartbeats is not None else None
        self._began, self._beside, self._warned = time.monotonic(), -BESIDE_EVERY_S, 0
        self.took_s = 0.0

    def look(self) -> None:
        """Take what has come.

        Raises:
            NoDataError: there is nothing, and it is time to say so.
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
        """How long to wait for the next look."""
        return max(self._every_s - self.took_s, self.took_s * (1 / SHARE - 1), 0.01)

    def _look_at_beats(self, view: LiveView) -> None:
        """Take what heartbeats have come."""
        if self._beats is None and time.monotonic() - self._beside >= BESIDE_EVERY_S:
            self._beside = time.monotonic()
            folder = found_beside(self.watch.directory, view.front.metadata)
            self._beats = BeatsWatch(folder, self.watch.rank) if folder is not None else None
        self.beats = self._beats.look() if self._beats is not None else []

    def note(self) -> str:
        """Return how the job stands, empty if it runs."""
        if self.watch.ended:
            return "killed" if self.watch.killed else "ended"
        silent = self.watch.silent_s
        limit = SILENT * self.view.front.metadata.interval_s if self.view else 0.0
        return f"nothing new for {duration(round(silent))}" if silent > max(limit, 2.0) else ""

    def warn(self, *, last: bool = False) -> None:
        """Say on stderr what cannot be followed, once. last: nothing more will come."""
        self._listener.warn(self.watch.warnings[self._warned :])
        self._warned = len(self.watch.warnings)
        if last and self._heartbeats is not None and not self.beats:
            self._listener.warn([f"{self._heartbeats}: no heartbeats of a complete interval"])

    def hint(self) -> str:
        """Return what to do next."""
        how = "was killed" if self.watch.killed else "has ended"
        return f"the job {how}: incprof phases {self.watch.directory}"
