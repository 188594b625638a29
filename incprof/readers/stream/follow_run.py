"""Follow a run directory that is still being written: its streams, as they appear."""

from __future__ import annotations

import os

from incprof.errors import NoDataError
from incprof.model import IntervalProfile, Module, Process, Run
from incprof.readers.run import SERIES, streams
from incprof.readers.stream.code_loops import with_code_loops
from incprof.readers.stream.follow import Follower
from incprof.readers.stream.inlined import with_inlined
from incprof.readers.stream.library_functions import with_library_functions
from incprof.readers.stream.records import Libs
from incprof.safe.jsonstore import InMemory
from incprof.symbols.machine_code import MachineCode
from incprof.symbols.modules import SymbolLoader
from incprof.symbols.source import module_key
from incprof.symbols.table import SymbolTable


class SharedSymbols:
    """Symbols for all processes of a run; those that processes share are read once."""

    def __init__(self, directory: str, exe: str | None):
        self._loader = SymbolLoader(directory, exe, nameless=True)
        self._tables: dict[tuple[bool, str], SymbolTable] = {}
        self._machine: dict[tuple[bool, str], MachineCode | None] = {}

    def load(self, module: Module) -> SymbolTable:
        """Return the symbols of a module; a program without any is one nameless function."""
        key = (module.id == 0, module.map or module_key(module))
        if key not in self._tables:
            self._tables[key] = self._loader.load(module)
        return self._tables[key]

    def machine_code(self, module: Module) -> MachineCode | None:
        """Return the machine code of a module, if its binary exists here."""
        key = (module.id == 0, module_key(module))
        if key not in self._machine:
            elf = self._loader.code(module)
            self._machine[key] = MachineCode(elf) if elf else None
        return self._machine[key]


class RunFollower:
    """Follows the streams of a directory, which need not exist yet.

    Attributes:
        rank: follow only this one.
        processes: those found so far, in order of (rank, children last), with the follower of each.
        by: number of recorded intervals merged into one.
    """

    def __init__(self, directory: str, *, rank: int | None = None, libs: Libs = "caller", exe: str | None = None):
        self.directory = directory
        self.processes: list[tuple[Process, Follower]] = []
        self._rank, self._libs, self._exe, self.by = rank, libs, exe, 1
        self._answers = InMemory()
        self._symbols = SharedSymbols(directory, exe)
        self._known: dict[str, Follower] = {}

    def scan(self) -> None:
        """Look for new streams.

        Raises: NoDataError if the directory is a file, cannot be read, or holds a recording in another form.
        """
        try:
            names = sorted(os.listdir(self.directory))
        except FileNotFoundError:
            return
        except OSError as error:
            raise NoDataError(f"{self.directory}: {error.strerror}: give the directory of a run") from error
        found = streams(self.directory, names)
        if not found and any(SERIES.fullmatch(name) for name in names):
            raise NoDataError(f"{self.directory}: gmon files cannot be followed: record with INCPROF_FORMAT=stream")
        found.sort(key=lambda p: (p.rank, not p.primary, p.pid or 0, p.path))
        for process in found:
            if process.path not in self._known and self._rank in (None, process.rank):
                self._known[process.path] = Follower(
                    process.path, self._symbols.load, libs=self._libs, code=self._symbols.machine_code, by=self.by,
                )  # fmt: skip
        self.processes = [(process, self._known[process.path]) for process in found if process.path in self._known]

    def regroup(self, by: int) -> None:
        """Read all streams from their beginning again, with `by` recorded intervals merged into one."""
        self.by = by
        for follower in self._known.values():
            follower.regroup(by)

    def finished(self, window: IntervalProfile) -> IntervalProfile:
        """Return a follower's window with inlined and library functions, as `read_profile` would return it.

        May take seconds. May run concurrently with everything but itself. Results from the binaries are looked up once.
        """
        run = Run(self.directory, window.metadata.app, ())
        profile = with_library_functions(window, self._libs, self._symbols.machine_code)
        profile = with_inlined(run, profile, self._libs, exe=self._exe, stores=self._answers)
        return with_code_loops(run, profile, exe=self._exe, stores=self._answers)
