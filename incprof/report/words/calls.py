"""How often something was called, in words: counted, or as samples tell."""

from __future__ import annotations

from incprof.model.visits import Visits
from incprof.report.words.figures import count

UNCOUNTED = "calls were not counted (no -pg): ~ is an estimate from samples, >= what was seen at least"


def calls_words(calls: int, estimated: Visits | None) -> str:
    """Return `12 calls`; `~12 calls` where samples tell, `>= 12 calls` where calls may be far more; else nothing."""
    words = count(calls, "call")
    if estimated is None:
        return words
    if not calls:
        return ""
    return f"~{words}" if estimated.is_known else f">= {words}"


def calls_json(estimated: Visits | None) -> dict[str, object]:
    """Return what is known of calls that nobody counted; nothing of others. calls_high: None for any number."""
    if estimated is None:
        return {}
    high = None if estimated.high is None else round(estimated.high, 1)
    return {"estimated": True, "calls_low": estimated.seen, "calls_high": high}
