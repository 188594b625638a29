"""The cost of counting calls, the functions that cause it and what to do, for text and page alike."""

from __future__ import annotations

from incprof.analysis.phase_result import Counting
from incprof.report.words.display_names import shorten
from incprof.report.words.formatting import rate, seconds

# Below this, a page rates the recording's overhead as good.
WORTH_SAYING_PCT = 2.0
ROOM = 40


def counting_words(found: Counting) -> str:
    """Return `counting 188743680 calls at 1.54 ns took 48 % of the program's CPU time`."""
    return f"counting {found.calls} calls at {seconds(found.call_s)} took {rate(found.pct)} % of the program's CPU time"


def counting_advice(found: Counting | None) -> str | None:
    """Return the cost of counting, its functions and the remedy; None where the cost is negligible."""
    if found is None or found.pct < WORTH_SAYING_PCT:
        return None
    who = ", ".join(f"{shorten(one.name, ROOM)} {100 * one.share:.0f} %" for one in found.functions)
    return f"{counting_words(found)} ({who}): `incprof check --hot DIR` shows how to leave them out of -pg"
