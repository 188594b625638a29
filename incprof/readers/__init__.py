"""Readers: run directories to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incprof.readers.run import open_run, read_profile

__all__ = ["open_run", "read_profile"]


def __getattr__(name: str) -> Any:
    """Import the reader of profiles where it is used: a signature is read without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from incprof.readers import run

    return getattr(run, name)
