"""Names that people understand for states, by rules on their rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.dna.counters import HELD
from incprof.analysis.dna.idle import is_idle
from incprof.model import FloatArray

LINE = 64
# Bytes in a second that are worth a name.
NETWORK, DISK, MEMORY = 20e6, 20e6, 1e9
# Instructions between two misses that go to memory, and between two branches that were guessed wrongly.
MISS_EACH, WRONG_EACH = 100, 120
# Processors that wait for storage.
WAITS = 0.2


def name_of(names: Sequence[str], rates: FloatArray, most: FloatArray) -> str:
    """Name a state.

    Args:
        names: of the counters.
        rates: (counters,) of the state.
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


def told_apart(called: Sequence[str], names: Sequence[str], rates: FloatArray, floor: FloatArray) -> list[str]:
    """Names of states, those that are called the same with the counter in which these differ most.

    Args:
        called: what the states (states,) are called.
        names: of the counters.
        rates: (states, counters).
        floor: (counters,) at which each begins to matter.
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
    """A number with a letter for thousands: 12 G."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g} "
