"""Names for people from names for linkers."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Iterable

Demangler = Callable[[str], str | None]

LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1")
MODULE_PROCEDURE = re.compile(r"__([a-z]\w*)_MOD_([a-z]\w*)(\..*)?")
EXTERNAL_PROCEDURE = re.compile(r"([a-z]\w*?)_(\..*)?")


def display_names(mangled: Iterable[str], *, fortran: bool = False) -> list[str]:
    """Names for people, in the order given.

    C++ names as the compiler's runtime spells them, clones marked as in `f(int) [clone .isra.0]`; gfortran's module
    procedures as `module::procedure`, and external ones without the trailing underscore where `fortran` says that the
    module holds gfortran code. Any other name stays as it is.
    """
    return [_display(name, fortran) for name in mangled]


def _display(name: str, fortran: bool) -> str:
    if name.startswith("_Z"):
        return _cxx_demangler()(name) or name
    if match := MODULE_PROCEDURE.fullmatch(name):
        return f"{match[1]}::{match[2]}{match[3] or ''}"
    if fortran and (match := EXTERNAL_PROCEDURE.fullmatch(name)):
        return f"{match[1]}{match[2] or ''}"
    return name


@functools.lru_cache(maxsize=1)
def _cxx_demangler() -> Demangler:
    """The C++ runtime's own demangler; one that knows nothing where there is no C++ runtime."""
    libc = ctypes.CDLL(None)
    for library in LIBRARIES:
        try:
            function = ctypes.CDLL(library).__cxa_demangle
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        libc.free.argtypes = [ctypes.c_void_p]
        return functools.partial(_demangle, function, libc.free)
    return lambda name: None


def _demangle(function: Callable[..., int | None], free: Callable[[int], None], name: str) -> str | None:
    """One call of `__cxa_demangle`; None when it does not know the name."""
    status = ctypes.c_int()
    result = function(name.encode(), None, None, ctypes.byref(status))
    if not result:
        return None
    try:
        return ctypes.string_at(result).decode("utf-8", "replace")
    finally:
        free(result)
