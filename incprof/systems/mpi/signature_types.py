"""A signature: the phases, program and loops of a run that was traced to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Grammar:
    """Rules by which the loops of a sequence were found, to find the same ones in another, such as its beginning.

    Attributes:
        kinds: Number of event kinds, numbered from 0; loop number i is the item `kinds` + i.
        contents: For each loop, the items of one iteration: kinds of events, and earlier loops.
        steps: For each replacement step, in order, the loops introduced; all loops of a step have equal length.
    """

    kinds: int
    contents: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SignaturePhase:
    """A phase of the whole run. Other fields as in `incprof signature --json`.

    Attributes:
        loop: Number of its loop in the grammar; None for the paper's phases.
        awaited: Whether a signature run continues until it has occurred often enough.
        time_s: Times of its first occurrences, in seconds.
        at: Of these, the first event and the one after the last, for the paper's phases; empty for loops of calls.
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
    """The program of a run.

    Attributes:
        arguments: Arguments of the command, without its name.
        files: Digests of those arguments that name a file, by position.
        modules: Build-ids of the objects that call MPI, by file name.
    """

    arguments: tuple[str, ...]
    files: Mapping[int, str]
    modules: Mapping[str, str]


@dataclass(frozen=True)
class SignatureFile:
    """The whole run, by its representative rank.

    Attributes:
        method: "robust": phases are loops of calls; "paper", "global": they are identified by their places.
        until: Number of collective calls of all processes after which a signature run ends; None: it ends otherwise.
        until_calls: Function, number of calls, and number of consecutive ranks that end after these; None: they end
            otherwise. If both are None, the program is run to its end.
        events: Number of the rank's events in the whole run.
        until_events: Number of the rank's events in a signature run.
        needed_events: Number of the rank's events after which everything is measured.
        kinds: Function, and key of function and place, of its events.
        kind_bytes: Mean bytes of a message of each kind in the needed events; None without messages.
        grammar: Grammar of its loops of calls; None for the paper's phases.
        program: The program of the run.
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
    events: int
    until_events: int
    outside_after_s: float
    needed_events: int
    kinds: tuple[tuple[str, str], ...]
    kind_bytes: tuple[float | None, ...]
    grammar: Grammar | None
    program: Program
    phases: tuple[SignaturePhase, ...]
