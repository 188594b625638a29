"""Number all functions of a process, so that whole arrays of addresses become functions at once."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from incprof.model import Code, Function, Module, distinct, module_label
from incprof.symbols.demangle import LEGACY, display_names
from incprof.symbols.elf.preflight import is_interpreter
from incprof.symbols.elf_symbols import PLT_NAME
from incprof.symbols.function_table import NOWHERE, GeneratedCode, SymbolTable, compiled
from incprof.symbols.python_code import display_name, label, mangled_name

IntArray = npt.NDArray[np.int64]
NumberArray = npt.NDArray[np.int32]

# Time without any application function on the stack, outside threads of libraries: start-up code.
NO_FRAME = "[no application frame]"


def build_functions(module: str, mangled: Sequence[str], address: Sequence[int], table: SymbolTable) -> list[Function]:
    """Return the functions of these names and addresses, in the order given."""
    sources = table.sources if isinstance(table, GeneratedCode) else {}
    functions: list[Function] = []
    for symbol, name, at in zip(mangled, display_names(mangled), address, strict=True):
        compiled_name = compiled(name)
        file, line = (compiled_name.file, compiled_name.line) if compiled_name.file else sources.get(symbol, ("", 0))
        functions.append(
            Function(module, symbol, compiled_name.name, at, file or None, line or None, system=compiled_name.shared)
        )
    return functions


class FunctionSpace:
    """Numbers (module, symbol) pairs from 0, so that whole tables of functions take 32 bits each.

    NO_FRAME comes first, then one number for each module as a library (`[libm.so.6]`), and one for the threads of its
    own (`[threads of libgomp.so.1]`). A module's symbols are loaded with its first address, and get the next numbers in
    order of address; they end with one for the module's addresses outside all functions (`[unknown in libfoo.so]`).
    `in_order` sorts by module, whichever came first.
    """

    no_frame = 0

    def __init__(self, modules: Sequence[Module], load: Callable[[Module], SymbolTable]):
        self._modules = {module.id: module for module in modules}
        self._load = load
        # With a map, functions compiled by an interpreter have names, and need not count as the interpreter's.
        self._has_generated_code = any(module.map for module in modules)
        self._reserve(np.array(sorted(self._modules), dtype=np.int64))
        self._tables: dict[int, SymbolTable] = {}
        # Modules whose symbols are loaded, with their first numbers, which ascend.
        self._loaded: list[tuple[int, int]] = []

    def _reserve(self, ids: IntArray) -> None:
        """Reserve the numbers before those of symbols, for modules with these ids, ascending."""
        self._ids = ids
        self._specials = 1 + 2 * (len(ids) + 1)
        self.size = self._specials

    def table(self, module: int) -> SymbolTable:
        """Return the symbols of a known module."""
        if module not in self._tables:
            self._tables[module] = self._load(self._modules[module])
            self._loaded.append((module, self.size))
            self.size += len(self._tables[module]) + 1
        return self._tables[module]

    def has_module(self, module: int) -> bool:
        """Return whether the recording describes this module."""
        return module in self._modules

    def resolve(self, module: IntArray, address: npt.NDArray[np.uint64]) -> NumberArray:
        """Return the function number of each (module, address), same shape; NO_FRAME's for unknown modules."""
        result = np.full(module.shape, self.no_frame, dtype=np.int32)
        for number in distinct(module).tolist():
            if not self.has_module(number):
                continue
            in_module = module == number
            result[in_module] = self.of_addresses(number, address[in_module])
        return result

    def of_addresses(self, module: int, address: npt.NDArray[np.uint64]) -> NumberArray:
        """Return the function number of each address in a known module, same shape."""
        return self.of_symbols(module, self.table(module).find(address))

    def of_symbols(self, module: int, symbol: IntArray) -> NumberArray:
        """Return the function numbers of a module's symbols, NOWHERE included; same shape."""
        unknown = len(self.table(module))
        first = next(first for loaded, first in self._loaded if loaded == module)
        return (first + np.where(symbol == NOWHERE, unknown, symbol)).astype(np.int32)

    def library(self, module: IntArray) -> NumberArray:
        """Return numbers that stand for whole modules, same shape; unknown modules share one."""
        place = np.searchsorted(self._ids, module)
        is_known = np.isin(module, self._ids)
        return (1 + np.where(is_known, place, len(self._ids))).astype(np.int32)

    def threads_of(self, module: IntArray) -> NumberArray:
        """Return numbers that stand for modules' own threads, same shape."""
        return (self.library(module) + len(self._ids) + 1).astype(np.int32)

    def in_order(self, numbers: NumberArray) -> NumberArray:
        """Return ascending numbers in order of (module id, address); those that are not functions come last."""
        parts = [numbers[:0]]
        for module, first in sorted(self._loaded):
            low, high = np.searchsorted(numbers, [first, first + len(self._tables[module]) + 1])
            parts.append(numbers[low:high])
        return np.concatenate([*parts, numbers[: np.searchsorted(numbers, self._specials)]])

    def is_stub(self, number: NumberArray) -> npt.NDArray[np.bool_]:
        """Return whether each number is a linkage stub, same shape."""
        distinct, where = np.unique(number, return_inverse=True)
        stub = [n >= self._specials and self._mangled(*self.origin(n)) == PLT_NAME.decode() for n in distinct.tolist()]
        return np.array(stub, dtype=bool)[where]

    def describe(self, numbers: NumberArray) -> tuple[Function, ...]:
        """Return the functions of numbers, in the order given; those of a module must be consecutive."""
        functions: list[Function] = []
        own = [self.origin(number) for number in numbers[numbers >= self._specials].tolist()]
        for module, group in groupby(own, key=itemgetter(0)):
            functions += self._describe_module(module, [symbol for _, symbol in group])
        functions += [self._describe_special(number) for number in numbers[numbers < self._specials].tolist()]
        return tuple(functions)

    def is_code(self, number: int) -> bool:
        """Return whether a number is a symbol's, or stands for the rest of a module's code."""
        return number >= self._specials

    def origin(self, number: int) -> tuple[int, int]:
        """Return module and symbol of a function's number, which must be code."""
        module, first = self._loaded[bisect_right(self._loaded, number, key=itemgetter(1)) - 1]
        return module, number - first

    def _describe_module(self, module: int, symbols: list[int]) -> list[Function]:
        described = self._modules[module]
        if described.code is not None:
            return [_of_code(described.path, described.code)] * len(symbols)
        table, label = self.table(module), described.name.strip("[]" if described.map else "")
        mangled = [self._mangled(module, symbol) for symbol in symbols]
        address = [int(table.address[s]) if s < len(table) else 0 for s in symbols]
        if described.map is not None:
            return build_functions(label, mangled, address, table)
        names = display_names(mangled, fortran=table.fortran)
        package = self._is_package(module)
        rows = zip(mangled, names, address, strict=True)
        return [Function(label, m, n, a, system=package or is_rusts_own(m, n)) for m, n, a in rows]

    def _is_package(self, module: int) -> bool:
        """Return whether a module came with a package."""
        program, path = self._modules[0].path if 0 in self._modules else "", self._modules[module].path
        return is_shared_module(path, program) or (self._has_generated_code and is_runtimes_own(path, program))

    def _mangled(self, module: int, symbol: int) -> str:
        table, label = self.table(module), self._modules[module].name
        if symbol >= len(table):
            return f"[unknown in {label}]"
        name = table.name(symbol)
        return label + name if name.startswith("+0x") else name

    def _describe_special(self, number: int) -> Function:
        if number == self.no_frame:
            return Function("", NO_FRAME, NO_FRAME, 0)
        of_threads, place = divmod(number - 1, len(self._ids) + 1)
        is_known = place < len(self._ids)
        module = self._modules[int(self._ids[place])].name if is_known else "unknown library"
        name = f"[threads of {module}]" if of_threads else module_label(module)
        return Function(module, name, name, 0)


