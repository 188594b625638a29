"""Things to be done, each by itself, and what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from incprof.study.listener import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")


class Work(Generic[Item, Result]):
    """What a function makes of items. left: the places of those that are not done yet.

    function: it and the items can be pickled. lost: the result for an item whose process was killed each time.
    progress: told how far it is. warn: told what went wrong on the way, a line each.
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
        """Places of items that nothing is known of yet, ascending."""
        return [place for place in range(len(self.items)) if place not in self._found]

    def done(self, place: int, result: Result) -> None:
        """Take what came of an item."""
        self._found[place] = result
        self._progress(len(self._found), len(self.items))

    def give_up(self, place: int) -> None:
        """Take it that nobody can do an item."""
        self.done(place, self._lost(self.items[place]))

    def results(self) -> list[Result]:
        """Return what came of all items, in their order."""
        return [self._found[place] for place in range(len(self.items))]
