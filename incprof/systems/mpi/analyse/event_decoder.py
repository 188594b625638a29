"""Decode times and shapes of events in C from the bytes of a trace's lane; `read.event_lanes` is the Python version."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis._native import ffi, native
from incprof.model import IntArray

# Columns for each shape: means of its times, position of its bytes in the payload, and the shape that followed it.
COLUMNS = {"gap": "int64", "duration": "int64", "key_at": "int64", "key_length": "int64", "follower": "int32"}
COLUMNS |= {"is_timed": "uint8"}
FEWEST = 64


@dataclass(frozen=True)
class Stretch:
    """Consecutive events, (n,).

    Attributes:
        shape: Their shapes.
        start_ns: As in `MpiEvent`.
        end_ns: As in `MpiEvent`.
        work_ns: As in `MpiEvent`.
        following: Position of the next record, which is not an event.
        bad: Whether that record is invalid.
    """

    shape: IntArray
    start_ns: IntArray
    end_ns: IntArray
    work_ns: IntArray
    following: int
    bad: bool


class EventDecoder:
    """Decoder state of one lane. keys: the bytes of each shape."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self._lane = ffi.new("struct incprof_mpi_lane *", {"last": -1})
        self._arrays = {name: np.zeros(0, kind) for name, kind in COLUMNS.items()}
        self.make_room()

    def make_room(self) -> None:
        """Allocate room for more shapes, in steps: most lanes have few, and a hostile trace has many lanes."""
        most = max(2 * self._lane.most, FEWEST)
        for name, kept in self._arrays.items():
            self._arrays[name] = array = np.zeros(most, kept.dtype)
            array[: len(kept)] = kept
            setattr(self._lane, name, ffi.cast(f"{kept.dtype}_t *", array.ctypes.data))
        self._lane.most = most

    def decode(self, payload: bytes, at: int) -> Stretch:
        """Decode the events that begin at a position in a payload."""
        # No event is shorter than two bytes.
        room = (len(payload) - at) // 2 + 1
        shape = np.empty(room, dtype=np.int32)
        times = np.empty((3, room), dtype=np.int64)
        where = ffi.new("int64_t *", at)
        start, end, work = (ffi.cast("int64_t *", row.ctypes.data) for row in times)
        count = native().incprof_mpi_events(
            self._lane, ffi.from_buffer("uint8_t[]", payload), len(payload), where, room,
            ffi.cast("int32_t *", shape.ctypes.data), start, end, work,
        )  # fmt: skip
        lane = self._lane
        for new in range(len(self.keys), lane.shapes):
            self.keys.append(payload[lane.key_at[new] : lane.key_at[new] + lane.key_length[new]])
        start_ns, end_ns, work_ns = times[:, :count]
        return Stretch(shape[:count].astype(np.int64), start_ns, end_ns, work_ns, int(where[0]), bool(lane.bad))

    def forget(self) -> None:
        """Discard all shapes."""
        self.keys.clear()
        self._lane.shapes, self._lane.last = 0, -1

    def another_thread(self) -> None:
        """Reset times to 0."""
        self._lane.end_ns, self._lane.last = 0, -1
