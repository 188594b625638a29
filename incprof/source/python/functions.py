"""Functions and loops of a Python file, and why no heartbeat can go around some of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from incprof.errors import NoDataError
from incprof.source.model import Loop, SourceFile, SourceFunction
from incprof.source.python.blocks import (
    DEFINED,
    LOOPS,
    MODULE,
    SCOPES,
    Function,
    LoopNode,
    Site,
    Text,
    body_of,
    first_line,
    own_nodes,
    sites_of,
)

# Names in decorators that compile their function, and do not support heartbeats.
COMPILING = frozenset(
    "jit njit pjit vectorize guvectorize generated_jit stencil cfunc ccall script kernel compile numba_jit".split()
)
NUMPY = frozenset({"np", "numpy"})  # its vectorize calls the function unchanged
LONG = (ast.Call, ast.Slice, ast.MatMult, ast.Await, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
AGAIN = "it is a generator: a beat around its body would include the work of its consumers"
TAKEN = "the file uses the name appekg for something else"


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


def of_loop(loop: LoopNode, text: Text) -> str | None:
    """Return why no beat can go around a loop's body."""
    return _of_statements(loop, loop.body, text)


def is_busy(loop: LoopNode) -> bool:
    """Return whether an iteration calls something, processes arrays or contains a loop; others are too short."""
    nodes = [node for statement in loop.body for node in (statement, *own_nodes(statement))]
    return any(isinstance(node, (*LONG, *LOOPS)) for node in nodes)


def _of_statements(head: Function | LoopNode, body: Sequence[ast.stmt], text: Text) -> str | None:
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


def parse_python(path: str, data: bytes) -> SourceFile:
    """Find the functions of a file, their loops, and places where no heartbeat can go.

    Args:
        path: For messages.
        data: The file without heartbeats of ours.

    Raises: NoDataError if the running Python cannot parse it.
    """
    try:
        sites, text = sites_of(data), Text(data)
    except NoDataError as error:
        raise NoDataError(f"{path}: {error}") from None
    taken = binds_name(text.tree)
    return SourceFile(path, "python", data, tuple(_function(site, text, taken) for site in sites))


def _function(site: Site, text: Text, taken: bool) -> SourceFunction:
    everywhere = of_everything(site, taken=taken)
    loops = tuple(
        Loop(
            None, None, loop.lineno, loop.body[-1].end_lineno or loop.lineno, parent, is_busy(loop),
            everywhere or of_loop(loop, text),
        )
        for loop, parent in site.loops
    )  # fmt: skip
    refusal = everywhere or of_body(site, text)
    if site.name == MODULE:
        return SourceFunction(site.name, None, 1, max(len(text.lines), 1), loops, refusal=refusal)
    node = site.node
    assert not isinstance(node, ast.Module)
    first = first_line(node) if isinstance(node, DEFINED) else node.lineno
    return SourceFunction(site.name, None, first, node.end_lineno or first, loops, refusal=refusal)
