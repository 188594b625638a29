"""Which function of one run is which of another: versions of a program differ in clones, template arguments, modules.

Clones that the compiler made of a function (`f.isra.0`, `f.constprop.1`, `f._omp_fn.0`) are that function. A program's
own module is the same whatever its file is called, and a library whatever its version. What is left over then is taken
to be the same where the name without parameters and template arguments, qualified, is the only one such in each run.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from incprof.model import Function, IntArray, IntervalProfile, Metadata
from incprof.names import parse, without_marks

VERSION = re.compile(r"(\.so)(\.[0-9]+)*$")

Key = tuple[str, str]


def key_of(function: Function, metadata: Metadata) -> Key:
    """Return module and mangled name without what changes from build to build."""
    module = os.path.basename(function.module)
    own = {os.path.basename(metadata.exe or ""), metadata.app}
    own |= {os.path.basename(m.path) for m in metadata.modules if m.id == 0}
    name = function.mangled
    if not function.is_code:  # [libm.so.6], [unknown in app]
        name = VERSION.sub(r"\1", name.strip("[]"))
        if any(one and name.endswith(f" in {one}") for one in own):
            name = name.rpartition(" in ")[0]
        return "[]", name
    return "" if module in own else VERSION.sub(r"\1", module), without_marks(name)


def same_functions(profiles: Sequence[IntervalProfile]) -> tuple[tuple[str, ...], list[IntArray]]:
    """Return the functions of several runs under common numbers.

    Returns:
        The display name of each of m functions, as the first run that has it says; and for each run its functions'
        numbers, (f,). Functions of a run with the same number are clones of one.
    """
    keys = [[key_of(f, profile.metadata) for f in profile.functions] for profile in profiles]
    again = _renamed(profiles, keys)
    number: dict[Key, int] = {}
    names: list[str] = []
    places = []
    for profile, mine in zip(profiles, keys, strict=True):
        place = np.zeros(len(mine), dtype=np.int64)
        for at, key in enumerate(mine):
            key = again.get(key, key)
            if key not in number:
                number[key] = len(names)
                names.append(without_marks(profile.functions[at].name))
            place[at] = number[key]
        places.append(place)
    return tuple(names), places


def _renamed(profiles: Sequence[IntervalProfile], keys: Sequence[Sequence[Key]]) -> dict[Key, Key]:
    """Return what key of the first run a key stands for that the first run does not have."""
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
