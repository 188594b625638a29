"""The call paths that a process has recorded, and the lines of the source at which they make their calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from incprof.readers.stream.interval_images import RecordedPaths, recorded_paths
from incprof.study.study import Study
from incprof.symbols.addr2line import Chain
from incprof.symbols.demangle import display_names
from incprof.symbols.function_space import is_shared_source
from incprof.symbols.python_code import line_at
from incprof.symbols.source_lines import chains_of


class Place(NamedTuple):
    """A place in the source.

    Attributes:
        file: its name.
        line: its line.
        inlined: names of the functions inlined there, outermost first.
        called: name of the function of a system header that is called there, and was inlined, too; None: none was.
    """

    file: str
    line: int
    inlined: tuple[str, ...] = ()
    called: str | None = None


class PathNames(NamedTuple):
    """Names of the functions on a call path.

    Attributes:
        functions: innermost first, with inlined ones.
        own: place in them of the innermost that is the program's own, not a library's or a package's; None if none is.
    """

    functions: list[str]
    own: int | None = None


# By node: the place of the call in the innermost function of its path.
Places = dict[int, Place]


def paths_of(study: Study) -> RecordedPaths:
    """Return the call paths by the numbers of nodes in the stream.

    Raises: NoDataError if the process has no stream.
    """
    return recorded_paths(study.process.path, study.run.directory, exe=study.exe)


def places_of(study: Study, paths: RecordedPaths, nodes: Iterable[int]) -> Places:
    """Return the places of nodes, as far as the program has lines.

    Of a call in inlined functions of system headers, such as those of std::mutex, it is the place that called them.
    """
    places, by_module = Places(), defaultdict[str, list[int]](list)
    for node in sorted(each for each in {*nodes} if 0 < each < len(paths.module)):
        module = paths.modules.get(int(paths.module[node]))
        if module is not None and module.code is not None:
            places[node] = Place(module.path, line_at(module.code, int(paths.tree.address[node])))
        elif module is not None:
            by_module[module.name].append(node)
    for name, own in by_module.items():
        addresses = [int(paths.tree.address[node]) for node in own]
        chains = chains_of(study.run, study.recorded, name, addresses, exe=study.exe)
        for node, whole in zip(own, chains, strict=True):
            chain = _without_headers(whole)
            if chain and chain[0].line:
                inlined = display_names([frame.function for frame in chain[-2::-1]])
                headers = display_names([frame.function for frame in whole[: len(whole) - len(chain)][-1:]])
                places[node] = Place(chain[0].file, chain[0].line, tuple(inlined), *headers)
    return places


def names_at(paths: RecordedPaths, places: Places, node: int) -> PathNames:
    """Return the functions on the path to a node without recursion, with the inlined ones at the nodes of `places`."""
    names = list[str]()
    own: int | None = None
    for at in reversed(paths.without_recursion(node)):
        function = paths.functions[int(paths.tree.function[at])]
        if own is None and not function.is_library:
            own = len(names)
        names += [*(places[at].inlined[::-1] if at in places else ()), function.name]
    return PathNames(names, own)


def _without_headers(chain: Chain) -> Chain:
    """Return the chain without innermost functions of shared sources; all of it if it has no others."""
    own = next((at for at, frame in enumerate(chain) if not is_shared_source(frame.file)), 0)
    return chain[own:]
