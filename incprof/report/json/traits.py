"""What a program's file says of it as JSON, schema incprof.check/1 (docs/check.md)."""

from __future__ import annotations

from incprof.elf.traits import Traits

SCHEMA = "incprof.check/1"


def as_json(traits: Traits, usable: bool, verdict: str) -> dict[str, object]:
    """Return the object that is written."""
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
