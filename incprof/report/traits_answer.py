"""The traits of a program file, as a table and as JSON, schema incprof.check/1 (docs/use/check.md)."""

from __future__ import annotations

from typing import TextIO

from incprof.symbols.elf.program_file import Traits


def write_text(traits: Traits, verdict: str, out: TextIO) -> None:
    """Write the table, and the verdict below it."""
    table = _rows(traits)
    width = max(len(label) for label, _ in table)
    for label, text in [*table, ("verdict", verdict)]:
        out.write(f"{label:{width}}  {text}\n")


def _rows(traits: Traits) -> list[tuple[str, str]]:
    """Return the label and text of each trait."""
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
        *([("GPU", GPU_TEXTS[traits.gpu])] if traits.gpu else []),
    ]


# How a program reaches GPUs.
GPU_TEXTS = {
    "shared": "CUDA, by libcudart: record --gpu uses the libcupti beside it",
    "static": "CUDA, static run-time: record --gpu needs libcupti in the loader's path or CUDA_HOME, or INCPROF_CUPTI",
    "driver": "CUDA's driver: record --gpu needs libcupti in the loader's path or CUDA_HOME, or INCPROF_CUPTI",
    "hip": "HIP: record --gpu needs librocprofiler-sdk (ROCm 6.4 or later) in the loader's path (see incprof doctor)",
    "opencl": "OpenCL: record --gpu needs a loader with layers (ocl-icd 2.3.0 or later; see incprof doctor)",
    "level_zero": "Level Zero: record --gpu records nothing of it; phases names the time in its waiting functions",
}


def _kind(traits: Traits) -> str:
    """Return the kind of file, in words."""
    if traits.kind == "other":
        return "neither a program nor a library"
    if traits.kind == "library":
        return "shared library"
    linkage = "dynamically linked" if traits.dynamic else "statically linked"
    position = "position-independent" if traits.pie else "at a fixed address"
    return f"program, {linkage}, {position}"


def _instrumented(traits: Traits) -> str:
    """Return how much of the code calls the profiling hook."""
    callers = traits.callers
    if callers is None:
        return _yes(traits.compiled_pg)
    if callers.share is None:
        return f"yes, {callers.calls} calls of {callers.hook} (stripped: share of the functions unknown)"
    share = f"{100 * callers.share:.0f} %"
    return f"yes, {callers.calling} of {callers.functions} functions ({share}) call {callers.hook}"


def _yes(value: bool) -> str:
    """Return "yes" or "no"."""
    return "yes" if value else "no"


SCHEMA = "incprof.check/1"


def as_json(traits: Traits, usable: bool, verdict: str) -> dict[str, object]:
    """Return the answer as a JSON object."""
    callers = traits.callers
    return {
        "schema": SCHEMA,
        "file": traits.path,
        "usable": usable,
        "verdict": verdict,
        **_fields(traits, "bits machine kind dynamic pie linked_pg compiled_pg"),
        "hook": callers.hook if callers else None,
        "functions": callers.functions if callers else None,
        "functions_calling": callers.calling if callers else None,
        **_fields(traits, "profiled_libraries missing_libraries"),
        "unwind_tables": traits.unwind,
        **_fields(traits, "symbols lines build_id compilers gpu"),
    }


def _fields(one: object, names: str) -> dict[str, object]:
    return {name: getattr(one, name) for name in names.split()}
