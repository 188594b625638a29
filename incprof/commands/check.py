"""Say whether a program can be recorded, before it is run.

Exit status 0 if it can, 1 if not, 4 if the file is no readable ELF file.
"""

from __future__ import annotations

import argparse
import json

from incprof.elf.traits import Traits, read_traits

NAME = "check"
SCHEMA = "incprof.check/1"

# From here on a program counts as built with -pg throughout: code from static libraries and the compiler has no calls.
WHOLE = 0.8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("program", help="the executable, or a shared library of it")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the table and the verdict."""
    traits = read_traits(args.program)
    usable, verdict = usability(traits)
    if args.json:
        print(json.dumps(as_json(traits, usable, verdict), indent=1))
    else:
        width = max(len(label) for label, _ in rows(traits))
        for label, text in rows(traits):
            print(f"{label:{width}}  {text}")
        print(f"{'verdict':{width}}  {verdict}")
    return 0 if usable else 1


def usability(traits: Traits) -> tuple[bool, str]:
    """Whether the program can be recorded, and one line on how well or why not."""
    obstacle = why_not(traits)
    if obstacle:
        return False, f"not usable: {obstacle}"
    flaws = list(shortcomings(traits))
    return True, "usable" + (", but " + "; ".join(flaws) if flaws else "")


def why_not(traits: Traits) -> str | None:
    """What keeps a recording from being made at all."""
    if traits.kind == "other":
        return "neither a program nor a shared library"
    if not traits.native:
        return f"built for {traits.bits}-bit {traits.machine}, which libincprof.so on this machine is not"
    if traits.kind == "library":
        return None if traits.compiled_pg else "no function calls mcount; compile the library with -pg"
    if not traits.dynamic:
        return "statically linked, so LD_PRELOAD has no effect; link it dynamically"
    if traits.linked_pg:
        return None
    if traits.compiled_pg or traits.profiled_libraries:
        return "compiled but not linked with -pg; add -pg to the link command too"
    return "not built with -pg; compile and link it with -pg"


def shortcomings(traits: Traits) -> list[str]:
    """What a recording will lack."""
    flaws = []
    callers = traits.callers
    if not traits.compiled_pg and not traits.profiled_libraries:
        flaws.append("linked but not compiled with -pg: time is recorded, calls are not")
    elif callers and callers.share is not None and callers.share < WHOLE:
        flaws.append(
            f"only {callers.calling} of {callers.functions} functions call {callers.hook}: calls of the others are not "
            "counted; compile all files with -pg"
        )
    if not traits.symbols:
        flaws.append("stripped: functions have no names; keep the symbol table")
    elif not traits.lines:
        flaws.append("no line numbers; compile with -g")
    if not traits.unwind:
        flaws.append("no unwind tables: call paths will be incomplete; compile with -fasynchronous-unwind-tables")
    if traits.missing_libraries:
        flaws.append("libraries not found: " + ", ".join(traits.missing_libraries))
    return flaws


def rows(traits: Traits) -> list[tuple[str, str]]:
    """The table: label and text of each property."""
    table = [("file", traits.path), ("format", f"ELF, {traits.bits}-bit, {traits.machine}"), ("kind", kind(traits))]
    if not traits.native:
        return table
    return [
        *table,
        ("linked with -pg", yes(traits.linked_pg)),
        ("compiled with -pg", instrumented(traits)),
        ("-pg libraries", ", ".join(traits.profiled_libraries) or "none"),
        ("unwind tables", yes(traits.unwind)),
        ("symbols", str(traits.symbols) if traits.symbols else "none (stripped)"),
        ("line numbers", yes(traits.lines)),
        ("build-id", traits.build_id or "none"),
        ("compiler", ", ".join(traits.compilers) or "unknown"),
    ]


def kind(traits: Traits) -> str:
    """The kind of file, in words."""
    if traits.kind == "other":
        return "neither a program nor a library"
    if traits.kind == "library":
        return "shared library"
    linkage = "dynamically linked" if traits.dynamic else "statically linked"
    position = "position-independent" if traits.pie else "at a fixed address"
    return f"program, {linkage}, {position}"


def instrumented(traits: Traits) -> str:
    """How much of the code calls the profiling hook."""
    callers = traits.callers
    if callers is None:
        return yes(traits.compiled_pg)
    if callers.share is None:
        return f"yes, {callers.calls} calls of {callers.hook} (stripped: share of the functions unknown)"
    share = f"{100 * callers.share:.0f} %"
    return f"yes, {callers.calling} of {callers.functions} functions ({share}) call {callers.hook}"


def yes(value: bool) -> str:
    """Spell a truth value."""
    return "yes" if value else "no"


def as_json(traits: Traits, usable: bool, verdict: str) -> dict[str, object]:
    """The JSON object; keys are those of docs/check.md."""
    callers = traits.callers
    return {
        "schema": SCHEMA,
        "file": traits.path,
        "usable": usable,
        "verdict": verdict,
        "bits": traits.bits,
        "machine": traits.machine,
        "kind": traits.kind,
        "dynamic": traits.dynamic,
        "pie": traits.pie,
        "linked_pg": traits.linked_pg,
        "compiled_pg": traits.compiled_pg,
        "hook": callers.hook if callers else None,
        "functions": callers.functions if callers else None,
        "functions_calling": callers.calling if callers else None,
        "profiled_libraries": list(traits.profiled_libraries),
        "missing_libraries": list(traits.missing_libraries),
        "unwind_tables": traits.unwind,
        "symbols": traits.symbols,
        "lines": traits.lines,
        "build_id": traits.build_id,
        "compilers": list(traits.compilers),
    }
