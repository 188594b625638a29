"""Infer from column names which tool wrote them, the kind of their numbers, and the unit."""

from __future__ import annotations

import re

from incprof.model import WATTS, FloatArray
from incprof.model.counter_names import canonical
from incprof.readers.nodes.tables import Column, Kind

NODES = ("node", "host", "hostname", "nodename", "instance", "producername", "server", "machine")
# Columns of incprof sample, and of perf.
LEVELS = {
    "cpu": "cpus", "user": "cpus", "system": "cpus", "iowait": "cpus", "active-cpus": "cpus", "ipc": "1",
    "ipc-ref": "1", "running-threads": "threads", "run-queue": "threads", "rss-bytes": "B", "memory-bytes": "B",
}  # fmt: skip
AMOUNTS = {
    "cycles", "instructions", "cache-references", "cache-misses", "stalled-cycles-frontend",
    "stalled-cycles-backend", "bus-cycles", "ref-cycles", "branches", "branch-misses",
    "context-switches", "page-faults", "minor-faults", "major-faults", "cpu-migrations", "interrupts", "read-bytes",
    "write-bytes", "disk-read-bytes", "disk-write-bytes", "net-rx-bytes", "net-tx-bytes", "net-rx-packets",
    "net-tx-packets", "net-lo-bytes", "llc-load-misses", "llc-loads",
}  # fmt: skip
# As a whole word of a name: "power_w", "Power (W)", "node_power_watts", but neither "powercap" nor "power_state".
NOT_POWER = re.compile(r"(cap|limit|state|status|factor|budget|max|min|threshold|supply_online)", re.IGNORECASE)
JOULES = (
    (re.compile(r"microjoules?|(^|[_\W])uJ($|[_\W])", re.IGNORECASE), 1e-6),
    (re.compile(r"millijoules?|(^|[_\W])mJ($|[_\W])"), 1e-3),
    (re.compile(r"kWh", re.IGNORECASE), 3.6e6),
    (re.compile(r"(^|[_\W\d])Wh($|[_\W])|watt_?hours", re.IGNORECASE), 3600.0),
    (re.compile(r"joules?|energy-(pkg|cores|ram|gpu|psys)|energy_j|\(J\)|\[J\]", re.IGNORECASE), 1.0),
)
WATT = (
    (re.compile(r"(^|[_\W])(mW|milliwatts?)($|[_\W])", re.IGNORECASE), 1e-3),
    (re.compile(r"(^|[_\W])(kW|kilowatts?)($|[_\W])", re.IGNORECASE), 1e3),
    (re.compile(r"(^|[_\W])(W|watts?|power\d*|pdu\d*|power_(usage|draw))($|[_\W])", re.IGNORECASE), 1.0),
)
LEVEL = re.compile(
    r"temp|celsius|percent|pct|%|util|freq|mhz|ghz|load|volt|amp|fan|speed|free|used|avail|cached|buffers|resident|rss|"
    r"size|running|queue|active|ratio|memtotal",
    re.IGNORECASE,
)
PER_SECOND = re.compile(r"(/s|_per_s(ec(ond)?)?|\.rate(#.*)?|_rate)$", re.IGNORECASE)
BYTES = re.compile(r"bytes?|(^|[_\W])B($|[_\W])", re.IGNORECASE)


def understood(name: str, values: FloatArray, kind: Kind | None = None) -> Column:
    """Return a column with the kind and unit that its name implies; energy and power in joules and watts."""
    plain = canonical(name) or name.lower().split(":")[0]
    if (scale := _scale(JOULES, name)) is not None:
        return Column(name, values * scale, kind, WATTS, Kind.AMOUNT)
    if (scale := _scale(WATT, name)) is not None and not NOT_POWER.search(name):
        return Column(name, values * scale, Kind.GAUGE, WATTS)
    if plain in LEVELS and kind is Kind.GAUGE:
        return Column(name, values, kind, LEVELS[plain])
    if plain in ("task-clock", "cpu-clock"):
        return Column(name, values / 1e3, kind or Kind.AMOUNT, "cpus")  # milliseconds, as perf prints them
    unit = "B" if BYTES.search(plain) else ""
    if PER_SECOND.search(name):
        return Column(name, values, Kind.GAUGE, f"{unit or '1'}/s")
    if plain in AMOUNTS:
        return Column(name, values, kind, f"{unit or '1'}/s", Kind.AMOUNT)
    if kind in (Kind.AMOUNT, Kind.TOTAL):
        return Column(name, values, kind, f"{unit or '1'}/s")
    if LEVEL.search(name):
        return Column(name, values, kind or Kind.GAUGE, unit)
    return Column(name, values, kind, unit)


def own_kind(name: str) -> Kind:
    """Return the kind of a column of incprof sample, in files that do not record it."""
    return Kind.GAUGE if name in LEVELS else Kind.AMOUNT


def _scale(words: tuple[tuple[re.Pattern[str], float], ...], name: str) -> float | None:
    """Return the scale of the unit in a name."""
    return next((worth for pattern, worth in words if pattern.search(name)), None)
