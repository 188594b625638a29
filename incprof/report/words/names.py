"""What things are called on a page: short enough to be read, and no text that a program chose can do anything there."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Protocol

from incprof.analysis.views.calltree import (
    BROKEN_FRAME,
    ELIDED_FRAME,
    LIBRARY_FRAME,
    OTHER_FRAME,
    ROOT_FRAME,
    UNKNOWN_FRAME,
)
from incprof.model import Function, Metadata, module_label
from incprof.names import CONVERSION, parse
from incprof.printable import printable
from incprof.report.words.numbers import cell_len, fitted

LONGEST = 240
# Columns of a name where nothing else says how many there are.
ROOM = 80
# Code that is not a copy of the function's.
APART = re.compile(r"\.(?:_omp_fn|omp_outlined|cold)")
# Qualifiers of types: which namespace a template argument is from tells less than what it is.
QUALIFIER = re.compile(r"\b(?:\w+::)+(?=[\w~])")
# A hash in a name, of which its ends are enough.
HASH = re.compile(r"(?<![0-9a-zA-Z])(?=[a-f]*[0-9])([0-9a-f]{4})[0-9a-f]{24,56}([0-9a-f]{4})(?![0-9a-zA-Z])")
# What a heartbeat of ours is called behind the function, and its rate factor behind that.
BEAT_KIND = re.compile(r"(?:@\d+)?:(?:body|loop)(?: /[\d.]+)?$")
# What stands beside a function's own name is left out where it would have fewer columns.
LEAST_BESIDE = 9
# As the function that has this time is called in the profile: one name for one thing.
UNKNOWN = "[no application frame]"
MARKERS = {
    ROOT_FRAME: "all",
    OTHER_FRAME: "[other]",
    ELIDED_FRAME: "[...]",
    BROKEN_FRAME: "[path cut off]",
    UNKNOWN_FRAME: UNKNOWN,
}
# Before the name of what ran on a device.
DEVICE = re.compile(r"\[GPU \d+\] ")


class Named(Protocol):
    """A function, or a frame of a stack."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def file(self) -> str | None: ...  # noqa: D102


