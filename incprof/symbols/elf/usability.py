"""Whether a program can be recorded, and how well, from its file's traits."""

from __future__ import annotations

from incprof.symbols.elf.traits import Traits

# From this share on a program counts as fully built with -pg: code from static libraries and the compiler has no calls.
WHOLE = 0.8


def usability(traits: Traits) -> tuple[bool, str]:
    """Return whether the program can be recorded, and a line on how well or why not."""
    obstacle = _why_not(traits)
    if obstacle:
        return False, f"not usable: {obstacle}"
    flaws = _shortcomings(traits)
    return True, "usable" + (", but " + "; ".join(flaws) if flaws else "")


def _why_not(traits: Traits) -> str | None:
    """Return what prevents a recording."""
    if traits.kind == "other":
        return "neither a program nor a shared library"
    if not traits.native:
        return f"built for {traits.bits}-bit {traits.machine}, which libincprof.so on this machine is not"
    if traits.kind == "library":
        return None if traits.compiled_pg else "no function calls mcount; compile the library with -pg"
    if not traits.dynamic:
        return "statically linked, so LD_PRELOAD has no effect; try incprof record --external"
    return "of musl, where libincprof.so does nothing; try incprof record --external" if traits.musl else None


def _shortcomings(traits: Traits) -> list[str]:
    """Return the limitations of a recording."""
    flaws = []
    callers = traits.callers
    if not traits.compiled_pg and not traits.profiled_libraries:
        what = "linked but not compiled" if traits.linked_pg else "not built"
        flaws.append(f"{what} with -pg: calls are not counted, but estimated from samples")
    elif callers and callers.share is not None and callers.share < WHOLE:
        flaws.append(
            f"only {callers.calling} of {callers.functions} functions call {callers.hook}: calls of the others are not "
            "counted; compile all files with -pg"
        )
    if not traits.symbols:
        flaws.append("stripped: only exported functions have names, unless their debug symbols are installed")
    elif not traits.lines:
        flaws.append("no line numbers; compile with -g")
    if not traits.unwind:
        flaws.append("no unwind tables: call paths will be incomplete; compile with -fasynchronous-unwind-tables")
    if traits.missing_libraries:
        flaws.append("libraries not found: " + ", ".join(traits.missing_libraries))
    return flaws
