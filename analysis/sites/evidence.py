"""What is known of a site that was chosen: the numbers that `incprof phases --explain` puts into sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Why a site and not its caller: a call of that lasts on; it is gone at once; it runs in the phases too that the site
# tells apart; it cannot be had, or costs too much.
NotCaller = Literal["lasts on", "too short", "in other phases", "cannot be had"]
# The same of what it calls: it is below a site that is short enough; too short; may be; it holds too little.
NotCallee = Literal["lower", "too short", "unknown rate", "too little"]


@dataclass(frozen=True)
class CallerEvidence:
    """The function that calls a site most.

    call_s: mean duration of a call, None where unknown. share: of the phase, with all below it. is_site: of the phase.
    """

    function: str
    why_not: NotCaller
    call_s: float | None
    share: float
    is_site: bool


@dataclass(frozen=True)
class CalleeEvidence:
    """What a site calls most: its part of the site's time, and the mean duration of a call, None where unknown."""

    function: str
    why_not: NotCallee
    share: float
    call_s: float | None


@dataclass(frozen=True)
class RunnerUp:
    """What would stand for the phase without the site. share: of the phase's time, or of its intervals."""

    function: str
    kind: str
    share: float


@dataclass(frozen=True)
class SiteEvidence:
    """Why a site was chosen.

    origin: "run", one of the sites that the run has whatever its phases; "phase", of these alone, as the run's hold too
    little of it; "apart", to tell the phase from others; "waiting", called where nothing was sampled; "instead" of one
    that cannot be had; "self time", without call paths. share: of the phase's time with all below it; from self time
    alone, of the intervals in which it is active. at_least: what the share is for sure; None from self time. specific:
    part of its shares in all phases that is in this one. intervals: of the phase. present: those in which it is on the
    stack or called (from self time: active). called: those in which it is called. calls: of the run. counted: whether
    they were; otherwise they are at least so many. call_s: mean duration of a call, None where unknown. longest_s: how
    long a call of a body may last; None from self time. caller, callee: None without call paths, or where there is none
    in the program.
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
