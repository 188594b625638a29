"""All functions of a process under one numbering, so that whole arrays of addresses become functions at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from incprof.model import Function, Module
from incprof.readers.demangle import display_names
from incprof.readers.symbols import PLT_NAME
from incprof.readers.symboltable import NOWHERE, SymbolTable

IntArray = npt.NDArray[np.int64]

# Time without any application function on the stack: threads that libraries keep for themselves, and start-up code.
NO_FRAME = "[no application frame]"


class FunctionSpace:
    """Numbers (module, symbol) pairs, in order of (module id, address).

    Each module ends with a number for its addresses outside all functions (`[unknown in libfoo.so]`). After the
    modules come one number for NO_FRAME, and one for each module as a library (`[libm.so.6]`). A module's symbols are
    asked for when its first address is.
    """

    def __init__(self, modules: Sequence[Module], load: Callable[[Module], SymbolTable]):
        self._modules = {module.id: module for module in modules}
        self._load = load
        self._tables: dict[int, SymbolTable] = {}
        # Wide enough for any table, so that numbers exist before tables are read.
        self._stride = 1 << 32
        top = max(self._modules, default=0) + 1
        self.no_frame = top * self._stride
        self._libraries = self.no_frame + 1

    def table(self, module: int) -> SymbolTable:
        """Symbols of a known module."""
        if module not in self._tables:
            self._tables[module] = self._load(self._modules[module])
        return self._tables[module]

    def knows(self, module: int) -> bool:
        """Whether the recording describes this module."""
        return module in self._modules

    def resolve(self, module: IntArray, address: npt.NDArray[np.uint64]) -> IntArray:
        """Function number of each (module, address), same shape. Unknown modules give NO_FRAME's."""
        result = np.full(module.shape, self.no_frame, dtype=np.int64)
        for number in np.unique(module).tolist():
            if not self.knows(number):
                continue
            here = module == number
            result[here] = self.of_symbols(number, self.table(number).find(address[here]))
        return result

    def of_symbols(self, module: int, symbol: IntArray) -> IntArray:
        """Function numbers of a module's symbols, NOWHERE included; same shape."""
        unknown = len(self.table(module))
        return module * self._stride + np.where(symbol == NOWHERE, unknown, symbol)

    def library(self, module: IntArray) -> IntArray:
        """Numbers that stand for whole modules, same shape; unknown modules share one."""
        known = np.isin(module, list(self._modules))
        return self._libraries + np.where(known, module, max(self._modules, default=0) + 1)

    def is_stub(self, number: IntArray) -> npt.NDArray[np.bool_]:
        """Whether each number is a linkage stub, same shape."""
        distinct, where = np.unique(number, return_inverse=True)
        stub = [self._mangled(n) == PLT_NAME.decode() if 0 <= n < self.no_frame else False for n in distinct.tolist()]
        return np.array(stub, dtype=bool)[where]

    def describe(self, numbers: IntArray) -> tuple[Function, ...]:
        """The functions behind ascending numbers."""
        found: list[Function] = []
        own = numbers[numbers < self.no_frame]
        for module in np.unique(own // self._stride).tolist():
            symbols = own[own // self._stride == module] % self._stride
            found += self._describe_module(module, symbols.tolist())
        found += [self._describe_special(number) for number in numbers[numbers >= self.no_frame].tolist()]
        return tuple(found)

    def _describe_module(self, module: int, symbols: list[int]) -> list[Function]:
        table, label = self.table(module), Path(self._modules[module].path).name
        mangled = [self._mangled(module * self._stride + symbol) for symbol in symbols]
        names = display_names(mangled, fortran=table.fortran)
        address = [int(table.address[s]) if s < len(table) else 0 for s in symbols]
        return [Function(label, m, n, a) for m, n, a in zip(mangled, names, address, strict=True)]

    def _mangled(self, number: int) -> str:
        module, symbol = divmod(number, self._stride)
        table = self.table(module)
        return table.name(symbol) if symbol < len(table) else f"[unknown in {Path(self._modules[module].path).name}]"

    def _describe_special(self, number: int) -> Function:
        if number == self.no_frame:
            return Function("", NO_FRAME, NO_FRAME, 0)
        module = self._modules.get(number - self._libraries)
        label = Path(module.path).name if module else "unknown library"
        return Function(label, f"[{label}]", f"[{label}]", 0)
