"""What phases are called that two runs have in common."""

from types import SimpleNamespace

import pytest

from incprof.analysis.diff.phase_names import name_groups
from incprof.analysis.diff.results import Figure, Row
from incprof.report.words.diff import named
from incprof.report.words.names import SHORT

PROJECT = "double ns::project<L1, Mesh<Quadratic> >(Mesh<Quadratic> const&)"


def phase(function, kind):
    return SimpleNamespace(
        off_cpu=False, sites=(SimpleNamespace(function=SimpleNamespace(name=function), kind=kind),), functions=()
    )


def test_no_two_phases_have_one_name():
    phases = [phase("f.isra.0", "body"), phase("f", "loop"), phase("f", "loop"), phase("g", "body")]
    run = SimpleNamespace(result=SimpleNamespace(phases=phases))
    groups = [SimpleNamespace(members=((place,),)) for place in range(len(phases))]
    assert name_groups([run], groups) == [("f", " (body)"), ("f", " (loop)"), ("f", " (loop) #2"), ("g", "")]


@pytest.mark.parametrize(
    ("name", "behind", "short"),
    [
        ("move_all", " (body)", "move_all (body)"),
        ("move_all", " (body) #2", "move_all (body) #2"),
        (PROJECT, " #2", "ns::project #2"),
        (PROJECT, "", "ns::project"),
    ],
)
def test_what_tells_phases_apart_stays_behind_short_names(name, behind, short):
    nothing = Figure(0.0, 0.0, None, ())
    row = Row("phase", name + behind, 0, nothing, nothing, behind=behind)
    assert named(row) == short
    assert named(row, SHORT, 20) == short
