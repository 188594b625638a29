"""Where a run is written: a directory, or what may be in its place."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FULL_DISK = "48k"


@contextmanager
def run_place(folder: Path, kind: str, name: str) -> Iterator[Path]:
    """The path that the library is told, below `folder`. kind: one of faults_draw.PLACES."""
    path = folder / name
    if kind == "missing":
        path = folder / "no" / "such" / name
    elif kind == "file":
        path.write_text("a file")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("nowhere")
    elif kind in ("other", "locked"):
        path.mkdir()
        (path / "launch").write_text("another launch\n")
        path.chmod(0 if kind == "locked" else 0o777)
    elif kind == "full":
        disk = folder / f"{name}-disk"
        disk.mkdir()
        path = disk / name
        with _small_disk(disk):
            yield path
        return
    yield path


@contextmanager
def _small_disk(disk: Path) -> Iterator[None]:
    """A file system of a few pages. Where that is not permitted, none."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={FULL_DISK},mode=777", "tmpfs", str(disk)]
    mounted = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(disk)], check=True)


def run_directories(path: Path) -> list[Path]:
    """The directories in which the run may be: the one that was told, DIR.1, and where the host has moved it."""
    return sorted(found for found in path.parent.glob(f"{path.name}*") if found.is_dir())
