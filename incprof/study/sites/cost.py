"""What a heartbeat costs, measured once for a run: the same question shall have the same answer."""

from __future__ import annotations

from typing import Any

from incprof.analysis.sites.rates import BeatCost
from incprof.jsonstore import JsonStore

# Used where libappekg cannot be asked: pairs of begin and end as in docs/performance.md.
TYPICAL = BeatCost(pair_ns=30.0, skipped_ns=3.0)
# What a `with appekg.beat(ID)` takes beside that, recorded or not: 0.4 to 1.06 us on this kind of machine.
PYTHON_NS = 650.0
STORE = "beat-cost.json"
VERSION = 1
# Nothing that a processor does in a pair takes longer.
MOST_NS = 1e6


def beat_cost(directory: str) -> BeatCost:
    """What a heartbeat costs on this machine, as measured when this run was first asked about."""
    store = JsonStore(directory, STORE, VERSION)
    if (kept := store.load(_understood)) is not None:
        return kept
    measured = _measured()
    if measured is None:
        return TYPICAL
    store.save({"pair_ns": measured.pair_ns, "skipped_ns": measured.skipped_ns})
    return measured


def in_python(cost: BeatCost) -> BeatCost:
    """What the same heartbeat costs in Python: the way to the library and back, which no rate factor spares."""
    return BeatCost(cost.pair_ns + PYTHON_NS, cost.skipped_ns + PYTHON_NS)


def _measured() -> BeatCost | None:
    """The cost in nanoseconds, with as many digits as it is good for."""
    try:
        from appekg import cost

        measured = cost()
    except (ImportError, OSError):
        return None
    return _plausible(float(f"{measured.pair_ns:.2g}"), float(f"{measured.skipped_ns:.2g}"))


def _plausible(pair_ns: float, skipped_ns: float) -> BeatCost | None:
    """The cost, unless it cannot be one."""
    return BeatCost(pair_ns, skipped_ns) if 0 < skipped_ns <= pair_ns < MOST_NS else None


def _understood(stored: dict[str, Any]) -> BeatCost | None:
    """The cost that was kept."""
    return _plausible(float(stored["pair_ns"]), float(stored["skipped_ns"]))
