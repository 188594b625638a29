"""The functions and loops of a Python file, in the order of SourceFile, and the statements around which a beat goes."""

from __future__ import annotations

import ast
import platform
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from incprof.errors import NoDataError
from incprof.source.model import Loop, SourceFile, SourceFunction
from incprof.source.python.lines import TAB, Line, indent_of, is_blank, is_comment, lines_of

Function = ast.FunctionDef | ast.AsyncFunctionDef
LoopNode = ast.For | ast.AsyncFor | ast.While
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
    loops: tuple[tuple[LoopNode, int | None], ...]


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


def _loops(body: list[ast.stmt]) -> tuple[tuple[LoopNode, int | None], ...]:
    """Return the loops of some statements, except those in nested scopes."""
    loops: list[tuple[LoopNode, int | None]] = []

    def visit_statements(statements: list[ast.stmt], parent: int | None) -> None:
        for statement in statements:
            if isinstance(statement, SCOPES):
                continue
            if isinstance(statement, LOOPS):
                loops.append((statement, parent))
                visit_statements(statement.body, len(loops) - 1)
                visit_statements(statement.orelse, parent)
                continue
            for _, value in ast.iter_fields(statement):
                if isinstance(value, list):
                    visit_statements([one for one in value if isinstance(one, ast.stmt)], parent)
                    for one in value:
                        if isinstance(one, (ast.ExceptHandler, ast.match_case)):
                            visit_statements(one.body, parent)

    visit_statements(body, None)
    return tuple(loops)


_TO_BODY = re.compile(rb":[ \t\f]*(?:\\(?:\r\n|\r|\n)[ \t\f]*)*\Z")
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
SHARED = "its docstring shares a line with what it does"
FORM_FEED = "there is a form feed before a statement in it"


@dataclass(frozen=True, slots=True)
class Block:
    """Lines around which a heartbeat goes.

    Attributes:
        first: position in Text.lines.
        last: position in Text.lines.
        indent: of the statements.
        deeper: blanks to insert before them.
        colon: byte after which the body continues on its line; None if it has lines of its own.
    """

    first: int
    last: int
    indent: bytes
    deeper: bytes
    colon: int | None = None


class Text:
    """A file: its bytes, lines and tree."""

    def __init__(self, data: bytes):
        self.data, self.lines, self.tree = data, lines_of(data), tree_of(data)

    @cached_property
    def _encoding(self) -> str:
        """Encoding of the file."""
        for line in self.lines[:2]:
            text = self.data[line.start : line.end]
            if match := _CODING.match(text):
                return match[1].decode("ascii")
            if text.strip() and not text.lstrip(b" \t\f").startswith(b"#"):
                break
        return "utf-8"

    def offset(self, line: int, column: int) -> int:
        """Return the byte offset for the parser's line, from 1, and column in UTF-8."""
        line_span = self.lines[line - 1]
        text = self.data[line_span.start : line_span.end].decode(self._encoding, "surrogateescape")
        before = text.encode("utf-8", "surrogateescape")[:column].decode("utf-8", "surrogateescape")
        return line_span.start + len(before.encode(self._encoding, "surrogateescape"))

    def block(self, head: ast.stmt, body: Sequence[ast.stmt]) -> Block | str:
        """Return the place of the statements in `head`; a str is the reason why nothing can go around them."""
        start = body[0]
        number = min([start.lineno, *(d.lineno for d in getattr(start, "decorator_list", ()))]) - 1
        last = (body[-1].end_lineno or body[-1].lineno) - 1
        while (
            last + 1 < len(self.lines) and self.lines[last + 1].joined and is_comment(self.data, self.lines[last + 1])
        ):
            last += 1  # a backslash joins it to the line before
        above, line = self.lines[head.lineno - 1], self.lines[number]
        outer, indent = indent_of(self.data, above), indent_of(self.data, line)
        at = self.offset(start.lineno, start.col_offset)
        inside = {indent_of(self.data, each) for each in self.lines[number : last + 1] if self._is_code(each)}
        if any(b"\f" in each for each in inside):
            return FORM_FEED
        own_line = number + 1 < start.lineno or line.start + len(indent) == at
        if own_line and not line.joined and not line.quoted:
            return Block(number, last, indent, _unit(outer, indent, tabs=any(b"\t" in each for each in inside)))
        between = self.data.rfind(b":", above.start, at)
        if between < 0 or not _TO_BODY.match(self.data[between:at]):
            return SHARED
        if above.joined or above.quoted or b"\f" in outer:
            return "it begins in the middle of a line"
        return Block(number, last, outer, _unit(b"", outer, tabs=b"\t" in outer), between + 1)

    def _is_code(self, line: Line) -> bool:
        return not (line.quoted or line.joined or is_blank(self.data, line) or is_comment(self.data, line))


def body_of(function: Function) -> list[ast.stmt]:
    """Return a function's statements without the docstring."""
    return function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body


def _unit(outer: bytes, inner: bytes, *, tabs: bool) -> bytes:
    """Return the blanks of one more level: the body's indentation beyond that of its head.

    Before a tab, only another tab or its width shift all that follows by the same amount.
    """
    if tabs:
        return b"\t" if inner.startswith(b"\t") else b" " * TAB
    return inner[len(outer) :] or b"    "


# Functions and loops of a Python file, and why no heartbeat can go around some of them.


# Names in decorators that compile their function, and do not support heartbeats.
COMPILING = frozenset(
    "jit njit pjit vectorize guvectorize generated_jit stencil cfunc ccall script kernel compile numba_jit".split()
)
NUMPY = frozenset({"np", "numpy"})  # its vectorize calls the function unchanged
LONG = (ast.Call, ast.Slice, ast.MatMult, ast.Await, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
GENERATOR = "it is a generator: a beat around its body would include the work of its consumers"
NAME_TAKEN = "the file uses the name appekg for something else"


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
        return NAME_TAKEN
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
        return GENERATOR
    block = text.block(head, body)
    return block if isinstance(block, str) else None


def _words(decorator: ast.expr) -> set[str]:
    """Return the names in a decorator, without its arguments."""
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    names = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
    return names | {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}


def parse_python(path: str, data: bytes) -> SourceFile:
    """Find the functions of a file, their loops, and places where no heartbeat can go.

    path: For messages. data: The file without heartbeats of ours.
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
