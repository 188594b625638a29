"""What a program's file says of it, as a table (docs/check.md)."""

from __future__ import annotations

from typing import TextIO

from incprof.elf.traits import Traits


def write_text(traits: Traits, verdict: str, out: TextIO) -> None:
    """Write the table, and the verdict under it."""
    table = _rows(traits)
    width = max(len(label) for label, _ in table)
    for label, text in [*table, ("verdict", verdict)]:
        out.write(f"{label:{width}}  {text}\n")


def _rows(traits: Traits) -> list[tuple[str, str]]:
    """The table: label and text of each property."""
    table = [("file", traits.path), ("format", f"ELF, {traits.bits}-bit, {traits.machine}"), ("kind", _kind(traits))]
    if not traits.native:
        return table
    return [
        *table,
        ("linked with -pg", _yes(traits.linked_pg)),
        ("compiled with -pg", _instrumented(traits)),
        ("-pg libraries", ", ".join(traits.profiled_libraries) or "none"),
        ("unwind tables", _yes(traits.unwind)),
        ("symbols", str(traits.symbols) if traits.symbols else "none (stripped)"),
        ("line numbers", _yes(traits.lines)),
        ("build-id", traits.build_id or "none"),
        ("compiler", ", ".join(traits.compilers) or "unknown"),
    ]


def _kind(traits: Traits) -> str:
    """The kind of file, in words."""
    if traits.kind == "other":
        return "neither a program nor a library"
    if traits.kind == "library":
        return "shared library"
    linkage = "dynamically linked" if traits.dynamic else "statically linked"
    position = "position-independent" if traits.pie else "at a fixed address"
    return f"program, {linkage}, {position}"


def _instrumented(traits: Traits) -> str:
    """How much of the code calls the profiling hook."""
    callers = traits.callers
    if callers is None:
        return _yes(traits.compiled_pg)
    if callers.share is None:
        return f"yes, {callers.calls} calls of {callers.hook} (stripped: share of the functions unknown)"
    share = f"{100 * callers.share:.0f} %"
    return f"yes, {callers.calling} of {callers.functions} functions ({share}) call {callers.hook}"


def _yes(value: bool) -> str:
    """Spell a truth value."""
    return "yes" if value else "no"
