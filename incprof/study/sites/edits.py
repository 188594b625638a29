"""Edits of the source files: with heartbeats, without them, as a patch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from incprof.source.model import Style
from incprof.source.patch import difference
from incprof.source.plan import with_heartbeats
from incprof.source.plan import without_heartbeats as without_heartbeats
from incprof.source.write import Version as Version
from incprof.source.write import replace_all as replace_all
from incprof.study.sites.placed import PlacedSite
from incprof.study.sites.plan import plan_files
from incprof.study.study import Study


def with_sites(
    study: Study, root: Path, sites: Sequence[PlacedSite], *, style: Style, blank: Sequence[str]
) -> list[Version]:
    """Return the files that change when heartbeats are inserted.

    Args:
        study: of the sites.
        root: the directory that holds the source.
        sites: placed ones; refused ones are ignored.
        style: of heartbeats in C.
        blank: macros hidden from the parser.
    """
    return with_heartbeats(root, plan_files(study, root, sites, style=style, blank=blank), style)


def patch(versions: Sequence[Version]) -> bytes:
    """Return the unified diff."""
    return b"".join(difference(version.path, version.old, version.new) for version in versions)
