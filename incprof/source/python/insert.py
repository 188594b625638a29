"""Insertions that put heartbeats around functions and into loops of a Python file."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence

from incprof.errors import IncprofError
from incprof.source.edits import insert
from incprof.source.model import Announcement, Beat, Insertion, SourceFile
from incprof.source.python.blocks import Block, Text, body_of
from incprof.source.python.check import difference_in_meaning
from incprof.source.python.lines import ending_of, is_blank
from incprof.source.python.marks import IMPORT, line, split
from incprof.source.python.sites import DEFINED, sites_of


def python_insertions(file: SourceFile, beats: Sequence[Beat], announce: Sequence[Announcement]) -> list[Insertion]:
    """What to put into a file: `with appekg.beat(ID):` around statements, which get deeper, the import, and names.

    announce: of the file's own beats. What comes out does what the file did, and has the same syntax tree but for the
    heartbeats: that is looked at here.

    Raises: IncprofError when it is not so.
    """
    if not beats:
        return []
    text = Text(file.data)
    around = _blocks(text, beats)
    found = [*_head(text, announce), *_around(text, around)]
    reason = difference_in_meaning(file.data, insert(file.data, found))
    if reason:
        raise IncprofError(f"{file.path}: heartbeats would change what it does ({reason}); nothing was written")
    return found


def _blocks(text: Text, beats: Sequence[Beat]) -> list[tuple[Block, int]]:
    """What each beat is around, and its id; an outer block before what it holds."""
    sites = sites_of(text.data)
    found: list[tuple[Block, int]] = []
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
        found.append((block, beat.id))
    return sorted(found, key=lambda one: (one[0].first, -one[0].last, one[0].colon is not None, len(one[0].indent)))


def _around(text: Text, around: Sequence[tuple[Block, int]]) -> list[Insertion]:
    """The `with` lines, and what makes the lines in them stand deeper: an inner block's blanks before an outer's."""
    ending, found = ending_of(text.data), list[Insertion]()
    withs, deeper = defaultdict[int, bytes](bytes), defaultdict[int, bytes](bytes)
    for block, number in around:
        statement = b"with appekg.beat(%d):" % number
        if block.colon is not None:
            outside = deeper[_line_at(text, block.colon)]
            found.append(Insertion(block.colon, split(block.deeper + outside + block.indent, statement, ending)))
            continue
        withs[block.first] += line(statement, deeper[block.first] + block.indent, ending)
        for each in range(block.first, block.last + 1):
            deeper[each] = block.deeper + deeper[each]
    for at, here in enumerate(text.lines):
        blanks = b"" if here.quoted or is_blank(text.data, here) else deeper[at]
        if withs[at] or blanks:
            found.append(Insertion(here.start, withs[at] + blanks))
    return found


def _line_at(text: Text, offset: int) -> int:
    """The line that a byte is on."""
    return next(number for number, each in enumerate(text.lines) if each.start <= offset <= each.end)


def _head(text: Text, announce: Sequence[Announcement]) -> list[Insertion]:
    """The import and the names, behind the imports that the file begins with: before anything that could beat."""
    ending = ending_of(text.data)
    statements = [IMPORT]
    for each in announce:
        name = each.name.encode("unicode_escape").replace(b'"', b'\\"')
        statements.append(b'appekg.name(%d, "%b")' % (each.id, name))
        if each.rate_factor != 1:
            statements.append(b"appekg.rate(%d, %d)" % (each.id, each.rate_factor))
    made = b"".join(line(statement, b"", ending) for statement in statements)
    body, last = text.tree.body, 0
    for number, statement in enumerate(body):
        if not (_is_head(statement) or (number == 0 and _is_docstring(statement))):
            break
        end = statement.end_lineno or statement.lineno
        follows = body[number + 1].lineno if number + 1 < len(body) else end + 1
        last = end if follows > end else last
    if not last:
        last = min([body[0].lineno, *(d.lineno for d in getattr(body[0], "decorator_list", ()))]) - 1
    return [Insertion(text.lines[last].start if last < len(text.lines) else len(text.data), made)]


def _is_head(statement: ast.stmt) -> bool:
    """Tell whether a statement imports something."""
    return isinstance(statement, (ast.Import, ast.ImportFrom))


def _is_docstring(statement: ast.stmt) -> bool:
    """Tell whether a statement is a string."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
