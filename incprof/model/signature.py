"""A signature: what is known of a run that was traced to its end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SignaturePhase:
    """A phase of the whole run. time_s: of its first occurrences. The rest as of `incprof signature --json`."""

    id: int
    key: str
    whole: bool
    weight: int
    mean_s: float
    seconds: float
    time_s: tuple[float, ...]
    file: str | None
    line: int | None


@dataclass(frozen=True)
class SignatureFile:
    """The whole run, by its representative rank. kinds: function, and key of function and place, of its events."""

    path: str
    app: str
    ranks: int
    rank: int
    warm_up: int
    aet_s: float
    coverage: float
    until: int | None
    until_events: int
    outside_after_s: float
    kinds: tuple[tuple[str, str], ...]
    phases: tuple[SignaturePhase, ...]
