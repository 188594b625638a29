"""Short, readable names of functions and other items; text chosen by a program cannot act as markup or control."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Protocol

from rich.cells import cell_len

from incprof.analysis.phase_result import Counting, Phase, PhaseResult, all_steps
from incprof.analysis.views.timed_calltree import (
    BROKEN_FRAME,
    ELIDED_FRAME,
    LIBRARY_FRAME,
    OTHER_FRAME,
    ROOT_FRAME,
    UNKNOWN_FRAME,
)
from incprof.model import Function, Metadata, module_label
from incprof.model.names import CONVERSION, parse
from incprof.report.words.formatting import fitted, rate, seconds
from incprof.safe.printable import printable

LONGEST = 240
# Columns of a name by default.
ROOM = 80
# Marks of code that is not a copy of the function.
NOT_A_COPY = re.compile(r"\.(?:_omp_fn|omp_outlined|cold)")
# Qualifiers of types: the namespace of a template argument matters less than its name.
QUALIFIER = re.compile(r"\b(?:\w+::)+(?=[\w~])")
# A hash in a name, shortened to its ends.
HASH = re.compile(r"(?<![0-9a-zA-Z])(?=[a-f]*[0-9])([0-9a-f]{4})[0-9a-f]{24,56}([0-9a-f]{4})(?![0-9a-zA-Z])")
# The suffix of incprof's own heartbeats after the function, and the rate factor after that.
BEAT_KIND = re.compile(r"(?:@\d+)?:(?:body|loop)(?: /[\d.]+)?$")
# The context of a function's own name is left out if fewer columns than this remain for it.
LEAST_CONTEXT = 9
# Named as the function with this time in the profile: one name for one thing.
UNKNOWN = "[no application frame]"
MARKERS = {
    ROOT_FRAME: "all",
    OTHER_FRAME: "[other]",
    ELIDED_FRAME: "[...]",
    BROKEN_FRAME: "[path cut off]",
    UNKNOWN_FRAME: UNKNOWN,
}
# Prefix of the name of code that ran on a device.
DEVICE = re.compile(r"\[GPU \d+\] ")


class Named(Protocol):
    """A function, or a frame of a stack."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def file(self) -> str | None: ...  # noqa: D102


