"""Names of Fortran for people: `module::procedure`, `module::submodule::procedure`, `host::inner`.

A procedure with ENTRY points is one function, which each of its names jumps into; the marks behind its name say so.
"""

from __future__ import annotations

import re

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
    """Return a name for people; empty where a symbol is none of Fortran.

    fortran: it is in a module of gfortran's or flang's, where `mp` is no separator.
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
