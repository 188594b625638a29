"""Sizes in bytes for people."""

from __future__ import annotations

PREFIXES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def size(count: int) -> str:
    """Return a number of bytes with three digits and a unit: 1.53 MiB."""
    for unit, name in PREFIXES:
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} B"
