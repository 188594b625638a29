"""Read run directories into the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incprof.readers.run import open_run, read_profile

__all__ = ["open_run", "read_profile"]


def __getattr__(name: str) -> Any:
    """Import the profile reader on first use: signatures are read without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from incprof.readers import run

    return getattr(run, name)
