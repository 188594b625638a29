"""Folders for the files of cases."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from soak.subject import Case, Tree

# Long ago. A heartbeat file that was written just now is looked at a second time, a moment later.
WRITTEN = (10**9, 10**9)


def empty(place: Path) -> Path:
    """Return an empty folder there."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return place


def lay_out(tree: Tree, place: Path) -> None:
    """Write the files into a folder."""
    for path, data in tree.items():
        target = place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


class Places:
    """Folders that persist, one for each undamaged input: a case replaces the files that it has changed.

    Only for what writes nothing there, and names no other files. Laying out all files takes longer than reading them.
    """

    def __init__(self, base: Path):
        self._base = base
        self._laid: dict[int, dict[str, bytes]] = {}

    def put(self, case: Case) -> Path:
        """Return the folder, with the files of the case in it."""
        key = id(case.seed)
        place = self._base / str(key)
        if key not in self._laid:
            lay_out(case.seed, empty(place))
            self._laid[key] = dict(case.seed)
        laid = self._laid[key]
        for path, data in case.tree.items():
            if laid[path] is not data:
                target = os.path.join(place, path)
                with open(target, "wb") as file:
                    file.write(data)
                os.utime(target, WRITTEN)
                laid[path] = data
        return place
