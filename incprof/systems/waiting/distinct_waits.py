"""The distinct waits of a process, with their causes. m spans, w distinct waits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import BROKEN, FloatArray, IntArray
from incprof.systems.waiting.causes import INTERPRETER, Reason, reason_of
from incprof.systems.waiting.read import BRIEF, Site, Waits

# Spans of a thread follow each other if they are not further apart.
APART_S = 1e-4
# Functions in which threads begin.
BEGINS = ("start_thread", "clone", "__clone", "clone3", "__clone3", "thread_start", "__libc_start_call_main")
# Code without a symbol.
NAMELESS = re.compile(r"^\[|\+0x[0-9a-f]+$")


@dataclass(frozen=True)
class Kinds:
    """The distinct waits of a process.

    Attributes:
        of_span: (m,) index of the wait at each span's end; -1 where the thread was not blocked.
        before: (m,) the same at its beginning.
        reason: (w,) cause of each.
        site: (w,) indices of the sites; -1: unknown.
        node: (w,) innermost application frame.
        called: (w,) library function that the application called.
        brief: (w,) share of the samples in which the wait ended before its call path had been read.
    """

    of_span: IntArray
    before: IntArray
    reason: tuple[Reason, ...]
    site: IntArray
    node: IntArray
    called: tuple[str, ...]
    brief: FloatArray


def kinds_of(waits: Waits) -> Kinds:
    """Return the distinct waits of a process, with their causes."""
    blocked = np.flatnonzero(waits.state > 0)
    table = np.stack([waits.site[blocked], waits.call[blocked], waits.object[blocked]], axis=1)
    rows, where = np.unique(table, axis=0, return_inverse=True)
    of_span = np.full(len(waits.state), -1, dtype=np.int64)
    of_span[blocked] = where.ravel()
    reasons, nodes, called = list[Reason](), list[int](), list[str]()
    modules = {number: module.name for number, module in waits.paths.modules.items()}
    for site, call, kind in rows.tolist():
        place = waits.sites[site] if site >= 0 else None
        names, files = _functions_at(waits, place, modules) if place else ([], [])
        is_observed = not waits.refused or call >= 0 or site >= 0
        reasons.append(reason_of(names, files, call, kind, waits.arch, is_observed=is_observed))
        nodes.append(place.node if place else 0)
        called.append(called_of([waits.paths.functions[frame].name for frame in place.frames]) if place else "")
    number = where.ravel()
    samples = waits.samples[blocked].astype(np.float64)
    ended = np.bincount(number, weights=samples * (waits.state[blocked] == BRIEF), minlength=len(rows))
    brief = ended / (np.bincount(number, weights=samples, minlength=len(rows)) + 1.0)
    node = np.array(nodes, dtype=np.int64)
    return Kinds(of_span, _before(waits, of_span), tuple(reasons), rows[:, 0], node, tuple(called), brief)


def _functions_at(waits: Waits, place: Site, modules: Mapping[int, str]) -> tuple[list[str], list[str]]:
    """Return the functions in which a thread waits, innermost first, and the files of their modules.

    Libraries of a static program are its own code: there, all functions of the path count.
    """
    if place.frames:
        names = [waits.paths.functions[frame].mangled for frame in place.frames]
        return names, [modules.get(module, "") for module in place.modules]
    path = [function for function in functions_to(waits, place.node) if function != BROKEN]
    names = [waits.paths.functions[function].mangled for function in reversed(path)]
    return names, [""] * len(names)


def _before(waits: Waits, of_span: IntArray) -> IntArray:
    """Return the wait at the end of the span before each of the same thread, (m,); -1 where there is none."""
    order = np.lexsort((waits.begin_s, waits.thread))
    before = np.full(len(order), -1, dtype=np.int64)
    same = np.diff(waits.thread[order]) == 0
    same &= np.abs(waits.begin_s[order][1:] - waits.end_s[order][:-1]) < APART_S
    later = order[1:][same]
    before[later] = of_span[order[:-1][same]]
    return before


def called_of(names: Sequence[str]) -> str:
    """Return the outermost of library functions that has a name; names are innermost first.

    Functions of Python's interpreter do not count where it has called others.
    """
    plain = [name.split("@", 1)[0] for name in names]
    named = [name for name in reversed(plain) if name not in BEGINS and not NAMELESS.search(name)]
    return next((name for name in named if not INTERPRETER.match(name)), named[0] if named else "")


def functions_to(waits: Waits, node: int) -> tuple[int, ...]:
    """Return the functions on the path to a node, outermost first; BROKEN where outer frames are unknown."""
    tree = waits.paths.tree
    return tuple(
        int(tree.function[each]) for each in waits.paths.path_to(node) if tree.function[each] >= 0
        or tree.function[each] == BROKEN
    )  # fmt: skip
