"""Where in the source the events of a signature are."""

from __future__ import annotations

from collections.abc import Iterable

from incprof.analysis.signature.events import EventKind
from incprof.study.mpi import places_of


class Places:
    """File and line of kinds of events; each binary is asked once."""

    def __init__(self, directory: str, kinds: Iterable[EventKind]):
        self._found = places_of(directory, (kind.site for kind in kinds if kind.site is not None))

    def __call__(self, kind: EventKind) -> tuple[str, int] | None:
        """Return the file and line of a kind; None where they are not known."""
        return None if kind.site is None else self._found.get(kind.site)