def clean(text: str, longest: int = LONGEST) -> str:
    """Return text that can be printed and written as UTF-8, with dots for its middle if it is long."""
    if len(text) > longest:
        text = text[: longest // 2] + "…" + text[-(longest // 2) :]
    return printable(text)


def short(name: str) -> str:
    """Return a function's name with no more than its class before it.

    What it returns, template arguments, parameters, and the marks of clones, cold parts and parallel regions are not
    in it, and hashes lose their middle.
    """
    device = DEVICE.match(name)
    place = device[0] if device else ""
    found = parse(name.removeprefix(place))
    parts = list(found.parts[-2:]) or [found.text]
    if parts[-1] == CONVERSION:
        parts[-1] = found.text[found.starts[-1] : found.end]
    return clean(place + HASH.sub(r"\1…\2", "::".join(parts)), ROOM)


def shorten(name: str, room: int) -> str:
    """Return a function's short name in `room` columns: the function's own name is cut where it alone is longer."""
    return _fitted(short(name), name, room)


def shorten_beat(name: str, room: int) -> str:
    """Return a heartbeat's name in `room` columns: `function:kind` loses what encloses the function first.

    A name that somebody thought of, and one that fits, stays as it is.
    """
    behind = BEAT_KIND.search(name)
    if behind is None or cell_len(printable(name)) <= room:
        return fitted(printable(name), room)
    return shorten(name[: behind.start()], max(room - len(behind[0]), 1)) + behind[0]


class Names:
    """What functions are called in one answer: by short names, and by more of them where two would look the same.

    Functions are told apart by template arguments or marks, then by parameters, by all that encloses them, by their
    files, by their modules; then they are numbered.
    """

    def __init__(self, functions: Iterable[Named | str] = ()):
        """Functions that may stand in one table; of those that are no more than a name, each name is one function."""
        self._known: dict[_Key, Named | str] = {}
        for function in functions:
            key = _key(function)
            if key not in self._known or _file(self._known[key]) is None:
                self._known[key] = function
        self._by_name = {key[0]: key for key in sorted(self._known)}
        for key in [key for key in self._known if key[1:] == ("", 0) and self._by_name[key[0]] != key]:
            del self._known[key]
        self._texts: dict[int, dict[_Key, str]] = {}

    def __call__(self, function: Named | str, room: int = ROOM) -> str:
        """Return what a function is called, in at most `room` columns."""
        key = _key(function)
        key = key if key in self._known else self._by_name.get(key[0], key)
        if key not in self._known:
            return shorten(key[0], room)
        if room not in self._texts:
            self._texts[room] = self._told_apart(room)
        return self._texts[room][key]

    def _told_apart(self, room: int) -> dict[_Key, str]:
        """Return all names in so many columns, no two of them the same."""
        texts = {key: shorten(key[0], room) for key in sorted(self._known)}
        for form in FORMS:
            for key in _same(texts):
                texts[key] = _fitted(form(self._known[key]), key[0], room)
        taken = set(texts.values())
        for key in _same(texts):
            numbered = (_numbered(key[0], number, room) for number in count(1))
            texts[key] = next(text for text in numbered if text not in taken)
            taken.add(texts[key])
        return texts


# Name, module and address: what a function is known by.
_Key = tuple[str, str, int]


def _key(function: Named | str) -> _Key:
    """Return what a function is known by; a file stands for the module of a frame."""
    if isinstance(function, str):
        return function, "", 0
    return function.name, getattr(function, "module", function.file or ""), getattr(function, "address", 0)


def _file(function: Named | str) -> str | None:
    """Return the file of a function."""
    return None if isinstance(function, str) else function.file


def _same(texts: Mapping[_Key, str]) -> list[_Key]:
    """Return what has a name that something else has as well."""
    often = Counter(texts.values())
    return [key for key, text in texts.items() if often[text] > 1]


def _numbered(name: str, number: int, room: int) -> str:
    """Return a name that differs by its number."""
    mark = f" #{number}"
    return _fitted(short(name), name, room - len(mark)) + mark


def _of_class(function: Named | str) -> str:
    """Return a name with the template arguments of its class, without the namespaces of these."""
    found = parse(_key(function)[0])
    if len(found.starts) < 2:
        return short(_key(function)[0])
    return _unqualified(found.text[found.starts[-2] : found.starts[-1]]) + found.last


def _plain(function: Named | str) -> str:
    """Return a name with all template arguments, and with the mark of a region or a cold part."""
    found = parse(_key(function)[0])
    return _unqualified(found.own) + (found.marks if APART.search(found.marks) else "")


def _own(function: Named | str) -> str:
    """Return a name with template arguments as they are, and with the marks of a clone."""
    found = parse(_key(function)[0])
    return found.own.replace("> >", ">>") + found.marks


def _unqualified(text: str) -> str:
    """Return a text without the namespaces of template arguments."""
    at = text.find("<")
    return (text if at < 0 else text[:at] + QUALIFIER.sub("", text[at:])).replace("> >", ">>")


def _called_with(function: Named | str) -> str:
    """Return a name with parameters as well."""
    found = parse(_key(function)[0])
    return found.own.replace("> >", ">>") + found.text[found.end :] + found.marks


def _whole(function: Named | str) -> str:
    """Return all of a name, the marks of a clone as a linker has them."""
    found = parse(_key(function)[0])
    return found.text + found.marks


def _in_file(function: Named | str) -> str:
    """Return a name with its file, where that is known."""
    at = where(_file(function), None)
    return f"{short(_key(function)[0])} ({at})" if at else _whole(function)


def _in_module(function: Named | str) -> str:
    """Return a name with its module."""
    name, module, _ = _key(function)
    return f"{short(name)} [{clean(os.path.basename(module), 40)}]" if module else _in_file(function)


# What a function is called where its short name is another's as well: as little more as tells them apart.
FORMS = (_of_class, _plain, _own, _called_with, _whole, _in_file, _in_module)


def _fitted(text: str, name: str, room: int) -> str:
    """Return a form of a name in so many columns: the function's own name is the last of it to be cut."""
    text = clean(text, 4 * LONGEST)
    if cell_len(text) <= room:
        return text
    own, found = clean(parse(name).last, 4 * LONGEST), parse(text)
    at = text.find(own, found.starts[-1]) if found.last == own and found.starts else text.rfind(own)
    left = room - cell_len(own)
    if at < 0 or left < 0:
        return fitted(own if at >= 0 else text, room)
    before, after = text[:at], text[at + len(own) :]
    behind = min(cell_len(after), max(left // 2, left - cell_len(before)))
    return _edge(before, left - behind) + own + _edge(after, behind)


def _edge(text: str, room: int) -> str:
    """Return what stands beside a function's own name in so many columns; nothing where it would be dots only."""
    return text if cell_len(text) <= room else fitted(text, room) if room >= LEAST_BESIDE else ""


# Where no two functions are beside each other.
SHORT = Names()


def frame_name(frame: int, functions: Sequence[Function], metadata: Metadata, names: Names = SHORT) -> tuple[str, str]:
    """Return the short and the whole name of a frame of a call tree."""
    if frame >= 0:
        return names(functions[frame]), clean(functions[frame].name)
    if frame > LIBRARY_FRAME:
        name = MARKERS[frame]
    else:
        paths = {module.id: module.path for module in metadata.modules}
        name = clean(module_label(paths.get(LIBRARY_FRAME - frame) or "library"), 80)
    return name, name


def where(file: str | None, line: int | None) -> str:
    """Return file:line with the file's base name; empty where it is not known."""
    if file is None:
        return ""
    name = clean(os.path.basename(file), 80)
    return f"{name}:{line}" if line is not None else name
