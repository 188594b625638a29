"""Python functions: their names, and the lines of their code."""

from __future__ import annotations

import ast
import os
import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from incprof.errors import NoDataError
from incprof.model import Code
from incprof.safe.inputs import read_input, record_input
from incprof.safe.jsonstore import Store

# Kinds of line table entries since 3.11 (the last ones; earlier ones contain columns, on the same line).
ONE_LINE, LINE_ONLY, WITH_COLUMNS, NO_LINE = (10, 11, 12), 13, 14, 15
# The file of a module that Python itself contains; of `importlib._bootstrap`, the package is kept.
FROZEN = re.compile(r"<frozen (\w+)[\w.]*>")


def display_name(file: str, code: Code) -> str:
    """Return the display name: `run.py:Solver.step`, `mesh/__init__.py:read`, `importlib:_find_and_load`."""
    frozen = FROZEN.fullmatch(file)
    return f"{frozen[1] if frozen else label(file)}:{code.name.replace('.<locals>', '')}"


def mangled_name(file: str, code: Code) -> str:
    """Return the name that is unique in the file: unnamed functions include their line."""
    where = f"@{code.line}" if "<" in code.name else ""
    return f"{label(file)}:{code.name}{where}"


def label(file: str) -> str:
    """Return the name of a file; that of a package with its directory."""
    path = PurePath(file)
    return "/".join(path.parts[-2:]) if path.name == "__init__.py" else path.name


def line_at(code: Code, offset: int) -> int:
    """Return the line of an instruction, by its distance from the first in bytes; the function's line if unknown."""
    starts, lines = _lines(code)
    place = bisect_right(starts, offset) - 1
    return lines[place] if place >= 0 else code.line


@lru_cache(maxsize=4096)
def _lines(code: Code) -> tuple[list[int], list[int]]:
    """Return where runs of instructions begin, ascending, and the line of each."""
    if not code.table:
        return [], []
    if code.version < 0x30A:
        return _lines_of_3_9(code)
    return _lines_of_3_10(code) if code.version == 0x30A else _lines_since_3_11(code)


def _lines_of_3_9(code: Code) -> tuple[list[int], list[int]]:
    """Decode pairs: increment in bytes, increment in lines."""
    starts, lines, offset, line = [0], [code.line], 0, code.line
    for step, more in zip(code.table[::2], code.table[1::2], strict=False):
        offset += step
        line += more - 256 if more > 127 else more
        starts.append(offset)
        lines.append(line)
    return starts, lines


def _lines_of_3_10(code: Code) -> tuple[list[int], list[int]]:
    """Decode pairs: increment in lines (-128: no line), and the number of bytes that it covers."""
    starts, lines, offset, line = list[int](), list[int](), 0, code.line
    for length, more in zip(code.table[::2], code.table[1::2], strict=False):
        if more != 128:
            line += more - 256 if more > 127 else more
        starts.append(offset)
        lines.append(line)
        offset += length
    return starts, lines


def _lines_since_3_11(code: Code) -> tuple[list[int], list[int]]:
    """Decode entries: a byte with bit 7 set contains kind and length in code units; the line follows."""
    starts, lines, offset, line, at = list[int](), list[int](), 0, code.line, 0
    table = code.table
    while at < len(table):
        kind, length = table[at] >> 3 & 15, (table[at] & 7) + 1
        at += 1
        if kind in (LINE_ONLY, WITH_COLUMNS):
            value, shift = 0, 0
            while at < len(table):
                value |= (table[at] & 63) << shift
                shift += 6
                at += 1
                if not table[at - 1] & 64:
                    break
            line += -(value >> 1) if value & 1 else value >> 1
        elif kind in ONE_LINE:
            line += kind - 10
        starts.append(offset)
        lines.append(line)
        offset += 2 * length
        while at < len(table) and not table[at] & 128:
            at += 1
    return starts, lines


