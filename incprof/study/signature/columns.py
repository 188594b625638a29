"""The events of a trace as columns, a block at a time: times in C, and each call looked at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from incprof.analysis.signature.decode import EventDecoder, Stretch
from incprof.model import IntArray
from incprof.model.mpi import Call
from incprof.readers.trace import Trace
from incprof.readers.trace.calls import parse_call
from incprof.readers.trace.lanes import MOST_SHAPES, NEW_SHAPE, Lane
from incprof.readers.trace.numbers import BadRecordError, Cursor


@dataclass(frozen=True)
class Columns:
    """Events that follow each other in a lane, (n,).

    call: numbers of their calls. lane: number of it. first: the number of the first of them in the lane. Times as of
    `MpiEvent`.
    """

    call: IntArray
    start_ns: IntArray
    end_ns: IntArray
    work_ns: IntArray
    lane: int
    first: int


class ColumnLane(Lane):
    """Decodes one lane. number_of: gives a call its number."""

    def __init__(self, number: int, number_of: Callable[[Call], int]):
        super().__init__(number)
        self._decoder, self._number_of = EventDecoder(), number_of
        # Of each shape; -1 where it is not known, or may have changed.
        self._numbers: IntArray = np.zeros(0, dtype=np.int64)

    def columns(self, payload: bytes) -> Iterator[Columns]:
        """The events of a block, in stretches. Raises: BadRecordError, as `decode`."""
        at = 0
        while at < len(payload):
            stretch = self._decoder.decode(payload, at)
            found, problem = self._called(stretch)
            if len(found.call):
                self.events += len(found.call)
                self.latest_ns = max(self.latest_ns, int(found.end_ns[-1]))
                yield found
            if problem is not None:
                raise problem
            at = stretch.following
            if at < len(payload):
                at = self._between(payload, at)

    def _between(self, payload: bytes, at: int) -> int:
        """Take what stopped the decoder; return where it goes on."""
        if payload[at] == NEW_SHAPE:
            if len(self._decoder.keys) >= MOST_SHAPES:
                raise BadRecordError("too many shapes")
            self._decoder.make_room()
            return at
        cursor = Cursor(payload, at + 1)
        self.note(cursor, payload[at])
        return cursor.at

    def _called(self, stretch: Stretch) -> tuple[Columns, BadRecordError | None]:
        """Give events the numbers of their calls, up to the first that makes no sense."""
        problem = BadRecordError("an event that makes no sense") if stretch.bad else None
        new = len(self._decoder.keys) - len(self._numbers)
        self._numbers = np.concatenate([self._numbers, np.full(new, -1)])
        used, first = np.unique(stretch.shape, return_index=True)
        count = len(stretch.shape)
        unknown = self._numbers[used] < 0
        for _, shape in sorted(zip(first[unknown].tolist(), used[unknown].tolist(), strict=True)):
            try:
                self._numbers[shape] = self._number_of(parse_call(self._decoder.keys[shape], self.tables))
            except BadRecordError as error:
                count, problem = int(first[used == shape][0]), error
                break
        call = self._numbers[stretch.shape[:count]]
        times = (stretch.start_ns[:count], stretch.end_ns[:count], stretch.work_ns[:count])
        return Columns(call, *times, self.number, self.events), problem

    def forget(self) -> None:
        """Forget all shapes."""
        super().forget()
        self._decoder.forget()
        self._numbers = self._numbers[:0]

    def another_thread(self) -> None:
        """Begin at 0 again."""
        super().another_thread()
        self._decoder.another_thread()

    def ask_again(self) -> None:
        """Take it that shapes may stand for other calls from here on."""
        self._numbers[:] = -1


def columns(trace: Trace, number_of: Callable[[Call], int]) -> Iterator[Columns]:
    """Read the events of a trace, those of a lane in the order of time. number_of: gives a call its number, from 0."""
    return trace.decoded(lambda number: ColumnLane(number, number_of), ColumnLane.columns)
