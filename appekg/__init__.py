"""Heartbeats of a program's phases: emit them (docs/use/appekg.md), and read the files of libappekg.

    import appekg

    with appekg.beat(1):
        assemble()

Importing this module is cheap; numpy is imported by the first read.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from appekg._beat import beat
from appekg._binding import begin, disable, enable, end, finalize, init, is_enabled, name, pulse, rate
from appekg._cost import Cost, cost, python_ns

if TYPE_CHECKING:
    from appekg.errors import AppekgError
    from appekg.heartbeats import Heartbeats
    from appekg.reader import read

__all__ = [
    "AppekgError",
    "Cost",
    "Heartbeats",
    "beat",
    "begin",
    "cost",
    "disable",
    "enable",
    "end",
    "finalize",
    "init",
    "is_enabled",
    "name",
    "pulse",
    "python_ns",
    "rate",
    "read",
]

_READING = {"AppekgError": "appekg.errors", "Heartbeats": "appekg.heartbeats", "read": "appekg.reader"}


def __getattr__(attribute: str) -> Any:
    if attribute not in _READING:
        raise AttributeError(f"module 'appekg' has no attribute {attribute!r}")
    value = getattr(importlib.import_module(_READING[attribute]), attribute)
    globals()[attribute] = value
    return value
