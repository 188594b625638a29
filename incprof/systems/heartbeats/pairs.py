"""Pair the heartbeats of two runs: by name if both have one, else by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incprof.analysis.heartbeats.summaries import BeatSummary


@dataclass(frozen=True)
class Pair:
    """A heartbeat in two runs.

    Attributes:
        a: The heartbeat in run A; None if A does not have it.
        b: The same heartbeat in run B; None if B does not have it.
        notes: Anything unusual.
    """

    a: BeatSummary | None
    b: BeatSummary | None
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> int:
        """The id: A's if it has the heartbeat, else B's."""
        return self._known().id

    @property
    def name(self) -> str | None:
        """The name: A's if it has one, else B's."""
        return next((beat.name for beat in (self.a, self.b) if beat is not None and beat.name is not None), None)

    def _known(self) -> BeatSummary:
        """Return the heartbeat of A, else that of B."""
        beat = self.a if self.a is not None else self.b
        assert beat is not None
        return beat


def match(a: Sequence[BeatSummary], b: Sequence[BeatSummary]) -> list[Pair]:
    """Pair the heartbeats of two runs.

    Heartbeats are paired in this order: same id and same name; same name and another id; same id where only one run has
    a name for it. One id with two different names is two heartbeats.

    Returns:
        Each heartbeat of either run once, by id.
    """
    left, right = {beat.id: beat for beat in a}, {beat.id: beat for beat in b}
    pairs = []
    for number in sorted(left.keys() & right.keys()):
        if left[number].name == right[number].name:
            pairs.append(Pair(left.pop(number), right.pop(number)))
    # Several ids may have the same name: they are paired in order of id.
    named: dict[str, list[BeatSummary]] = {}
    for number in sorted(right):
        if (name := right[number].name) is not None:
            named.setdefault(name, []).append(right[number])
    for beat in [left[number] for number in sorted(left)]:
        if beat.name is not None and named.get(beat.name):
            other = named[beat.name].pop(0)
            pairs.append(Pair(left.pop(beat.id), right.pop(other.id), (f"id {beat.id} in A, {other.id} in B",)))
    pairs += _by_id(left, right)
    return sorted(pairs, key=lambda pair: (pair.id, pair.a is None))


def _by_id(left: dict[int, BeatSummary], right: dict[int, BeatSummary]) -> list[Pair]:
    """Pair the remaining heartbeats by id."""
    pairs = []
    for number in sorted(left.keys() | right.keys()):
        one, other = left.get(number), right.get(number)
        if one is None or other is None:
            pairs.append(Pair(one, other))
        elif one.name is None or other.name is None:
            run, name = ("B", other.name) if one.name is None else ("A", one.name)
            pairs.append(Pair(one, other, (f"named only in {run} ({name!r}), taken by its id",)))
        else:
            note = f"id {number} is {one.name!r} in A and {other.name!r} in B: not the same heartbeat"
            pairs += [Pair(one, None, (note,)), Pair(None, other, (note,))]
    return pairs
