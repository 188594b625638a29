"""Contents of a source file, as byte ranges of the unmodified file; find functions in it, and insert into it.

Offsets count bytes from 0, lines count from 1 and ranges of them include the last one. Nothing here reads or writes
files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from incprof.errors import IncprofError

if TYPE_CHECKING:
    from tree_sitter import Node


from collections.abc import Iterable

from incprof.errors import NoDataError
from incprof.model.names import ENTRIES, LAMBDA, parse

Language = Literal["c", "c++", "fortran", "fixed", "python"]  # "fixed": Fortran in fixed form
Style = Literal["scope", "calls"]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of a function; one inside a lambda or a contained procedure belongs to that one.

    Attributes:
        parent: position of the enclosing loop in the function's `loops`.
        busy: an iteration calls something or contains another loop; otherwise it is too short for a beat.
        refusal: why no beat can go into the body; None if one can.
    """

    syntax: Node | None
    repeated: Node | None
    line: int
    last_line: int
    parent: int | None
    busy: bool
    refusal: str | None = None

    @property
    def node(self) -> Node:
        """The whole statement, in C and Fortran."""
        assert self.syntax is not None
        return self.syntax

    @property
    def body(self) -> Node:
        """The repeated statement in C (a block with its braces, or a single statement); the DO construct in Fortran."""
        assert self.repeated is not None
        return self.repeated


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function with a body.

    Attributes:
        name: qualified name in the source: "Mesh::smooth", "heat::jacobi_step"; without template arguments; a lambda is
            "Mesh::smooth::lambda"; in Python "Solver.step", "<module>".
        syntax: the whole definition, None in Python.
        loops: an outer one before those inside it.
        is_main: C's main, or the PROGRAM.
        refusal: why no beat can go around its body; None if one can.
    """

    name: str
    syntax: Node | None
    line: int
    last_line: int
    loops: tuple[Loop, ...] = ()
    is_main: bool = False
    refusal: str | None = None

    @property
    def node(self) -> Node:
        """The whole definition, in C and Fortran."""
        assert self.syntax is not None
        return self.syntax


@dataclass(frozen=True)
class SourceFile:
    """A parsed file. data: its bytes without heartbeats of ours. path: for messages."""

    path: str
    language: Language
    data: bytes
    functions: tuple[SourceFunction, ...]


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat to be inserted around a function's body (`loop` None) or into the body of one of its loops.

    Attributes:
        function: position in SourceFile.functions.
        loop: position in its `loops`.
    """

    id: int
    function: int
    loop: int | None = None


@dataclass(frozen=True, slots=True)
class Announcement:
    """An id's announcement at the program's start: ekg_name, and ekg_rate if `rate_factor` is not 1."""

    id: int
    name: str
    rate_factor: int = 1


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text to insert before the byte at `offset`. Of several at one offset the first in the list comes first."""

    offset: int
    text: bytes


# What the source languages share: their names, texts of ours that can be recognised, and insertions.


def is_c(language: Language) -> bool:
    """Return whether it is C or C++."""
    return language in ("c", "c++")


def is_fortran(language: Language) -> bool:
    """Return whether it is Fortran, in either form."""
    return language in ("fortran", "fixed")


def recognised(text: bytes, *patterns: re.Pattern[bytes]) -> bytes:
    """Return a text of ours.

    patterns: Those by which it will be removed; one of them must match.

    Raises:
        ValueError: None does.
    """
    if not any(pattern.fullmatch(text) for pattern in patterns):
        raise ValueError(f"no text of ours: {text!r}")
    return text


def line_ending(text: bytes) -> bytes:
    """Return the line ending of a text that ends with one."""
    return b"\r\n" if text.endswith(b"\r\n") else b"\n"


def by_function(beats: Sequence[Beat]) -> dict[int, list[Beat]]:
    """Return the beats of each function, by its position."""
    beats_of: dict[int, list[Beat]] = {}
    for beat in beats:
        beats_of.setdefault(beat.function, []).append(beat)
    return beats_of


def demand_place(file: SourceFile, beat: Beat) -> None:
    """Raise IncprofError if the function, or its loop, refuses the beat."""
    function = file.functions[beat.function]
    place = function if beat.loop is None else function.loops[beat.loop]
    if place.refusal is not None:
        raise IncprofError(f"{file.path}:{place.line}: {function.name}: no beat can go here: {place.refusal}")


def insert(data: bytes, insertions: Sequence[Insertion]) -> bytes:
    """Return the bytes with all insertions; those at one offset in the order given."""
    parts, done = [], 0
    for insertion in sorted(insertions, key=lambda each: each.offset):
        parts += [data[done : insertion.offset], insertion.text]
        done = insertion.offset
    return b"".join([*parts, data[done:]])


def removable(file: SourceFile, insertions: list[Insertion], strip: Callable[[bytes], bytes]) -> list[Insertion]:
    """Return the insertions, if `strip` removes all of them and nothing else.

    Raises:
        IncprofError: It does not: texts of the file look like ours.
    """
    if strip(insert(file.data, insertions)) != file.data:
        raise IncprofError(f"{file.path}: text in it looks like generated heartbeats, which could not be removed again")
    return insertions


CHANGED = "changed since the recording: record it again, or give --allow-changed"
# clang's name for the code of a parallel region.
OUTLINED = (".omp_outlined", "__captured_stmt")
# Python's name for the code of a comprehension or a generator expression.
COMPREHENSION = re.compile(r"<(?:list|set|dict)comp>$|<genexpr>$")


def find_function(file: SourceFile, line: int, name: str, *, moved: bool = False, proven: bool = False) -> int:
    """Return the position of the innermost function that contains a line and has that name.

    moved: lines may have changed; the only function of that name is accepted anywhere. proven: the file is certainly
    the compiled one.

    Raises: NoDataError if there is none: the file is not the compiled one, or a macro made the function.
    """
    if file.language == "python" and COMPREHENSION.search(name):
        raise NoDataError(f"{file.path}:{line}: a comprehension has no statements")
    holding = [i for i, f in enumerate(file.functions) if f.line <= line <= f.last_line]
    holding.sort(key=lambda i: file.functions[i].last_line - file.functions[i].line)
    for i in holding:
        if _named(file, i, name):
            return i
    if moved:
        return _unique_function(file, name)
    shown, why = parse(name).last, "made by a macro" if proven else f"made by a macro, or {CHANGED}"
    if not holding:
        raise NoDataError(f"{file.path}:{line}: no function there, expected {shown}: {why}")
    other = file.functions[holding[0]].name
    raise NoDataError(f"{file.path}:{line}: {other} is there, expected {shown}: {why}")


def functions_named(file: SourceFile, name: str) -> list[int]:
    """Return the positions of all functions of a name; one with `::` must also have the same enclosing names."""
    outer = parse(name).components[:-1]
    named = [i for i in range(len(file.functions)) if _named(file, i, name)]
    if not is_c(file.language):
        return named
    return [i for i in named if _encloses(outer, parse(file.functions[i].name).components[:-1])]


def _encloses(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    """Return whether two lists of enclosing names agree, as far as both go."""
    if not inner or not outer:
        return True
    least = min(len(inner), len(outer))
    return inner[-least:] == outer[-least:]


def begins_at(file: SourceFile, position: int, line: int) -> bool:
    """Return whether a compiler could report a line as a function's beginning: from its name's line to its body's."""
    function = file.functions[position]
    if is_fortran(file.language):
        return function.line <= line <= function.last_line
    if file.language == "python":
        return line == function.line
    return name_line(file, position) <= line <= body_line(file, position)


