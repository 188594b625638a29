"""A signature: what is known of a run that was traced to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Grammar:
    """How the loops of a sequence were found, so that they are found alike in another one: in its beginning, above all.

    Attributes:
        kinds: Of events, from 0; loop number i is the item `kinds` + i.
        contents: Of each loop, the items of one iteration: kinds of events, and loops before it.
        steps: Loops, of one length each time, that were put in the place of items at a time, in the order of time.
    """

    kinds: int
    contents: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SignaturePhase:
    """A phase of the whole run. The rest as of `incprof signature --json`.

    Attributes:
        loop: Its number in the grammar; None for the paper's phases.
        awaited: A signature run goes on until it has come as often as it is to be measured.
        time_s: Of its first occurrences.
        at: Of these, the first event and the one after the last, of the paper's phases; empty for loops of calls.
    """

    id: int
    loop: int | None
    whole: bool
    weight: int
    awaited: bool
    mean_s: float
    seconds: float
    time_s: tuple[float, ...]
    at: tuple[tuple[int, int], ...]
    file: str | None
    line: int | None


@dataclass(frozen=True)
class Program:
    """What was run.

    Attributes:
        arguments: Of the command, without its name.
        files: Digests of those arguments that name a file, by their place.
        modules: Build-ids of the objects that call MPI, by file name.
    """

    arguments: tuple[str, ...]
    files: Mapping[int, str]
    modules: Mapping[str, str]


@dataclass(frozen=True)
class SignatureFile:
    """The whole run, by its representative rank.

    Attributes:
        method: "robust": phases are loops of calls; "paper", "global": they are found by their places.
        until: Collective calls of all processes after which a signature run ends; None: not by these.
        until_calls: Function, number of calls, and how many ranks in a row end after these; None: not by these. Where
            both are None, the program is run to its end.
        until_events: Events of the rank until then.
        needed_events: Events of the rank after which all is seen that is measured.
        kinds: Function, and key of function and place, of its events.
        kind_bytes: Mean bytes of a message of each kind in the needed events; None where there was none.
        grammar: Of its loops of calls; None for the paper's phases.
        program: What was run.
    """

    path: str
    app: str
    method: str
    ranks: int
    rank: int
    warm_up: int
    aet_s: float
    coverage: float
    until: int | None
    until_calls: tuple[tuple[str, int, int], ...] | None
    until_events: int
    outside_after_s: float
    needed_events: int
    kinds: tuple[tuple[str, str], ...]
    kind_bytes: tuple[float | None, ...]
    grammar: Grammar | None
    program: Program
    phases: tuple[SignaturePhase, ...]
