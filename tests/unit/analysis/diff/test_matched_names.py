"""What phases are called that two runs have in common."""

from types import SimpleNamespace

import pytest

from incprof.analysis.compare.match_names import same_functions, several_of_a_name
from incprof.analysis.diff.diff_result import Figure, Row
from incprof.analysis.diff.match_phases import name_groups
from incprof.model import Function
from incprof.report.words.diff_words import named
from incprof.report.words.display_names import SHORT
from incprof.symbols.demangle import display_names

PROJECT = "double ns::project<L1, Mesh<Quadratic> >(Mesh<Quadratic> const&)"


def phase(function, kind, file=None):
    site = SimpleNamespace(function=SimpleNamespace(name=function), kind=kind, file=file)
    return SimpleNamespace(off_cpu=False, sites=(site,), functions=())


def run_of(*functions, own=("/old/app",)):
    """A run with functions of (module, name, file, address)."""
    metadata = SimpleNamespace(exe=own[0], app="app", modules=())
    return SimpleNamespace(functions=tuple(Function(m, n, n, a, f) for m, n, f, a in functions), metadata=metadata)


def test_functions_of_one_name_are_distinguished_by_file_and_module():
    a = run_of(("app", "work", "/old/one.c", 1), ("app", "work", "/old/two.c", 2), ("lib.so.1", "work", None, 1))
    # In the other build they lie the other way round, and in another directory.
    b = run_of(("lib.so.2", "work", None, 9), ("app", "work", "/new/two.c", 3), ("app", "work", "/new/one.c", 4))
    assert [places.tolist() for places in several_of_a_name([a, b])] == [[0, 1], [1, 2]]
    names, places = same_functions([a, b])
    assert [name + behind for name, behind in names] == ["work (one.c)", "work (two.c)", "work (lib.so.1)"]
    assert [place.tolist() for place in places] == [[0, 1, 2], [2, 1, 0]]


def test_one_side_may_have_one_more_of_a_name():
    a = run_of(("app", "work", "a/util.c", 1))
    b = run_of(("app", "work", "b/util.c", 1), ("app", "work", "a/util.c", 2))
    names, places = same_functions([a, b])
    assert [place.tolist() for place in places] == [[0], [1, 0]]
    assert [behind for _, behind in names] == [" (a/util.c)", " (b/util.c)"]


def test_without_files_equal_numbers_are_matched_in_order():
    a = run_of(("app", "work", None, 10), ("app", "work", None, 20))
    b = run_of(("app", "work", None, 25), ("app", "work", None, 15))
    assert [place.tolist() for place in same_functions([a, b])[1]] == [[0, 1], [1, 0]]
    # Either of them may be the one.
    c = run_of(("app", "work", None, 10))
    assert [place.tolist() for place in same_functions([a, c])[1]] == [[0, 0], [0]]


def test_functions_of_fortran_are_matched_by_their_whole_names():
    symbols = ["__mesh.parts_MOD_split", "__mesh.halves_MOD_split", "master.0.solve_", "master.1.resume_", "solve_"]
    functions = [Function("app", s, n, 1) for s, n in zip(symbols, display_names(symbols, fortran=True), strict=True)]
    metadata = SimpleNamespace(exe="/old/app", app="app", modules=())
    run = SimpleNamespace(functions=tuple(functions), metadata=metadata)
    names, places = same_functions([run, run])
    assert [place.tolist() for place in places] == [list(range(len(symbols)))] * 2
    assert len(set(names)) == len(symbols)


def test_clones_of_a_function_stay_one():
    a = run_of(("app", "work", "one.c", 1), ("app", "work.isra.0", "one.c", 2), ("app", "other", None, 3))
    names, places = same_functions([a, a])
    assert (names, places[0].tolist()) == ((("work", ""), ("other", "")), [0, 0, 1])


def test_no_two_phases_have_one_name():
    phases = [phase("f.isra.0", "body"), phase("f", "loop"), phase("f", "loop"), phase("g", "body")]
    run = SimpleNamespace(result=SimpleNamespace(phases=phases))
    groups = [SimpleNamespace(members=((place,),)) for place in range(len(phases))]
    assert name_groups([run], groups) == [("f", " (body)"), ("f", " (loop)"), ("f", " (loop) #2"), ("g", "")]
    # Files tell more, where they differ.
    run.result.phases = [phase("f", "loop", "one.c"), phase("f", "loop", "two.c"), phase("g", "loop", "one.c")]
    assert name_groups([run], groups[:3]) == [("f", " (one.c)"), ("f", " (two.c)"), ("g", "")]


@pytest.mark.parametrize(
    ("name", "behind", "short"),
    [
        ("move_all", " (body)", "move_all (body)"),
        ("move_all", " (body) #2", "move_all (body) #2"),
        (PROJECT, " #2", "ns::project #2"),
        (PROJECT, "", "ns::project"),
    ],
)
def test_suffixes_that_distinguish_phases_follow_short_names(name, behind, short):
    nothing = Figure(0.0, 0.0, None, ())
    row = Row("phase", name + behind, 0, nothing, nothing, behind=behind)
    assert named(row) == short
    assert named(row, SHORT, 20) == short
