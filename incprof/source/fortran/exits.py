"""Find the loops of a Fortran procedure that a statement leaves."""

from __future__ import annotations

from incprof.source.fortran.facts import Facts
from incprof.source.fortran.structure import LOOPS, Block, Source
from incprof.source.fortran.words import Word


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
    left = [_left_by_branch(source, unit_facts, loops, index, label) for label in word.labels]
    certain = word.kind in ("goto", "arithmetic")
    if not left or (certain and all(each == left[0] for each in left)):
        return (left[0] if left else []), False
    if any(left):
        raise MaybeLeftError(
            f"line {source.statements[index].line} may lead out of the loop", {block for each in left for block in each}
        )
    return [], False


def enclosing(source: Source, index: int) -> list[int]:
    """Return the blocks around a statement, inner ones first, except loops that it is the last statement of."""
    found = []
    block = source.block_of[index]
    while block >= 0:
        each = source.blocks[block]
        if each.last != index:
            found.append(block)
        block = each.parent
    return found


def _up_to(source: Source, around: list[int], word: Word) -> list[int]:
    """Return the loops that CYCLE and EXIT leave: up to the named one, or the innermost one."""
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
