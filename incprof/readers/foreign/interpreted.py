"""Frames of languages whose functions are identified by their files."""

from __future__ import annotations

import re

from incprof.readers.foreign.timeline import Frame
from incprof.symbols.ownership import is_shared_code

# py-spy's format: `step (run.py:12)`.
PYTHONS = re.compile(r"\.pyw?$|^<")
WITH_PLACE = re.compile(r"(.*) \(([^()]+):(\d{1,9})\)")
# Names of frames that are not functions.
# A method's class in Go: `(*Mesh).Sweep`.
RECEIVER = re.compile(r"\(\*([^()]+)\)")
MARKERS = ("[no application frame]", "[...]", "[path cut off]", "[other]", "(root)", "all")


def qualified(name: str) -> str:
    """Return a name with `::` between its parts, the separator used here: a dot would begin a linker's clone mark.

    Of a package path, as in Go, only the last part stays.
    """
    package, _, rest = name.rpartition("/") if "(" not in name.partition("/")[0] else ("", "", name)
    parts = RECEIVER.sub(r"\1", rest if package else name).replace("<locals>.", "").split(".")
    return "::".join(part for part in parts if part) or name


def frame_of(name: str, file: str = "", line: int = 0, begins: int = 0) -> Frame | None:
    """Return a frame of the program; None if it is not a function. Its name may end in its place."""
    if name in MARKERS:
        return None
    if not file and (found := WITH_PLACE.fullmatch(name)):
        name, file, line = found[1], found[2], int(found[3])
    if PYTHONS.search(file):
        name = qualified(name)
    line, begins = (value if 0 < value < 10**9 else 0 for value in (line, begins))
    shared = is_shared_code(file)
    return Frame("[python]" if shared else "", name, file, line, file, begins, shared)
