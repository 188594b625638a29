"""Addresses for functions that have names and lines, but none of their own here.

Each function gets a range in its module: its first address is where it begins, and each pair of a line in it and a
function of a library called from there has one of the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from incprof.elf.symbols import Symbol
from incprof.readers.foreign.timeline import ELIDED, LONGEST_NAME, Frame, Paths
from incprof.readers.stream.nodes import ELIDED_MODULE

# Where a module's first function begins, and what the beginnings of functions are multiples of.
FIRST, ALIGNED = 0x1000, 0x10
Function = tuple[str, str, str]


@dataclass
class Placed:
    """A module with its functions.

    imports: whom the code at an address calls in a library. chains: name, file and line at an address.
    """

    path: str
    number: int
    symbols: list[Symbol] = field(default_factory=list)
    end: int = FIRST
    imports: dict[int, str] = field(default_factory=dict)
    chains: dict[int, tuple[str, str, int]] = field(default_factory=dict)

    @property
    def nameless(self) -> str:
        """What stands for its code without a name."""
        return f"[unknown in {self.path.rpartition('/')[2]}]"

    @property
    def build_id(self) -> str:
        """What tells this very set of functions from any other, 40 hexadecimal digits."""
        said = hashlib.sha1(self.path.encode("utf-8", "replace"), usedforsecurity=False)
        for symbol in self.symbols:
            said.update(f"\0{symbol.name}\0{symbol.address}\0{symbol.size}".encode("utf-8", "replace"))
        for address, (_, file, line) in sorted(self.chains.items()):
            said.update(f"\0{address}\0{file}\0{line}".encode("utf-8", "replace"))
        return said.hexdigest()


class Layout:
    """Places the frames of paths. program: the module that gets number 0. modules: by number."""

    def __init__(self, paths: Paths, program: str, more: Iterable[Frame] = ()):
        """more: functions that no path has."""
        self._paths = paths
        self._slots: dict[tuple[int, int], int] = {}
        self.starts: dict[Function, tuple[int, int]] = {}
        found: dict[str, dict[Function, dict[tuple[str, int, str], list[tuple[int, int]]]]] = {program: {}}
        begins: dict[Function, tuple[str, int]] = {}
        pairs = sorted(set(zip(paths.frame[1:], paths.called[1:], strict=True)))
        for frame in more:
            found.setdefault(frame.module or program, {}).setdefault(function_of(frame), {})
            _begin(begins, frame)
        for number, called in pairs:
            frame = paths.frames[number]
            if frame == ELIDED:
                continue
            places = found.setdefault(frame.module or program, {}).setdefault(function_of(frame), {})
            name = paths.names[called] if called >= 0 else ""
            places.setdefault((frame.file, frame.line, name), []).append((number, called))
            _begin(begins, frame)
        self.modules = [Placed(path, number) for number, path in enumerate([program, *sorted({*found} - {program})])]
        for module in self.modules:
            for function in sorted(found[module.path]):
                self._place(module, function, found[module.path][function], begins.get(function))
        if not self.modules[0].symbols:  # readers ask for a program's
            self._place(self.modules[0], ("", "", ""), {}, None)

    def _place(
        self, module: Placed, function: Function, places: dict[tuple[str, int, str], list[tuple[int, int]]],
        begins: tuple[str, int] | None,
    ) -> None:  # fmt: skip
        name, start, size = function[1] or module.nameless, module.end, len(places) + 1
        module.symbols.append(Symbol(name, start, size))
        module.end = (start + size + ALIGNED - 1) // ALIGNED * ALIGNED
        self.starts[function] = (module.number, start)
        if begins:
            module.chains[start] = (name, *begins)
        for offset, (file, line, called) in enumerate(sorted(places), 1):
            address = start + offset
            for pair in places[file, line, called]:
                self._slots[pair] = address
            if file and line:
                module.chains[address] = (name, file, line)
            if called:
                module.imports[address] = called

    def node(self, node: int) -> tuple[int, int]:
        """Module and address of a path node."""
        frame = self._paths.frames[self._paths.frame[node]]
        if frame == ELIDED:
            return ELIDED_MODULE, 0
        number = self.starts[function_of(frame)][0]
        return number, self._slots[self._paths.frame[node], self._paths.called[node]]


def function_of(frame: Frame) -> Function:
    """What makes a frame's function that one, and no other."""
    return frame.module, symbol_name(frame.name), frame.own


def symbol_name(name: str) -> str:
    """A name as a symbol table can hold it."""
    return name.replace("\0", "")[:LONGEST_NAME]


def _begin(begins: dict[Function, tuple[str, int]], frame: Frame) -> None:
    """Take note of where a function begins: where that is not said, at the first of its lines that is known."""
    line = frame.begins or frame.line
    if not frame.file or not line:
        return
    file, least = begins.get(function_of(frame), (frame.file, line))
    begins[function_of(frame)] = (file, min(least, line)) if file == frame.file else (file, least)
