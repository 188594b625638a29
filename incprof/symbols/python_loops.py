"""Loops of Python functions, from their source if it is still the executed one."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from incprof.errors import NoDataError
from incprof.model import Code
from incprof.safe.inputs import notice, read_input
from incprof.safe.jsonstore import Store

MOST_BYTES = 16 << 20
# Since this version code objects contain their qualified names.
QUALIFIED = 0x30B
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

# Fields in which statements contain others.
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")

Lines = tuple[tuple[int, int], ...]


def loops_of(file: str, code: Code) -> Lines | None:
    """Return first and last line of the body of each loop of a function; None if its source is no longer available.

    An unnamed function, such as a generator expression, is a loop as a whole.
    """
    if "<" in code.name.rpartition(".")[2] and not code.name.endswith(("<module>", "<lambda>")):
        return ((0, 2**31),)
    found = _functions(file)
    if code.version >= QUALIFIED or code.name.startswith("<"):
        return found.get((code.name, code.line))
    same = [lines for (name, line), lines in found.items() if (name.rpartition(".")[2], line) == (code.name, code.line)]
    return same[0] if len(same) == 1 else None


class KeptLoops:
    """The same, stored beside a run for the next answer, and valid as long as the files do not change."""

    def __init__(self, store: Store):
        self._store, self._is_new = store, False
        self._known = store.load(_understood) or {}
        self._stamp = lru_cache(maxsize=None)(_stamp)

    def of(self, file: str, code: Code) -> Lines | None:
        """Return first and last line of the body of each loop of a function; None if its source is not available."""
        key = (file, code.name, code.line, self._stamp(file))
        if key not in self._known:
            self._known[key] = loops_of(file, code)
            self._is_new = True
        return self._known[key]

    def save(self) -> None:
        """Store new results."""
        if self._is_new:
            self._store.save({"loops": [[*key, lines] for key, lines in self._known.items()]})


def _stamp(file: str) -> str:
    """Return a stamp that changes with a file; empty if it does not exist."""
    notice(file)
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return ""
    return f"{found.st_size} {found.st_mtime_ns}"


def _understood(stored: dict[str, Any]) -> dict[tuple[str, str, int, str], Lines | None]:
    """Return stored results."""
    return {
        (str(file), str(name), int(line), str(stamp)): None
        if lines is None
        else tuple((int(first), int(last)) for first, last in lines)
        for file, name, line, stamp, lines in stored["loops"]
    }


@lru_cache(maxsize=256)
def _functions(file: str) -> dict[tuple[str, int], Lines]:
    """Return the loops of all functions of a file, by the fields of their code objects: name and first line."""
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
    """Collects the loops of a file's functions: the repeated code, bodies and conditions of `while`."""

    def __init__(self, text: bytes):
        self.found: dict[tuple[str, int], list[tuple[int, int]]] = {("<module>", 1): []}
        # For each line, whether a loop or a function may be in an expression on it, summed over the lines before.
        self._telling = [0]
        for line in text.splitlines():
            self._telling.append(self._telling[-1] + (b"for" in line or b"lambda" in line))

    def walk(self, tree: ast.AST) -> None:
        """Visit all nodes that may contain a loop or a function."""
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
        """Return the qualified prefix of the code in a function, and the list of its loops."""
        assert isinstance(node, FUNCTIONS)
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        lines: list[tuple[int, int]] = []
        self.found[outer + name, min([node.lineno, *(one.lineno for one in decorators)])] = lines
        return f"{outer}{name}.<locals>.", lines

    def _children(self, node: ast.AST) -> Iterable[ast.AST]:
        """Return the children of a node; for a statement without a marked line, only its nested statements."""
        if isinstance(node, ast.stmt):
            begins = [node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]
            last = min(node.end_lineno or node.lineno, len(self._telling) - 1)
            if self._telling[last] == self._telling[min(*begins, last + 1) - 1]:
                return [child for name in BLOCKS for child in getattr(node, name, ())]
        return ast.iter_child_nodes(node)
