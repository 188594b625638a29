"""What a heartbeat costs, measured once for a run: the same question shall have the same answer."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from incprof.analysis.sites.rates import BeatCost
from incprof.jsonstore import JsonStore

# Used where libappekg cannot be asked: pairs of begin and end as in docs/performance.md.
TYPICAL = BeatCost(pair_ns=30.0, skipped_ns=3.0)
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
    store.save(asdict(measured))
    return measured


def _measured() -> BeatCost | None:
    """The cost in nanoseconds, with as many digits as it is good for."""
    try:
        from appekg import cost, python_ns

        measured, passing = cost(), python_ns()
    except (ImportError, OSError):
        return None
    return _plausible(*(float(f"{ns:.2g}") for ns in (measured.pair_ns, measured.skipped_ns, passing)))


def _plausible(pair_ns: float, skipped_ns: float, python_ns: float) -> BeatCost | None:
    """The cost, unless it cannot be one."""
    possible = 0 < skipped_ns <= pair_ns < MOST_NS and 0 < python_ns < MOST_NS
    return BeatCost(pair_ns, skipped_ns, python_ns) if possible else None


def _understood(stored: dict[str, Any]) -> BeatCost | None:
    """The cost that was kept."""
    python_ns = float(stored.get("python_ns", TYPICAL.python_ns))
    return _plausible(float(stored["pair_ns"]), float(stored["skipped_ns"]), python_ns)
