"""Evidence for a chosen site: the numbers that `incprof phases --explain` reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Why a site is not its caller: the caller's calls last too long; they are too short; it also runs in the phases that
# the site distinguishes; it is not available, or costs too much.
NotCaller = Literal["lasts on", "too short", "in other phases", "cannot be had"]
# Why it is not a callee: the callee is below a site that is short enough; too short; possibly too short; too small.
NotCallee = Literal["lower", "too short", "unknown rate", "too little"]


@dataclass(frozen=True)
class CallerEvidence:
    """The function that calls a site most.

    Attributes:
        function: its name.
        why_not: why it is not the site.
        call_s: mean duration of a call, seconds; None if unknown.
        share: inclusive share of the phase.
        is_site: whether it is a site of the phase as well.
    """

    function: str
    why_not: NotCaller
    call_s: float | None
    share: float
    is_site: bool


@dataclass(frozen=True)
class CalleeEvidence:
    """The function that a site calls most.

    Attributes:
        function: its name.
        why_not: why it is not the site.
        share: of the site's time.
        call_s: mean duration of a call, seconds; None if unknown.
    """

    function: str
    why_not: NotCallee
    share: float
    call_s: float | None


@dataclass(frozen=True)
class RunnerUp:
    """The site that would replace this one.

    Attributes:
        function: its name.
        kind: "body" or "loop".
        share: of the phase's time, or of its intervals.
    """

    function: str
    kind: str
    share: float


@dataclass(frozen=True)
class SiteEvidence:
    """Why a site was chosen.

    Attributes:
        heartbeat: id of the heartbeat.
        function: its name.
        kind: "body" or "loop".
        origin: "run", a site of the run regardless of phases; "phase", a site of this phase alone, as the run's sites
            hold too little of it; "apart", a site that distinguishes the phase from others; "waiting", called where
            nothing was sampled; "instead" of one that is not available; "self time", without call paths.
        share: inclusive share of the phase's time; from self time alone, of the intervals in which it is active.
        at_least: lower bound of the share; None from self time.
        specific: share of its shares in all phases that is in this one.
        intervals: number of intervals of the phase.
        present: intervals in which it is on the stack or called (from self time: active).
        called: intervals in which it is called.
        calls: in the run.
        counted: whether calls were counted; otherwise `calls` is a lower bound.
        call_s: mean duration of a call, seconds; None if unknown.
        longest_s: longest duration of a call of a body; None from self time.
        caller: None without call paths, or outside the program.
        callee: likewise.
        runner_up: None if there is none.
    """

    heartbeat: int
    function: str
    kind: str
    origin: str
    share: float
    at_least: float | None
    specific: float
    intervals: int
    present: int
    called: int
    calls: float
    counted: bool
    call_s: float | None
    longest_s: float | None
    caller: CallerEvidence | None
    callee: CalleeEvidence | None
    runner_up: RunnerUp | None

    @property
    def from_paths(self) -> bool:
        """Whether call paths decided."""
        return self.origin != "self time"
