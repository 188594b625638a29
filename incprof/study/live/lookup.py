"""Inlined functions of a running job: what was looked up serves all that comes, and what came before is taken again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from incprof.readers.symbols.inlined_known import Known, with_known

if TYPE_CHECKING:
    from incprof.model import IntervalProfile, Process

# Of an interval with less of its time in code that nobody has looked up, enough is known.
LEAST = 0.05
# An interval with so much of it may be anything.
UNSEEN = 0.25
# What is kept of a process that no phases are fitted to: its code is mostly the lead's, and known soon.
KEPT_BESIDE = 16


@dataclass(frozen=True)
class _Early:
    """Intervals that came before their code was looked up. first: the number of the first one."""

    first: int
    profile: IntervalProfile


class Lookup:
    """Knows the code of a job. unseen: intervals of the lead since the last news of which too little is known."""

    def __init__(self) -> None:
        self.unseen = 0
        self._known: Known = {}
        self._early: dict[str, list[_Early]] = {}

    def known(self, process: Process, first: int, profile: IntervalProfile, *, lead: bool) -> IntervalProfile:
        """The profile with the inlined functions that are known; what is not is remembered. first: interval of it."""
        found, share = with_known(profile, self._known)
        if (share >= LEAST).any():
            early = self._early.setdefault(process.path, [])
            early.append(_Early(first, profile))
            if not lead:
                del early[:-KEPT_BESIDE]
        if lead:
            self.unseen += int((share >= UNSEEN).sum())
        return found

    def forget(self, process: Process) -> None:
        """Forget what came of a process: its file was replaced."""
        self._early.pop(process.path, None)

    def begin_again(self) -> None:
        """Forget what came of all processes, but not what is known of their code."""
        self._early.clear()
        self.unseen = 0

    def learn(self, known: Known) -> None:
        """Take what was looked up."""
        self._known, self.unseen = known, 0

    def early(self, process: Process, since: int) -> list[tuple[int, IntervalProfile]]:
        """What came of a process before it was known, from an interval on, as far as it is known by now: each once."""
        waiting, self._early[process.path] = self._early.get(process.path, []), []
        return [
            (early.first, self.known(process, early.first, early.profile, lead=False))
            for early in waiting
            if early.first >= since
        ]
