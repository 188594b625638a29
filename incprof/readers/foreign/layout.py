"""Assign addresses to functions that have names and lines, but no addresses here.

Each function gets a range of addresses in its module: the first is its beginning; each pair of a line in it and a
library function called from there has one of the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from incprof.readers.foreign.timeline import ELIDED, LONGEST_NAME, Frame, Paths
from incprof.readers.stream.path_nodes import ELIDED_MODULE
from incprof.symbols.elf.symbols import Symbol

# Address of a module's first function, and the alignment of functions.
FIRST, ALIGNED = 0x1000, 0x10
Function = tuple[str, str, str]


@dataclass
class Placed:
    """A module with its functions.

    Attributes:
        imports: the library function that the code at an address calls.
        chains: name, file and line at an address.
    """

    path: str
    number: int
    symbols: list[Symbol] = field(default_factory=list)
    end: int = FIRST
    imports: dict[int, str] = field(default_factory=dict)
    chains: dict[int, tuple[str, str, int]] = field(default_factory=dict)

    @property
    def nameless(self) -> str:
        """The name of its code without symbols."""
        return f"[unknown in {self.path.rpartition('/')[2]}]"

    @property
    def build_id(self) -> str:
        """A hash of this set of functions, 40 hexadecimal digits."""
        said = hashlib.sha1(self.path.encode("utf-8", "replace"), usedforsecurity=False)
        for symbol in self.symbols:
            said.update(f"\0{symbol.name}\0{symbol.address}\0{symbol.size}".encode("utf-8", "replace"))
        for address, (_, file, line) in sorted(self.chains.items()):
            said.update(f"\0{address}\0{file}\0{line}".encode("utf-8", "replace"))
        return said.hexdigest()


class Layout:
    """Assigns the frames of paths to modules and addresses. program: the module with number 0. modules: by number."""

    def __init__(self, paths: Paths, program: str, more: Iterable[Frame] = ()):
        """more: functions that are on no path."""
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
        if not self.modules[0].symbols:  # readers require symbols of a program
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
        """Return module and address of a path node."""
        frame = self._paths.frames[self._paths.frame[node]]
        if frame == ELIDED:
            return ELIDED_MODULE, 0
        number = self.starts[function_of(frame)][0]
        return number, self._slots[self._paths.frame[node], self._paths.called[node]]


def function_of(frame: Frame) -> Function:
    """Return the key that identifies a frame's function."""
    return frame.module, symbol_name(frame.name), frame.own


def symbol_name(name: str) -> str:
    """Return a name in a form that a symbol table can hold."""
    return name.replace("\0", "")[:LONGEST_NAME]


def _begin(begins: dict[Function, tuple[str, int]], frame: Frame) -> None:
    """Record where a function begins: if that is not known, at its first known line."""
    line = frame.begins or frame.line
    if not frame.file or not line:
        return
    file, least = begins.get(function_of(frame), (frame.file, line))
    begins[function_of(frame)] = (file, min(least, line)) if file == frame.file else (file, least)
