"""Whether a Python file with heartbeats is the same program as without them."""

from __future__ import annotations

import ast
import warnings

from incprof.source.python.marks import is_call, is_with, strip_python
from incprof.source.python.sites import UNREADABLE, parse_text


def difference_in_meaning(old: bytes, new: bytes) -> str | None:
    """Say what is different between a file and the same with heartbeats, but for these; None where nothing is.

    Args:
        old: The file without heartbeats of ours.
        new: With them.
    """
    if strip_python(new) != old:
        return "they could not be taken out again"
    try:
        before, after = parse_text(old), parse_text(new)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(new, "<checked>", "exec", dont_inherit=True)
    except UNREADABLE as error:
        return f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else type(error).__name__
    try:
        return None if _without(old, before) == _without(new, after) else "its syntax tree changes"
    except RecursionError:
        return "it is too deeply nested to be compared"


def _without(data: bytes, tree: ast.Module) -> str:
    """A tree in words, without heartbeats; those that somebody else has put in are left out of both."""
    lines = list(enumerate(_lines(data), 1))
    calls, withs = ({number for number, text in lines if ours(text)} for ours in (is_call, is_with))
    return ast.dump(_Without(calls, withs).visit(tree))


def _lines(data: bytes) -> list[bytes]:
    """The lines of a file, as the parser counts them."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")


class _Without(ast.NodeTransformer):
    """Takes the statements out that begin on lines of ours; what a `with` holds stays."""

    def __init__(self, calls: set[int], withs: set[int]):
        self._calls, self._withs = calls, withs

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.body if node.lineno in self._withs and _is_beat(node) else node

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        return None if node.lineno in self._calls else node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        self.generic_visit(node)
        return None if node.lineno in self._calls and isinstance(node.value, ast.Call) else node


def _is_beat(node: ast.With) -> bool:
    """Tell whether a `with` is one of a heartbeat alone."""
    return len(node.items) == 1 and ast.unparse(node.items[0].context_expr).startswith("appekg.beat(")
