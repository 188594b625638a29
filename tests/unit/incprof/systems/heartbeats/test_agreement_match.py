"""Which heartbeat stands for which site, and what is expected of it."""

import numpy as np

from incprof.analysis.heartbeats import match
from incprof.analysis.phase_result import Phase, Site
from incprof.model import Function
from incprof.readers.run import open_run, read_profile
from incprof.systems.heartbeats.agreement_measures import expected_share
from tests.unit.streamwriter import Sample, StreamWriter


def phase(number, *sites):
    made = tuple(
        Site(heartbeat, index, Function("app", f"_Z{name}", name, 64 * index), kind, 100.0, 50.0)
        for heartbeat, index, name, kind in sites
    )
    return Phase(number, 1, 50.0, 1.0, (), made)


def test_by_name_whatever_the_ids():
    phases = [phase(0, (1, 0, "fill(int)", "body")), phase(1, (2, 1, "ns::sweep", "loop"), (1, 0, "fill(int)", "body"))]
    found = match(phases, [7, 8, 9], ["sweep:loop", "fill:body", "fill:loop"])
    assert found.of_phase == ((1,), (0, 1))
    assert found.functions == ((1,), (0,), ())
    assert found.loops == (True, False, True)
    assert found.missing == ((), ())
    assert found.used == (0, 1)


def test_the_other_kind_stands_for_a_site_that_has_no_heartbeat_of_its_own():
    phases = [phase(0, (1, 0, "f", "body")), phase(1, (2, 1, "g", "loop"))]
    found = match(phases, [1, 2, 3], ["f:loop", "g:body", "g:loop"])
    assert found.of_phase == ((0,), (2,))
    assert found.loops == (True, False, True)
    assert found.missing == ((), ())


def test_without_a_name_the_id_decides():
    found = match([phase(0, (1, 0, "f", "body")), phase(1, (2, 1, "g", "body"))], [1, 2, 3], [None, "h:body", None])
    assert found.of_phase == ((0,), ())
    assert found.missing == ((), ("g:body",))


def test_the_name_that_fits_best_is_taken():
    phases = [
        phase(0, (1, 0, "a::f(int)", "body")),
        phase(1, (2, 1, "b::f(int)", "body")),
        phase(2, (3, 2, "f", "body")),
    ]
    assert match(phases, [1, 2, 3], ["a::f:body", "b::f:body", "f:body"]).of_phase == ((0,), (1,), (2,))
    assert match(phases[:2], [1], ["f:body"]).of_phase == ((0,), (0,))  # both: either may be meant


def test_all_instances_of_a_template_are_one_place_in_the_source():
    sites = (1, 0, "double project<L1>(int)", "body"), (2, 1, "double project<L2>(int)", "body")
    assert match([phase(0, *sites)], [1], ["project:body"]).functions == ((0, 1),)


def test_a_name_that_the_library_has_cut():
    name = "n" * 200
    found = match([phase(0, (1, 0, name, "body"))], [5], [f"{name}:body".encode()[:119].decode()])
    assert found.of_phase == ((0,),)


def test_expected_share_counts_callees_and_recursion_once(tmp_path):
    writer = StreamWriter(["main", "outer", "inner", "other"])
    writer.interval([Sample("main;outer", weight=20), Sample("main;outer;inner;outer;inner", weight=30)])
    writer.interval([Sample("main;other;inner", weight=40), Sample("main;outer", kind=2, weight=10)])
    writer.end()
    profile = read_profile(open_run(writer.save(tmp_path / "run")))
    place = {function.name: index for index, function in enumerate(profile.functions)}
    groups = [[place["outer"]], [place["inner"]], [place["outer"], place["other"]], [place["main"]]]
    found = expected_share(profile, groups)
    assert np.allclose(found, [[0.5, 0.3, 0.5, 0.5], [0.0, 0.4, 0.4, 0.4]])
