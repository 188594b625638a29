"""Find the inlined function that a machine code loop belongs to, and functions called as often."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from incprof.model import STANDARD
from incprof.symbols.addr2line import Chain, Frame
from incprof.symbols.loop_body import Jump
from incprof.symbols.ownership import is_shared_source

# An inlined function: its mangled name and its file.
Key = tuple[str, str]


def loop_owner(source: Chain, target: Chain) -> Key | None:
    """Return the program's own function that a loop belongs to, from its backward jump; None for the recorded one.

    It is the innermost one that contains both ends. Loops of a library belong to the function that uses it.
    """
    shared = 0
    for one, other in zip(reversed(source), reversed(target), strict=False):
        if (one.function, one.file) != (other.function, other.file):
            break
        shared += 1
        if one.line != other.line:  # inlined at different calls, so the rest does not matter
            break
    own = next((i for i in range(shared - 1, 0, -1) if is_own(source[-1 - i])), 0)
    return (source[-1 - own].function, source[-1 - own].file) if own else None


def called_beside(
    owners: Mapping[Jump, Key | None], calls: Sequence[tuple[int, int]], host: int
) -> dict[Key, set[int] | None]:
    """Find functions called as often as each inlined function that loops in a recorded function; None if unknown.

    These are called directly by the loop around it, or by the recorded function if there is no loop around it. A
    function whose loop is nested two levels deep, in a loop without known calls, is left out: it may be as small as an
    accessor.

    Args:
        owners: the inlined function that each loop belongs to, by its jump; None for loops of the recorded function.
        calls: address and called function, of calls in the recorded function.
        host: that function.
    """
    order = sorted(owners, key=lambda jump: (jump[0] - jump[1], jump))
    around = {
        jump: next((o for o in order if o != jump and o[1] <= jump[1] and jump[0] <= o[0]), None) for jump in order
    }
    called: defaultdict[Jump | None, set[int]] = defaultdict(set)
    for address, function in calls:
        called[next((o for o in order if o[1] <= address <= o[0]), None)].add(function)
    found: dict[Key, set[int] | None] = {}
    for jump, key in owners.items():
        outer = around[jump]
        while outer is not None and owners[outer] == key:
            outer = around[outer]
        if key is None:
            continue
        known = called[outer] if outer is not None else {host}
        if known:
            before = found.get(key, set())
            found[key] = before | known if before is not None else None
        elif outer is not None and around[outer] is None:
            found[key] = None
    return found


def is_own(frame: Frame) -> bool:
    """Return whether code belongs to a named function written in the program's own source."""
    shared = STANDARD.match(frame.function) is not None or is_shared_source(frame.file)
    return bool(frame.function and frame.file) and not shared
