"""Which statements of a Fortran procedure take longer than a heartbeat."""

from __future__ import annotations

import re

from incprof.source.fortran.structure import Source, Unit

# Intrinsic procedures that go over whole arrays.
_LONG = r"matmul|dot_product|sum|product|maxval|minval|maxloc|minloc|reshape|transpose|spread|pack|count|any|all"
_CALLS = re.compile(rf"\b(?:{_LONG})\(")
_SECTION = re.compile(r"[a-z]\w*(?:%\w+)*\([^=:]*:[^=]*\)=")
_EXTERNAL = re.compile(r"(?:external(?: |::)|[^:]*,external\b[^:]*::)(.*)")
_NAME = re.compile(r"[a-z]\w*(?=\()")
_BUSY = frozenset("call io do concurrent".split())


def busy_statements(source: Source, unit: Unit, functions: set[str]) -> list[int]:
    """Statements that call something, go over whole arrays or start a loop, by position in Source.statements.

    Args:
        source: The file.
        unit: The procedure.
        functions: Names of the procedures of the file. A name in parentheses that is not known may be an array.
    """
    external: set[str] = set()
    found = []
    for index in unit.own:
        word, text = source.words[index], source.statements[index].text
        if match := _EXTERNAL.match(text):
            external.update(re.findall(r"\w+", match[1]))
            continue
        names = _NAME.findall(text)
        called = not (functions.isdisjoint(names) and external.isdisjoint(names))
        if called or (word.action or word).kind in _BUSY or _CALLS.search(text) or _SECTION.match(text):
            found.append(index)
    return found
