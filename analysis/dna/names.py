"""Names that people understand for states, by rules on their rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.model import FloatArray

LINE = 64
# Of the greatest rate of each counter on these nodes: less than this everywhere is idle.
IDLE = 0.05
# Bytes in a second that are worth a name.
NETWORK, DISK, MEMORY = 20e6, 20e6, 1e9
# Instructions between two misses that go to memory, and between two branches that were guessed wrongly.
MISS_EACH, WRONG_EACH = 100, 120


def is_idle(names: Sequence[str], rates: FloatArray, most: FloatArray) -> bool:
    """Whether a node does next to nothing: every rate that has any size is small for the nodes that were seen."""
    known = dict(zip(names, rates, strict=True))
    if not np.any(most > 0):
        return True
    busy = [at for at, name in enumerate(names) if most[at] > 0 and name != "bus-cycles"]
    bytes_s = sum(_sum(known, what) for what in ("net-", "disk-") if known)
    return bool(np.all(rates[busy] < IDLE * most[busy])) or (len(busy) == 0 and bytes_s < NETWORK)


def name_of(names: Sequence[str], rates: FloatArray, most: FloatArray) -> str:
    """Name a state.

    Args:
        names: of the counters. rates (counters,): of the state.
        most: (counters,) the greatest rates on all nodes that were seen.
    """
    if is_idle(names, rates, most):
        return "idle"
    known = dict(zip(names, (float(rate) for rate in rates), strict=True))
    said = [*_disk(known), *_network(known)]
    if not said:
        said = _processor(known)
    if not said:
        at = int(np.argmax(np.where(most > 0, rates / np.where(most > 0, most, 1), 0)))
        said = [f"{names[at]} {_short(float(rates[at]))}/s"]
    return ", ".join(said[:2])


def _disk(known: dict[str, float]) -> list[str]:
    """What it has to do with disks."""
    written, read = known.get("disk-write-bytes", 0), known.get("disk-read-bytes", 0)
    said = [f"disk write {_short(written)}B/s"] if written > DISK else []
    return said + ([f"disk read {_short(read)}B/s"] if read > DISK else [])


def _network(known: dict[str, float]) -> list[str]:
    """What it has to do with the network."""
    moved = _sum(known, "net-", "-bytes")
    return [f"network {_short(moved)}B/s"] if moved > NETWORK else []


def _processor(known: dict[str, float]) -> list[str]:
    """What keeps the processors busy."""
    done, misses, cycles = (known.get(name, 0) for name in ("instructions", "cache-misses", "cycles"))
    said = []
    if misses * LINE > MEMORY and done < MISS_EACH * misses:
        said.append(f"memory bound, {_short(misses * LINE)}B/s")
    elif known.get("branch-misses", 0) * WRONG_EACH > done > 0:
        said.append(f"branches, {100 * known['branch-misses'] / max(known.get('branches', 0), 1):.0f} % guessed wrongly")
    elif done and cycles:
        said.append(f"compute, {done / cycles:.1f} instructions per cycle")
    cpus = _sum(known, "cpu-")
    if not said and cpus > 0:
        said.append(f"compute, {cpus:.1f} processors")
    return said


def _sum(known: dict[str, float], begins: str, ends: str = "") -> float:
    return sum(rate for name, rate in known.items() if name.startswith(begins) and name.endswith(ends))


def _short(value: float) -> str:
    """A number with a letter for thousands: 12 G."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g} "
