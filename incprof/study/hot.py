"""Functions called so often that counting their calls is expensive: their places, and how to exclude them from -pg."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from incprof.analysis.answer.describe import HotAnswer, HotCalls, HotFile, HotFunction, counting, hot_calls
from incprof.errors import NoDataError
from incprof.model.names import LAMBDA, parse
from incprof.source.changes import difference
from incprof.source.languages import read_source
from incprof.source.model import Insertion, insert, is_c
from incprof.study.sites.place import Sources, WrittenFunction
from incprof.study.study import Study
from incprof.symbols.source_lines import locate

ATTRIBUTE = b"__attribute__((no_instrument_function)) "
CMAKE_HEAD = """\
# Functions of these files are called so often that counting the calls costs. GCC and gfortran compile them without the
# hook of -pg, wherever that stands; the program is linked with -pg as before. For the CMakeLists.txt in whose directory
# the target is made: include({name})
set_source_files_properties(
"""


def hot(study: Study) -> HotCalls:
    """Return the functions of a run whose calls are expensive to count.

    Raises: NoDataError where calls were not counted, or the recording lacks the cost of counting one.
    """
    profile, directory = study.recorded, study.run.directory
    if not profile.calls.sum():
        raise NoDataError(f"{directory}: no calls were counted: the program was built without -pg, which costs nothing")
    cost = counting(profile)
    if cost is None:
        raise NoDataError(f"{directory}: the recording lacks the cost of counting a call: record it again")
    return hot_calls(profile, cost)


def answer(study: Study, hot_functions: HotCalls) -> HotAnswer:
    """Return the answer for the reports, with places."""
    profile = study.recorded
    total = np.asarray(profile.calls.sum(axis=0), dtype=np.int64).ravel()
    called = np.flatnonzero(total).tolist()
    places = locate(study.run, profile, [profile.functions[i] for i in called], exe=study.exe)
    calls: defaultdict[str, int] = defaultdict(int)
    for index, place in zip(called, places, strict=True):
        if place.file is not None:
            calls[place.file] += int(total[index])
    place_of = {(place.module, place.address): place for place in places}
    functions = tuple(
        replace(each, function=place_of[each.function.module, each.function.address])
        for each in hot_functions.functions
    )
    named: defaultdict[str, int] = defaultdict(int)
    for each in functions:
        if each.function.file is not None:
            named[each.function.file] += each.calls
    files = tuple(HotFile(path, named[path], calls[path] - named[path]) for path in sorted(named))
    return HotAnswer(study.run.app, profile.metadata.rank, replace(hot_functions, functions=functions), files)


@dataclass(frozen=True)
class Patch:
    """A patch.

    Attributes:
        text: a unified diff.
        functions: their number.
        refused: functions that cannot get an attribute, and the reasons.
    """

    text: bytes
    functions: int
    refused: tuple[tuple[HotFunction, str], ...]


def patch(study: Study, rows: Sequence[HotFunction], root: Path, *, allow_changed: bool) -> Patch:
    """Return the patch that excludes functions in C and C++ from -pg, for GCC and Clang.

    Raises: NoDataError when the directory does not exist.
    """
    start = study.recorded.metadata.raw.get("start_unix_ns")
    start_ns = start if isinstance(start, int) and start > 0 else None
    sources = Sources(root, study.run.directory, start_ns, allow_changed=allow_changed)
    functions: dict[tuple[str, int], WrittenFunction] = {}
    refused = []
    for row in rows:
        try:
            written = _written(sources, root, row)
            functions[written.file.path, written.position] = written
        except NoDataError as error:
            refused.append((row, str(error)))
    sources.save()
    text = b""
    for path in sorted({path for path, _ in functions}):
        old = read_source(root / path)
        nodes = [f.file.functions[f.position].node for (where, _), f in sorted(functions.items()) if where == path]
        text += difference(path, old, insert(old, [Insertion(node.start_byte, ATTRIBUTE) for node in nodes]))
    return Patch(text, len(functions), tuple(refused))


def _written(sources: Sources, root: Path, row: HotFunction) -> WrittenFunction:
    """Return the function as written, which takes an attribute.

    Raises: NoDataError with the reason where it does not.
    """
    name, place = row.function.name, row.function
    if place.file is None or place.line is None:
        written = sources.named(name)
    else:
        written = sources.function(place.file, place.line, name, entry=True)
    file, function = written.file, written.file.functions[written.position]
    where = f"{file.path}:{function.line}"
    if not is_c(file.language):
        raise NoDataError(f"{where}: Fortran has no such attribute")
    if function.node.type != "function_definition" or parse(function.name).last == LAMBDA:
        raise NoDataError(f"{where}: no attribute can be put to a lambda")
    parts = parse(function.name).components
    is_constructor = len(parts) > 1 and parts[-1].removeprefix("~") == parts[-2]
    if is_constructor and function.node.parent is not None and function.node.parent.type != "field_declaration_list":
        raise NoDataError(f"{where}: GCC takes the attribute of a constructor or destructor in the class alone")
    if read_source(root / file.path) != file.data:
        raise NoDataError(
            f"{where}: there are heartbeats in the file: take them out first (incprof instrument --remove)"
        )
    return written


def cmake(files: Sequence[str], name: str) -> str:
    """Return a CMake file that makes GCC exclude the functions of whole files. name: of the file itself."""
    lines = "".join(f'  "{_quoted(path)}"\n' for path in files)
    return f"{CMAKE_HEAD.format(name=name)}{lines}  PROPERTIES COMPILE_OPTIONS -fno-profile)\n"


def _quoted(path: str) -> str:
    """Escape text for a quoted string of CMake."""
    return "".join("\\" + c if c in '\\"$;' else c for c in path)
