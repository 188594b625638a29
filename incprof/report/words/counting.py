"""What counting calls has cost, who caused it and what to do, for text and page alike."""

from __future__ import annotations

from incprof.analysis.phases.results import Counting
from incprof.report.words.names import shorten
from incprof.report.words.numbers import rate, seconds

# Below it a page calls what recording itself costs good.
WORTH_SAYING_PCT = 2.0
ROOM = 40


def counting_words(found: Counting) -> str:
    """`counting 188743680 calls at 1.54 ns took 48 % of the program's CPU time`."""
    return f"counting {found.calls} calls at {seconds(found.call_s)} took {rate(found.pct)} % of the program's CPU time"


def counting_advice(found: Counting | None) -> str | None:
    """Say what counting cost, which functions it is and what helps; None where it is not worth it."""
    if found is None or found.pct < WORTH_SAYING_PCT:
        return None
    who = ", ".join(f"{shorten(one.name, ROOM)} {100 * one.share:.0f} %" for one in found.functions)
    return f"{counting_words(found)} ({who}): `incprof check --hot DIR` writes what leaves them out of -pg"
