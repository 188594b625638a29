"""The traits of a program file that decide how well it can be recorded, and the libraries that it is linked with."""

from __future__ import annotations

import os
import platform
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from incprof.errors import NoDataError
from incprof.symbols.elf import (
    DT_NEEDED,
    DT_RPATH,
    DT_RUNPATH,
    EM_AARCH64,
    EM_X86_64,
    ET_DYN,
    ET_EXEC,
    PT_INTERP,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_RELA,
    SHT_SYMTAB,
    STT_FUNC,
    STT_IFUNC,
    ElfFile,
    Section,
    Symbol,
    is_elf,
    text_at,
)
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
    # How it reaches CUDA: "shared", "static" (both run-time), "driver"; else another of REACHES; None: not by itself.
    gpu: str | None = None


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
        gpu=gpu_of(elf),
    )


REACHES = {
    "hip": "libamdhip64.so", "opencl": "libOpenCL.so", "level_zero": "libze_loader.so", "openmp": "libomptarget.so",
}  # fmt: skip


def gpu_of(elf: ElfFile) -> str | None:
    """Return how a file reaches CUDA, or another of REACHES; None if not, or only by a library that it loads."""
    names = needed_names(elf)
    if any(name.startswith("libcudart.so") for name in names):
        return "shared"
    if any(elf.section(name) for name in (".nv_fatbin", "__nv_relfatbin")) or defines(elf, "cudaLaunchKernel"):
        return "static"
    if any(name.startswith("libcuda.so") for name in names):
        return "driver"
    return next((way for way, library in REACHES.items() if any(name.startswith(library) for name in names)), None)


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
    obstacle = _refusal(traits)
    if obstacle:
        return False, f"not usable: {obstacle}"
    flaws = _shortcomings(traits)
    return True, "usable" + (", but " + "; ".join(flaws) if flaws else "")


def _refusal(traits: Traits) -> str | None:
    """Return what prevents a recording."""
    if traits.kind == "other":
        return "neither a program nor a shared library"
    if not traits.native:
        return f"built for {traits.bits}-bit {traits.machine}, which libincprof.so on this machine is not"
    if traits.kind == "library":
        return None if traits.compiled_pg else "no function calls mcount; compile the library with -pg"
    if not traits.dynamic:
        return "statically linked, so LD_PRELOAD has no effect; try incprof record --external"
    return "linked with musl, where libincprof.so does nothing; try incprof record --external" if traits.musl else None


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


# Find the shared libraries that a program is linked with, without running its loader.


# Larger than any program's number; cycles end earlier, because no library is opened twice.
MOST_LIBRARIES = 2000


def system_directories() -> list[str]:
    """Return the loader's default directories (its cache contains little more)."""
    multiarch = f"{platform.machine()}-linux-gnu"
    directories = []
    for base in ("/lib", "/usr/lib", "/usr/local/lib"):
        directories += [f"{base}/{multiarch}", base.replace("lib", "lib64", 1) if base == "/lib" else f"{base}64", base]
    return directories


def search_path(elf: ElfFile, inherited: list[str]) -> tuple[list[str], list[str]]:
    """Return (directories to search for the libraries of `elf`, those that its libraries inherit)."""
    origin = os.path.dirname(os.path.realpath(elf.path))

    def entries(tag_wanted: int) -> list[str]:
        texts = [text_at(elf.dynamic_strings, value) for tag, value in elf.dynamic if tag == tag_wanted]
        paths = [path for text in texts for path in text.split(":") if path]
        return [path.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for path in paths]

    runpath, rpath = entries(DT_RUNPATH), entries(DT_RPATH)
    environment = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    handed_on = inherited if runpath else rpath + inherited
    # A RUNPATH replaces RPATH, is searched after the environment, and is not inherited.
    own = environment + runpath if runpath else rpath + inherited + environment
    return own + system_directories(), handed_on


