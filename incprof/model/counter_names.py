"""Names of counters: one canonical name for each, whatever a tool or a paper calls it.

The canonical names are those of `incprof sample`, which are perf's. Other names are compared by letters and digits
only: case, blanks, underscores and hyphens do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# By letters and digits. The paper is Tsafack Chetsa et al., "DNA-inspired scheme", Table 1; perf has several names for
# some events (`perf list`), and the kernel has PERF_COUNT_HW_ and PERF_COUNT_SW_ before its own (perf_event.h).
SYNONYMS = {
    "cpucycles": "cycles",
    "cycles": "cycles",
    "instructions": "instructions",
    "cachereferences": "cache-references",
    "cachemisses": "cache-misses",
    "branchinstructions": "branches",
    "branches": "branches",
    "branchmisses": "branch-misses",
    "buscycles": "bus-cycles",
    "stalledcyclesfrontend": "stalled-cycles-frontend",
    "idlecyclesfrontend": "stalled-cycles-frontend",
    "stalledcyclesbackend": "stalled-cycles-backend",
    "idlecyclesbackend": "stalled-cycles-backend",
    "refcycles": "ref-cycles",
    "refcpucycles": "ref-cycles",
    "contextswitches": "context-switches",
    "cs": "context-switches",
    "pagefaults": "page-faults",
    "faults": "page-faults",
    "pagefaultsmin": "minor-faults",
    "minorfaults": "minor-faults",
    "pagefaultsmaj": "major-faults",
    "majorfaults": "major-faults",
    "cpumigrations": "cpu-migrations",
    "migrations": "cpu-migrations",
    "netsentbyte": "net-tx-bytes",
    "netsentbytes": "net-tx-bytes",
    "nettxbytes": "net-tx-bytes",
    "netsentpkt": "net-tx-packets",
    "netsentpkts": "net-tx-packets",
    "netsentpackets": "net-tx-packets",
    "nettxpackets": "net-tx-packets",
    "netrecvbyte": "net-rx-bytes",
    "netrecvbytes": "net-rx-bytes",
    "netrxbytes": "net-rx-bytes",
    "netrecvpkt": "net-rx-packets",
    "netrecvpkts": "net-rx-packets",
    "netrecvpackets": "net-rx-packets",
    "netrxpackets": "net-rx-packets",
    "writeio": "disk-write-bytes",
    "diskwritebytes": "disk-write-bytes",
    "readio": "disk-read-bytes",
    "diskreadbytes": "disk-read-bytes",
}
# The first counts a part of what the second does, and replaces it where the second is missing.
STAND_INS = {"llcloadmisses": "cache-misses", "llcloads": "cache-references"}
KERNEL = re.compile(r"^perfcount(hw|sw)")
# cpu_core/instructions/u is an event of one kind of core, instructions:u one restricted to user mode.
OF_A_KIND = re.compile(r"\w+/([\w-]+)/\w*|([\w -]+):\w+")


def event_of(name: str) -> str:
    """Return the name of an event without core kind and mode: `cycles` for `cpu_core/cycles/u`."""
    found = OF_A_KIND.fullmatch(name)
    return (found[1] or found[2]) if found else name


def canonical(name: str) -> str | None:
    """Return the canonical name of a counter, `cycles` for `PERF COUNT HW CPU CYCLES`; None if it is unknown."""
    return SYNONYMS.get(_plain(name))


def canonical_names(names: Sequence[str]) -> list[str]:
    """Return the names of a file's columns, canonical for each known counter.

    Columns that would get the same name, such as those of two core kinds, keep their own names, except for one that
    already has the canonical name.
    """
    found = [canonical(name) for name in names]
    for at, name in enumerate(names):
        if (stands_for := STAND_INS.get(_plain(name))) is not None and stands_for not in found:
            found[at] = stands_for
    return [
        name if other is None or (other != name and (found.count(other) > 1 or other in names)) else other
        for name, other in zip(names, found, strict=True)
    ]


def stand_ins(names: Sequence[str], called: Sequence[str]) -> tuple[str, ...]:
    """Return a note for each column that `canonical_names` named after an event of which it counts only a part."""
    return tuple(
        f"{own} is taken for {name}" for own, name in zip(names, called, strict=True)
        if name != own and canonical(own) is None
    )  # fmt: skip


def _plain(name: str) -> str:
    """Return the letters and digits of an event's name, without the kernel's prefix."""
    return KERNEL.sub("", re.sub("[^a-z0-9]", "", event_of(name.strip()).lower()))
