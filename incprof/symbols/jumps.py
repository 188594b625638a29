"""Backward jumps and loops of a run's functions. Answers are stored in the run directory, like those about lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.model import STANDARD, IntervalProfile, Run
from incprof.safe.jsonstore import JsonStore, Stores
from incprof.symbols.addr2line import Chain, Frame
from incprof.symbols.control_flow import Jump, LoopCode, Range, loops_of_code
from incprof.symbols.elf import ElfFile
from incprof.symbols.function_space import is_shared_source
from incprof.symbols.function_table import NOWHERE
from incprof.symbols.symbol_files import binary_with_code, cached_symbols, module_key

VERSION = 5


def jumps_of(
    run: Run,
    profile: IntervalProfile,
    module: str,
    functions: Sequence[int],
    *,
    exe: str | None = None,
    stores: Stores = JsonStore,
) -> list[list[Jump]]:
    """Return the backward jumps in each function, given by its address in the module with that base name.

    None are available without the program or objdump, and for other processors than x86-64. stores: where answers are
    kept.
    """
    loop_codes = code_loops_of(run, profile, module, functions, exe=exe, stores=stores)
    return [[] if code is None else [jump for jump, _ in code.loops] for code in loop_codes]


def code_loops_of(
    run: Run,
    profile: IntervalProfile,
    module: str,
    functions: Sequence[int],
    *,
    exe: str | None = None,
    stores: Stores = JsonStore,
) -> list[LoopCode | None]:
    """Return the same with the code of loops, and code that always runs; None for functions without readable code."""
    described = next((m for m in profile.metadata.modules if m.name == module), None)
    if described is None or not functions or profile.metadata.raw.get("arch", "x86_64") != "x86_64":
        return [None for _ in functions]
    store = stores(run.directory, f"symbols/{module_key(described)}.jumps.json", VERSION)
    cached = store.load(_loops) or {}
    missing = [address for address in dict.fromkeys(functions) if address not in cached]
    elf = binary_with_code(described, run.directory, exe if described.id == 0 else None) if missing else None
    if elf is not None:
        computed = loops_of_code(elf, _ranges(elf, missing))
        if computed:
            cached.update({address: code for (address, _), code in computed.items()})
            store.save({"loops": {f"{a:#x}": cached[a] for a in sorted(cached)}})
    return [cached.get(address) for address in functions]


def _ranges(elf: ElfFile, functions: Sequence[int]) -> list[Range]:
    """Return first address and size of each function that is a symbol of the file."""
    try:
        table = cached_symbols(elf)
    except NoDataError:
        return []
    address = np.array(functions, dtype=np.uint64)
    symbol = table.find(address)
    rows = zip(functions, symbol.tolist(), strict=True)
    return [(begin, int(table.size[at])) for begin, at in rows if at != NOWHERE and int(table.address[at]) == begin]


def _loops(stored: dict[str, Any]) -> dict[int, LoopCode]:
    """Return stored loops."""
    return {int(address, 16): _code(*written) for address, written in stored["loops"].items()}


def _code(loops: Any, always: Any) -> LoopCode:
    return LoopCode(
        [((int(source), int(target)), _pairs(body)) for (source, target), body in loops],
        _pairs(always),
    )


def _pairs(written: Any) -> list[Range]:
    return [(int(first), int(last)) for first, last in written]


# Find the inlined function that a machine code loop belongs to, and functions called as often.


# An inlined function: its mangled name and its file.
Key = tuple[str, str]


def loop_owner(source: Chain, target: Chain, entry: Chain = ()) -> Key | None:
    """Return the program's own function that a loop belongs to, from its backward jump; None for the recorded one.

    It is the innermost one that contains both ends. Loops of a library belong to the function that uses it. entry: at
    the first instruction of the recorded function. An instruction that the compiler added has that place, or that of
    the code before it: there, the other end decides.
    """
    if entry and entry in (source, target):
        source = target = target if source == entry else source
    shared = 0
    for one, other in zip(reversed(source), reversed(target), strict=False):
        if (one.function, one.file) != (other.function, other.file):
            break
        shared += 1
        if one.line != other.line:  # inlined at different calls, so the rest does not matter
            break
    own = next((i for i in range(shared - 1, 0, -1) if is_own(source[-1 - i])), 0)
    return (source[-1 - own].function, source[-1 - own].file) if own else None


def functions_called_with(
    owners: Mapping[Jump, Key | None], calls: Sequence[tuple[int, int]], host: int
) -> dict[Key, set[int] | None]:
    """Find functions called as often as each inlined function that loops in a recorded function; None if unknown.

    These are called directly by the loop around it, or by the recorded function if there is no loop around it. A
    function whose loop is nested two levels deep, in a loop without known calls, is left out: it may be as small as an
    accessor.
    owners: the inlined function that each loop belongs to, by its jump; None for loops of the recorded function. calls:
    address and called function, of calls in the recorded function. host: that function.
    """
    order = sorted(owners, key=lambda jump: (jump[0] - jump[1], jump))
    around = {
        jump: next((o for o in order if o != jump and o[1] <= jump[1] and jump[0] <= o[0]), None) for jump in order
    }
    called: defaultdict[Jump | None, set[int]] = defaultdict(set)
    for address, function in calls:
        called[next((o for o in order if o[1] <= address <= o[0]), None)].add(function)
    related: dict[Key, set[int] | None] = {}
    for jump, key in owners.items():
        outer = around[jump]
        while outer is not None and owners[outer] == key:
            outer = around[outer]
        if key is None:
            continue
        functions = called[outer] if outer is not None else {host}
        if functions:
            before = related.get(key, set())
            related[key] = before | functions if before is not None else None
        elif outer is not None and around[outer] is None:
            related[key] = None
    return related


def is_own(frame: Frame) -> bool:
    """Return whether code belongs to a named function written in the program's own source."""
    shared = STANDARD.match(frame.function) is not None or is_shared_source(frame.file)
    return bool(frame.function and frame.file) and not shared
