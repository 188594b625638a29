"""Which module imports which."""

from graphlib import TopologicalSorter

import grimp


def test_no_module_is_imported_by_what_it_imports():
    graph = grimp.build_graph("incprof", "appekg", cache_dir=None)
    # Raises CycleError, which names the circle.
    TopologicalSorter({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}).prepare()
