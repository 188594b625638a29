"""The procedures and loops of a Fortran file, each with the reason why no heartbeat can go there, if so.

The other modules here find statements and blocks, in both forms alike: they decide where heartbeats go. tree-sitter
reads the same text without comments and continuation marks, at the same offsets, and only supplies the nodes: it fails
on features of fixed form (`DO10I=1,3`, strings with their length before them), and on a construct's name that is
continued.
"""

from __future__ import annotations

import bisect
import re
from functools import cache

import tree_sitter_fortran
from tree_sitter import Language, Node, Parser, Tree

from incprof.source.fortran.facts import RefusedError
from incprof.source.fortran.insert import Sites, insertions_of, sites_of
from incprof.source.fortran.refusals import body_refusal, loop_refusal, names_taken, unit_refusal
from incprof.source.fortran.statements import Statement
from incprof.source.fortran.structure import DEEPEST_UNIT, LOOPS, MOST_NESTED, Source, Unit
from incprof.source.model import Announcement, Beat, Loop, SourceFile, SourceFunction
from incprof.source.parsing import parse_within_limits

_PROCEDURE_NODES = frozenset("program subroutine function module_procedure".split())
_LOOP_NODES = frozenset(["do_loop"])
# Intrinsic procedures that process whole arrays.
_LONG = r"matmul|dot_product|sum|product|maxval|minval|maxloc|minloc|reshape|transpose|spread|pack|count|any|all"
_CALLS = re.compile(rf"\b(?:{_LONG})\(")
_SECTION = re.compile(r"[a-z]\w*(?:%\w+)*\([^=:]*:[^=]*\)=")
_EXTERNAL = re.compile(r"(?:external(?: |::)|[^:]*,external\b[^:]*::)(.*)")
_NAME = re.compile(r"[a-z]\w*(?=\()")
_BUSY = frozenset("call io do concurrent".split())


def busy_statements(source: Source, unit: Unit, functions: set[str]) -> list[int]:
    """Return statements that call something, process whole arrays or start a loop, by position in Source.statements.

    functions: Names of the procedures of the file. An unknown name before parentheses may be an array.
    """
    external: set[str] = set()
    busy = []
    for index in unit.own:
        word, text = source.words[index], source.statements[index].text
        if match := _EXTERNAL.match(text):
            external.update(re.findall(r"\w+", match[1]))
            continue
        names = _NAME.findall(text)
        called = not (functions.isdisjoint(names) and external.isdisjoint(names))
        if called or (word.action or word).kind in _BUSY or _CALLS.search(text) or _SECTION.match(text):
            busy.append(index)
    return busy


def parse_fortran(path: str, data: bytes, *, fixed: bool) -> SourceFile:
    """Parse a file.

    path: For messages. data: Its bytes, without heartbeats of ours. fixed: Whether it is in fixed form.
    """
    reader = _Reader(sites_of(data, fixed), data)
    functions = tuple(reader.function(at) for at in range(len(reader.sites.functions)))
    return SourceFile(path, "fixed" if fixed else "fortran", data, functions)


class _Reader:
    """Describes the procedures of a file."""

    def __init__(self, sites: Sites, data: bytes):
        self.sites = sites
        self._tree = _tree(sites.source, data)
        self._taken = names_taken(sites.source)
        self._functions = {sites.source.units[site.unit].name.rpartition("::")[2] for site in sites.functions}

    def function(self, at: int) -> SourceFunction:
        source, site = self.sites.source, self.sites.functions[at]
        unit = source.units[site.unit]
        first, last = source.statements[unit.first], source.statements[unit.last]
        refusal = unit_refusal(source, unit, site.facts, self._taken)
        return SourceFunction(
            name=unit.name,
            syntax=self._node(first, last, _PROCEDURE_NODES, deep=unit.depth > DEEPEST_UNIT),
            line=first.line,
            last_line=last.row.last_line,
            loops=self._loops(at, unit, refusal),
            is_main=unit.kind == "program",
            refusal=refusal or body_refusal(source, unit, site.facts) or self._tried(at, None),
        )

    def _loops(self, at: int, unit: Unit, refusal: str | None) -> tuple[Loop, ...]:
        """Return the loops of a procedure. refusal: why it can contain no heartbeat at all."""
        source, site = self.sites.source, self.sites.functions[at]
        busy = busy_statements(source, unit, self._functions)
        around: dict[int, int | None] = {-1: None}  # by block: the loop that it is, or that is around it
        loops: list[Loop] = []
        for position in unit.blocks:
            block = source.blocks[position]
            around[position] = around[block.parent]
            if block.kind not in LOOPS:
                continue
            around[position] = len(loops)
            last = block.last if block.last >= 0 else block.first
            deep = block.depth > MOST_NESTED or unit.depth > DEEPEST_UNIT
            node = self._node(source.statements[block.first], source.statements[last], _LOOP_NODES, deep=deep)
            loops.append(
                Loop(
                    syntax=node,
                    repeated=node,
                    line=source.statements[block.first].line,
                    last_line=source.statements[last].row.last_line,
                    parent=around[block.parent],
                    busy=bisect.bisect(busy, block.first) < bisect.bisect(busy, last),
                    refusal=refusal or loop_refusal(source, site.facts, block) or self._tried(at, len(loops)),
                )
            )
        return tuple(loops)

    def _node(self, first: Statement, last: Statement, types: frozenset[str], *, deep: bool) -> Node:
        """Return the node around two statements, or of the first one, if tree-sitter finds something else there.

        deep: the search from the root would take long; then return the root.
        """
        root = self._tree.root_node
        node = None if deep else root.descendant_for_byte_range(first.start, last.end)
        if node is not None and (node.type not in types or node.start_byte != first.start):
            node = root.descendant_for_byte_range(first.start, first.end)
        return root if node is None else node

    def _tried(self, at: int, loop: int | None) -> str | None:
        """Return why a heartbeat cannot be inserted there, by trying it."""
        largest = (1 << 31) - 1
        program = self.sites.source.units[self.sites.functions[at].unit].kind == "program"
        announce = [Announcement(largest, "", largest)] if program and loop is None else []
        try:
            insertions_of(self.sites, at, [Beat(largest, at, loop)], announce)
        except RefusedError as error:
            return str(error)
        return None


def _tree(source: Source, data: bytes) -> Tree:
    """Return tree-sitter's tree of the code alone, every statement on one line, at the offsets of the file."""
    masked = bytearray(b" " * len(data))
    before = None
    for statement in source.statements:
        row = statement.row
        if statement.kind != "code" or row is before:
            continue
        before = row
        for start, stop in [*row.pieces, *([row.label] if row.label else [])]:
            masked[start:stop] = data[start:stop]
        if row.end > row.start:
            masked[row.end - 1] = data[row.end - 1]
    return parse_within_limits(_language(), bytes(masked)) or Parser(_language()).parse(b"")


@cache
def _language() -> Language:
    return Language(tree_sitter_fortran.language())
