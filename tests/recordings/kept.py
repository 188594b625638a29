"""The recordings that are kept here, unpacked: as if a program had just been recorded on this machine."""

from __future__ import annotations

import shutil
import tarfile
import time
from pathlib import Path

from tests.recordings.make import HERE, RECIPES
from tests.recordings.pack import changed, placed


def unpack(name: str, place: Path) -> None:
    """Put the files of `NAME.tar.xz` into a directory."""
    with tarfile.open(HERE / f"{name}.tar.xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)  # older ones have none
        archive.extractall(place)


def kept(name: str, place: Path) -> tuple[Path, Path]:
    """The source tree and the run directory of a recording, in a directory that gets its program too.

    The recording begins now: the files of the tree are older, so they count as unchanged.
    """
    recipe, tree, run = RECIPES[name], place / "tree", place / "run"
    shutil.copytree(recipe.tree, tree, ignore=shutil.ignore_patterns("build"))
    unpack(name, run)
    assert (run / "source").read_text() == recipe.digest, f"{recipe.source} has changed: run make.py {name}"
    (run / "source").unlink()
    (run / "program").rename(place / "program")
    for stream in run.glob("rank-*.gmon"):
        stream.write_bytes(changed(stream.read_bytes(), placed(place, time.time_ns())))
    return tree, run
