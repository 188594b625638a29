"""Demanglers: the C++ runtime's, in this process, and any in a separate process that the kernel may end.

A name of 200 bytes can expand to gigabytes, because each of its parts may repeat earlier ones, and the runtime has no
limit. Run as a program, this module reads names from stdin, a line each, and answers each on stdout; a name that takes
too much time or memory ends it. Given the name of a language, it becomes c++filt.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence

LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1")
# CPU time for a name, and for all of them: an honest one takes some microseconds. Memory above the program's own.
NAME_S, ALL_S = 0.1, 2
MEMORY = 64 << 20
# After this many names that end the demangler, the others are shown as they are.
MOST_ENDS = 3
TIMEOUT_S = 60
NO_TOOL = 127

# From a mangled name to a display name; empty if it cannot be demangled, or becomes too long to be readable.
Demangler = Callable[[bytes], bytes]


def longest(mangled: bytes) -> int:
    """Return the length limit of a readable display name, bytes."""
    return 1000 + 8 * len(mangled)


def load() -> Demangler:
    """Return the C++ runtime's demangler; without a C++ runtime, one that demangles nothing."""
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


def answered_apart(names: Sequence[bytes], language: str = "") -> list[bytes]:
    """Demangle names in a separate process: no answer for names that end it, nor after MOST_ENDS of these.

    language: one that c++filt supports; by default C++, with its runtime. A name in no such language is returned empty,
    or unchanged.
    """
    answers: list[bytes] = []
    ended = 0
    while len(answers) < len(names) and ended < MOST_ENDS:
        found, ends = _asked(names[len(answers) :], language)
        if not ends:
            answers += found
            break
        answers += [*found, b""]
        ended += 1
    return answers + [b""] * (len(names) - len(answers))


def _asked(names: Sequence[bytes], language: str) -> tuple[list[bytes], bool]:
    """Return the answers for the first of the names, and whether the one after them ended the process."""
    if not sys.executable:
        return [], False
    program = [sys.executable, "-I", "-S", __file__, *([language] if language else [])]
    question = b"".join(name + b"\n" for name in names)
    try:
        done = subprocess.run(program, input=question, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=TIMEOUT_S, check=False)  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return [], False
    answers = done.stdout.split(b"\n")[:-1]
    return answers, done.returncode not in (0, NO_TOOL) and len(answers) < len(names)


def main() -> int:
    """Demangle the names on stdin until one of them takes too much."""
    demangle = load()
    with open("/proc/self/statm", encoding="ascii") as pages:
        memory = int(pages.read().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (ALL_S, ALL_S))
    if len(sys.argv) > 1:
        try:
            os.execvp("c++filt", ["c++filt", "-i", "-s", sys.argv[1]])
        except OSError:
            return NO_TOOL
    for name in sys.stdin.buffer.read().split(b"\n")[:-1]:
        signal.setitimer(signal.ITIMER_VIRTUAL, NAME_S)  # its signal has no handler
        os.write(1, demangle(name) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
