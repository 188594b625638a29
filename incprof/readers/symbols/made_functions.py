"""Functions that run-times have compiled, of which no more is known than what they have told of them."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.model import Function
from incprof.readers.symbols.compiled import compiled
from incprof.readers.symbols.demangle import display_names
from incprof.readers.symbols.made_code import MadeCode
from incprof.readers.symbols.table import SymbolTable


def made_functions(module: str, mangled: Sequence[str], address: Sequence[int], table: SymbolTable) -> list[Function]:
    """The functions of these names and addresses, in the order given."""
    sources = table.sources if isinstance(table, MadeCode) else {}
    found: list[Function] = []
    for symbol, name, at in zip(mangled, display_names(mangled), address, strict=True):
        known = compiled(name)
        file, line = (known.file, known.line) if known.file else sources.get(symbol, ("", 0))
        found.append(Function(module, symbol, known.name, at, file or None, line or None, system=known.shared))
    return found
