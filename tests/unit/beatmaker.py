"""Summaries of heartbeats from lists of counts and means per interval, for tests."""

import numpy as np

from incprof.analysis.heartbeats.summaries import BeatSeries, BeatSummary


def series(counts, means_s, *, opens=None, pulses=None, interval_s=1.0, rate_factor=1):
    """A series with a cell for each entry; where the count is 0 the mean does not matter."""
    counts = np.asarray(counts, dtype=np.int64)
    n = len(counts)
    sums = np.where(counts > 0, counts * np.nan_to_num(np.broadcast_to(means_s, n)), 0.0).astype(np.float64)
    return BeatSeries(
        end_s=interval_s * np.arange(1, n + 1),
        at=np.arange(n),
        counts=counts,
        pulse_counts=np.asarray([0] * n if pulses is None else pulses, dtype=np.int64),
        factors=np.full(n, float(rate_factor)),
        sums_s=sums,
        busy_pcts=100 * np.minimum(sums / interval_s, 1),
        opens=np.asarray([0] * n if opens is None else opens, dtype=np.int64),
    )


def beat(number, name=None, counts=(), means_s=1e-3, *, opens=None, pulses=None, rate_factor=1, interval_s=1.0):
    """A heartbeat whose beats of an interval are all as long as the interval's mean."""
    found = series(counts, means_s, opens=opens, pulses=pulses, interval_s=interval_s, rate_factor=rate_factor)
    count, total = int(found.counts.sum()), float(found.sums_s.sum())
    wall = len(found.counts) * interval_s or 1.0
    some = found.counts > 0
    each = np.repeat(found.sums_s[some] / found.counts[some], found.counts[some]) if count else None
    many = int(found.pulse_counts.sum())
    return BeatSummary(
        id=number,
        name=name,
        count=count,
        pulses=many,
        executions=(count + many) * rate_factor,
        mean_s=total / count if count else None,
        min_s=None if each is None else float(each.min()),
        max_s=None if each is None else float(each.max()),
        std_s=None if each is None else float(each.std()),
        p5_s=None if each is None else float(np.quantile(each, 0.05, method="inverted_cdf")),
        p95_s=None if each is None else float(np.quantile(each, 0.95, method="inverted_cdf")),
        rate_hz=(count or many) / wall,
        busy_pct=100 * rate_factor * total / wall,
        bounded=0,
        rate_factor=rate_factor,
        thinned=False,
        cost_pct=None,
        open=int(found.opens[-1]) if len(found.opens) else 0,
        open_s=0.0,
        ranks=1,
        threads=1,
        imbalance_ranks=0.0,
        imbalance_threads=0.0,
        series=found,
    )