def needed_names(elf: ElfFile) -> list[str]:
    """Return the names of the libraries that `elf` itself needs."""
    return [text_at(elf.dynamic_strings, value) for tag, value in elf.dynamic if tag == DT_NEEDED]


def locate(name: str, directories: list[str]) -> str | None:
    """Return the path of the library, or None."""
    places = [name] if "/" in name else [os.path.join(directory, name) for directory in directories]
    return next((path for path in places if is_elf(path)), None)


def needed_libraries(program: ElfFile) -> tuple[list[str], list[str]]:
    """Return (paths of the libraries that call mcount, names of those not found), including indirectly needed ones."""
    profiled: list[str] = []
    missing: list[str] = []
    names_visited: set[str] = set()

    def visit(elf: ElfFile, inherited: list[str]) -> None:
        directories, handed_on = search_path(elf, inherited)
        for name in needed_names(elf):
            if name in names_visited or len(names_visited) >= MOST_LIBRARIES:
                continue
            names_visited.add(name)
            path = locate(name, directories)
            if path is None:
                missing.append(name)
                continue
            queue.append((path, handed_on))

    queue: list[tuple[str, list[str]]] = []
    visit(program, [])
    while queue:
        path, inherited = queue.pop(0)
        try:
            elf = ElfFile(path)
            if elf.readable:
                visit(elf, inherited)
                if any(symbol.name in HOOKS and symbol.section == 0 for symbol in elf.symbols(SHT_DYNSYM)):
                    profiled.append(path)
        except NoDataError:
            missing.append(path)
    return profiled, missing


# Find the functions of a program that call the profiling hook, by call instructions, without a disassembler.


HOOKS = frozenset({"mcount", "_mcount", "__fentry__"})

# Code that compilers never instrument: start-up files, libc's static remainder, thunks, split-off cold halves.
NOT_COMPILED_WITH_PG = re.compile(
    r"_start|_init|_fini|_dl_relocate_static_pie|(de)?register_tm_clones|__do_global_dtors_aux|frame_dummy"
    r"|__libc_csu_(init|fini)|__gmon_start__|(at|at_quick_)exit|__stack_chk_fail_local|__clang_call_terminate"
    r"|__(i686|x86)\.get_pc_thunk.*|_ZT[hvc].*|.*\.cold(\.\d+)?"
)


@dataclass(frozen=True, slots=True)
class Callers:
    """Counts of functions that call the hook. `functions` is 0 in a stripped program; `calls` counts all call sites."""

    hook: str
    calls: int
    functions: int
    calling: int

    @property
    def share(self) -> float | None:
        """Share of the functions that call the hook; None if the functions are unknown."""
        return self.calling / self.functions if self.functions else None


def find_callers(elf: ElfFile) -> Callers | None:
    """Count the callers of a hook in `elf`; None if there are none, or on machines not supported (not x86-64)."""
    if not elf.readable or elf.machine != EM_X86_64:
        return None
    slots = hook_slots(elf)
    code = [s for s in elf.sections if s.executable and s.type != SHT_NOBITS]
    direct = dict(defined_hooks(elf))
    for section in code:
        direct.update(plt_stubs(elf, section, slots))
    sites: list[int] = []
    hooks: dict[str, int] = {}
    for section in code:
        if not section.name.startswith(".plt"):
            for site, hook in call_sites(elf.contents(section), section.address, direct, slots):
                sites.append(site)
                hooks[hook] = hooks.get(hook, 0) + 1
    if not sites:
        return None
    starts = function_ranges(elf)
    return Callers(max(hooks, key=lambda name: hooks[name]), len(sites), len(starts), count_calling(starts, sites))


def hook_slots(elf: ElfFile) -> dict[int, str]:
    """Return the addresses of the GOT slots that the loader fills with a hook's address, with the hook's name."""
    return {address: name for address, name in import_slots(elf).items() if name in HOOKS}


