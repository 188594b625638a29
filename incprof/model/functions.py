"""The functions of a program, and the modules that they are in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

# Prefixes of mangled names in namespaces of the C++ library: std, its containers and streams, __gnu_cxx, __cxxabiv1.
STANDARD = re.compile(r"_Z+(?:N[KVr]*[RO]?)?(?:S[tabsiod]|9__gnu_cxx|10__cxxabiv1)")

# Python's names of functions that are parts of a statement.
EXPRESSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")


@dataclass(frozen=True, slots=True)
class Code:
    """A function of an interpreted language.

    Attributes:
        name: qualified name, as the language spells it.
        line: its first line.
        version: the interpreter's, 0x30b for 3.11.
        table: the line of each instruction, in that version's format.
    """

    name: str
    line: int
    version: int
    table: bytes


@dataclass(frozen=True, slots=True)
class Module:
    """A loaded ELF object.

    Attributes:
        app: its functions are kept as frames.
        counts: for an app module, calls of some of its functions are counted.
        imports: library functions that the code at an address calls, if the recording has them.
        code: the module is not an object, but this function of the file `path`; addresses are distances from its first
            instruction.
        map: the module is code generated during the run; this file in the run's `symbols` has its names (perf's map
            files).
        started: the name by which it was started as a program, if that differs from its file's name, as for a link.
    """

    id: int
    path: str
    build_id: str | None
    low: int
    high: int
    app: bool
    counts: bool = True
    imports: Mapping[int, str] = field(default_factory=dict, hash=False, compare=False)
    code: Code | None = None
    map: str | None = None
    started: str = ""

    @property
    def name(self) -> str:
        """The module's display name."""
        return self.started or PurePath(self.path).name


@dataclass(frozen=True, slots=True)
class Function:
    """A function. Its identity is (module, mangled name).

    Attributes:
        name: display name.
        file: None without -g.
        line: None without -g.
        address: 0 if it was inlined wherever it was sampled, and for an interpreted language.
        system: it belongs to the system, the compiler or an installed package; it gets no heartbeat.
        imported: it is a function of a shared library, or a whole library, that the program called; it cannot get a
            heartbeat.
        code: the function of an interpreted language.
    """

    module: str
    mangled: str
    name: str
    address: int
    file: str | None = None
    line: int | None = None
    system: bool = False
    imported: bool = False
    code: Code | None = None

    @property
    def is_code(self) -> bool:
        """False for entries that hold time outside the program's functions: `MPI_Barrier`, `[libm.so.6]`."""
        return not self.imported and not self.name.startswith("[")

    @property
    def is_mark(self) -> bool:
        """True if this is not a function, but a region marked by the program, or device activity of an import."""
        return self.name.startswith("[") and not (self.imported or self.is_nameless)

    @property
    def is_nameless(self) -> bool:
        """True if this stands for all code of a module without symbols, such as `[unknown in app]`."""
        return self.name.startswith("[unknown in ")

    @property
    def is_library(self) -> bool:
        """True if it is not the program's own: a function of a library, a package or a header, or a mark."""
        return self.imported or self.is_mark or self.system or STANDARD.match(self.mangled) is not None

    @property
    def takes_beats(self) -> bool:
        """True if it can get a heartbeat: the program's own, and not one that is a part of a Python statement."""
        return not self.is_library and not self.name.endswith(EXPRESSIONS)


def module_label(path: str) -> str:
    """Return the name of a module as an entry of its own: `[libm.so.6]`; the kernel's `[vdso]` stays as it is."""
    name = path.rpartition("/")[2]
    return name if name.startswith("[") else f"[{name}]"
