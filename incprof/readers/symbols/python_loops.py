"""Loops of Python's functions, from their source as far as it is what was run."""

from __future__ import annotations

import ast
from functools import lru_cache

from incprof.errors import NoDataError
from incprof.inputs import read_input
from incprof.model import Code

MOST_BYTES = 16 << 20
# Since this version code objects know what encloses them.
QUALIFIED = 0x30B
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

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


@lru_cache(maxsize=256)
def _functions(file: str) -> dict[tuple[str, int], Lines]:
    """The loops of all functions of a file, by what their code objects say: name and first line."""
    try:
        tree = ast.parse(read_input(file, MOST_BYTES))
    except (OSError, NoDataError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[tuple[str, int], Lines] = {("<module>", 1): _loops(tree), ("<module>", 0): _loops(tree)}
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        node, outer = todo.pop()
        for child in ast.iter_child_nodes(node):
            inner = outer
            if isinstance(child, ast.ClassDef):
                inner = f"{outer}{child.name}."
            elif isinstance(child, FUNCTIONS):
                name = "<lambda>" if isinstance(child, ast.Lambda) else child.name
                decorators = [] if isinstance(child, ast.Lambda) else child.decorator_list
                found[outer + name, min([child.lineno, *(one.lineno for one in decorators)])] = _loops(child)
                inner = f"{outer}{name}.<locals>."
            todo.append((child, inner))
    return found


def _loops(function: ast.AST) -> Lines:
    """What the function's own loops repeat: bodies, and conditions of `while`."""
    found, todo = list[tuple[int, int]](), list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            continue
        if isinstance(node, LOOPS):
            first = node.lineno if isinstance(node, ast.While) else node.body[0].lineno
            found.append((first, node.body[-1].end_lineno or first))
        elif isinstance(node, COMPREHENSIONS):
            found.append((node.lineno, node.end_lineno or node.lineno))
        todo += ast.iter_child_nodes(node)
    return tuple(sorted(found))
