"""The procedures and loops of a Fortran file, each with the reason why no heartbeat can go there, if so.

Statements and blocks are found by the other modules here, in both forms alike: a place for a heartbeat hangs on them.
tree-sitter reads the same text without comments and marks of continuation, at the same offsets, and gives the nodes. It
does not decide: it loses its way at what fixed form allows (`DO10I=1,3`, strings with their length before them), and
at a construct's name that is continued.
"""

from __future__ import annotations

import re
from functools import cache

import tree_sitter_fortran
from tree_sitter import Language, Node, Parser, Tree

from incprof.source.fortran_facts import RefusedError
from incprof.source.fortran_insert import insertions_of
from incprof.source.fortran_refusals import body_refusal, loop_refusal, names_taken, unit_refusal
from incprof.source.fortran_sites import Sites, sites_of
from incprof.source.fortran_statements import Statement
from incprof.source.fortran_units import LOOPS, Block, Source, Unit
from incprof.source.model import Beat, Loop, SourceFile, SourceFunction

# Intrinsic procedures that go over whole arrays.
_LONG = r"matmul|dot_product|sum|product|maxval|minval|maxloc|minloc|reshape|transpose|spread|pack|count|any|all"
_CALLS = re.compile(rf"\b(?:{_LONG})\(")
_SECTION = re.compile(r"[a-z]\w*(?:%\w+)*\([^=]*:[^=]*\)=")
_EXTERNAL = re.compile(r"(?:external(?: |::)|.*,external.*::)(.*)")
_NAME = re.compile(r"[a-z]\w*(?=\()")
_PROCEDURE_NODES = frozenset("program subroutine function module_procedure".split())
_LOOP_NODES = frozenset(["do_loop"])


def parse_fortran(path: str, data: bytes, *, fixed: bool) -> SourceFile:
    """What a file holds.

    Args:
        path: For messages.
        data: Its bytes, without heartbeats of ours.
        fixed: Whether it is in fixed form.
    """
    sites = sites_of(data, fixed)
    tree = _tree(sites.source, data)
    taken = names_taken(sites.source)
    functions = {sites.source.units[site.unit].name.rpartition("::")[2] for site in sites.functions}
    made = tuple(_function(sites, at, tree, taken, functions) for at in range(len(sites.functions)))
    return SourceFile(path, "fixed" if fixed else "fortran", data, made)


def _function(sites: Sites, at: int, tree: Tree, taken: dict[int, list[int]], functions: set[str]) -> SourceFunction:
    source, site = sites.source, sites.functions[at]
    unit = source.units[site.unit]
    first, last = source.statements[unit.first], source.statements[unit.last]
    general = unit_refusal(source, unit, site.facts, taken)
    positions = {block: position for position, block in enumerate(site.loops)}
    known = functions | _external(source, unit)
    loops = tuple(_loop(sites, at, position, positions, general, tree, known) for position in range(len(site.loops)))
    return SourceFunction(
        name=unit.name,
        node=_node(tree, first, last, _PROCEDURE_NODES),
        line=first.line,
        last_line=last.row.last_line,
        loops=loops,
        is_main=unit.kind == "program",
        refusal=general or body_refusal(source, unit, site.facts) or _tried(sites, at, None),
    )


def _loop(
    sites: Sites,
    at: int,
    position: int,
    positions: dict[int, int],
    general: str | None,
    tree: Tree,
    functions: set[str],
) -> Loop:
    source, site = sites.source, sites.functions[at]
    block = source.blocks[site.loops[position]]
    last = block.last if block.last >= 0 else block.first
    node = _node(tree, source.statements[block.first], source.statements[last], _LOOP_NODES)
    refusal = general or loop_refusal(source, site.facts, block) or _tried(sites, at, position)
    return Loop(
        node=node,
        body=node,
        line=source.statements[block.first].line,
        last_line=source.statements[last].row.last_line,
        parent=_enclosing_loop(source, block, positions),
        busy=_busy(source, block, functions),
        refusal=refusal,
    )


def _tried(sites: Sites, at: int, loop: int | None) -> str | None:
    """Why a heartbeat cannot be put in there, which shows when it is tried."""
    try:
        insertions_of(sites, at, [Beat((1 << 31) - 1, at, loop)])
    except RefusedError as error:
        return str(error)
    return None


def _enclosing_loop(source: Source, block: Block, positions: dict[int, int]) -> int | None:
    parent = block.parent
    while parent >= 0 and source.blocks[parent].kind not in LOOPS:
        parent = source.blocks[parent].parent
    return positions.get(parent)


def _busy(source: Source, block: Block, functions: set[str]) -> bool:
    """Whether an iteration calls something, or goes over whole arrays, or holds another loop."""
    for index in range(block.first + 1, block.last + 1):
        word, text = source.words[index], source.statements[index].text
        action = word.action or word
        if action.kind in ("call", "io", "do", "concurrent") or _CALLS.search(text) or _SECTION.match(text):
            return True
        if any(name in functions for name in _NAME.findall(text)):
            return True
    return False


def _external(source: Source, unit: Unit) -> set[str]:
    """Names that a procedure says are functions of somewhere else."""
    found: set[str] = set()
    for index in unit.own:
        if match := _EXTERNAL.match(source.statements[index].text):
            found.update(re.findall(r"\w+", match[1]))
    return found


def _node(tree: Tree, first: Statement, last: Statement, types: frozenset[str]) -> Node:
    """The node of what two statements enclose; where tree-sitter sees something else there, that of the first one."""
    node = tree.root_node.descendant_for_byte_range(first.start, last.end)
    if node is None or node.type not in types or node.start_byte != first.start:
        node = tree.root_node.descendant_for_byte_range(first.start, first.end)
    return node if node is not None else tree.root_node


def _tree(source: Source, data: bytes) -> Tree:
    """tree-sitter's view of the code alone, every statement on one line, at the offsets of the file."""
    masked = bytearray(b" " * len(data))
    for statement in source.statements:
        row = statement.row
        if statement.kind != "code":
            continue
        for start, stop in [*row.pieces, *([row.label] if row.label else [])]:
            masked[start:stop] = data[start:stop]
        if row.end > row.start:
            masked[row.end - 1] = data[row.end - 1]
    return _parser().parse(bytes(masked))


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_fortran.language()))
