"""Independent items of work, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from incprof.study.listener import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")


class Work(Generic[Item, Result]):
    """A function, its items, and their results.

    Args:
        function: computes a result; it and the items can be pickled.
        lost: the result of an item whose process was killed each time.
        progress: called with (done, total).
        warn: called with warnings, a line each.
    """

    def __init__(
        self,
        function: Callable[[Item], Result],
        items: Sequence[Item],
        lost: Callable[[Item], Result],
        progress: Progress,
        warn: Callable[[Iterable[str]], None],
    ):
        self.function, self.items = function, items
        self.warn = warn
        self._lost, self._progress = lost, progress
        self._found: dict[int, Result] = {}

    @property
    def left(self) -> list[int]:
        """Indices of items without a result yet, ascending."""
        return [place for place in range(len(self.items)) if place not in self._found]

    def done(self, place: int, result: Result) -> None:
        """Store the result of an item."""
        self._found[place] = result
        self._progress(len(self._found), len(self.items))

    def give_up(self, place: int) -> None:
        """Mark an item as lost."""
        self.done(place, self._lost(self.items[place]))

    def results(self) -> list[Result]:
        """Return the results of all items, in their order."""
        return [self._found[place] for place in range(len(self.items))]
