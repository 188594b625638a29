"""Facts that decide where a heartbeat can go in a Fortran procedure: the end of its declarations, and its exits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from incprof.source.fortran.statements import Statement, Word, first_parenthesis_closed
from incprof.source.fortran.structure import LOOPS, Source, Unit

_DECLARES = frozenset("use import implicit spec types include neutral entry".split())
_HARMLESS = frozenset("assignment call io exec use import implicit spec neutral include".split())
# Statements that lines of conditional compilation (`!$ `) may also contain, if they close all that they open.
_BRANCHES = frozenset(["then", "else", "end if"])
_FOR_OPENMP = "a statement for OpenMP compilers alone"
_LEAVES = re.compile(r"\b(?:return|cycle|exit|stop|go ?to|then|do|end)")
_LATE = frozenset("use import implicit spec".split())
# Statements from which control does not return.
ENDS_FLOW = frozenset("return stop goto arithmetic".split())
_EXIT_KINDS = frozenset("return stop cycle exit goto computed assigned arithmetic".split())
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
_TYPE = re.compile(r"(?:integer|real|complex|logical|character|double ?(?:precision|complex)|type|class)\*?\(")
_ARRAY = re.compile(r"([a-z]\w*)\(")


@dataclass(slots=True)
class Facts:
    """Facts about one unit, as positions in Source.statements.

    Attributes:
        declared: the last statement or directive that must precede executable ones; the header if there is none, -1 if
            there is no header either.
        late: a declaration after executable statements, or -1.
        exits: statements that may leave a loop or the unit, in order.
        labels: statements by label.
        entries: ENTRY statements below `declared`.
        problems: statements that prevent heartbeats, and why.
        for_devices: a directive marks the unit as device code.
        device_regions: first and last line of regions that run on a device.
    """

    declared: int
    late: int = -1
    exits: list[int] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    entries: list[int] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)
    for_devices: bool = False
    device_regions: list[tuple[int, int]] = field(default_factory=list)


def facts_of(source: Source, unit: Unit) -> Facts:
    """Collect the facts about one unit, in one pass over its own statements."""
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
            names.update(_NAME.findall(_declared(statement.text)))
        elif declaring and not statement.label and _is_function(statement.text, word, arrays, names, strict):
            facts.declared = index
        else:
            declaring = False
            _executed(source, facts, index, word, block)
    if half := _half_conditional(source, unit):
        facts.problems = sorted({*facts.problems, *((index, _FOR_OPENMP) for index in half)})
    return facts


def _half_conditional(source: Source, unit: Unit) -> list[int]:
    """Return the lines after `!$ ` that make branches, unless they close each IF that they open."""
    lines = [
        index for index in unit.own
        if source.statements[index].row.conditional and source.words[index].kind in _BRANCHES
    ]  # fmt: skip
    depth = 0
    for index in lines:
        kind = source.words[index].kind
        depth += {"then": 1, "end if": -1}.get(kind, 0)
        if depth < (kind == "else"):
            return lines
    return lines if depth else []


def _problem(statement: Statement, word: Word) -> str:
    """Return why a statement prevents heartbeats, or ""."""
    if statement.fault or word.kind == "unknown":
        return statement.fault or "an unknown statement"
    if statement.row.conditional and not _is_harmless_for_openmp(word):
        return _FOR_OPENMP
    if not statement.row.split:
        return ""
    # The lines together may differ from the code that any compiler compiles.
    leaves = word.labels or _LEAVES.search(statement.text)
    harmless = (word.action or word).kind in _HARMLESS and not leaves and not statement.row.conditions
    return "" if harmless else "a line of the preprocessor is inside of a statement"


def _is_harmless_for_openmp(word: Word) -> bool:
    """Return whether it does not matter here that a statement exists for some compilers only.

    A construct with a name may be left by it.
    """
    return (word.action or word).kind in _HARMLESS or (word.kind in _BRANCHES and not word.name)


def _directive(facts: Facts, kind: str, text: str, index: int, region: int) -> int:
    """Record a directive for devices; return where the currently open region started, or -1."""
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
    """Return whether a line that is not code is a declaration. before: the line above, if it is such a directive."""
    if statement.kind == "cpp":
        return statement.text.replace(" ", "").startswith("#include")
    if _SPEC_DIRECTIVE.match(statement.text):
        return True
    return before is not None and (before.text.endswith("&") or bool(_GOES_ON.match(statement.text)))


def _executed(source: Source, facts: Facts, index: int, word: Word, block: int) -> None:
    """Record a statement below the declarations."""
    action = word.action or word
    if action.kind in _EXIT_KINDS or action.labels:
        facts.exits.append(index)
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
    """Return whether an assignment could be a statement function.

    It is not one if the name is declared as an array, or comes from elsewhere: a function's would be declared here.
    """
    if word.kind != "assignment":
        return False
    match = _STATEMENT_FUNCTION.match(text)
    return match is not None and match[1] not in arrays and (match[1] in names or not strict)


def _declared(text: str) -> str:
    """Return the part of a declaration after its type: `a(3),b` of `real(8),save::a(3),b`."""
    _, marked, names = text.partition("::")
    if marked:
        return names
    return text[first_parenthesis_closed(text) :] if _TYPE.match(text) else text


def _arrays(text: str) -> set[str]:
    """Return names that a declaration may make arrays."""
    if re.search(r"\b(?:dimension|allocatable|pointer)\b", text):
        return set(_NAME.findall(text))
    return set(_ARRAY.findall(_declared(text)))


class RefusedError(Exception):
    """No heartbeat can go there; the message gives the reason."""


class MaybeLeftError(RefusedError):
    """A statement may or may not leave these loops."""

    def __init__(self, reason: str, loops: set[int]):
        super().__init__(reason)
        self.loops = loops


def loops_left(source: Source, unit_facts: Facts, index: int, word: Word) -> tuple[list[int], bool]:
    """Return the loops that a statement leaves, inner ones first, and whether it leaves the procedure.

    A branch to the last statement of a loop leaves an iteration.

    Raises: RefusedError if that depends on run time.
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
    left_by_label = [_left_by_branch(source, unit_facts, loops, index, label) for label in word.labels]
    certain = word.kind in ("goto", "arithmetic")
    if not left_by_label or (certain and all(each == left_by_label[0] for each in left_by_label)):
        return (left_by_label[0] if left_by_label else []), False
    if any(left_by_label):
        raise MaybeLeftError(
            f"line {source.statements[index].line} may lead out of the loop",
            {block for each in left_by_label for block in each},
        )
    return [], False


def enclosing(source: Source, index: int) -> list[int]:
    """Return the blocks around a statement, inner ones first, except loops that it is the last statement of."""
    blocks = []
    block = source.block_of[index]
    while block >= 0:
        each = source.blocks[block]
        if each.last != index:
            blocks.append(block)
        block = each.parent
    return blocks


def _up_to(source: Source, around: list[int], word: Word) -> list[int]:
    """Return the loops that CYCLE and EXIT leave: up to the named one, or the innermost one."""
    loops = []
    for block in around:
        each = source.blocks[block]
        if each.kind in LOOPS:
            loops.append(block)
        if each.name == word.name if word.name else each.kind in LOOPS:
            return loops
    raise RefusedError("a CYCLE or EXIT names no block around it")


def _left_by_branch(source: Source, facts: Facts, loops: list[int], index: int, label: str) -> list[int]:
    target = facts.labels.get(label)
    if target is None:
        if not loops:
            return []
        raise RefusedError(f"line {source.statements[index].line} leads to a label that is not there")
    return [block for block in loops if not (source.blocks[block].first < target < source.blocks[block].last)]
