"""Find the function of a source file that a binary identifies by name and line."""

from __future__ import annotations

import re
from collections.abc import Iterable

from incprof.errors import NoDataError
from incprof.model.names import ENTRIES, LAMBDA, parse
from incprof.source.model import Language, SourceFile, is_c, is_fortran

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
