"""Match functions and heartbeats of runs by name (analysis/diff/match_phases.py matches phases, by what they do).

Versions of a program differ in clones, template arguments and modules. Functions of one name in several files (static
ones) are distinguished by their file, where it is known; else by the order of their addresses, if each run has the same
number of them. Clones that the compiler made of a function (`f.isra.0`, `f.constprop.1`, `f._omp_fn.0`) are that
function. A program's own module is the same whatever the name of its file, and a library whatever its version.
Functions still unmatched are the same if their qualified name without parameters and template arguments is unique in
each run.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

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
        for found, mine, suffixes in zip(behind, runs, _suffixes(members), strict=True):
            found.update(zip(mine, suffixes, strict=True))
    return [[(*key, more.get(at, "")) for at, key in enumerate(mine)] for mine, more in zip(keys, behind, strict=True)]


def _suffixes(members: Sequence[Sequence[Function]]) -> list[list[str]]:
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


def common_components(one: str, other: str) -> int:
    """Return the number of components of the shorter name if the longer one ends with them, else 0.

    `solve` is `ns::Mesh::solve(int)`.
    """
    a, b = parse(one).components, parse(other).components
    common = min(len(a), len(b))
    return common if common and a[-common:] == b[-common:] else 0


# Heartbeats of runs: in two runs by name if both have one, else by id; in a history by name and order.


# Name and order among those of that name; None and the id without a name.
BeatKey = tuple[str | None, int]


def beat_keys(beats: Sequence[tuple[int, str | None]]) -> list[BeatKey]:
    """Return the keys that identify heartbeats across runs, for (id, name): the name, else the id.

    Several ids with one name are identified by their order.
    """
    seen: dict[str, int] = {}
    found: list[BeatKey] = []
    for number, name in beats:
        if name is None:
            found.append((None, number))
        else:
            found.append((name, seen.get(name, 0)))
            seen[name] = seen.get(name, 0) + 1
    return found


class Named(Protocol):
    """What has a number and perhaps a name, such as a heartbeat."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def name(self) -> str | None:
        """Its name, if it has one."""


Beat = TypeVar("Beat", bound=Named)


@dataclass(frozen=True)
class Pair(Generic[Beat]):
    """A heartbeat in two runs.

    Attributes:
        a: The heartbeat in run A; None if A does not have it.
        b: The same heartbeat in run B; None if B does not have it.
        notes: Anything unusual.
    """

    a: Beat | None
    b: Beat | None
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> int:
        """The id: A's if it has the heartbeat, else B's."""
        return self._known().id

    @property
    def name(self) -> str | None:
        """The name: A's if it has one, else B's."""
        return next((beat.name for beat in (self.a, self.b) if beat is not None and beat.name is not None), None)

    def _known(self) -> Beat:
        """Return the heartbeat of A, else that of B."""
        beat = self.a if self.a is not None else self.b
        assert beat is not None
        return beat


def pair_beats(a: Sequence[Beat], b: Sequence[Beat]) -> list[Pair[Beat]]:
    """Pair the heartbeats of two runs.

    Heartbeats are paired in this order: same id and same name; same name and another id; same id where only one run has
    a name for it. One id with two different names is two heartbeats.

    Returns:
        Each heartbeat of either run once, by id.
    """
    left, right = {beat.id: beat for beat in a}, {beat.id: beat for beat in b}
    pairs: list[Pair[Beat]] = []
    for number in sorted(left.keys() & right.keys()):
        if left[number].name == right[number].name:
            pairs.append(Pair(left.pop(number), right.pop(number)))
    # Several ids may have the same name: they are paired in order of id.
    named: dict[str, list[Beat]] = {}
    for number in sorted(right):
        if (name := right[number].name) is not None:
            named.setdefault(name, []).append(right[number])
    for beat in [left[number] for number in sorted(left)]:
        if beat.name is not None and named.get(beat.name):
            other = named[beat.name].pop(0)
            pairs.append(Pair(left.pop(beat.id), right.pop(other.id), (f"id {beat.id} in A, {other.id} in B",)))
    pairs += _by_id(left, right)
    return sorted(pairs, key=lambda pair: (pair.id, pair.a is None))


def _by_id(left: dict[int, Beat], right: dict[int, Beat]) -> list[Pair[Beat]]:
    """Pair the remaining heartbeats by id."""
    pairs: list[Pair[Beat]] = []
    for number in sorted(left.keys() | right.keys()):
        one, other = left.get(number), right.get(number)
        if one is None or other is None:
            pairs.append(Pair(one, other))
        elif one.name is None or other.name is None:
            run, name = ("B", other.name) if one.name is None else ("A", one.name)
            pairs.append(Pair(one, other, (f"named only in {run} ({name!r}), matched by its id",)))
        else:
            note = f"id {number} is {one.name!r} in A and {other.name!r} in B: not the same heartbeat"
            pairs += [Pair(one, None, (note,)), Pair(None, other, (note,))]
    return pairs
