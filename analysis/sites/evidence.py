"""What is known of a site that was chosen: the numbers that `incprof phases --explain` puts into sentences."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CallerEvidence:
    """The function that calls a site most.

    specific: part of its shares in all phases that is in this one. phases, of_phases: in how many it is. short: called
    in most intervals. share: of the phase, with all below it. sites_share: the same of the phase's sites together.
    """

    function: str
    specific: float
    phases: int
    of_phases: int
    short: bool
    share: float
    sites_share: float
    is_site: bool


@dataclass(frozen=True)
class CalleeEvidence:
    """What a site calls most: its part of the site's time, and the mean duration of a call, None where unknown."""

    function: str
    share: float
    specific: float
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

    share: of the phase's time with all below it; from self time alone, of the intervals in which it is active.
    specific: part of its shares in all phases that is in this one. intervals: of the phase. present: those in which it
    is on the stack or called (from self time: active). called: those in which it is called. call_s: mean duration of a
    call, None where unknown. caller, callee: None without call paths, or where there is none in the program.
    """

    heartbeat: int
    function: str
    kind: str
    share: float
    specific: float
    intervals: int
    present: int
    called: int
    call_s: float | None
    caller: CallerEvidence | None
    callee: CalleeEvidence | None
    runner_up: RunnerUp | None
    from_paths: bool = True
