"""Whose code it is: the program's own, or that of a package, which its user does not write and puts no heartbeat into.

What counts is where a file was installed from, not whether it has symbols: packages of Python, crates of Rust, modules
of Go, and the libraries and headers of the system.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from incprof.readers.symbols.rust import LEGACY

# Where Python and its packages are installed.
PYTHON = re.compile(r"(?:^|/)(?:(?:site|dist)-packages|lib(?:64|32)?/(?:python|pypy)\d(?:\.\d+)?)/")
# Code of Python's that was made has such a name too, as `<__array_function__ internals>`; these were typed.
TYPED = ("<string>", "<stdin>", "<ipython-input")
# Headers that come with the system or the compiler; sources of Rust's crates and of Go's modules and library.
SOURCES = re.compile(
    r"^/rust/deps/|(?:^|/)(?:(?:usr/(?:local/)?include|include/c\+\+|lib(?:32|64)?/(?:gcc|gcc-cross|llvm-\d+|clang))/"
    r"|rustc/[0-9a-f]{40}/|rustlib/src/rust/|registry/src/[^/]+-[0-9a-f]{16}/|git/checkouts/[^/]+-[0-9a-f]{16}/"
    r"|usr/(?:local/|lib/|share/)go(?:-\d[\d.]*)?/src/|pkg/mod/[^/]+\.[^/]+/)"
)
# Programs and libraries of the distribution; what is in /usr/local was built by somebody here.
DISTRIBUTION = re.compile(r"/(?:usr/)?(?:lib(?:32|64|x32|exec)?|s?bin|games)/")
# Crates that come with Rust's compiler, and where a crate is in a name for people.
RUST = frozenset(("alloc", "compiler_builtins", "core", "hashbrown", "proc_macro", "std", "std_detect", "test"))
CRATE = re.compile(r"(?<![\w:])([a-z_]\w*)::")


def is_shared_code(file: str) -> bool:
    """Whether code of Python, in a file of this name, is Python's own or an installed package's."""
    return (file.startswith("<") and not file.startswith(TYPED)) or PYTHON.search(file) is not None


def is_shared_source(file: str) -> bool:
    """Whether a source file is a header of the system or of the compiler, or belongs to a crate or a module."""
    return SOURCES.search(file) is not None


def is_shared_module(path: str, program: str) -> bool:
    """Whether a loaded library came with a package: a program from the distribution has the libraries there too."""
    if path == program:
        return False
    return PYTHON.search(path) is not None or (
        DISTRIBUTION.match(path) is not None
        and (DISTRIBUTION.match(program) is None or PurePath(program).name.startswith("python"))
    )


def is_rusts_own(mangled: str, name: str) -> bool:
    """Whether Rust's library defines a function, by its name for people: `core::ptr::swap`, `<Vec<T> as Drop>::drop`.

    What is implemented for a type or a trait of the program is the program's.
    """
    if not mangled.startswith("_R") and not LEGACY.fullmatch(mangled):
        return False
    crates = set(CRATE.findall(_implemented(name) if name.startswith("<") else name.partition("::")[0] + "::"))
    return bool(crates) and crates <= RUST


def _implemented(name: str) -> str:
    """Return the type and the trait that `<Type as Trait>::f` begins with, without what is generic in them."""
    text, depth = "", 0
    for at, char in enumerate(name):
        depth += (char == "<") - (char == ">" and name[at - 1] != "-")
        if depth == 0:
            break
        if depth == 1:
            text += char
    return text