def clean(text: str, longest: int = LONGEST) -> str:
    """Return text that can be printed and written as UTF-8; dots replace the middle of long text."""
    if len(text) > longest:
        text = text[: longest // 2] + "…" + text[-(longest // 2) :]
    return printable(text)


def short(name: str) -> str:
    """Return a function's name with at most its class before it.

    Its return type, template arguments, parameters, and the marks of clones, cold parts and parallel regions are left
    out; hashes lose their middle.
    """
    device = DEVICE.match(name)
    place = device[0] if device else ""
    parsed = parse(name.removeprefix(place))
    parts = list(parsed.parts[-2:]) or [parsed.text]
    if parts[-1] == CONVERSION:
        parts[-1] = parsed.text[parsed.starts[-1] : parsed.end]
    return clean(place + HASH.sub(r"\1…\2", "::".join(parts)), ROOM)


def path_text(functions: Sequence[str], own: int | None, most: int) -> str:
    """Return "malloc < ... < array_empty < main.py:step": the innermost functions of a path, and the program's own one.

    Args:
        functions: innermost first.
        own: place of the innermost that is the program's own; None: none is.
        most: number of functions to show.
    """
    names = [short(name) for name in functions]
    shown = names[:most] if own is None or own < most else [*names[: most - 2], "...", *names[own - 1 : own + 1]]
    return " < ".join(shown)


def shorten(name: str, room: int) -> str:
    """Return a function's short name in `room` columns; the function's own name is cut only if it alone is longer."""
    return _fitted(short(name), name, room)


def shorten_beat(name: str, room: int) -> str:
    """Return a heartbeat's name in `room` columns: `function:kind` loses the function's scope first.

    A name chosen by a person, and one that fits, stays as it is.
    """
    suffix = BEAT_KIND.search(name)
    if suffix is None or cell_len(printable(name)) <= room:
        return fitted(printable(name), room)
    return shorten(name[: suffix.start()], max(room - len(suffix[0]), 1)) + suffix[0]


class Names:
    """Display names of the functions in one answer: short names, extended where two would be equal.

    Functions are distinguished by template arguments or marks, then by parameters, by their whole scope, by their
    files, by their modules; then they are numbered.
    """

    def __init__(self, functions: Iterable[Named | str] = ()):
        """Take the functions that may stand in one table; each bare name counts as one function."""
        self._by_key: dict[_Key, Named | str] = {}
        for function in functions:
            key = _key(function)
            if key not in self._by_key or _file(self._by_key[key]) is None:
                self._by_key[key] = function
        self._by_name = {key[0]: key for key in sorted(self._by_key)}
        for key in [key for key in self._by_key if key[1:] == ("", 0) and self._by_name[key[0]] != key]:
            del self._by_key[key]
        self._texts: dict[int, dict[_Key, str]] = {}

    def __call__(self, function: Named | str, room: int = ROOM) -> str:
        """Return the display name of a function, in at most `room` columns."""
        key = _key(function)
        key = key if key in self._by_key else self._by_name.get(key[0], key)
        if key not in self._by_key:
            return shorten(key[0], room)
        if room not in self._texts:
            self._texts[room] = self._distinct_texts(room)
        return self._texts[room][key]

    def _distinct_texts(self, room: int) -> dict[_Key, str]:
        """Return all names in that many columns, no two of them equal."""
        texts = {key: shorten(key[0], room) for key in sorted(self._by_key)}
        for form in FORMS:
            for key in _ambiguous(texts):
                texts[key] = _fitted(form(self._by_key[key]), key[0], room)
        taken = set(texts.values())
        for key in _ambiguous(texts):
            numbered = (_numbered(key[0], number, room) for number in count(1))
            texts[key] = next(text for text in numbered if text not in taken)
            taken.add(texts[key])
        return texts


# Name, module and address: the identity of a function.
_Key = tuple[str, str, int]


def _key(function: Named | str) -> _Key:
    """Return the identity of a function; of a frame, the file replaces the module."""
    if isinstance(function, str):
        return function, "", 0
    return function.name, getattr(function, "module", function.file or ""), getattr(function, "address", 0)


def _file(function: Named | str) -> str | None:
    """Return the file of a function."""
    return None if isinstance(function, str) else function.file


def _ambiguous(texts: Mapping[_Key, str]) -> list[_Key]:
    """Return the keys whose names are shared by several."""
    often = Counter(texts.values())
    return [key for key, text in texts.items() if often[text] > 1]


def _numbered(name: str, number: int, room: int) -> str:
    """Return a name made unique by a number."""
    mark = f" #{number}"
    return _fitted(short(name), name, room - len(mark)) + mark


def _of_class(function: Named | str) -> str:
    """Return a name with the template arguments of its class, without their namespaces."""
    parsed = parse(_key(function)[0])
    if len(parsed.starts) < 2:
        return short(_key(function)[0])
    return _unqualified(parsed.text[parsed.starts[-2] : parsed.starts[-1]]) + parsed.last


def _plain(function: Named | str) -> str:
    """Return a name with all template arguments, and with the mark of a region or a cold part."""
    parsed = parse(_key(function)[0])
    return _unqualified(parsed.own) + (parsed.marks if NOT_A_COPY.search(parsed.marks) else "")


def _own(function: Named | str) -> str:
    """Return a name with its template arguments unchanged, and with the marks of a clone."""
    parsed = parse(_key(function)[0])
    return parsed.own.replace("> >", ">>") + parsed.marks


def _unqualified(text: str) -> str:
    """Return a text without the namespaces of template arguments."""
    at = text.find("<")
    return (text if at < 0 else text[:at] + QUALIFIER.sub("", text[at:])).replace("> >", ">>")


def _called_with(function: Named | str) -> str:
    """Return a name with parameters as well."""
    parsed = parse(_key(function)[0])
    return parsed.own.replace("> >", ">>") + parsed.text[parsed.end :] + parsed.marks


def _whole_name(function: Named | str) -> str:
    """Return the whole name, with the marks of a clone as in the linker's symbol."""
    parsed = parse(_key(function)[0])
    return parsed.text + parsed.marks


def _in_file(function: Named | str) -> str:
    """Return a name with its file, if that is known."""
    at = where(_file(function), None)
    return f"{short(_key(function)[0])} ({at})" if at else _whole_name(function)


def _in_module(function: Named | str) -> str:
    """Return a name with its module."""
    name, module, _ = _key(function)
    return f"{short(name)} [{clean(os.path.basename(module), 40)}]" if module else _in_file(function)


# Longer forms of a name that is shared by several functions: the first that distinguishes them is used.
FORMS = (_of_class, _plain, _own, _called_with, _whole_name, _in_file, _in_module)


def _fitted(text: str, name: str, room: int) -> str:
    """Return a form of a name in that many columns; the function's own name is cut last."""
    text = clean(text, 4 * LONGEST)
    if cell_len(text) <= room:
        return text
    own, parsed = clean(parse(name).last, 4 * LONGEST), parse(text)
    at = text.find(own, parsed.starts[-1]) if parsed.last == own and parsed.starts else text.rfind(own)
    room_left = room - cell_len(own)
    if at < 0 or room_left < 0:
        return fitted(own if at >= 0 else text, room)
    before, after = text[:at], text[at + len(own) :]
    room_after = min(cell_len(after), max(room_left // 2, room_left - cell_len(before)))
    return _edge(before, room_left - room_after) + own + _edge(after, room_after)


def _edge(text: str, room: int) -> str:
    """Return the context of a function's own name in that many columns; empty where only dots would fit."""
    return text if cell_len(text) <= room else fitted(text, room) if room >= LEAST_CONTEXT else ""


# For text in which no two functions are compared.
SHORT = Names()


def frame_name(frame: int, functions: Sequence[Function], metadata: Metadata, names: Names = SHORT) -> tuple[str, str]:
    """Return the short and the whole name of a call-tree frame."""
    if frame >= 0:
        return names(functions[frame]), clean(functions[frame].name)
    if frame > LIBRARY_FRAME:
        name = MARKERS[frame]
    else:
        paths = {module.id: module.name for module in metadata.modules}
        name = clean(module_label(paths.get(LIBRARY_FRAME - frame) or "library"), 80)
    return name, name


def where(file: str | None, line: int | None) -> str:
    """Return file:line with the file's base name; empty where it is unknown."""
    if file is None:
        return ""
    name = clean(os.path.basename(file), 80)
    return f"{name}:{line}" if line is not None else name


# Display names of phases, and of the functions in all text about a result.


# The number of a phase's functions that are named.
TOP_FUNCTIONS = 3
# A function with a smaller share of a phase's time does not name it.
NOTED = 0.05


def phase_names(phases: Sequence[Phase], names: Names = SHORT) -> list[str]:
    """Return a name for each phase: its main site, else its largest function; equal names are made distinct."""
    mains = [_main(phase, names) for phase in phases]
    kinds: dict[str, set[str]] = {}
    for main, phase in zip(mains, phases, strict=True):
        kinds.setdefault(main, set()).update(site.kind for site in phase.sites[:1])
    labels = [
        f"{main} ({phase.sites[0].kind})" if len(kinds[main]) > 1 and phase.sites else main
        for main, phase in zip(mains, phases, strict=True)
    ]
    for name, often in Counter(labels).items():
        if often > 1:
            group = [place for place, other in enumerate(labels) if other == name]
            for place, second in _distinguishing_names([phases[place] for place in group], names).items():
                labels[group[place]] = f"{name} with {second}"
    return labels


def _distinguishing_names(phases: Sequence[Phase], names: Names) -> dict[int, str]:
    """Return what distinguishes phases of one name: a further site, or else a function, that only one of them has.

    By index; a single phase without one keeps its name.
    """
    sites = [[names(site.function) for site in phase.sites[1:]] for phase in phases]
    totals = [[names(total.function) for total in phase.functions if total.share >= NOTED] for phase in phases]
    mains = {_main(phase, names) for phase in phases}
    distinguishing: dict[int, str] = {}
    for lists in (sites, totals):
        for place, own in enumerate(lists):
            others = {name for other, other_names in enumerate(lists) if other != place for name in other_names} | mains
            second = next((name for name in own if name not in others and not name.startswith("[")), None)
            if second and place not in distinguishing and len(distinguishing) + 1 < len(phases):
                distinguishing[place] = second
    return distinguishing


def _main(phase: Phase, names: Names) -> str:
    """Return the main site or function of a phase."""
    if phase.off_cpu:
        return "outside the program" if phase.outside else "waiting"
    if phase.mostly == "mpi" and phase.functions[0].function.is_library:
        return names(phase.functions[0].function)
    if phase.sites:
        return names(phase.sites[0].function)
    return names(phase.functions[0].function) if phase.functions else "idle"


def without_site(phase: Phase) -> str:
    """Return the text that replaces the site of a phase without one."""
    return "(outside the program)" if phase.outside else "(off the CPU)" if phase.off_cpu else "(none)"


def names_of(result: PhaseResult, more: Iterable[Named | str] = ()) -> Names:
    """Return the names of the functions in all text about a result, and of `more`."""
    functions: list[Named | str] = [*more]
    for phase in result.phases:
        functions += [replace(site.function, file=site.file) for site in phase.sites]
        functions += [total.function for total in phase.functions[:TOP_FUNCTIONS]]
        for step in all_steps(phase.steps):
            functions += [replace(step.function, file=step.file), *([step.driver] if step.driver else [])]
            functions += step.rest.waits if step.rest is not None else ()
    mentioned = [one.function for room in (result.borders, result.levels, result.short) for one in room]
    return Names([*functions, *filter(None, mentioned)])


# The cost of counting calls, the functions that cause it and what to do, for text and page alike.


# Below this, a page rates the recording's overhead as good.
WORTH_SAYING_PCT = 2.0
COUNTED_ROOM = 40


def counting_words(counting: Counting) -> str:
    """Return `counting 188743680 calls at 1.54 ns took 48 % of the program's CPU time`."""
    cost = f"{counting.calls} calls at {seconds(counting.call_s)}"
    return f"counting {cost} took {rate(counting.pct)} % of the program's CPU time"


def counting_advice(counting: Counting | None) -> str | None:
    """Return the cost of counting, its functions and the remedy; None where the cost is negligible."""
    if counting is None or counting.pct < WORTH_SAYING_PCT:
        return None
    function_shares = ", ".join(
        f"{shorten(one.name, COUNTED_ROOM)} {100 * one.share:.0f} %" for one in counting.functions
    )
    return (
        f"{counting_words(counting)} ({function_shares}): `incprof check --hot DIR` shows how to leave them out of -pg"
    )