def _of_code(path: str, code: Code) -> Function:
    """Return the Python function that a module describes."""
    name, mangled = display_name(path, code), mangled_name(path, code)
    file = None if path.startswith("<") else path
    return Function(label(path), mangled, name, 0, file, code.line, system=is_shared_code(path), code=code)


# Classify code: the program's own, or a package's, which the user does not write and which gets no heartbeat.
#
# The criterion is where a file was installed from, not whether it has symbols: packages of Python, crates of Rust,
# modules of Go, and the libraries and headers of the system.


# Where Python and its packages are installed.
PYTHON = re.compile(r"(?:^|/)(?:(?:site|dist)-packages|lib(?:64|32)?/(?:python|pypy)\d(?:\.\d+)?)/")
# Generated Python code has a name of this form too, as `<__array_function__ internals>`; these were typed.
TYPED = ("<string>", "<stdin>", "<ipython-input")
# Headers of the system or the compiler; sources of Rust's crates and of Go's modules and library.
SOURCES = re.compile(
    r"^/rust/deps/|(?:^|/)(?:(?:usr/(?:local/)?include|include/c\+\+|lib(?:32|64)?/(?:gcc|gcc-cross|llvm-\d+|clang))/"
    r"|rustc/[0-9a-f]{40}/|rustlib/src/rust/|registry/src/[^/]+-[0-9a-f]{16}/|git/checkouts/[^/]+-[0-9a-f]{16}/"
    r"|usr/(?:local/|lib/|share/)go(?:-\d[\d.]*)?/src/|pkg/mod/[^/]+\.[^/]+/)"
)
# Programs and libraries of the distribution; those in /usr/local were built locally.
DISTRIBUTION = re.compile(r"/(?:usr/)?(?:lib(?:32|64|x32|exec)?|s?bin|games)/")
# Directories of many programs: files in them need not belong together.
SHARED_HOMES = frozenset((".", "/", "/usr", "/usr/local"))
# Crates of Rust's compiler, and the position of a crate in a display name.
RUST = frozenset(("alloc", "compiler_builtins", "core", "hashbrown", "proc_macro", "std", "std_detect", "test"))
CRATE = re.compile(r"(?<![\w:])([a-z_]\w*)::")


