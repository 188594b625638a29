"""Functions missing on call paths because they left the stack before they were done.

A function whose last action is a call may jump to the callee instead (a tail call, `jmp f`): its frame is gone, and the
callee returns to its caller. The remaining trace is the call instruction there, which names it.

A function is restored on this evidence only:

- The instruction before the return address is a direct call (`call rel32`), and its target is the first byte of a
  function of the program, or a linkage stub of a name that exactly one module of the program exports.
- That function is not the one found above the call, by any name.
- Jumps out of functions lead from it to the one found, by no more than MOST_JUMPS of them. If they do not, one of the
  functions reached has a jump that may lead anywhere: through a register, a table or to a library, which may have
  called back. That suffices after a call that names an address, but not after one by a linkage stub.

Between the two, a function is restored if every path of jumps leads through it. Thunks and cold parts are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incprof.model import IntArray, Module, distinct
from incprof.symbols.control_flow import ANYWHERE
from incprof.symbols.elf_symbols import PLT_NAME
from incprof.symbols.function_space import FunctionSpace, NumberArray
from incprof.symbols.function_table import NOWHERE
from incprof.symbols.modules import AddressArray, MachineCode

# Functions outside the space: a library's; no function at all.
OUTSIDE, NOTHING = -1, -2
# Most successive tail calls that are followed, and most functions examined for one call.
MOST_JUMPS, MOST_FUNCTIONS = 4, 200
# Adjusts `this` and jumps; the rarely executed part of a function.
PASSED = re.compile(r"_ZT[hvc]|.*\.cold(\.\d+)?$")
COLD = re.compile(r"(.*)\.cold(?:\.\d+)?$")


class Frame(NamedTuple):
    """A missing frame: its function, and the jump by which it left."""

    function: int
    address: int


Chain = tuple[Frame, ...]


@dataclass
class _Exits:
    """The jumps out of a function: the first one to each other function, and the first that may lead anywhere."""

    jumps: dict[int, int] = field(default_factory=dict)
    anywhere: int | None = None

    def add(self, address: int, other: int) -> None:
        """Add a jump to a function, or to OUTSIDE."""
        if other >= 0:
            self.jumps.setdefault(other, address)
        elif other == OUTSIDE and self.anywhere is None:
            self.anywhere = address


class TailCalls:
    """Finds functions missing between calls and the functions found above them.

    modules: of the run. code: returns the machine code of a module, or None; functions of others are never restored.
    """

    def __init__(self, space: FunctionSpace, modules: Iterable[Module], code: Callable[[Module], MachineCode | None]):
        self._space, self._open = space, code
        self._modules = {module.id: module for module in modules if module.app}
        self._exits: dict[int, _Exits] = {}
        self._chains: dict[tuple[int, int, int], Chain] = {}
        self._definers: dict[str, int] = {}

    def called(self, module: IntArray, call: AddressArray) -> tuple[AddressArray, NumberArray]:
        """Return the targets of calls, given by last bytes: addresses in the module (0: none), and functions; (m,)."""
        target = np.zeros(call.shape, dtype=np.uint64)
        number = np.full(call.shape, NOTHING, dtype=np.int32)
        for each in distinct(module).tolist():
            code = self._code_of(each)
            if code is None:
                continue
            in_module = np.flatnonzero(module == each)
            target[in_module] = code.call_targets(call[in_module])
            direct = in_module[target[in_module] > 0]
            number[direct] = self._space.of_addresses(each, target[direct])
        return target, number

    def lost(
        self, module: IntArray, call: AddressArray, callers: NumberArray
    ) -> tuple[list[Chain], npt.NDArray[np.int64]]:
        """Find the functions missing between calls and the functions found above them.

        module, call: (m,) the last byte of each call instruction. callers: (m,) the function above it, OUTSIDE for a
        library's. Returns the distinct answers, the first of which is the empty chain, and the index of each call's
        answer, (m,).
        """
        target, named = self.called(module, call)
        which = np.zeros(len(call), dtype=np.int64)
        ask = np.flatnonzero((target > 0) & (named != callers))
        rows = np.stack(
            [module[ask].astype(np.int64), target[ask].view(np.int64), callers[ask].astype(np.int64)], axis=1
        )
        order = np.lexsort(rows.T)
        head = np.any(np.diff(rows[order], axis=0, prepend=rows[order][:1] - 1) != 0, axis=1)
        questions = [(row[0], row[1] % 2**64, row[2]) for row in rows[order][head].tolist()]
        self._answer(questions)
        chains: dict[Chain, int] = {(): 0}
        answer = [chains.setdefault(self._chains[question], len(chains)) for question in questions]
        which[ask[order]] = np.array(answer, dtype=np.int64)[np.cumsum(head) - 1]
        return list(chains), which

    def callers(self, module: int, from_pc: AddressArray, caller: NumberArray, callee: NumberArray) -> NumberArray:
        """Return the callers in a module: `caller`, or the function that jumped. from_pc: return address; all (m,)."""
        call = from_pc - np.minimum(from_pc, np.uint64(1))
        chains, which = self.lost(np.full(len(call), module, dtype=np.int64), call, callee)
        last = np.array([chain[-1].function if chain else -1 for chain in chains], dtype=np.int32)
        return np.where(which > 0, last[which], caller)

    def _answer(self, questions: Sequence[tuple[int, int, int]]) -> None:
        """Find the chain for each (module, target, function found)."""
        new = [question for question in questions if question not in self._chains]
        first = {question: self._function_at(question[0], question[1]) for question in new}
        real = [q for q in new if first[q] >= 0 and first[q] != q[2] and (q[2] == OUTSIDE or self._is_symbol(q[2]))]
        self._look_at([(first[question], question[2]) for question in real])
        self._chains.update(dict.fromkeys(new, ()))
        for question in real:
            module, target, caller = question
            self._chains[question] = self._chain(first[question], caller, named=not self._is_stub(module, target))

    def _look_at(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Read the jumps of called functions, and of those that they lead to: all of a step together.

        pairs: with the function found. Once a jump leads there, the search ends.
        """
        self._read_jumps(sorted({first for first, _ in pairs} - self._exits.keys()))
        front = {
            other for first, caller in pairs if not self._leads(first, caller) for other in self._exits[first].jumps
        }  # fmt: skip
        for _ in range(MOST_JUMPS - 1):
            front -= self._exits.keys()
            self._read_jumps(sorted(front)[: MOST_FUNCTIONS * MOST_FUNCTIONS])
            front = {other for number in front if number in self._exits for other in self._exits[number].jumps}

    def _read_jumps(self, numbers: Sequence[int]) -> None:
        """Read the jumps of functions."""
        places = [(number, *self._space.origin(number)) for number in numbers]
        for module in sorted({module for _, module, _ in places}):
            table, code = self._space.table(module), self._code_of(module)
            ranges = {n: (int(table.address[s]), int(table.size[s])) for n, m, s in places if m == module}
            jumps_of = code.jumps([r for r in ranges.values() if r[1]]) if code else {}
            for number, (begin, size) in ranges.items():
                exits = self._exits[number] = _Exits()
                for address, target, _ in jumps_of.get((begin, size), []):
                    if target == ANYWHERE:
                        exits.add(address, OUTSIDE)
                    elif target is not None and not begin <= target < begin + size:
                        exits.add(address, self._function_at(module, target))

    def _chain(self, first: int, caller: int, *, named: bool) -> Chain:
        """Return the functions missing if `first` was called and `caller` is above the call. named: not via a stub."""
        goal = caller
        path = self._shortest_path(first, goal) if caller >= 0 else None
        if path is None and named:
            goal = OUTSIDE
            path = self._shortest_path(first, goal)
        if path is None:
            return ()
        sure = [path[0], *(v for v in path[1:] if self._shortest_path(first, goal, without=v) is None)]
        next_of = dict(zip(path, [*path[1:], goal], strict=True))
        frames = [Frame(v, self._jump(v, next_of[v])) for v in sure if not PASSED.match(self._name(v))]
        # A function and its cold part are one: the part has the frame.
        cold = COLD.match(self._name(caller)) if caller >= 0 else None
        return tuple(frames[:-1] if cold and frames and self._name(frames[-1].function) == cold[1] else frames)

    def _shortest_path(self, first: int, goal: int, *, without: int | None = None) -> list[int] | None:
        """Return the functions on the shortest path of jumps, without the goal; None if there is none."""
        before: dict[int, int | None] = {first: None}
        front = [first]
        for _ in range(MOST_JUMPS):
            for number in front:
                if self._leads(number, goal):
                    return _path_to(before, number)
            further = [(other, number) for number in front for other in self._exits.get(number, _Exits()).jumps]
            front = []
            for other, number in further:
                if other not in before and other != without and len(before) < MOST_FUNCTIONS:
                    before[other] = number
                    front.append(other)
        return None

    def _leads(self, number: int, goal: int) -> bool:
        exits = self._exits.get(number, _Exits())
        return exits.anywhere is not None if goal == OUTSIDE else goal in exits.jumps

    def _jump(self, number: int, goal: int) -> int:
        exits = self._exits[number]
        return exits.jumps.get(goal, exits.anywhere or 0)

    def _function_at(self, module: int, target: int) -> int:
        """Return the function that begins at an address, or behind the stub there; OUTSIDE, NOTHING."""
        table = self._space.table(module)
        symbol = table.find(np.array([target], dtype=np.uint64))
        at = int(symbol[0])
        if at == NOWHERE:
            return NOTHING
        if table.name(at) == PLT_NAME.decode():
            code = self._code_of(module)
            name = code.stub(target) if code else None
            return self._definer(name) if name else NOTHING
        return int(self._space.of_symbols(module, symbol)[0]) if int(table.address[at]) == target else NOTHING

    def _definer(self, name: str) -> int:
        """Return the function of that name if exactly one module exports it; else OUTSIDE."""
        if name not in self._definers:
            places = [(module, code.exported(name)) for module, code in self._codes]
            definers = [(module, place) for module, place in places if place is not None]
            self._definers[name] = self._function_at(*definers[0]) if len(definers) == 1 else OUTSIDE
        return self._definers[name]

    @cached_property
    def _codes(self) -> list[tuple[int, MachineCode]]:
        """Return the machine code of all modules that have it."""
        codes = [(module, self._code_of(module)) for module in sorted(self._modules)]
        return [(module, code) for module, code in codes if code is not None]

    def _is_stub(self, module: int, target: int) -> bool:
        code = self._code_of(module)
        return code is not None and code.stub(target) is not None

    def _is_symbol(self, number: int) -> bool:
        """Return whether a number is a function, and not the rest of a module or a library."""
        if not self._space.is_code(number):
            return False
        module, symbol = self._space.origin(number)
        return symbol < len(self._space.table(module))

    def _name(self, number: int) -> str:
        module, symbol = self._space.origin(number)
        return self._space.table(module).name(symbol)

    def _code_of(self, module: int) -> MachineCode | None:
        described = self._modules.get(module)
        return self._open(described) if described else None


def _path_to(before: dict[int, int | None], last: int) -> list[int]:
    """Return the path to a function, from its beginning."""
    path, at = list[int](), before.get(last)
    path.append(last)
    while at is not None:
        path.append(at)
        at = before[at]
    return path[::-1]
