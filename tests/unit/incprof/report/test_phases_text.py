import io
from dataclasses import replace

import numpy as np
import pytest

from incprof.analysis.answer import find_phases
from incprof.analysis.answer.describe import summarise
from incprof.analysis.views.tracks import badge, cells, runs, sign, stretched
from incprof.report.text.phases_text import detail_notes, write_text
from incprof.report.words.display_names import shorten
from incprof.report.words.formatting import PARTLY_COUNTED, UNCOUNTED, duration
from tests.unit.profiles import noisy, rows


def text(profile, **options):
    out = io.StringIO()
    write_text(summarise(profile, 1), find_phases(profile), out, **options)
    return out.getvalue()


def test_a_cell_shows_what_most_of_its_intervals_are():
    assert cells(np.array([0, 0, 0, 1, 1, 1, 1, 0]), 2) == [0, 1]


def test_a_short_phase_is_not_hidden_by_a_tie():
    assert cells(np.array([0, 0, 0, 0, 0, 2]), 3) == [0, 0, 2]


def test_a_run_shorter_than_the_line_fills_it():
    assert stretched(np.array([0, 1]), 6) == [0, 0, 0, 1, 1, 1]
    assert len(stretched(np.zeros(1000, dtype=np.int64), 77)) == 77


def test_runs_and_signs():
    assert runs([0, 0, -1, 2, 2]) == [(0, 2), (-1, 1), (2, 2)]
    assert [sign(label) for label in (0, 7, 10, 15, -1)] == ["0", "7", "a", "f", "."]
    assert [badge(label) for label in (0, 9, 10, -1)] == ["0", "9", "10 a", "."]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.123, "0.123 s"), (59.0, "59 s"), (125, "2 min 5 s"), (3720, "1 h 2 min"), (3599.9, "1 h 0 min")],
)
def test_durations(seconds, said):
    assert duration(seconds) == said


def test_long_names_keep_both_ends():
    assert shorten("abcdefghij", 10) == "abcdefghij"
    assert shorten("abcdefghijk", 10) == "abcd...ijk"
    assert len(shorten("x" * 500, 31)) == 31


def test_plain_text_has_no_escape_and_fits_the_width():
    profile = noisy([{"std::vector<" + "std::pair<int, int>, " * 20 + ">::push_back": 1.0}, {"g": 1.0}], [30, 30])
    for width in (60, 100, 200):
        out = text(profile, width=width)
        assert "\x1b" not in out
        assert max(len(line.rstrip()) for line in out.splitlines()[1:]) <= width
        assert "push_back" in out


def test_colour_only_on_request():
    profile = noisy([{"f": 1.0}, {"g": 1.0}], [30, 30])
    coloured = text(profile, width=80, colour=True)
    assert "\x1b[" in coloured
    assert "0" * 40 in coloured


def test_waiting_is_reported():
    out = text(rows(*(["a=100"] * 10 + ["a=0"] * 5)))
    assert "(off the CPU)" in out


def test_signs_that_no_cell_has_are_not_explained():
    profile = rows(*(["a=100"] * 400 + ["a=0"]))
    spent = replace(find_phases(profile), spent=np.array([0] * 400 + [3]))
    for width, explained in ((401, True), (60, False)):
        out = io.StringIO()
        write_text(summarise(profile, 1), spent, out, width=width)
        assert ("most of an interval" in out.getvalue()) == explained


def test_details_tell_what_is_not_counted_and_has_no_lines():
    profile = rows(*["a=100"] * 3)
    bare = find_phases(profile)
    (phase,) = bare.phases
    tops = tuple(replace(top, calls=7) for top in phase.functions)
    sites = tuple(replace(site, file="a.c", line=1) for site in phase.sites)
    placed = replace(bare, phases=(replace(phase, sites=sites),))
    whole = replace(bare, phases=(replace(phase, sites=sites, functions=tops),))
    run = replace(summarise(profile, 1), counted=True)
    assert detail_notes(replace(run, counted=False), bare) == [
        UNCOUNTED,
        f"{phase.sites[0].function.module} has no line numbers (no -g): inlined functions count for their callers",
    ]
    assert detail_notes(run, placed) == [PARTLY_COUNTED]
    assert detail_notes(run, whole) == []


def test_markup_in_names_is_text():
    assert "[bold]" in text(rows(*["[bold]=100"] * 3), details=True)


@pytest.mark.parametrize(
    ("name", "room", "said"),
    [
        ("std::vector<int> ns::f(int, g (*)(int)) const", 80, "ns::f"),
        ("ns::f(int, int) [clone .isra.0]", 40, "ns::f"),
        ("ns::Mesh<Quad, std::map<int, int> >::sweep(int)", 11, "Mesh::sweep"),
        ("ns::Mesh<Quad, std::map<int, int> >::sweep(int)", 10, "sweep"),
        ("ns::QuadraticMesh::sweep()", 16, "Quad...sh::sweep"),
        ("(anonymous namespace)::f(int)", 24, "(anonymous namespace)::f"),
        ("f.constprop.0", 10, "f"),
        ("relaxation_sweep.constprop.0.isra.0", 16, "relaxation_sweep"),
        ("relaxation_sweep.constprop.0", 12, "relax...weep"),
        ("compute_forces._omp_fn.0", 20, "compute_forces"),
        ("relaxation_sweep.cold", 20, "relaxation_sweep"),
    ],
)
def test_all_goes_before_the_function_s_own_name(name, room, said):
    assert shorten(name, room) == said


def test_the_places_of_sites_give_way_to_their_names():
    name = "relax_interior_points_of_this_grid"
    profile = noisy([{name: 1.0}, {"g": 1.0}], [30, 30])
    assert name in text(profile, width=80)
    assert name in text(profile, width=100)
