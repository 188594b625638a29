"""The halves of the generated cases: one for tuning, one held out.

This rule was written before any method was run on a case. It is never changed, and neither is the name or the number of
a case: a case that moved from one half to the other would make the held-out half worthless.
"""

from __future__ import annotations

from hashlib import sha256

TUNE, HELD = "tune", "held"
SPLITS = (TUNE, HELD)


def half_of(family: str, number: int) -> str:
    """Return "tune" or "held": the numbers of a family alternate, and the hash of its name decides the first one."""
    first = sha256(family.encode()).digest()[0]
    return SPLITS[(first + number) % 2]


def seed_of(family: str, number: int) -> int:
    """Return the random seed of a case; families do not share seeds."""
    return int.from_bytes(sha256(f"{family}/{number}".encode()).digest()[:8], "little")


def half_of_name(name: str) -> str:
    """Return "tune" or "held" by the hash of a name alone.

    For a real program that has a recipe, and for all runs of a family of truth/families_overlap.py.
    """
    return SPLITS[sha256(name.encode()).digest()[0] % 2]
