"""Reasons why no heartbeat can go around a Fortran procedure or into a loop of it; None if one can."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from incprof.source.fortran.facts import ENDS_FLOW, Facts
from incprof.source.fortran.statements import NO_LABEL
from incprof.source.fortran.structure import LOOPS, Block, Source, Unit

_OURS = re.compile(r"\b(?:appekg|ekg_(?:begin|end|init|name|rate))\b")
_PURE = re.compile(r"\b(?:pure|elemental|simple)\b")
_DEVICE = re.compile(r"attributes\([^)]*(?:device|global)")
_NO_CALLS = re.compile(
    r".\$(?:acc\b|omp\b.*\b(?:target|simd|distribute|teams|loop|tile|unroll|interchange|workshare)\b)"
)
_NESTED = re.compile(r"\b(?:collapse|ordered) ?\( ?(\d{1,3}) ?\)")


def unit_refusal(source: Source, unit: Unit, facts: Facts, taken: dict[int, list[int]]) -> str | None:
    """Return why a procedure can contain no heartbeat at all.

    taken: Statements that use names required by heartbeats, from `names_taken`.
    """
    header = source.statements[unit.first]
    if source.generated:
        return "the file was written by a preprocessor: put heartbeats into its source instead"
    prefix = unit.prefix
    if _PURE.search(prefix) and "impure" not in prefix:
        return f"{_PURE.findall(prefix)[-1]}: such a procedure must not have side effects"
    if any(problem == NO_LABEL for _, problem in facts.problems):
        return "it is not in fixed form, as the file's name says"
    if unit.damage:
        return unit.damage
    if (header.fault or header.row.split) and not unit.headless:
        return f"{header.fault or 'a line of the preprocessor is inside of its header'}, line {header.line}"
    if facts.for_devices or _DEVICE.search(prefix):
        return "it runs on a device"
    if taken_at := _taken(source, unit, taken):
        return f"line {taken_at} uses the name of a heartbeat's call"
    return None


def names_taken(source: Source) -> dict[int, list[int]]:
    """Return statements that name appekg, or one of its calls, by position of the unit; all of them at -1."""
    statements_of: dict[int, list[int]] = {}
    if "ekg" in source.text.lower():
        for index, statement in enumerate(source.statements):
            if statement.kind == "code" and "ekg" in statement.text and _OURS.search(statement.text):
                statements_of.setdefault(-1, []).append(index)
                if source.unit_of[index] >= 0:
                    statements_of.setdefault(source.unit_of[index], []).append(index)
    return statements_of


def start_refusal(source: Source, unit: Unit, facts: Facts, taken: dict[int, list[int]]) -> str | None:
    """Return why nothing can go after a procedure's declarations, whatever it does then."""
    if reason := unit_refusal(source, unit, facts, taken):
        return reason
    if facts.late >= 0:
        return f"a declaration after the first executable statement, line {source.statements[facts.late].line}"
    following = unit.own[bisect.bisect(unit.own, facts.declared) :][:1]
    if facts.problems and facts.problems[0][0] <= max(following, default=-1):
        return f"{facts.problems[0][1]}, line {source.statements[facts.problems[0][0]].line}"
    return None


def body_refusal(source: Source, unit: Unit, facts: Facts) -> str | None:
    """Return why no heartbeat can go around the statements of a procedure that can contain one."""
    if facts.problems:
        index, problem = facts.problems[0]
        return f"{problem}, line {source.statements[index].line}"
    if facts.late >= 0:
        return f"a declaration after the first executable statement, line {source.statements[facts.late].line}"
    branch = source.branch_of[unit.last if unit.headless else unit.first]
    for index in (unit.contains, unit.last):
        if index >= 0 and source.branch_of[index] != branch:
            return f"it ends in another branch of #if than it starts in, line {source.statements[index].line}"
    for index in facts.entries:
        if not _flow_ends(source, index):
            return f"control reaches the ENTRY of line {source.statements[index].line} from above"
    return None


