"""Match the functions of runs: versions of a program differ in clones, template arguments, modules.

Functions of one name in several files (static ones) are distinguished by their file, where it is known; else by the
order of their addresses, if each run has the same number of them. Clones that the compiler made of a function
(`f.isra.0`, `f.constprop.1`, `f._omp_fn.0`) are that function. A program's own module is the same whatever the name of
its file, and a library whatever its version. Functions still unmatched are the same if their qualified name without
parameters and template arguments is unique in each run.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from incprof.model import Function, IntArray, IntervalProfile, Metadata
from incprof.model.names import parse, without_marks

VERSION = re.compile(r"(\.so)(\.[0-9]+)*$")

# Module, mangled name, and suffix that distinguishes functions with both in common.
Key = tuple[str, str, str]
# Most trailing parts of a path that are tried to distinguish two files.
DEEPEST = 8


def key_of(function: Function, metadata: Metadata) -> tuple[str, str]:
    """Return module and mangled name without the parts that change from build to build."""
    module = os.path.basename(function.module)
    own = {os.path.basename(metadata.exe or ""), metadata.app}
    own |= {m.name for m in metadata.modules if m.id == 0}
    name = function.mangled
    if not function.is_code:  # [libm.so.6], [unknown in app]
        name = VERSION.sub(r"\1", name.strip("[]"))
        if any(one and name.endswith(f" in {one}") for one in own):
            name = name.rpartition(" in ")[0]
        return "[]", name
    return "" if module in own else VERSION.sub(r"\1", module), without_marks(name)


def several_of_a_name(profiles: Sequence[IntervalProfile]) -> list[IntArray]:
    """Return the functions of each run, by index, that share their key with others in some run."""
    keys = [[key_of(f, profile.metadata) for f in profile.functions] for profile in profiles]
    several = {key for mine in keys for key, number in Counter(mine).items() if number > 1}
    return [np.array([at for at, key in enumerate(mine) if key in several], dtype=np.int64) for mine in keys]


def same_functions(profiles: Sequence[IntervalProfile]) -> tuple[tuple[tuple[str, str], ...], list[IntArray]]:
    """Return the functions of several runs under common numbers. Those of `several_of_a_name` have their files.

    Returns:
        The display name of each of m functions, from the first run that has it, and a suffix that distinguishes it from
        others of that name; and for each run its functions' numbers, (f,). Functions with the same number are clones of
        one.
    """
    keys = _made_unique(profiles)
    again = _renamed(profiles, keys)
    number: dict[Key, int] = {}
    names: list[str] = []
    modules: list[str] = []
    places = []
    for profile, mine in zip(profiles, keys, strict=True):
        place = np.zeros(len(mine), dtype=np.int64)
        for at, key in enumerate(mine):
            key = again.get(key, key)
            if key not in number:
                number[key] = len(names)
                names.append(without_marks(profile.functions[at].name))
                modules.append(os.path.basename(profile.functions[at].module))
            place[at] = number[key]
        places.append(place)
    often = Counter(names)
    behind = [
        f" ({key[2] or module})" if often[name] > 1 and (key[2] or module) else ""
        for key, name, module in zip(number, names, modules, strict=True)
    ]
    return _numbered(list(zip(names, behind, strict=True))), places


def _numbered(shown: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return unique names: those still equal are numbered."""
    often, met = Counter(shown), Counter[tuple[str, str]]()
    out = []
    for name, behind in shown:
        met[name, behind] += 1
        out.append((name, f"{behind} #{met[name, behind]}" if often[name, behind] > 1 else behind))
    return tuple(out)


def _made_unique(profiles: Sequence[IntervalProfile]) -> list[list[Key]]:
    """Return the keys of the functions of each run."""
    keys = [[key_of(f, profile.metadata) for f in profile.functions] for profile in profiles]
    behind: list[dict[int, str]] = [{} for _ in profiles]
    of_key: dict[tuple[str, str], list[list[int]]] = {}
    for run, places in enumerate(several_of_a_name(profiles)):
        for at in places.tolist():
            of_key.setdefault(keys[run][at], [[] for _ in profiles])[run].append(at)
    for runs in of_key.values():
        members = [[profile.functions[at] for at in mine] for profile, mine in zip(profiles, runs, strict=True)]
        for found, mine, told in zip(behind, runs, _tell(members), strict=True):
            found.update(zip(mine, told, strict=True))
    return [[(*key, more.get(at, "")) for at, key in enumerate(mine)] for mine, more in zip(keys, behind, strict=True)]


def _tell(members: Sequence[Sequence[Function]]) -> list[list[str]]:
    """Return a suffix for each function of one key: the shortest unique end of its path, or its order; else nothing."""
    files = [[f.file for f in mine] for mine in members]
    if all(file for mine in files for file in mine):
        if max(len(set(mine)) for mine in files) > 1:
            for depth in range(1, DEEPEST):
                ends = [["/".join(str(file).split("/")[-depth:]) for file in mine] for mine in files]
                if all(len(set(short)) == len(set(mine)) for short, mine in zip(ends, files, strict=True)):
                    return ends
    elif len({len(mine) for mine in members}) == 1 and all(_twins(mine) for mine in members):
        order = [np.argsort([f.address for f in mine], kind="stable").tolist() for mine in members]
        return [[f"#{places.index(i) + 1}" for i in range(len(places))] for places in order]
    return [[""] * len(mine) for mine in members]


def _twins(members: Sequence[Function]) -> bool:
    """Return whether functions have identical mangled names, and so are not clones of each other."""
    return len({f.mangled for f in members}) == 1


def _renamed(profiles: Sequence[IntervalProfile], keys: Sequence[Sequence[Key]]) -> dict[Key, Key]:
    """Return, for keys that the first run does not have, the matching key of the first run."""
    found: dict[Key, Key] = {}
    first = set(keys[0])
    for profile, mine in zip(profiles[1:], keys[1:], strict=True):
        here = set(mine)
        old = _by_plain_name(profiles[0], keys[0], first - here)
        new = _by_plain_name(profile, mine, here - first)
        for plain, those in sorted(new.items()):
            if len(those) == 1 and len(old.get(plain, ())) == 1:
                found.setdefault(next(iter(those)), next(iter(old[plain])))
    return found


def _by_plain_name(
    profile: IntervalProfile, keys: Sequence[Key], wanted: set[Key]
) -> dict[tuple[str, tuple[str, ...]], set[Key]]:
    """Return the wanted keys by module and qualified name."""
    table: dict[tuple[str, tuple[str, ...]], set[Key]] = defaultdict(set)
    for function, key in zip(profile.functions, keys, strict=True):
        if key in wanted and function.is_code:
            table[key[0], parse(function.name).components].add(key)
    return table
