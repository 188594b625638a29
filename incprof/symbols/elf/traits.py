"""The properties of a program file that decide whether, and how well, it can be recorded."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from incprof.symbols.elf.file import EM_AARCH64, EM_X86_64, ET_DYN, ET_EXEC, PT_INTERP, SHT_SYMTAB, ElfFile
from incprof.symbols.elf.libraries import Callers, find_callers, needed_libraries
from incprof.symbols.elf.preflight import MACHINES, calls_mcount, calls_monstartup, loader_of

MACHINE_NAMES = {3: "x86", 8: "mips", 21: "ppc64", 22: "s390", 40: "arm", 243: "riscv"}
MACHINE_NAMES |= {EM_X86_64: "x86-64", EM_AARCH64: "aarch64"}
DT_FLAGS_1, DF_1_PIE = 0x6FFFFFFB, 0x08000000


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a program file. Fields after `kind` are meaningless for a file of a foreign class or machine."""

    path: str
    bits: int
    machine: str
    native: bool
    kind: str  # program, library, or other
    dynamic: bool = False
    musl: bool = False
    pie: bool = False
    linked_pg: bool = False
    compiled_pg: bool = False
    callers: Callers | None = None
    unwind: bool = False
    symbols: int = 0
    lines: bool = False
    build_id: str | None = None
    compilers: tuple[str, ...] = ()
    profiled_libraries: tuple[str, ...] = ()
    missing_libraries: tuple[str, ...] = ()


def read_traits(path: str) -> Traits:
    """Read the traits of the file. Raises NoDataError if it is not an ELF file, or is damaged."""
    elf = ElfFile(path)
    machine = MACHINE_NAMES.get(elf.machine, f"machine {elf.machine}")
    native = elf.readable and elf.machine == MACHINES.get(platform.machine(), elf.machine)
    if not elf.readable:
        kind = "program" if elf.type in (ET_EXEC, ET_DYN) else "other"
        return Traits(path, elf.bits, machine, native, kind)
    profiled, missing = needed_libraries(elf)
    return Traits(
        path=path,
        bits=elf.bits,
        machine=machine,
        native=native,
        kind=kind_of(elf),
        dynamic=has_interpreter(elf),
        musl=loader_of(elf).startswith("ld-musl"),
        pie=elf.type == ET_DYN and kind_of(elf) == "program",
        linked_pg=calls_monstartup(elf) or defines(elf, "__monstartup"),
        compiled_pg=calls_mcount(elf) or defines(elf, "mcount"),
        callers=find_callers(elf),
        unwind=elf.section(".eh_frame") is not None,
        symbols=sum(1 for symbol in elf.symbols(SHT_SYMTAB) if symbol.section and symbol.size),
        lines=any(elf.section(name) for name in (".debug_line", ".zdebug_line")),
        build_id=elf.build_id,
        compilers=compilers(elf),
        profiled_libraries=tuple(profiled),
        missing_libraries=tuple(missing),
    )


def has_interpreter(elf: ElfFile) -> bool:
    """Return whether the dynamic loader starts the program, so that LD_PRELOAD has an effect."""
    return any(segment.type == PT_INTERP for segment in elf.segments)


def kind_of(elf: ElfFile) -> str:
    """Return `program`, `library`, or `other` (object files, core dumps)."""
    if elf.type == ET_EXEC or has_interpreter(elf):
        return "program"
    if elf.type != ET_DYN:
        return "other"
    static_pie = dict(elf.dynamic).get(DT_FLAGS_1, 0) & DF_1_PIE
    return "program" if static_pie else "library"


def defines(elf: ElfFile, name: str) -> bool:
    """Return whether the file defines a symbol of that name, as a static program defines all of libc's."""
    return any(symbol.name == name and symbol.section for symbol in elf.symbols(SHT_SYMTAB))


def compilers(elf: ElfFile) -> tuple[str, ...]:
    """Return the compilers that left their names in the file."""
    section = elf.section(".comment")
    if section is None:
        return ()
    names = elf.contents(section).split(b"\0")
    return tuple(dict.fromkeys(name.decode("utf-8", "replace") for name in names if name))


# Whether a program can be recorded, and how well, from its file's traits.


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
