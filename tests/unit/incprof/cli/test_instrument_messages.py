"""Messages of `instrument` for sites that cannot be instrumented."""

import pytest

from incprof.cli.verbs.instrument import refuse, report_sites
from incprof.errors import NoDataError
from incprof.study.sites.store import UNKNOWN_RATE, PlacedSite

RECORDED = "double ns::Grid<int, std::allocator<int> >::sweep<3>(std::vector<int> const&, unsigned long)"


def refused(recorded):
    return PlacedSite(
        0, f"{recorded}:loop", (0,), recorded, "loop", None, None, None, "a.cpp", 7, 0.0, UNKNOWN_RATE, refusal="gone"
    )


def test_functions_that_are_refused_have_short_names(capsys):
    sites = [refused(RECORDED), refused(RECORDED.replace("Grid", "Mesh"))]
    report_sites(sites, by_hand=False)
    assert capsys.readouterr().err.splitlines() == [
        "incprof: phase 0: Grid::sweep at a.cpp:7 refused: gone",
        "incprof: phase 0: Mesh::sweep at a.cpp:7 refused: gone",
    ]
    with pytest.raises(NoDataError, match=r"^no heartbeat can be put in: Grid::sweep: gone$"):
        refuse(sites, by_hand=False)
