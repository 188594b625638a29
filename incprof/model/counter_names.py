"""Names of counters: one name for each, whatever a tool or a paper calls it.

The names are those of `incprof sample`, which are perf's. Others are compared by their letters and digits alone, so
that case, blanks, underscores and hyphens do not matter.
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
# Part of what the other counts: taken for it where that is not counted.
STAND_INS = {"llcloadmisses": "cache-misses", "llcloads": "cache-references"}
KERNEL = re.compile(r"^perfcount(hw|sw)")
# cpu_core/instructions/u is an event of one kind of core, instructions:u one of user mode.
OF_A_KIND = re.compile(r"\w+/([\w-]+)/\w*|([\w -]+):\w+")


def event_of(name: str) -> str:
    """Return the name of an event without the kind of core and the mode, `cycles` of `cpu_core/cycles/u`."""
    found = OF_A_KIND.fullmatch(name)
    return (found[1] or found[2]) if found else name


def canonical(name: str) -> str | None:
    """Return the one name of a counter, `cycles` of `PERF COUNT HW CPU CYCLES`; None where it is not known."""
    return SYNONYMS.get(_plain(name))


def canonical_names(names: Sequence[str]) -> list[str]:
    """Return the names of a file's columns, each known counter by its one name.

    Columns that would get the same name, such as those of two kinds of cores, keep their own, but for one that has it
    already.
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
    """Return a note for each column that `canonical_names` has called after what it is only a part of."""
    return tuple(
        f"{own} is taken for {name}" for own, name in zip(names, called, strict=True)
        if name != own and canonical(own) is None
    )  # fmt: skip


def _plain(name: str) -> str:
    """Return the letters and digits of an event's name, without the kernel's mark."""
    return KERNEL.sub("", re.sub("[^a-z0-9]", "", event_of(name.strip()).lower()))
