"""Folders for builds and recordings of the truth suite: outside of the source tree, so that they are reused."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
REAL = HERE / "real"


def _scratch(default: str) -> Path:
    """Return $INCPROF_SCRATCH, else a folder of that name in the user's cache."""
    directory = os.environ.get("INCPROF_SCRATCH")
    if directory:
        return Path(directory)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / default


def programs_scratch() -> Path:
    """Return the folder of the programs with known phases."""
    return _scratch("incprof-truth") / "truth"


def real_runs() -> Path:
    """Return the folder of the recordings that `make realworld` leaves."""
    return _scratch("incprof-realworld") / "runs"
