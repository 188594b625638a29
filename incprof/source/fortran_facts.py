"""What a heartbeat's place in a Fortran procedure hangs on: where declarations end, and what leads out of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from incprof.source.fortran_statements import Statement
from incprof.source.fortran_units import LOOPS, Block, Source, Unit
from incprof.source.fortran_words import Word

_DECLARES = frozenset("use import implicit spec types include neutral entry".split())
_HARMLESS = frozenset("assignment call io exec use import implicit spec neutral include".split())
_LEAVES = re.compile(r"\b(?:return|cycle|exit|stop|go ?to|then|do|end)")
_LATE = frozenset("use import implicit spec".split())
# What control does not come back from.
ENDS_FLOW = frozenset("return stop goto arithmetic".split())
_WAYS_OUT = frozenset("return stop cycle exit goto computed assigned arithmetic".split())
_SPEC_DIRECTIVE = re.compile(
    r".\$(?:omp ?(?:threadprivate|declare|requires|groupprivate)|acc ?(?:declare|routine))\b"
    r"|.(?:dir|dec|gcc|pgi|ibm)\$ ?attributes"
)
_FOR_DEVICES = re.compile(r".\$(?:acc ?routine|omp ?declare ?target)\b")
_REGION = re.compile(r".\$(?:acc ?(?:parallel|kernels|serial)|omp ?target)\b(?! ?(?:data|update|enter|exit|loop))")
_REGION_END = re.compile(r".\$(?:acc ?end ?(?:parallel|kernels|serial)|omp ?end ?target)\b(?! ?data)")
_GOES_ON = re.compile(r".\$[a-z]{3}[^ ]")
_STATEMENT_FUNCTION = re.compile(r"([a-z]\w*)\((?:[a-z]\w*(?:,[a-z]\w*)*)?\)=(?!>)")
_NAME = re.compile(r"[a-z]\w*")
_ARRAY = re.compile(r"([a-z]\w*)\(")


class RefusedError(Exception):
    """No heartbeat can go there, and why."""


@dataclass(slots=True)
class Facts:
    """What is known of one unit, by positions in Source.statements.

    declared: the last statement or directive that must stand before anything is done; the header if there is none,
    -1 if there is no header either. late: a declaration below, or -1. ways_out: what may lead out of a loop or of the
    unit, in order. labels: statements by label. entries: ENTRY statements below `declared`. problems: statements that
    are not understood. for_devices: a directive says so. device_regions: first and last line of what runs on one.
    """

    declared: int
    late: int = -1
    ways_out: list[int] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    entries: list[int] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)
    for_devices: bool = False
    device_regions: list[tuple[int, int]] = field(default_factory=list)


def facts_of(source: Source, unit: Unit) -> Facts:
    """Everything about one unit, in one walk over its own statements."""
    facts = Facts(-1 if unit.headless else unit.first)
    arrays: set[str] = set()
    names: set[str] = set()
    declaring, region, directive = True, -1, False
    strict = unit.strict  # every name that is not from elsewhere is declared here
    for index in unit.own[0 if unit.headless else 1 :]:
        statement, word = source.statements[index], source.words[index]
        if statement.kind != "code":
            region = _directive(facts, statement.kind, statement.text, index, region)
            directive = _declares(statement, source.statements[index - 1] if directive else None)
            if declaring and directive:
                facts.declared = index
                strict = strict and statement.kind != "cpp"
            continue
        directive = False
        block = source.block_of[index]
        if block >= 0 and source.blocks[block].kind in ("types", "body"):
            if declaring:
                facts.declared = index
            continue
        if problem := _problem(statement, word):
            facts.problems.append((index, problem))
        if statement.label:
            facts.labels.setdefault(statement.label, index)
        if declaring and word.kind in _DECLARES:
            facts.declared = index
            strict = strict and word.kind != "include"
            arrays |= _arrays(statement.text)
            names.update(_NAME.findall(statement.text))
        elif declaring and not statement.label and _is_function(statement.text, word, arrays, names, strict):
            facts.declared = index
        else:
            declaring = False
            _executed(source, facts, index, word, block)
    return facts


def _problem(statement: Statement, word: Word) -> str:
    """Why a statement keeps heartbeats away from it, or ""."""
    if statement.fault or word.kind == "unknown":
        return statement.fault or "a statement that is not known here"
    if not statement.row.split:
        return ""
    # What the lines say together may not be what any compiler sees.
    leaves = word.labels or _LEAVES.search(statement.text)
    harmless = (word.action or word).kind in _HARMLESS and not leaves and not statement.row.conditions
    return "" if harmless else "a line of the preprocessor is inside of a statement"


def loops_left(source: Source, unit_facts: Facts, index: int, word: Word) -> tuple[list[int], bool]:
    """The loops that a statement leads out of, the inner ones first, and whether it leads out of the procedure.

    A branch to the last statement of a loop leads out of an iteration.

    Raises: RefusedError when that hangs on what happens there.
    """
    around = enclosing(source, index)
    if word.kind in ("return", "stop"):
        return [block for block in around if source.blocks[block].kind in LOOPS], True
    if word.kind in ("cycle", "exit"):
        return _up_to(source, around, word), False
    loops = [block for block in around if source.blocks[block].kind in LOOPS]
    if word.kind == "assigned":
        if loops:
            raise RefusedError(f"the GO TO of line {source.statements[index].line} has its label in a variable")
        return [], False
    left = [_left_by_branch(source, unit_facts, loops, index, label) for label in word.labels]
    certain = word.kind in ("goto", "arithmetic")
    if not left or (certain and all(each == left[0] for each in left)):
        return (left[0] if left else []), False
    if any(left):
        raise MaybeLeftError(
            f"line {source.statements[index].line} may lead out of the loop", {block for each in left for block in each}
        )
    return [], False


class MaybeLeftError(RefusedError):
    """A statement may lead out of these loops, or not."""

    def __init__(self, reason: str, loops: set[int]):
        super().__init__(reason)
        self.loops = loops


def enclosing(source: Source, index: int) -> list[int]:
    """The blocks around a statement, the inner ones first; not those loops that it is the last statement of."""
    found = []
    block = source.block_of[index]
    while block >= 0:
        each = source.blocks[block]
        if each.last != index:
            found.append(block)
        block = each.parent
    return found


def _up_to(source: Source, around: list[int], word: Word) -> list[int]:
    """The loops that CYCLE and EXIT lead out of: up to the one that is named, or the innermost one."""
    found = []
    for block in around:
        each = source.blocks[block]
        if each.kind in LOOPS:
            found.append(block)
        if each.name == word.name if word.name else each.kind in LOOPS:
            return found
    raise RefusedError("a CYCLE or EXIT names no block around it")


def _left_by_branch(source: Source, facts: Facts, loops: list[int], index: int, label: str) -> list[int]:
    target = facts.labels.get(label)
    if target is None:
        if not loops:
            return []
        raise RefusedError(f"line {source.statements[index].line} leads to a label that is not there")
    return [block for block in loops if not _is_inside(source.blocks[block], target)]


def _is_inside(block: Block, target: int) -> bool:
    return block.first < target < block.last


def _directive(facts: Facts, kind: str, text: str, index: int, region: int) -> int:
    """Note what a directive says of devices; answers where a region started that is open now, or -1."""
    if kind != "directive":
        return region
    if _FOR_DEVICES.match(text):
        facts.for_devices = True
    if _REGION_END.match(text):
        if region >= 0:
            facts.device_regions.append((region, index))
        return -1
    return index if region < 0 and _REGION.match(text) else region


def _declares(statement: Statement, before: Statement | None) -> bool:
    """Whether a line that is no code is a declaration. before: the line above, if that is such a directive."""
    if statement.kind == "cpp":
        return statement.text.replace(" ", "").startswith("#include")
    if _SPEC_DIRECTIVE.match(statement.text):
        return True
    return before is not None and (before.text.endswith("&") or bool(_GOES_ON.match(statement.text)))


def _executed(source: Source, facts: Facts, index: int, word: Word, block: int) -> None:
    """Note a statement below the declarations."""
    action = word.action or word
    if action.kind in _WAYS_OUT or action.labels:
        facts.ways_out.append(index)
    if word.kind == "entry":
        facts.entries.append(index)
    # A BLOCK has declarations of its own.
    if word.kind in _LATE and facts.late < 0 and not (block >= 0 and _in_block(source, block)):
        facts.late = index


def _in_block(source: Source, block: int) -> bool:
    while block >= 0:
        if source.blocks[block].kind == "block":
            return True
        block = source.blocks[block].parent
    return False


def _is_function(text: str, word: Word, arrays: set[str], names: set[str], strict: bool) -> bool:
    """Whether an assignment could be a statement function.

    It is none where the name is declared as an array, or comes from elsewhere: a function's would be declared here.
    """
    if word.kind != "assignment":
        return False
    found = _STATEMENT_FUNCTION.match(text)
    return found is not None and found[1] not in arrays and (found[1] in names or not strict)


def _arrays(text: str) -> set[str]:
    """Names that a declaration may make arrays."""
    if re.search(r"\b(?:dimension|allocatable|pointer)\b", text):
        return set(_NAME.findall(text))
    return set(_ARRAY.findall(text))
