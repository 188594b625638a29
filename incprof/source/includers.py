"""Which sources include a header, by what their text says: a guess of whom to ask, not an answer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from incprof.inputs import open_input

INCLUDE = re.compile(rb'^[ \t]*#[ \t]*(?:include|import)[ \t]*["<]([^">\n]+)[">]', re.M)
# Sources of a tree whose text is looked through, and the part of each where includes stand.
MOST_SOURCES = 20_000
MOST_BYTES = 1 << 20


def sources_that_include(header: str, root: str, sources: Sequence[str], most: int) -> list[str]:
    """At most so many of the sources (absolute paths) that include the header, directly ones first.

    header: path relative to `root`. A name is taken for the file of that name, wherever in the tree that lies.
    """
    included: dict[str, set[str]] = {}
    for source in sources[:MOST_SOURCES]:
        for name in _includes(source):
            included.setdefault(name, set()).add(source)
    for path in _headers(root):
        for name in _includes(path):
            included.setdefault(name, set()).add(path)
    wanted, known = set(sources), {os.path.join(root, header)}
    order: list[str] = []
    level = list(known)
    while level and len(order) < most:
        users = {user for path in level for user in included.get(os.path.basename(path), ())} - known
        known |= users
        order += sorted(users & wanted)
        level = sorted(users - wanted)
    return order[:most]


def _headers(root: str) -> Iterator[str]:
    seen = 0
    for place, directories, names in os.walk(root):
        directories[:] = sorted(name for name in directories if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(
                (".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".tpp", ".tcc", ".def", ".c")
            ):
                seen += 1
                if seen > MOST_SOURCES:
                    return
                yield os.path.join(place, name)


def _includes(path: str) -> set[str]:
    try:
        with open_input(path) as stream:
            text = stream.read(MOST_BYTES)
    except OSError:
        return set()
    return {os.path.basename(name.decode("utf-8", "replace")) for name in INCLUDE.findall(text)}