def _flow_ends(source: Source, index: int) -> bool:
    """Return whether control never goes from the statement above to this one."""
    at = index - 1
    while at >= 0 and source.statements[at].kind == "code" and source.words[at].kind == "neutral":
        at -= 1
    return at >= 0 and ends_flow(source, at)


def ends_flow(source: Source, index: int) -> bool:
    """Return whether control never goes from a statement to the one below it."""
    statement = source.statements[index]
    return (
        statement.kind == "code"
        and not statement.row.conditional
        and source.block_of[index] < 0
        and source.words[index].kind in ENDS_FLOW
    )


def only_branch(source: Source, unit: Unit, declared: int) -> int:
    """Return the line that ends the `#if` branch with the last declarations, if all execution is in it; else -1."""
    branch, closes = source.branch_of[declared], -1
    for index in unit.own[bisect.bisect(unit.own, declared) :]:
        inside = source.branch_of[index]
        while inside >= 0 and inside != branch:
            inside = source.branch_parents[inside]
        code = source.statements[index].kind == "code"
        if inside < 0 and closes < 0 and not code:
            closes = index
        elif inside < 0 and code and index not in (unit.contains, unit.last):
            return -1
    return closes


def loop_refusal(source: Source, facts: Facts, block: Block) -> str | None:
    """Return why no heartbeat can go into a loop of a procedure that can contain one, judged by its own lines."""
    if block.kind == "concurrent" or any(each.kind == "concurrent" for each in _around(source, block)):
        return "DO CONCURRENT: its iterations must not have side effects"
    if block.damage or block.last < 0:
        return block.damage or "its end is not found"
    if block.shared:
        return "it shares its last statement with a loop inside of it"
    if source.branch_of[block.first] != source.branch_of[block.last]:
        return "it ends in another branch of #if than it starts in"
    at = bisect.bisect(facts.problems, (block.first, ""))
    if at < len(facts.problems) and facts.problems[at][0] <= block.last:
        return f"{facts.problems[at][1]}, line {source.statements[facts.problems[at][0]].line}"
    region = bisect.bisect(facts.device_regions, (block.first, 1 << 62)) - 1
    if region >= 0 and block.first < facts.device_regions[region][1]:
        return "it runs on a device"
    return _directive_refusal(source, block)


def _directive_refusal(source: Source, block: Block) -> str | None:
    """Return why OpenMP or OpenACC directives above the loop, or above one around it, forbid heartbeats."""
    distance = 0
    for each in (block, *_around(source, block)):
        if each.kind in LOOPS:
            text = _above(source, each.first)
            if _NO_CALLS.search(text):
                return f"the directive above line {source.statements[each.first].line} allows no calls"
            if any(distance < int(count) - 1 for count in _NESTED.findall(text)):
                return f"the directive above line {source.statements[each.first].line} allows nothing between loops"
            distance += 1
    return None


def _around(source: Source, block: Block) -> Iterator[Block]:
    parent = block.parent
    while parent >= 0:
        yield source.blocks[parent]
        parent = source.blocks[parent].parent


def _above(source: Source, index: int) -> str:
    """Return the directives directly above a statement, in one text."""
    directives: list[str] = []
    while index > 0 and source.statements[index - 1].kind != "code" and len(directives) < 100:
        index -= 1
        if source.statements[index].kind == "directive":
            directives.append(source.statements[index].text)
    return " ".join(reversed(directives))


def _taken(source: Source, unit: Unit, taken: dict[int, list[int]]) -> int:
    """Return the line of a statement in a procedure, or around it, that uses a name of heartbeats; 0 for none."""
    if not taken:
        return 0
    inside = taken[-1]
    at = bisect.bisect_left(inside, unit.first)
    if at < len(inside) and inside[at] <= unit.last:
        return source.statements[inside[at]].line
    parent = unit.parent
    while parent >= 0:
        if parent in taken:
            return source.statements[taken[parent][0]].line
        parent = source.units[parent].parent
    return 0
