"""The real programs: their recordings as `make realworld` leaves them, and what was expected of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import IncprofError
from incprof.model import IntervalProfile
from incprof.readers import open_run, read_profile
from truth.places import REAL, real_runs
from truth.recordings import NotRecorded
from truth.truths import Truth, phase_from


@dataclass(frozen=True)
class RealRun:
    """A recording of a real program. name: of the folder below runs/."""

    name: str
    split: str
    truth: Truth


def all_real(split: str | None = None, folder: Path = REAL) -> list[RealRun]:
    """Read what was expected of all real programs, or of those of one half, in the order of their names."""
    runs = []
    for path in sorted(folder.glob("*.toml")):
        text = tomllib.loads(path.read_text())
        phases = tuple(phase_from(phase) for phase in text["phase"])
        run = RealRun(text["recording"], text["split"], Truth(phases, tuple(text["k"])))
        if split in (None, run.split):
            runs.append(run)
    return runs


def recording_of(run: RealRun) -> IntervalProfile:
    """Read a recording.

    Raises:
        NotRecorded: `make realworld` has not been run here.
    """
    try:
        return read_profile(open_run(real_runs() / run.name), inlined=True)
    except IncprofError as error:
        raise NotRecorded(f"no recording: run make realworld ({type(error).__name__})") from None
