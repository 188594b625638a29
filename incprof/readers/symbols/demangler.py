"""The C++ runtime's demangler, in the process or as a program of its own that the kernel may end.

A name of 200 bytes can stand for one of gigabytes: each of its parts may be made of those before it, twice and twice
again, and the runtime knows no bound. Run as a program, this reads names from stdin and answers each one on stdout,
with NUL after them; a name that takes too long, or too much memory, ends it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable

LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1")
# CPU time of a name, and of all of them: an honest one takes some microseconds. Memory on top of the program's own.
NAME_S, ALL_S = 0.1, 2
MEMORY = 64 << 20

# From a mangled name to one for people; empty where it is not known, or too long to be read.
Demangler = Callable[[bytes], bytes]


def longest(mangled: bytes) -> int:
    """How long a name may become that people shall read, bytes."""
    return 1000 + 8 * len(mangled)


def load() -> Demangler:
    """The C++ runtime's demangler; one that knows nothing where there is no C++ runtime."""
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    libc.strnlen.argtypes, libc.strnlen.restype = [ctypes.c_void_p, ctypes.c_size_t], ctypes.c_size_t
    for library in LIBRARIES:
        try:
            function = ctypes.CDLL(library).__cxa_demangle
        except (OSError, AttributeError):
            continue
        function.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        function.restype = ctypes.c_void_p
        return lambda name: _demangle(libc, function, name)
    return lambda name: b""


def _demangle(libc: ctypes.CDLL, function: Callable[..., int | None], name: bytes) -> bytes:
    result = function(name, None, None, ctypes.byref(ctypes.c_int()))
    if not result:
        return b""
    try:
        length = libc.strnlen(result, longest(name) + 1)
        return ctypes.string_at(result, length) if length <= longest(name) else b""
    finally:
        libc.free(result)


def main() -> None:
    """Answer the names on stdin until one of them takes too much."""
    demangle = load()
    with open("/proc/self/statm", encoding="ascii") as pages:
        memory = int(pages.read().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (ALL_S, ALL_S))
    for name in sys.stdin.buffer.read().split(b"\0")[:-1]:
        signal.setitimer(signal.ITIMER_VIRTUAL, NAME_S)  # whose signal nobody handles
        os.write(1, demangle(name) + b"\0")


if __name__ == "__main__":
    main()
