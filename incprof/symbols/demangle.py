"""Convert mangled names to display names."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence

# Prefixes of C++ and of Rust's older mangling, of its newer one, and of D.
MANGLED = ("_Z", "_R", "_D")
# A back-reference to a part of a C++ name, which may double its length; and the expansion of a parameter pack. Either
# may also match an identifier of the program, which does no harm.
REFERENCE, LIST = re.compile(r"[ST][0-9A-Z]*_|TL"), re.compile("Dp|sp")
FEW = 4
# No runtime has enough stack for longer ones.
LONGEST = 1023
# gfortran's: __mesh_MOD_refine, __mesh.parts_MOD_split, master.0.solve_.
GFORTRAN = re.compile(r"__([a-z]\w*)(?:\.([a-z]\w*))?_MOD_([a-z]\w*)(\..*)?")
WITH_ENTRIES = re.compile(r"(master\.\d+)\.([a-z]\w*?)_(\..*)?")
EXTERNAL = re.compile(r"([a-z]\w*?)_(\..*)?")
# flang's: _QMmeshPrefine, _QMmeshSpartsPsplit, _QFhostPinner, _QFPinner in a program without a name, _QPsolve.
FLANG = re.compile(r"_Q((?:[MSFB][a-z0-9_]*)*)P([a-z0-9_]+)(\..*)?")
SCOPE = re.compile(r"[MSFB]([a-z0-9_]*)")
# ifort's and ifx's: mesh_mp_refine_, mesh@parts_mp_split_, host_IP_inner_.
INTELS = re.compile(r"_(?:mp|IP)_\w*_(?:$|\.)")
INTEL = re.compile(r"(?:([a-z]\w*?)(?:@([a-z]\w*?))?_mp_)?(?:([a-z]\w*?)_IP_)?([a-z]\w*?)_(\..*)?")


def fortran_name(symbol: str, *, fortran: bool) -> str:
    """Return a display name; empty if a symbol is not Fortran's.

    fortran: it is in a module of gfortran's or flang's, where `mp` is not a separator.
    """
    if match := GFORTRAN.fullmatch(symbol):
        return _joined(match[1], match[2], match[3]) + (match[4] or "")
    if match := FLANG.fullmatch(symbol):
        return _joined(*SCOPE.findall(match[1]), match[2]) + (match[3] or "")
    if fortran and (match := WITH_ENTRIES.fullmatch(symbol)):
        return f"{match[2]}.{match[1]}{match[3] or ''}"
    if fortran and (match := EXTERNAL.fullmatch(symbol)):
        return f"{match[1]}{match[2] or ''}"
    if not fortran and INTELS.search(symbol) and (match := INTEL.fullmatch(symbol)) and (match[1] or match[3]):
        return _joined(*match.groups()[:4]) + (match[5] or "")
    return ""


def _joined(*parts: str | None) -> str:
    return "::".join(filter(None, parts))


def display_names(mangled: Iterable[str], *, fortran: bool = False) -> list[str]:
    """Return display names, in the order given.

    C++ names are spelled as by the compiler's runtime, Rust's without their hash, D's in C++ syntax, clones as in
    `f(int) [clone .isra.0]`; Fortran procedures as `module::procedure`, and external ones without the trailing
    underscore if `fortran` is set, that is, if the module contains code of gfortran or flang. Other names are
    unchanged, and so are C++ names that would become too long to be readable (`demangler.longest`) or take too long to
    demangle.
    """
    mangled = list(mangled)
    new = [name for name in dict.fromkeys(mangled) if name.startswith(MANGLED) and name not in _cache]
    _cache.update({name: name for name in new})
    _demangle_into_cache([name for name in new if name.startswith("_Z")])
    _cache.update(
        _filtered("rust", (name for name in new if name.startswith("_R") or LEGACY.fullmatch(name)), lambda text: text)
    )
    _cache.update(_filtered("dlang", (name for name in new if name.startswith("_D")), as_cpp))
    return [_display(name, fortran) for name in mangled]


def _display(name: str, fortran: bool) -> str:
    if name.startswith(MANGLED):
        return _cache[name]
    return fortran_name(name, fortran=fortran) or name


# Cache of demangled C++, Rust and D names: following a running job looks them up repeatedly.
_cache: dict[str, str] = {}


def _demangle_into_cache(names: Sequence[str]) -> None:
    """Demangle C++ names: those that cannot become long here, the rest in a process that can be stopped."""
    encoded = {name: name.encode("utf-8", "replace") for name in names}
    usable = [name for name in names if not set("\0\n") & set(name) and len(encoded[name]) <= LONGEST]
    risky = [name for name in usable if len(REFERENCE.findall(name)) > FEW or LIST.search(name)]
    answers = dict(zip(risky, demangle_in_process([encoded[name] for name in risky]), strict=True))
    answers |= {name: _in_process()(encoded[name]) for name in usable if name not in answers}
    for name in names:
        _cache[name] = answers.get(name, b"").decode("utf-8", "replace") or name


@functools.cache
def _in_process() -> Demangler:
    return load()


# Demangle Rust and D with binutils' c++filt; D's names are converted to C++ syntax.
#
# Other code can then parse them: `Mesh<double>::sweep(int)` is `Mesh!(double).sweep(int)` in D.


# Rust's older mangling: like that of C++, with a hash as the last component.
LEGACY = re.compile(r"_ZN.*17h[0-9a-f]{16}E(\..*)?")
SYMBOL, MARK = re.compile(r"[\w.$]+", re.ASCII), re.compile(r"[.$][\w.$]*", re.ASCII)
# c++filt does not read longer names.
LONGEST_BY_FILTER = 30_000
TOKEN = re.compile(
    r"""(?P<text>"[^"]*"[wd]?|'[^']*')|(?P<number>0x[0-9A-F]\.[0-9A-F]*p-?\d+)|(?P<open>!\(|\()|(?P<close>\))
      |(?P<more>\.\.\.)|(?P<dot>\.)|(?P<word>\w+)|(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
# Placeholders that do not look like brackets of the name around them.
PLAIN = re.compile(r"[\w .,:;/+*=%\"'-]*")


def _filtered(language: str, mangled: Iterable[str], spell: Callable[[str], str]) -> dict[str, str]:
    """Return c++filt's output for the names that it can demangle; clone marks are added as demanglers write them."""
    split = {name: parts for name in mangled if (parts := _split(name))}
    answers = demangle_in_process([symbol.encode() for symbol, _ in split.values()], language)
    demangled = {}
    for (name, (symbol, mark)), answer in zip(split.items(), answers, strict=True):
        text = answer.decode("utf-8", "replace")
        if text != symbol and len(text) <= longest(symbol.encode()) and (spelled := spell(text)):
            demangled[name] = f"{spelled} [clone {mark}]" if mark else spelled
    return demangled


def _split(name: str) -> tuple[str, str] | None:
    """Split a symbol from its mark, such as `.cold`; None if c++filt does not read it as a symbol."""
    if len(name) > LONGEST_BY_FILTER:
        return None
    if older := LEGACY.fullmatch(name):
        end = older.start(1) if older[1] else len(name)
    else:
        end = min((at for at in map(name.find, ".$") if at > 0), default=len(name))
    symbol, mark = name[:end], name[end:]
    return (symbol, mark) if SYMBOL.fullmatch(symbol) and (not mark or MARK.fullmatch(mark)) else None


def as_cpp(name: str) -> str:
    """Convert a D name to `::` and `<>`; merge a template with its member of the same name. Empty: odd brackets."""
    out: list[str] = []
    closing: list[tuple[str, str]] = []
    at = 0
    while token := TOKEN.match(name, at):
        at, text = token.end(), token[0]
        if token["open"]:
            is_template = text == "!("
            closing.append((">", out[-1] if out else "") if is_template else (")", ""))
            text = "<" if is_template else "("
        elif token["close"]:
            if not closing:
                return ""
            text, of = closing.pop()
            again = f".{of}"
            if text == ">" and name.startswith(again, at) and not re.match(r"\w|!\(", name[at + len(again) :]):
                at += len(again)
        elif token["dot"]:
            text = "::"
        elif token["text"] and not PLAIN.fullmatch(text):
            text = f'"..."{text.rpartition(chr(34))[2]}' if text[0] == '"' else f"'\\{ord(text[1]):x}'"
        out.append(text)
    return "" if closing else "".join(out)


# Demanglers: the C++ runtime's, in this process, and any in a separate process that the kernel may end.
#
# A name of 200 bytes can expand to gigabytes, because each of its parts may repeat earlier ones, and the runtime has
# no limit. Run as a program, this module reads names from stdin, a line each, and answers each on stdout; a name that
# takes too much time or memory ends it. Given the name of a language, it becomes c++filt.


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


def demangle_in_process(names: Sequence[bytes], language: str = "") -> list[bytes]:
    """Demangle names in a separate process: no answer for names that end it, nor after MOST_ENDS of these.

    language: one that c++filt supports; by default C++, with its runtime. A name in no such language is returned empty,
    or unchanged.
    """
    answers: list[bytes] = []
    ended = 0
    while len(answers) < len(names) and ended < MOST_ENDS:
        partial, ends = _query(names[len(answers) :], language)
        if not ends:
            answers += partial
            break
        answers += [*partial, b""]
        ended += 1
    return answers + [b""] * (len(names) - len(answers))


def _query(names: Sequence[bytes], language: str) -> tuple[list[bytes], bool]:
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
