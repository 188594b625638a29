"""How often a site beats in `incprof sites --json`: null where it is unknown."""

from __future__ import annotations

import pytest

from incprof.analysis.views.site_rows import SiteRow
from incprof.report.json.phases_json import _placed


@pytest.mark.parametrize(
    ("beats_hz", "basis", "rate", "least"),
    [
        (3.5, "counted", 3.5, None),
        (3.5, "estimated", 3.5, None),
        (3.5, "at most", 3.5, None),
        (0.009, "at least", None, 0.009),
        (None, "unknown", None, None),
    ],
)
def test_a_lower_bound_is_no_rate(beats_hz: float | None, basis: str, rate: float | None, least: float | None) -> None:
    row = SiteRow(1, "f:loop", (0,), "f", "loop", "f.c", 3, 100.0, 0.9, beats_hz, basis, 1, None)
    said = _placed(row)
    assert (said["beats_hz"], said["beats_hz_least"], said["basis"]) == (rate, least, basis)
