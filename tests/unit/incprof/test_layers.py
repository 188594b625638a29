"""Which module imports which, and where the tests of each lie."""

from graphlib import TopologicalSorter

import grimp

from tests.paths import ROOT


def test_no_module_is_imported_by_what_it_imports():
    graph = grimp.build_graph("incprof", "appekg", cache_dir=None)
    # Raises CycleError, which names the circle.
    TopologicalSorter({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}).prepare()


def test_unit_tests_lie_in_the_folders_of_what_they_test():
    units = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(units) for path in units.rglob("test_*.py")}
    assert not sorted(str(folder) for folder in folders if not folder.parts or not (ROOT / folder).is_dir())
