"""All ranks of a run over time, for the map of a page."""

from __future__ import annotations

import numpy as np

from incprof.analysis.views.page_parts import MOST_BINS, MOST_ROWS, RankMap, agreement, groups_of_rows, rank_rows
from incprof.study.study import Study


def rank_map(study: Study, *, whole: bool = False) -> RankMap | None:
    """Return the map of all ranks; None where there is one rank only. whole: a row for each rank."""
    found, profile = study.ranks, study.profile
    if found is None:
        return None
    edges = np.linspace(float(profile.start_s[0]), float(profile.end_s[-1]), min(profile.n_intervals, MOST_BINS) + 1)
    reference = profile.metadata.rank
    rows = rank_rows(found, reference, edges)
    own = next(row for row in rows if row.ranks == (reference,))
    unread = study.shared.left_out if study.shared is not None else ()
    return RankMap(
        found=found,
        groups=tuple(groups_of_rows(found, rows, None if whole else MOST_ROWS)),
        agreement={row.ranks[0]: agreement(row, own) for row in rows},
        start_s=edges[:-1],
        end_s=edges[1:],
        reference=reference,
        unread=unread,
    )