def is_shared_code(file: str) -> bool:
    """Return whether a file of Python code is Python's own or an installed package's, by its name."""
    return (file.startswith("<") and not file.startswith(TYPED)) or PYTHON.search(file) is not None


def is_shared_source(file: str) -> bool:
    """Return whether a source file is a header of the system or the compiler, or belongs to a crate or a module."""
    return SOURCES.search(file) is not None


def is_shared_module(path: str, program: str) -> bool:
    """Return whether a loaded library came with a package; a distribution's program has its own libraries there too."""
    if path == program:
        return False
    return PYTHON.search(path) is not None or (
        DISTRIBUTION.match(path) is not None
        and (DISTRIBUTION.match(program) is None or PurePath(program).name.startswith("python"))
    )


def is_runtimes_own(path: str, program: str) -> bool:
    """Return whether a loaded file belongs to a program that only runs programs of its user: node, java, julia.

    Files compiled for the user (an addon) are the user's.
    """
    if not is_interpreter(program):
        return False
    home = PurePath(program).parent.parent.as_posix()
    return (
        path == program
        or DISTRIBUTION.match(path) is not None
        or (home not in SHARED_HOMES and path.startswith(f"{home}/"))
    )


def is_rusts_own(mangled: str, name: str) -> bool:
    """Return whether Rust's library defines a function, by display name: `core::ptr::swap`, `<Vec<T> as Drop>::drop`.

    Implementations for a type or a trait of the program are the program's.
    """
    if not mangled.startswith("_R") and not LEGACY.fullmatch(mangled):
        return False
    crates = set(CRATE.findall(_implemented(name) if name.startswith("<") else name.partition("::")[0] + "::"))
    return bool(crates) and crates <= RUST


def _implemented(name: str) -> str:
    """Return the type and the trait at the beginning of `<Type as Trait>::f`, without their generic arguments."""
    text, depth = "", 0
    for at, char in enumerate(name):
        depth += (char == "<") - (char == ">" and name[at - 1] != "-")
        if depth == 0:
            break
        if depth == 1:
            text += char
    return text
