"""The run of an answer, as JSON: the same keys in every schema that has a `run`."""

from __future__ import annotations

from math import isfinite

from incprof.analysis.phase_result import Counting, RunSummary

DIGITS = 6


def rounded(value: float | None) -> float | None:
    """Round to six decimals, for readability and equal bytes; values that JSON cannot represent become None."""
    return None if value is None or not isfinite(value) else round(float(value), DIGITS)


def run_json(run: RunSummary) -> dict[str, object]:
    """Return the recorded run. Times in seconds; overhead_pct is None if not available."""
    return {
        "app": run.app,
        "rank": run.rank,
        "ranks": run.ranks,
        "intervals": run.intervals,
        "interval_s": run.interval_s,
        "pooled": run.pooled,
        "rate_hz": run.rate_hz,
        "reached_hz": rounded(run.reached_hz),
        "samples": run.samples,
        "counted": run.counted,
        "overhead_pct": rounded(run.overhead_pct),
        "duration_s": rounded(run.duration_s),
        "off_cpu_s": rounded(run.off_cpu_s),
        "counting": None if run.counting is None else _counting(run.counting),
    }


def _counting(found: Counting) -> dict[str, object]:
    """Return the cost of counting calls."""
    functions = [{"function": one.name, "calls": one.calls, "share": rounded(one.share)} for one in found.functions]
    return {
        "calls": found.calls,
        "call_ns": rounded(found.call_s * 1e9),
        "pct": rounded(found.pct),
        "functions": functions,
    }
