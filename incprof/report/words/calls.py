"""Call counts in words: counted, or estimated from samples."""

from __future__ import annotations

from incprof.model.time_use import Visits
from incprof.report.words.formatting import count

UNCOUNTED = "calls were not counted (no -pg): ~ is an estimate from samples, >= a lower bound"


def calls_words(calls: int, estimated: Visits | None) -> str:
    """Return `12 calls`; `~12 calls` if estimated, `>= 12 calls` for a lower bound; `-` if not counted."""
    words = count(calls, "call")
    if estimated is None:
        return words if calls else "-"
    if not calls:
        return ""
    return f"~{words}" if estimated.is_known else f">= {words}"


def calls_json(estimated: Visits | None) -> dict[str, object]:
    """Return the bounds of an estimated number of calls; empty if it was counted. calls_high: None is unbounded."""
    if estimated is None:
        return {}
    high = None if estimated.high is None else round(estimated.high, 1)
    return {"estimated": True, "calls_low": estimated.seen, "calls_high": high}
