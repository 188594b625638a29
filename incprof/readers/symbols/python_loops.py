"""Loops of Python's functions, from their source as far as it is what was run."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from incprof.errors import NoDataError
from incprof.inputs import notice, read_input
from incprof.jsonstore import Store
from incprof.model import Code

MOST_BYTES = 16 << 20
# Since this version code objects know what encloses them.
QUALIFIED = 0x30B
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

# Where statements hold others.
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")

Lines = tuple[tuple[int, int], ...]


def loops_of(file: str, code: Code) -> Lines | None:
    """First and last line of what each loop of a function repeats; None where its source is not here any more.

    What has no name of its own, such as a generator expression, is a loop as a whole.
    """
    if "<" in code.name.rpartition(".")[2] and not code.name.endswith(("<module>", "<lambda>")):
        return ((0, 2**31),)
    found = _functions(file)
    if code.version >= QUALIFIED or code.name.startswith("<"):
        return found.get((code.name, code.line))
    same = [lines for (name, line), lines in found.items() if (name.rpartition(".")[2], line) == (code.name, code.line)]
    return same[0] if len(same) == 1 else None


class KeptLoops:
    """The same, kept beside a run for the next answer, as long as the files have not changed."""

    def __init__(self, store: Store):
        self._store, self._is_new = store, False
        self._known = store.load(_understood) or {}
        self._stamp = lru_cache(maxsize=None)(_stamp)

    def of(self, file: str, code: Code) -> Lines | None:
        """First and last line of what each loop of a function repeats; None where its source is not here."""
        key = (file, code.name, code.line, self._stamp(file))
        if key not in self._known:
            self._known[key] = loops_of(file, code)
            self._is_new = True
        return self._known[key]

    def save(self) -> None:
        """Keep what has been found out."""
        if self._is_new:
            self._store.save({"loops": [[*key, lines] for key, lines in self._known.items()]})


def _stamp(file: str) -> str:
    """What changes with a file; empty where there is none."""
    notice(file)
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return ""
    return f"{found.st_size} {found.st_mtime_ns}"


def _understood(stored: dict[str, Any]) -> dict[tuple[str, str, int, str], Lines | None]:
    """What was kept."""
    return {
        (str(file), str(name), int(line), str(stamp)): None
        if lines is None
        else tuple((int(first), int(last)) for first, last in lines)
        for file, name, line, stamp, lines in stored["loops"]
    }


@lru_cache(maxsize=256)
def _functions(file: str) -> dict[tuple[str, int], Lines]:
    """The loops of all functions of a file, by what their code objects say: name and first line."""
    try:
        text = read_input(file, MOST_BYTES)
        tree = ast.parse(text)
    except (OSError, NoDataError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    loops = _Loops(text)
    loops.walk(tree)
    found = {key: tuple(sorted(lines)) for key, lines in loops.found.items()}
    return {**found, ("<module>", 0): found["<module>", 1]}


class _Loops:
    """Collects the loops of a file's functions: what they repeat, bodies and conditions of `while`."""

    def __init__(self, text: bytes):
        self.found: dict[tuple[str, int], list[tuple[int, int]]] = {("<module>", 1): []}
        # Of lines before each: those on which a loop or a function may be in an expression.
        self._telling = [0]
        for line in text.splitlines():
            self._telling.append(self._telling[-1] + (b"for" in line or b"lambda" in line))

    def walk(self, tree: ast.AST) -> None:
        """Go through all that may hold a loop or a function."""
        todo: list[tuple[ast.AST, str, list[tuple[int, int]]]] = [(tree, "", self.found["<module>", 1])]
        while todo:
            node, outer, mine = todo.pop()
            if isinstance(node, ast.ClassDef):
                outer, mine = f"{outer}{node.name}.", []
            elif isinstance(node, FUNCTIONS):
                outer, mine = self._enter(node, outer)
            elif isinstance(node, LOOPS):
                first = node.lineno if isinstance(node, ast.While) else node.body[0].lineno
                mine.append((first, node.body[-1].end_lineno or first))
            elif isinstance(node, COMPREHENSIONS):
                mine.append((node.lineno, node.end_lineno or node.lineno))
            todo += [(child, outer, mine) for child in self._children(node)]

    def _enter(self, node: ast.AST, outer: str) -> tuple[str, list[tuple[int, int]]]:
        """What encloses the code in a function, and the list of its loops."""
        assert isinstance(node, FUNCTIONS)
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        lines: list[tuple[int, int]] = []
        self.found[outer + name, min([node.lineno, *(one.lineno for one in decorators)])] = lines
        return f"{outer}{name}.<locals>.", lines

    def _children(self, node: ast.AST) -> Iterable[ast.AST]:
        """The parts of a node; of a statement without a telling line, only the statements in it."""
        if isinstance(node, ast.stmt):
            begins = [node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]
            last = min(node.end_lineno or node.lineno, len(self._telling) - 1)
            if self._telling[last] == self._telling[min(*begins, last + 1) - 1]:
                return [child for name in BLOCKS for child in getattr(node, name, ())]
        return ast.iter_child_nodes(node)
