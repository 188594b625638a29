"""Reasons why no heartbeat can go around some statements of Python."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from incprof.source.python.blocks import Text, body_of
from incprof.source.python.sites import DEFINED, LOOPS, MODULE, SCOPES, Function, Loop, Site, own_nodes

# Names in decorators that compile their function, and do not support heartbeats.
COMPILING = frozenset(
    "jit njit pjit vectorize guvectorize generated_jit stencil cfunc ccall script kernel compile numba_jit".split()
)
NUMPY = frozenset({"np", "numpy"})  # its vectorize calls the function unchanged
LONG = (ast.Call, ast.Slice, ast.MatMult, ast.Await, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
AGAIN = "it is a generator: a beat around its body would last while others work with what it yields"
TAKEN = "the file has something else that is called appekg"


def binds_name(tree: ast.Module) -> bool:
    """Return whether a file uses the name appekg for something else than the module."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id="appekg", ctx=ast.Store() | ast.Del()) | ast.arg(arg="appekg"):
                return True
            case ast.FunctionDef(name="appekg") | ast.AsyncFunctionDef(name="appekg") | ast.ClassDef(name="appekg"):
                return True
            case ast.ExceptHandler(name="appekg") | ast.MatchAs(name="appekg") | ast.MatchStar(name="appekg"):
                return True
            case ast.Import(names=names) if any(one.asname == "appekg" for one in names):
                return True
            case ast.ImportFrom(names=names) if any("appekg" in (one.asname or one.name,) for one in names):
                return True
    return False


def of_everything(site: Site, *, taken: bool) -> str | None:
    """Return why neither the body nor a loop of a function can have one."""
    if taken:
        return TAKEN
    for function in (*site.outer, *([site.node] if isinstance(site.node, DEFINED) else [])):
        for decorator in function.decorator_list:
            if COMPILING.intersection(words := _words(decorator)) and not NUMPY.intersection(words):
                return f"@{ast.unparse(decorator)[:40]} compiles it"
    return None


def of_body(site: Site, text: Text) -> str | None:
    """Return why no beat can go around a function's body."""
    if site.name == MODULE:
        return "a module runs once: a beat around it shows nothing"
    if not isinstance(site.node, DEFINED):
        return "a lambda has no statements"
    body = body_of(site.node)
    if not body:
        return "it does nothing"
    return _of_statements(site.node, body, text)


def of_loop(loop: Loop, text: Text) -> str | None:
    """Return why no beat can go around a loop's body."""
    return _of_statements(loop, loop.body, text)


def is_busy(loop: Loop) -> bool:
    """Return whether an iteration calls something, processes arrays or contains a loop; others are too short."""
    nodes = [node for statement in loop.body for node in (statement, *own_nodes(statement))]
    return any(isinstance(node, (*LONG, *LOOPS)) for node in nodes)


def _of_statements(head: Function | Loop, body: Sequence[ast.stmt], text: Text) -> str | None:
    inside = [node for one in body if not isinstance(one, SCOPES) for node in (one, *own_nodes(one))]
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in inside):
        return AGAIN
    found = text.block(head, body)
    return found if isinstance(found, str) else None


def _words(decorator: ast.expr) -> set[str]:
    """Return the names in a decorator, without its arguments."""
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    names = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
    return names | {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
