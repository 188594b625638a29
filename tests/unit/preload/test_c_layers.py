"""The C files of a room lie in layers: none calls a file that calls it back, not even by way of others."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.paths import ROOT

ROOMS = {
    "preload": ("preload/*",),
    "runtime": ("runtime", "runtime/include"),
    "appekg": ("appekg/src", "appekg/include"),
    "selfanalyze": ("selfanalyze", "selfanalyze/include"),
    "outside": ("outside", "outside/include"),
    "trace": ("trace", "trace/include"),
    "io": ("io", "io/include"),
    "memory": ("memory", "memory/include"),
    "gpu": ("gpu", "gpu/hip", "gpu/opencl", "gpu/openmp", "gpu/include"),
    "native": ("analysis/native", "analysis/native/include"),
}
INCLUDE = re.compile(r'^#include "(.+)"', re.MULTILINE)
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# As clang-format writes it: a name, its parameters, and the brace on a line of its own.
FUNCTION = re.compile(r"^(?!static\b)[a-zA-Z_][^;{}#=]*?\b(?!__attribute__)(\w+)\([^;{}]*\)\n\{", re.MULTILINE)
CALL = re.compile(r"\b(\w+)\(")
VARIABLE = re.compile(r"^extern [^;(]*\b(\w+)(?: __attribute__.*)?;", re.MULTILINE)


def depends_on(texts: dict[str, str]) -> dict[str, set[str]]:
    """For each C file of a room, given as name and text, the others whose functions or variables it uses.

    A name counts where a header of the room that the file includes, itself or by another, declares it: the functions
    that a library puts in front of libc's are called without.
    """
    code = {name: NOT_CODE.sub(" ", text) for name, text in texts.items()}
    sources = {name: text for name, text in code.items() if name.endswith(".c")}
    included = {name: set(INCLUDE.findall(text)) & set(texts) for name, text in texts.items()}
    owner = {function: name for name, text in sources.items() for function in FUNCTION.findall(text)}
    for variable in (found for text in code.values() for found in VARIABLE.findall(text)):
        defined = re.compile(rf"^(?!extern|static)\w.*\b{variable}\b", re.MULTILINE)
        owner |= {variable: name for name, text in sources.items() if defined.search(text)}  # noqa: B035
    graph: dict[str, set[str]] = {}
    for name, text in sources.items():
        seen, left = set[str](), set(included[name])
        while left:
            header = left.pop()
            seen.add(header)
            left |= included[header] - seen
        declared = {word for header in seen for kind in (CALL, VARIABLE) for word in kind.findall(code[header])}
        used = set(re.findall(r"\w+", text)) & declared & set(owner)
        graph[name] = {owner[word] for word in used} - {name}
    return graph


def files_of(room: str) -> list[Path]:
    return [path for folder in ROOMS[room] for path in sorted(ROOT.glob(f"{folder}/*.[ch]"))]


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_depends_on_one_that_depends_on_it(room: str) -> None:
    graph = depends_on({path.name: path.read_text() for path in files_of(room)})
    assert any(graph.values())
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(" calls ".join(reversed(circle.args[1])))


def test_the_folders_of_the_collector_lie_in_layers_too() -> None:
    paths = files_of("preload")
    # Modules are objects of the loader and functions of Python: these two know each other.
    folders = {path.name: path.parent.name.replace("python", "modules") for path in paths}
    graph: dict[str, set[str]] = {folder: set() for folder in folders.values()}
    for name, others in depends_on({path.name: path.read_text() for path in paths}).items():
        graph[folders[name]] |= {folders[other] for other in others} - {folders[name]}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as circle:
        pytest.fail(" uses ".join(reversed(circle.args[1])))
    assert order[-1] == "hooks"


def test_a_circle_by_way_of_another_file_is_detected() -> None:
    texts = {
        "a.h": "void a(void);", "b.h": "void b(void);", "c.h": '#include "a.h"\n',
        "a.c": '#include "b.h"\nvoid a(void)\n{\n    b();\n}\n',
        "b.c": '#include "c.h"\nvoid b(void)\n{\n    /* c */ a();\n}\n',
    }  # fmt: skip
    assert depends_on(texts) == {"a.c": {"b.c"}, "b.c": {"a.c"}}
