"""The functions and loops of a Python file, in the order of SourceFile."""

from __future__ import annotations

import ast
import platform
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from incprof.errors import NoDataError

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
MODULE, LAMBDA = "<module>", "<lambda>"
DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef)
# Nodes with a scope of their own, whose contents do not run where they are written.
SCOPES = (*DEFINED, ast.Lambda, ast.ClassDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True)
class Site:
    """A function, the module or a lambda.

    Attributes:
        name: qualified name: "Solver.step".
        outer: the enclosing functions.
        loops: an outer one before those inside it, each with the position of the enclosing one.
    """

    name: str
    node: Function | ast.Lambda | ast.Module
    outer: tuple[Function, ...]
    loops: tuple[tuple[Loop, int | None], ...]


def parse_text(data: bytes) -> ast.Module:
    """Return the tree of a file.

    Raises: SyntaxError, ValueError, RecursionError, MemoryError if it cannot be parsed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about odd escapes, meant for users of the program
        return ast.parse(data)


@lru_cache(maxsize=8)
def tree_of(data: bytes) -> ast.Module:
    """Return the tree of a file.

    Raises: NoDataError if this Python cannot parse it.
    """
    try:
        return parse_text(data)
    except UNREADABLE as error:
        where = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        what = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        own = platform.python_version()
        raise NoDataError(
            f"Python {own} cannot read it, {where}{what}: install incprof for the one that runs it"
        ) from None


@lru_cache(maxsize=8)
def sites_of(data: bytes) -> tuple[Site, ...]:
    """Return the functions of a file without heartbeats of ours, the module first.

    Raises: NoDataError if this Python cannot parse it.
    """
    return tuple(_sites(tree_of(data)))


def first_line(node: Function) -> int:
    """Return the line on which a function's code object begins: that of its first decorator."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes below one that run where they are written."""
    todo = list(ast.iter_child_nodes(node))
    while todo:
        one = todo.pop()
        yield one
        if not isinstance(one, SCOPES):
            todo += ast.iter_child_nodes(one)


def _sites(tree: ast.Module) -> Iterator[Site]:
    yield Site(MODULE, tree, (), _loops(tree.body))
    todo: list[tuple[ast.AST, str, tuple[Function, ...]]] = [(tree, "", ())]
    while todo:
        node, names, outer = todo.pop()
        for child in ast.iter_child_nodes(node):
            inside, around = names, outer
            if isinstance(child, ast.ClassDef):
                inside = f"{names}{child.name}."
            elif isinstance(child, ast.Lambda):
                yield Site(names + LAMBDA, child, outer, ())
                inside = f"{names}{LAMBDA}."
            elif isinstance(child, DEFINED):
                yield Site(names + child.name, child, outer, _loops(child.body))
                inside, around = f"{names}{child.name}.", (*outer, child)
            todo.append((child, inside, around))


def _loops(body: list[ast.stmt]) -> tuple[tuple[Loop, int | None], ...]:
    """Return the loops of some statements, except those in nested scopes."""
    found: list[tuple[Loop, int | None]] = []

    def look(statements: list[ast.stmt], parent: int | None) -> None:
        for statement in statements:
            if isinstance(statement, SCOPES):
                continue
            if isinstance(statement, LOOPS):
                found.append((statement, parent))
                look(statement.body, len(found) - 1)
                look(statement.orelse, parent)
                continue
            for _, value in ast.iter_fields(statement):
                if isinstance(value, list):
                    look([one for one in value if isinstance(one, ast.stmt)], parent)
                    for one in value:
                        if isinstance(one, (ast.ExceptHandler, ast.match_case)):
                            look(one.body, parent)

    look(body, None)
    return tuple(found)
