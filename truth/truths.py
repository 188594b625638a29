"""What is known about a run: its phases, the sites that a person would choose, and the steps inside the phases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

BODY, LOOP = "body", "loop"
Place = tuple[str, str]  # function name, kind


@dataclass(frozen=True)
class TrueSite:
    """A site that should be found. alternatives: places that are as good, of which one is enough."""

    function: str
    kind: str
    alternatives: tuple[Place, ...] = ()

    @property
    def places(self) -> frozenset[Place]:
        """Return all places that are right."""
        return frozenset({(self.function, self.kind), *self.alternatives})


@dataclass(frozen=True)
class TruePhase:
    """A phase. accepted: places that are not asked for, and not wrong either.

    steps: functions that alternate inside the phase, or the one that is called again and again, with those that these
    call again and again. accepted_steps: functions that may be called steps of it as well. timed: steps of which it is
    known how often they are called.
    """

    name: str
    sites: tuple[TrueSite, ...]
    steps: tuple[str, ...] = ()
    accepted: tuple[Place, ...] = ()
    accepted_steps: tuple[str, ...] = ()
    timed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Truth:
    """What is known of a run. distinct: False when its intervals have nothing in common, and no phase is the answer.

    k: the numbers of phases that are right, ascending. steps_known: False where nobody wrote down which there are.
    """

    phases: tuple[TruePhase, ...]
    k: tuple[int, ...]
    distinct: bool = True
    steps_known: bool = True


def place_from(entry: Mapping[str, object]) -> Place:
    """Read {function, kind} of a file."""
    kind = str(entry["kind"])
    if kind not in (BODY, LOOP):
        raise ValueError(f"kind {kind!r} is neither body nor loop")
    return str(entry["function"]), kind


def phase_from(entry: Mapping[str, object]) -> TruePhase:
    """Read a [[phase]] of a truth file: name, sites (with `or`), steps (with their `steps`), also, also_steps."""
    steps = list(_with_inner(_tables(entry, "steps")))
    sites = tuple(
        TrueSite(*place_from(site), tuple(place_from(other) for other in _tables(site, "or")))
        for site in _tables(entry, "sites")
    )
    return TruePhase(
        name=str(entry["name"]),
        sites=sites,
        steps=tuple(dict.fromkeys(str(step["function"]) for step in steps)),
        accepted=tuple(place_from(site) for site in _tables(entry, "also")),
        accepted_steps=tuple(str(step["function"]) for step in _tables(entry, "also_steps")),
        timed=tuple(dict.fromkeys(str(step["function"]) for step in steps if {"count", "period_ms"} & step.keys())),
    )


def _with_inner(steps: Iterable[Mapping[str, object]]) -> Iterator[Mapping[str, object]]:
    """Go through steps and those below them."""
    for step in steps:
        yield step
        yield from _with_inner(_tables(step, "steps"))


def _tables(entry: Mapping[str, object], key: str) -> list[dict[str, object]]:
    """Return a list of tables, empty where the key is missing."""
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key} is no list")
    return value
