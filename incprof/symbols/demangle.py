"""Convert mangled names to display names."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from incprof.symbols import cxxfilt, demangler

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
    new = [name for name in dict.fromkeys(mangled) if name.startswith(MANGLED) and name not in _known]
    _known.update({name: name for name in new})
    _learn([name for name in new if name.startswith("_Z")])
    _known.update(cxxfilt.rust_names(name for name in new if name.startswith("_R") or cxxfilt.LEGACY.fullmatch(name)))
    _known.update(cxxfilt.d_names(name for name in new if name.startswith("_D")))
    return [_display(name, fortran) for name in mangled]


def _display(name: str, fortran: bool) -> str:
    if name.startswith(MANGLED):
        return _known[name]
    return fortran_name(name, fortran=fortran) or name


# Cache of demangled C++, Rust and D names: following a running job looks them up repeatedly.
_known: dict[str, str] = {}


def _learn(names: Sequence[str]) -> None:
    """Demangle C++ names: those that cannot become long here, the rest in a process that can be stopped."""
    encoded = {name: name.encode("utf-8", "replace") for name in names}
    usable = [name for name in names if not set("\0\n") & set(name) and len(encoded[name]) <= LONGEST]
    apart = [name for name in usable if len(REFERENCE.findall(name)) > FEW or LIST.search(name)]
    answers = dict(zip(apart, demangler.answered_apart([encoded[name] for name in apart]), strict=True))
    answers |= {name: _in_process()(encoded[name]) for name in usable if name not in answers}
    for name in names:
        _known[name] = answers.get(name, b"").decode("utf-8", "replace") or name


@functools.cache
def _in_process() -> demangler.Demangler:
    return demangler.load()