# Loops of Python functions, from their source if it is still the executed one.


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
    loops_by_function = _functions(file)
    if code.version >= QUALIFIED or code.name.startswith("<"):
        return loops_by_function.get((code.name, code.line))
    same = [
        lines
        for (name, line), lines in loops_by_function.items()
        if (name.rpartition(".")[2], line) == (code.name, code.line)
    ]
    return same[0] if len(same) == 1 else None


class KeptLoops:
    """The same, stored beside a run for the next answer, and valid as long as the files do not change."""

    def __init__(self, store: Store):
        self._store, self._is_new = store, False
        self._by_file = store.load(_understood) or {}
        self._stamp = lru_cache(maxsize=None)(_stamp)

    def of(self, file: str, code: Code) -> Lines | None:
        """Return first and last line of the body of each loop of a function; None if its source is not available."""
        key = (file, code.name, code.line, self._stamp(file))
        if key not in self._by_file:
            self._by_file[key] = loops_of(file, code)
            self._is_new = True
        return self._by_file[key]

    def save(self) -> None:
        """Store new results."""
        if self._is_new:
            self._store.save({"loops": [[*key, lines] for key, lines in self._by_file.items()]})


def _stamp(file: str) -> str:
    """Return a stamp that changes with a file; empty if it does not exist."""
    record_input(file)
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return ""
    return f"{status.st_size} {status.st_mtime_ns}"


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
    by_function = {key: tuple(sorted(lines)) for key, lines in loops.lines_of.items()}
    return {**by_function, ("<module>", 0): by_function["<module>", 1]}


class _Loops:
    """Collects the loops of a file's functions: the repeated code, bodies and conditions of `while`."""

    def __init__(self, text: bytes):
        self.lines_of: dict[tuple[str, int], list[tuple[int, int]]] = {("<module>", 1): []}
        # For each line, whether a loop or a function may be in an expression on it, summed over the lines before.
        self._loop_words = [0]
        for line in text.splitlines():
            self._loop_words.append(self._loop_words[-1] + (b"for" in line or b"lambda" in line))

    def walk(self, tree: ast.AST) -> None:
        """Visit all nodes that may contain a loop or a function."""
        todo: list[tuple[ast.AST, str, list[tuple[int, int]]]] = [(tree, "", self.lines_of["<module>", 1])]
        while todo:
            node, outer, own_lines = todo.pop()
            if isinstance(node, ast.ClassDef):
                outer, own_lines = f"{outer}{node.name}.", []
            elif isinstance(node, FUNCTIONS):
                outer, own_lines = self._enter(node, outer)
            elif isinstance(node, LOOPS):
                first = node.lineno if isinstance(node, ast.While) else node.body[0].lineno
                own_lines.append((first, node.body[-1].end_lineno or first))
            elif isinstance(node, COMPREHENSIONS):
                own_lines.append((node.lineno, node.end_lineno or node.lineno))
            todo += [(child, outer, own_lines) for child in self._children(node)]

    def _enter(self, node: ast.AST, outer: str) -> tuple[str, list[tuple[int, int]]]:
        """Return the qualified prefix of the code in a function, and the list of its loops."""
        assert isinstance(node, FUNCTIONS)
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        lines: list[tuple[int, int]] = []
        self.lines_of[outer + name, min([node.lineno, *(one.lineno for one in decorators)])] = lines
        return f"{outer}{name}.<locals>.", lines

    def _children(self, node: ast.AST) -> Iterable[ast.AST]:
        """Return the children of a node; for a statement without a marked line, only its nested statements."""
        if isinstance(node, ast.stmt):
            begins = [node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]
            last = min(node.end_lineno or node.lineno, len(self._loop_words) - 1)
            if self._loop_words[last] == self._loop_words[min(*begins, last + 1) - 1]:
                return [child for name in BLOCKS for child in getattr(node, name, ())]
        return ast.iter_child_nodes(node)
