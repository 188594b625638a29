"""Find the functions of a program that call the profiling hook, by call instructions, without a disassembler."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from incprof.symbols.elf.file import (
    EM_X86_64,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_SYMTAB,
    STT_FUNC,
    STT_IFUNC,
    ElfFile,
    Symbol,
)
from incprof.symbols.elf.imports import import_slots, plt_stubs

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
