"""Symbols for the modules of one process, and what to say where there are none."""

from __future__ import annotations

from pathlib import Path

from incprof.elf.file import ElfFile
from incprof.errors import NoDataError
from incprof.model import Module
from incprof.readers.symbols.machine_code import MachineCode
from incprof.readers.symbols.perf_map import map_table
from incprof.readers.symbols.python_code import mangled_name
from incprof.readers.symbols.source import binary_with_code, find_symbols
from incprof.readers.symbols.table import SymbolTable, whole

# Of modules, in one line.
MOST_NAMED = 4


class SymbolLoader:
    """Loads tables for a FunctionSpace; `warnings` says which could not be served in full.

    nameless: a program without symbols is one nameless function, and no error.
    """

    def __init__(self, directory: str, exe: str | None, *, nameless: bool = False):
        self._directory = directory
        self._exe = exe
        self._nameless = nameless
        self._lacking: list[str] = []
        self._stripped: list[str] = []
        self._machine: dict[int, MachineCode | None] = {}

    def load(self, module: Module) -> SymbolTable:
        """Symbols of a module; the program itself must have some, a library need not.

        Raises: NoDataError when the program has none, or the binary given by hand does not fit.
        """
        if module.code is not None:
            return whole(mangled_name(module.path, module.code))
        if module.map is not None:
            return map_table(self._directory, module.map)
        found = find_symbols(module, self._directory, self._exe if module.id == 0 else None)
        if not len(found.table):
            self._nothing(module)
        elif module.app and found.table.exported_only:
            self._stripped.append(Path(module.path).name)
        return found.table

    @property
    def warnings(self) -> list[str]:
        """A line for each module without names, and one for all that are stripped."""
        if not self._stripped:
            return list(self._lacking)
        some = ", ".join(self._stripped[:MOST_NAMED])
        more = f" and {len(self._stripped) - MOST_NAMED} more" if len(self._stripped) > MOST_NAMED else ""
        verb = "is" if len(self._stripped) == 1 else "are"
        line = f"{some}{more} {verb} stripped: only exported functions have names, others their addresses"
        return [*self._lacking, f"{line} (build with symbols, or install debug symbols)"]

    def code(self, module: Module) -> ElfFile | None:
        """The binary of a module, as far as it is here; another build of the program counts as none."""
        if module.code is not None or module.map is not None:
            return None
        try:
            return binary_with_code(module, self._directory, self._exe if module.id == 0 else None)
        except NoDataError:
            return None

    def machine_code(self, module: Module) -> MachineCode | None:
        """The machine code of a module, as far as its binary is here; opened once."""
        if module.id not in self._machine:
            elf = self.code(module)
            self._machine[module.id] = MachineCode(elf) if elf else None
        return self._machine[module.id]

    def _nothing(self, module: Module) -> None:
        """Say that a module has no symbols: an error for the program, a warning for a library."""
        path = Path(module.path)
        if module.id == 0 and self._nameless:
            self._lacking.append(f"{path}: no symbols: all of its time is shown as [unknown in {path.name}]")
            return
        if module.id == 0 and path.is_file():
            reason = "is stripped, or was built again since the run"
            raise NoDataError(f"{path} {reason}: build with symbols and record again, or give the program with --exe")
        if module.id == 0:
            raise NoDataError(f"{path}: neither the program nor its symbols are here: give the program with --exe")
        self._lacking.append(f"{path}: no symbols: its time is shown as [unknown in {path.name}]")
