"""What a heartbeat costs, measured once for a run: the same question shall have the same answer."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path

from incprof.analysis.rates import BeatCost

# Used where libappekg cannot be asked: pairs of begin and end as in docs/performance.md.
TYPICAL = BeatCost(pair_ns=30.0, skipped_ns=3.0)
STORE = "beat-cost.json"
VERSION = 1
# Nothing that a processor does in a pair takes longer.
MOST_NS = 1e6


def beat_cost(directory: str) -> BeatCost:
    """What a heartbeat costs on this machine, as measured when this run was first asked about."""
    store = Path(directory) / STORE
    found = _load(store) or _measured()
    if found is None:
        return TYPICAL
    if not store.exists():
        _save(store, found)
    return found


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


def _load(path: Path) -> BeatCost | None:
    """The cost that was kept; None when there is none, or the file is damaged."""
    try:
        stored = json.loads(path.read_bytes())
        return (
            _plausible(float(stored["pair_ns"]), float(stored["skipped_ns"])) if stored["version"] == VERSION else None
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _save(path: Path, cost: BeatCost) -> None:
    """Keep the cost; a directory that cannot be written to is left alone."""
    text = json.dumps({"version": VERSION, "pair_ns": cost.pair_ns, "skipped_ns": cost.skipped_ns})
    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=STORE, suffix=".tmp")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
