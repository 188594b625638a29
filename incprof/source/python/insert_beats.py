"""Insert heartbeats around functions and into loops of a Python file."""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from collections.abc import Sequence

from incprof.errors import IncprofError
from incprof.source.model import Announcement, Beat, Insertion, SourceFile, insert
from incprof.source.python.definitions import DEFINED, UNREADABLE, Block, Text, body_of, parse_text, sites_of
from incprof.source.python.lines import IMPORT, ending_of, is_blank, is_call, is_with, line, split, strip_python


def difference_in_meaning(old: bytes, new: bytes) -> str | None:
    """Return how a file differs from the same with heartbeats, apart from these; None if it does not.

    old: The file without heartbeats of ours. new: With them.
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
    """Return a dump of a tree without heartbeats; those inserted by others are left out of both."""
    lines = list(enumerate(_lines(data), 1))
    calls, withs = ({number for number, text in lines if is_insertion(text)} for is_insertion in (is_call, is_with))
    return ast.dump(_Without(calls, withs).visit(tree))


def _lines(data: bytes) -> list[bytes]:
    """Return the lines of a file, as the parser counts them."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")


class _Without(ast.NodeTransformer):
    """Removes the statements that begin on lines of ours; the body of a `with` stays."""

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
    """Return whether a `with` has only a heartbeat."""
    return len(node.items) == 1 and ast.unparse(node.items[0].context_expr).startswith("appekg.beat(")


def python_insertions(file: SourceFile, beats: Sequence[Beat], announce: Sequence[Announcement]) -> list[Insertion]:
    """Return the insertions: `with appekg.beat(ID):` around indented statements, the import, and names.

    announce: of the file's own beats. The result behaves like the file, and has the same syntax tree except for the
    heartbeats, which is verified here.

    Raises: IncprofError if it does not.
    """
    if not beats:
        return []
    text = Text(file.data)
    around = _blocks(text, beats)
    insertions = [*_head(text, announce), *_around(text, around)]
    reason = difference_in_meaning(file.data, insert(file.data, insertions))
    if reason:
        raise IncprofError(f"{file.path}: heartbeats would change what it does ({reason}); nothing was written")
    return insertions


def _blocks(text: Text, beats: Sequence[Beat]) -> list[tuple[Block, int]]:
    """Return the block of each beat, and its id; an outer block before those inside it."""
    sites = sites_of(text.data)
    blocks: list[tuple[Block, int]] = []
    for beat in beats:
        site = sites[beat.function]
        if beat.loop is not None:
            loop = site.loops[beat.loop][0]
            block = text.block(loop, loop.body)
        elif isinstance(site.node, DEFINED):
            block = text.block(site.node, body_of(site.node))
        else:
            block = "it has no statements of its own"
        if isinstance(block, str):
            raise ValueError(f"{site.name}: {block}")
        blocks.append((block, beat.id))
    return sorted(blocks, key=lambda one: (one[0].first, -one[0].last, one[0].colon is not None, len(one[0].indent)))


def _around(text: Text, around: Sequence[tuple[Block, int]]) -> list[Insertion]:
    """Return the `with` lines, and the indentation of the lines in them: an inner block's blanks before an outer's."""
    ending, insertions = ending_of(text.data), list[Insertion]()
    withs, deeper = defaultdict[int, bytes](bytes), defaultdict[int, bytes](bytes)
    for block, number in around:
        statement = b"with appekg.beat(%d):" % number
        if block.colon is not None:
            outside = deeper[_line_at(text, block.colon)]
            insertions.append(Insertion(block.colon, split(block.deeper + outside + block.indent, statement, ending)))
            continue
        withs[block.first] += line(statement, deeper[block.first] + block.indent, ending)
        for each in range(block.first, block.last + 1):
            deeper[each] = block.deeper + deeper[each]
    for at, line_span in enumerate(text.lines):
        blanks = b"" if line_span.quoted or is_blank(text.data, line_span) else deeper[at]
        if withs[at] or blanks:
            insertions.append(Insertion(line_span.start, withs[at] + blanks))
    return insertions


def _line_at(text: Text, offset: int) -> int:
    """Return the line that contains a byte."""
    return next(number for number, each in enumerate(text.lines) if each.start <= offset <= each.end)


def _head(text: Text, announce: Sequence[Announcement]) -> list[Insertion]:
    """Return the import and the names, after the imports at the beginning of the file: before any possible beat."""
    ending = ending_of(text.data)
    statements = [IMPORT]
    for each in announce:
        name = each.name.encode("unicode_escape").replace(b'"', b'\\"')
        statements.append(b'appekg.name(%d, "%b")' % (each.id, name))
        if each.rate_factor != 1:
            statements.append(b"appekg.rate(%d, %d)" % (each.id, each.rate_factor))
    text_lines = b"".join(line(statement, b"", ending) for statement in statements)
    body, last = text.tree.body, 0
    for number, statement in enumerate(body):
        if not (isinstance(statement, (ast.Import, ast.ImportFrom)) or (number == 0 and _is_docstring(statement))):
            break
        end = statement.end_lineno or statement.lineno
        follows = body[number + 1].lineno if number + 1 < len(body) else end + 1
        last = end if follows > end else last
    if not last:
        last = min([body[0].lineno, *(d.lineno for d in getattr(body[0], "decorator_list", ()))]) - 1
    return [Insertion(text.lines[last].start if last < len(text.lines) else len(text.data), text_lines)]


def _is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement is a string."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
