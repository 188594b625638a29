"""Series of counters and their names, and the counters of nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model.arrays import FloatArray


@dataclass(frozen=True)
class Power:
    """The power of the node on which counters were sampled. r rows.

    Attributes:
        name: name of its column.
        watts: (r,), NaN where not available.
        sensors: all columns of watts and joules.
        simulated: the formula that computed it; None: it was measured.
        notes: what the power covers, a line each.
    """

    name: str
    watts: FloatArray
    sensors: tuple[str, ...]
    simulated: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CounterSeries:
    """Rows of counters. r rows, m columns.

    Attributes:
        names: (m,) names of the columns.
        values: (r, m) counts within each row, or a level or a share; NaN where not counted.
        start_s: (r,) seconds since sampling began.
        end_s: (r,) seconds since sampling began.
        begun_unix_s: start of sampling, seconds since the epoch; None if the file does not have it.
        host: name of the host.
        notes: remarks, a line each.
        power: None if no column is one of power.
    """

    names: tuple[str, ...]
    values: FloatArray
    start_s: FloatArray
    end_s: FloatArray
    begun_unix_s: float | None = None
    host: str | None = None
    notes: tuple[str, ...] = ()
    power: Power | None = None


# Activity of a node, from its counters and its power: a row per second, or at any other rate.
#
# Nothing here reads files. Counters are rates per second, so that rows of different lengths are comparable; gauges
# (watts, bytes of memory) are as measured.


WATTS = "W"


@dataclass(frozen=True)
class NodeSeries:
    """One node over time.

    Attributes:
        node: name of the node, or of the file if `named` is False.
        times: (rows,) end of each row, seconds since the epoch, ascending; a row covers the time since the row before
            it.
        names: (columns,) names of the columns.
        units: (columns,) "1/s", "B/s", "W", "cpus", ...
        values: (rows, columns) rates per second or gauges, NaN where nothing was measured.
        power: the column of the node's power, or None.
        simulated: power was computed by a formula, not measured by a sensor.
        notes: what readers had to adjust, in sentences.
        named: a source names the node.
    """

    node: str
    times: FloatArray
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    power: str | None = None
    simulated: bool = False
    notes: tuple[str, ...] = ()
    named: bool = True

    def __post_init__(self) -> None:
        """Check the shapes.

        Raises: ValueError if they do not match, names repeat, or times do not ascend.
        """
        rows, columns = len(self.times), len(self.names)
        if self.times.shape != (rows,) or self.values.shape != (rows, columns) or len(self.units) != columns:
            raise ValueError(f"{self.values.shape} values of {rows} times, {columns} names, {len(self.units)} units")
        if len(set(self.names)) < columns:
            raise ValueError("two columns have one name")
        if self.power is not None and self.power not in self.names:
            raise ValueError(f"no column {self.power}")
        if not np.all(np.isfinite(self.times)) or np.any(np.diff(self.times) <= 0):
            raise ValueError("times do not ascend")

    def column(self, name: str) -> FloatArray:
        """Return the values of a column (rows,).

        Raises: ValueError if there is no column of this name.
        """
        values: FloatArray = self.values[:, self.names.index(name)]
        return values

    @property
    def watts(self) -> FloatArray | None:
        """The node's power (rows,) in watts, or None."""
        return None if self.power is None else self.column(self.power)

    @property
    def counters(self) -> tuple[str, ...]:
        """The columns that do not measure power."""
        return tuple(name for name, unit in zip(self.names, self.units, strict=True) if unit != WATTS)

    @property
    def period_s(self) -> float:
        """The typical distance of rows, seconds; 1 if there are fewer than two."""
        return float(np.median(np.diff(self.times))) if len(self.times) > 1 else 1.0


# Names of counters: one canonical name for each, whatever a tool or a paper calls it.
#
# The canonical names are those of `incprof sample`, which are perf's. Other names are compared by letters and digits
# only: case, blanks, underscores and hyphens do not matter.


# By letters and digits. The paper is Tsafack Chetsa et al., "DNA-inspired scheme", Table 1; perf has several names for
# some events (`perf list`), and the kernel has PERF_COUNT_HW_ and PERF_COUNT_SW_ before its own (perf_event.h).
SYNONYMS = {
    word: name
    for name, words in {
        "cycles": "cpucycles cycles",
        "instructions": "instructions",
        "cache-references": "cachereferences",
        "cache-misses": "cachemisses",
        "branches": "branchinstructions branches",
        "branch-misses": "branchmisses",
        "bus-cycles": "buscycles",
        "stalled-cycles-frontend": "stalledcyclesfrontend idlecyclesfrontend",
        "stalled-cycles-backend": "stalledcyclesbackend idlecyclesbackend",
        "ref-cycles": "refcycles refcpucycles",
        "context-switches": "contextswitches cs",
        "page-faults": "pagefaults faults",
        "minor-faults": "pagefaultsmin minorfaults",
        "major-faults": "pagefaultsmaj majorfaults",
        "cpu-migrations": "cpumigrations migrations",
        "net-tx-bytes": "netsentbyte netsentbytes nettxbytes",
        "net-tx-packets": "netsentpkt netsentpkts netsentpackets nettxpackets",
        "net-rx-bytes": "netrecvbyte netrecvbytes netrxbytes",
        "net-rx-packets": "netrecvpkt netrecvpkts netrecvpackets netrxpackets",
        "disk-write-bytes": "writeio diskwritebytes",
        "disk-read-bytes": "readio diskreadbytes",
    }.items()
    for word in words.split()
}
# The first counts a part of what the second does, and replaces it where the second is missing.
STAND_INS = {"llcloadmisses": "cache-misses", "llcloads": "cache-references"}
KERNEL = re.compile(r"^perfcount(hw|sw)")
# cpu_core/instructions/u is an event of one kind of core, instructions:u one restricted to user mode.
OF_A_KIND = re.compile(r"\w+/([\w-]+)/\w*|([\w -]+):\w+")


def event_of(name: str) -> str:
    """Return the name of an event without core kind and mode: `cycles` for `cpu_core/cycles/u`."""
    match = OF_A_KIND.fullmatch(name)
    return (match[1] or match[2]) if match else name


def canonical(name: str) -> str | None:
    """Return the canonical name of a counter, `cycles` for `PERF COUNT HW CPU CYCLES`; None if it is unknown."""
    return SYNONYMS.get(_plain(name))


def canonical_names(names: Sequence[str]) -> list[str]:
    """Return the names of a file's columns, canonical for each known counter.

    Columns that would get the same name, such as those of two core kinds, keep their own names, except for one that
    already has the canonical name.
    """
    canonical_names_of = [canonical(name) for name in names]
    for at, name in enumerate(names):
        if (stands_for := STAND_INS.get(_plain(name))) is not None and stands_for not in canonical_names_of:
            canonical_names_of[at] = stands_for
    return [
        name if other is None or (other != name and (canonical_names_of.count(other) > 1 or other in names)) else other
        for name, other in zip(names, canonical_names_of, strict=True)
    ]


def stand_ins(names: Sequence[str], called: Sequence[str]) -> tuple[str, ...]:
    """Return a note for each column that `canonical_names` named after an event of which it counts only a part."""
    return tuple(
        f"{own} is treated as {name}" for own, name in zip(names, called, strict=True)
        if name != own and canonical(own) is None
    )  # fmt: skip


def _plain(name: str) -> str:
    """Return the letters and digits of an event's name, without the kernel's prefix."""
    return KERNEL.sub("", re.sub("[^a-z0-9]", "", event_of(name.strip()).lower()))
