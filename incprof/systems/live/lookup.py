"""Resolve inlined functions of a running job: results are reused for new intervals, and earlier ones are updated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from incprof.readers.stream.inline_cache import Known, with_known

if TYPE_CHECKING:
    from incprof.model import IntervalProfile, Process
    from incprof.readers.stream.records import Libs

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
