"""Classify code: the program's own, or a package's, which the user does not write and which gets no heartbeat.

The criterion is where a file was installed from, not whether it has symbols: packages of Python, crates of Rust,
modules of Go, and the libraries and headers of the system.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from incprof.symbols.cxxfilt import LEGACY
from incprof.symbols.elf.program_name import is_interpreter

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
