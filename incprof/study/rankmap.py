"""Every rank of a run over time, for the map of a page."""

from __future__ import annotations

import numpy as np

from incprof.analysis.views.rankmap import MOST_BINS, agreement, grouped, rank_rows
from incprof.report.page.parts import RankMap
from incprof.study.study import Study


def rank_map(study: Study, *, whole: bool = False) -> RankMap | None:
    """Return the map of all ranks; None where there is one rank only. whole: a row for each."""
    found, profile = study.ranks, study.profile
    if found is None:
        return None
    edges = np.linspace(float(profile.start_s[0]), float(profile.end_s[-1]), min(profile.n_intervals, MOST_BINS) + 1)
    reference = profile.metadata.rank
    rows = rank_rows(found, reference, edges)
    own = next(row for row in rows if row.rank == reference)
    ordered = tuple(rows if whole else grouped(rows))
    agreements = tuple(agreement(row, own) for row in ordered)
    unread = study.shared.left_out if study.shared is not None else ()
    return RankMap(ordered, agreements, edges[:-1], edges[1:], reference, len(rows), unread)