def name_line(file: SourceFile, position: int) -> int:
    """Return the line of a function's name in its definition; in Python, or without a name, its first line."""
    function = file.functions[position]
    if file.language == "python":
        return function.line
    start = function.node.start_byte
    body = function.node.child_by_field_name("body")
    head = file.data[start : body.start_byte if body else function.node.end_byte]
    name = parse(function.name).last.encode()
    match = re.search(rb"(?<!\w)" + re.escape(name) + rb"(?!\w)", head)
    return function.line + head.count(b"\n", 0, match.start()) if match else function.line


def body_line(file: SourceFile, position: int) -> int:
    """Return the line on which a function's body begins."""
    function = file.functions[position]
    body = function.node.child_by_field_name("body")
    return body.start_point[0] + 1 if body else function.last_line


def line_text(data: bytes, numbers: Iterable[int]) -> list[str]:
    """Return lines of a file by their numbers, "" for missing ones; bytes that are not UTF-8 become U+FFFD."""
    ends = [match.end() for match in re.finditer(rb"\n", data)] + [len(data)]
    starts = [0, *ends[:-1]]
    return [
        data[starts[n - 1] : ends[n - 1]].rstrip(b"\r\n").decode("utf-8", "replace") if 0 < n <= len(ends) else ""
        for n in numbers
    ]


def _unique_function(file: SourceFile, name: str) -> int:
    """Return the only function of a name."""
    positions = functions_named(file, name)
    if len(positions) == 1:
        return positions[0]
    how_many = "several functions are" if positions else "no function is"
    raise NoDataError(f"{file.path}: {how_many} called {parse(name).last}: {CHANGED.split(':')[0]}")


def _named(file: SourceFile, position: int, name: str) -> bool:
    """Return whether a function of the file has a name."""
    function = file.functions[position]
    return agree(name, function.name, file.language, is_main=function.is_main)


def agree(recorded: str, written: str, language: Language, *, is_main: bool = False) -> bool:
    """Return whether a function's name in the binary is that of a function in the source.

    recorded: as demangled, or mangled if that fails. written: SourceFunction.name. Enclosing names are not compared.
    """
    if language == "python":
        name = recorded.partition(":")[2] or recorded
        return written == name or written.endswith(f".{name}")  # before 3.11 code objects lack their class
    if recorded.startswith(OUTLINED):
        return True
    parsed, own = parse(recorded), parse(written).last
    if not is_fortran(language):
        return parsed.last == own or (own == LAMBDA and parsed.last == "operator()")
    # A main program that was inlined into main has its name from the source.
    if is_main and parsed.text in ENTRIES:
        return True
    return parsed.last.lower() == own.lower()
