"""Interval profiles of programs, and the phases found in them.

`incprof.open(DIRECTORY)` reads a recorded run (docs/reference/python.md).
"""

from incprof.version import __version__

__all__ = ["Recording", "__version__", "open"]

TYPE_CHECKING = False  # as typing's, which takes long to import
if TYPE_CHECKING:
    from incprof.api import Recording, open


def __getattr__(name: str) -> object:
    """Import what is public when it is used: commands that start programs have no time for it."""
    if name in ("Recording", "open"):
        from incprof import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