def defined_hooks(elf: ElfFile) -> Iterator[tuple[int, str]]:
    """Yield hooks defined in the file: by static programs, and programs with their own hooks."""
    for symbol in (*elf.symbols(SHT_SYMTAB), *elf.symbols(SHT_DYNSYM)):
        if symbol.name in HOOKS and symbol.section:
            yield symbol.address, symbol.name


def call_sites(code: bytes, base: int, direct: dict[int, str], slots: dict[int, str]) -> Iterator[tuple[int, str]]:
    """Yield (address, hook) of every call instruction whose target is one of `direct` or, indirectly, of `slots`.

    The byte pattern may also occur inside another instruction, but hardly ever followed by a hook's address.
    """
    for match in re.finditer(rb"\xe8|\xff\x15", code):  # call target; call *slot(%rip)
        at, end = match.start(), match.end() + 4
        if end > len(code):
            break
        target = base + end + struct.unpack_from("<i", code, end - 4)[0]
        hook = (slots if end - at == 6 else direct).get(target)
        if hook:
            yield base + at, hook


def function_ranges(elf: ElfFile) -> list[tuple[int, int]]:
    """Return (start, end) of the compiled functions, ascending, aliases counted once. Empty in a stripped program."""
    ends: dict[int, int] = {}
    for symbol in elf.symbols(SHT_SYMTAB):
        if is_compiled(symbol):
            ends[symbol.address] = max(ends.get(symbol.address, 0), symbol.address + symbol.size)
    return sorted(ends.items())


def is_compiled(symbol: Symbol) -> bool:
    """Return whether the symbol is a function of this file that -pg would have instrumented."""
    is_function = symbol.type in (STT_FUNC, STT_IFUNC) and symbol.section != 0 and symbol.size > 0
    return is_function and not NOT_COMPILED_WITH_PG.fullmatch(symbol.name) and symbol.name not in HOOKS


def count_calling(functions: list[tuple[int, int]], sites: list[int]) -> int:
    """Return how many of the functions contain at least one of the call sites."""
    starts = [start for start, _ in functions]
    calling = set()
    for site in sites:
        index = bisect_right(starts, site) - 1
        if index >= 0 and site < functions[index][1]:
            calling.add(index)
    return len(calling)


# A file's calls into other files: the slots that the loader fills, and the stubs that jump through them.


What = TypeVar("What")


def slot_symbols(elf: ElfFile) -> dict[int, int]:
    """Return GOT slots that the loader fills with a symbol's address, by address, with the dynamic symbol's number."""
    slots: dict[int, int] = {}
    for section in elf.sections:
        if section.type == SHT_RELA:
            data = elf.contents(section)
            rows = struct.iter_unpack("<QQq", data[: len(data) // 24 * 24])
            slots.update({address: info >> 32 for address, info, _ in rows if info >> 32})
    return slots


def import_slots(elf: ElfFile) -> dict[int, str]:
    """Return the same with the symbols' names; those without a name are left out."""
    symbols = elf.symbols(SHT_DYNSYM)
    slots = {address: index for address, index in slot_symbols(elf).items() if index < len(symbols)}
    return {address: symbols[index].name for address, index in slots.items() if symbols[index].name}


def plt_stubs(elf: ElfFile, section: Section, slots: Mapping[int, What]) -> Iterator[tuple[int, What]]:
    """Yield the addresses of linkage-table entries that jump through one of `slots`, with the slot's value."""
    if not section.name.startswith(".plt"):
        return
    data, entry = elf.contents(section), section.entry_size or 16
    for match in re.finditer(rb"\xff\x25", data):  # jmp *slot(%rip)
        at = match.start()
        if at + 6 > len(data):
            break
        slot = section.address + at + 6 + struct.unpack_from("<i", data, at + 2)[0]
        if slot in slots:
            yield section.address + at // entry * entry, slots[slot]
