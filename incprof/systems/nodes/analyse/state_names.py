"""Readable names for states, by rules on their rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.model import FloatArray
from incprof.systems.nodes.analyse.idle import is_idle
from incprof.systems.nodes.analyse.paper_counters import HELD

LINE = 64
# Least bytes per second that are mentioned in a name.
NETWORK, DISK, MEMORY = 20e6, 20e6, 1e9
# Greatest number of instructions between two misses that go to memory, and between two mispredicted branches.
MISS_EACH, WRONG_EACH = 100, 120
# Least number of processors that wait for storage.
WAITS = 0.2


def name_of(names: Sequence[str], rates: FloatArray, most: FloatArray) -> str:
    """Name a state.

    Args:
        names: Names of the counters.
        rates: (counters,) of the state.
        most: (counters,) the greatest rates on all recorded nodes.
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


def told_apart(called: Sequence[str], names: Sequence[str], rates: FloatArray, floor: FloatArray) -> list[str]:
    """Return unique names of states: equal names get the counter in which their states differ most.

    Args:
        called: (states,) names of the states.
        names: Names of the counters.
        rates: (states, counters).
        floor: (counters,) rates from which each counter matters.
    """
    out = list(called)
    for name in dict.fromkeys(called):
        same = [at for at, each in enumerate(called) if each == name]
        if len(same) > 1:
            levels = np.arcsinh(rates[same] / floor)
            most = int(np.ptp(levels, axis=0).argmax())
            for at in same:
                out[at] = f"{name}, {names[most]} {_short(float(rates[at, most])).strip()}"
    return out


def _disk(known: dict[str, float]) -> list[str]:
    """Describe disk traffic."""
    written, read = known.get("disk-write-bytes", 0), known.get("disk-read-bytes", 0)
    said = [f"disk write {_short(written)}B/s"] if written > DISK else []
    return said + ([f"disk read {_short(read)}B/s"] if read > DISK else [])


def _network(known: dict[str, float]) -> list[str]:
    """Describe network traffic."""
    moved = _sum(known, "net-", "-bytes")
    return [f"network {_short(moved)}B/s"] if moved > NETWORK else []


def _processor(known: dict[str, float]) -> list[str]:
    """Describe the activity of the processors."""
    done, misses, cycles = (known.get(name, 0) for name in ("instructions", "cache-misses", "cycles"))
    said = []
    if misses * LINE > MEMORY and done < MISS_EACH * misses:
        said.append(f"memory bound, {_short(misses * LINE)}B/s")
    elif known.get("branch-misses", 0) * WRONG_EACH > done > 0:
        said.append(
            f"branches, {100 * known['branch-misses'] / max(known.get('branches', 0), 1):.0f} % guessed wrongly"
        )
    elif done and cycles:
        said.append(f"compute, {done / cycles:.1f} instructions per cycle")
    if not said and (cpus := known.get("cpu", 0)) > 0:
        said.append(
            f"{'system calls' if known.get('system', 0) > 0.5 * cpus else 'compute'}, {cpus:.1f} processors busy"
        )
    said += [f"{_short(known[name])}B held" for name in HELD if known.get(name, 0) > 0][:1]
    if known.get("iowait", 0) > max(WAITS, known.get("cpu", 0)):
        said.insert(0, "waits for disks")
    return said


def _sum(known: dict[str, float], begins: str, ends: str = "") -> float:
    return sum(rate for name, rate in known.items() if name.startswith(begins) and name.endswith(ends))


def _short(value: float) -> str:
    """Format a number with a prefix for thousands: 12 G."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g} "
