"""The truth about a run: its phases, the sites that a person would choose, and the steps inside the phases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

BODY, LOOP = "body", "loop"
Place = tuple[str, str]  # function name, kind


@dataclass(frozen=True)
class TrueSite:
    """A site that should be found.

    Attributes:
        function: its name.
        kind: "body" or "loop".
        alternatives: equally good places, of which one suffices.
    """

    function: str
    kind: str
    alternatives: tuple[Place, ...] = ()

    @property
    def places(self) -> frozenset[Place]:
        """Return all right places."""
        return frozenset({(self.function, self.kind), *self.alternatives})


@dataclass(frozen=True)
class TruePhase:
    """A phase.

    Attributes:
        name: its name.
        sites: the sites that should be found.
        steps: functions that alternate inside the phase, or the one that is called repeatedly, with their own repeated
            callees.
        accepted: places that are neither required nor wrong.
        accepted_steps: functions that are accepted as steps as well.
        timed: steps with a known number of calls.
    """

    name: str
    sites: tuple[TrueSite, ...]
    steps: tuple[str, ...] = ()
    accepted: tuple[Place, ...] = ()
    accepted_steps: tuple[str, ...] = ()
    timed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Truth:
    """The truth about a run.

    Attributes:
        phases: its phases.
        k: the right numbers of phases, ascending.
        distinct: False when its intervals have nothing in common, and the answer is no phase.
        steps_known: False where the steps were not written down.
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
    """Iterate over steps and nested ones."""
    for step in steps:
        yield step
        yield from _with_inner(_tables(step, "steps"))


def _tables(entry: Mapping[str, object], key: str) -> list[dict[str, object]]:
    """Return a list of tables, empty where the key is missing."""
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key} is no list")
    return value
