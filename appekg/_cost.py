"""What a heartbeat costs."""

from __future__ import annotations

from dataclasses import dataclass

from appekg._loading import library


@dataclass(frozen=True)
class Cost:
    """What a heartbeat costs the thread that beats, in nanoseconds.

    Attributes:
        pair_ns: A begin and an end that are recorded.
        skipped_ns: A begin and an end that are skipped because of a rate factor.
    """

    pair_ns: float
    skipped_ns: float


def cost() -> Cost:
    """Measure what a heartbeat of a compiled program costs on this machine. Starts nothing; takes 0.1 ms, once.

    Raises:
        ImportError: libappekg was not found.
        OSError: nothing could be measured.
    """
    pair, skipped = library.ffi.new("double *"), library.ffi.new("double *")
    if library.ekg_cost(pair, skipped) != 0:
        raise OSError("libappekg was built without a clock: the cost of a heartbeat is not known")
    return Cost(pair[0], skipped[0])
