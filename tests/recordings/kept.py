"""The recordings that are kept here, unpacked: as if a program had just been recorded on this machine."""

from __future__ import annotations

import shutil
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.recordings.make import HERE, LIBRARY, RECIPES
from tests.recordings.pack import changed, placed


@dataclass(frozen=True)
class Kept:
    """A program's source tree, its recording, and what it printed."""

    tree: Path
    run: Path
    stdout: str


def unpack(name: str, place: Path) -> None:
    """Put the files of `NAME.tar.xz` into a directory."""
    with tarfile.open(HERE / f"{name}.tar.xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)  # older ones have none
        archive.extractall(place)


def kept(name: str, place: Path) -> Kept:
    """Put a recording and its source tree into a directory, which gets the program too.

    The recording begins now: the files of the tree are older, so they count as unchanged.
    """
    recipe, tree, run = RECIPES[name], place / "tree", place / "run"
    shutil.copytree(recipe.tree, tree, ignore=shutil.ignore_patterns("build"))
    unpack(name, run)
    assert (run / "source").read_text() == recipe.digest, f"{recipe.source} has changed: run make.py {name}"
    for file in ("program", "stdout", LIBRARY):
        if (run / file).exists():
            (run / file).rename(place / file)
    (run / "source").unlink()
    for stream in run.glob("rank-*.gmon"):
        stream.write_bytes(changed(stream.read_bytes(), placed(place, time.time_ns())))
    return Kept(tree, run, (place / "stdout").read_text())
