"""The cost of a heartbeat, measured once per run, so that the answer is reproducible."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from incprof.analysis.sites.rates import BeatCost
from incprof.safe.jsonstore import JsonStore

# Used where libappekg is not available: pairs of begin and end as in docs/lab/performance.md.
TYPICAL = BeatCost(pair_ns=30.0, skipped_ns=3.0)
STORE = "beat-cost.json"
VERSION = 1
# An upper bound of the duration of a pair on any processor.
MOST_NS = 1e6


def beat_cost(directory: str) -> BeatCost:
    """Return the cost of a heartbeat on this machine, as measured for the first answer about this run."""
    store = JsonStore(directory, STORE, VERSION)
    if (kept := store.load(_understood)) is not None:
        return kept
    measured = _measured()
    if measured is None:
        return TYPICAL
    store.save(asdict(measured))
    return measured


def _measured() -> BeatCost | None:
    """Measure the cost in nanoseconds, rounded to its precision."""
    try:
        from appekg import cost, python_ns

        measured, passing = cost(), python_ns()
    except (ImportError, OSError):
        return None
    return _plausible(*(float(f"{ns:.2g}") for ns in (measured.pair_ns, measured.skipped_ns, passing)))


def _plausible(pair_ns: float, skipped_ns: float, python_ns: float) -> BeatCost | None:
    """Return the cost, unless it is implausible."""
    possible = 0 < skipped_ns <= pair_ns < MOST_NS and 0 < python_ns < MOST_NS
    return BeatCost(pair_ns, skipped_ns, python_ns) if possible else None


def _understood(stored: dict[str, Any]) -> BeatCost | None:
    """Return the stored cost."""
    python_ns = float(stored.get("python_ns", TYPICAL.python_ns))
    return _plausible(float(stored["pair_ns"]), float(stored["skipped_ns"]), python_ns)
