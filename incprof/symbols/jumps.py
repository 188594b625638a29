"""Backward jumps and loops of a run's functions. Answers are stored in the run directory, like those about lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.model import IntervalProfile, Run
from incprof.safe.jsonstore import JsonStore, Stores
from incprof.symbols.backjumps import LoopCode, loops_of_code
from incprof.symbols.cache import cached_symbols
from incprof.symbols.elf.file import ElfFile
from incprof.symbols.flow import Range
from incprof.symbols.loop_body import Jump
from incprof.symbols.source import binary_with_code, module_key
from incprof.symbols.table import NOWHERE

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
    known = code_loops_of(run, profile, module, functions, exe=exe, stores=stores)
    return [[] if code is None else [jump for jump, _ in code.loops] for code in known]


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
    known = store.load(_loops) or {}
    missing = [address for address in dict.fromkeys(functions) if address not in known]
    elf = binary_with_code(described, run.directory, exe if described.id == 0 else None) if missing else None
    if elf is not None:
        found = loops_of_code(elf, _ranges(elf, missing))
        if found:
            known.update({address: code for (address, _), code in found.items()})
            store.save({"loops": {f"{a:#x}": known[a] for a in sorted(known)}})
    return [known.get(address) for address in functions]


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
