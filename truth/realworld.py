"""The real programs: their expected results, and their recordings.

Those with a recipe (NAME.sh beside NAME.toml) are built and recorded here, once; the others by `make realworld`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import IncprofError
from incprof.model import IntervalProfile
from incprof.readers.run import open_run, read_profile
from truth.places import REAL, real_runs
from truth.recordings import NotRecorded
from truth.truths import Truth, phase_from

# Building a large program takes a while.
LONGEST_S = 3600


@dataclass(frozen=True)
class RealRun:
    """A recording of a real program.

    Attributes:
        name: of the folder below runs/.
        split: its half.
        truth: the expected results.
    """

    name: str
    split: str
    truth: Truth


def all_real(split: str | None = None, folder: Path = REAL) -> list[RealRun]:
    """Read the expected results of all real programs, or of those of one half, in the order of their names."""
    runs = []
    for path in sorted(folder.glob("*.toml")):
        text = tomllib.loads(path.read_text())
        phases = tuple(phase_from(phase) for phase in text["phase"])
        steps_known = any(phase.steps for phase in phases)
        run = RealRun(text["recording"], text["split"], Truth(phases, tuple(text["k"]), steps_known=steps_known))
        if split in (None, run.split):
            runs.append(run)
    return runs


def recording_of(run: RealRun) -> IntervalProfile:
    """Read a recording; if there is none yet but a recipe, make it.

    Raises:
        NotRecorded: it cannot be made here, or `make realworld` has not been run.
    """
    if (REAL / f"{run.name}.sh").exists() and not (real_runs() / run.name).exists():
        _record(run.name)
    try:
        return read_profile(open_run(real_runs() / run.name), libs="named", inlined=True)
    except IncprofError as error:
        raise NotRecorded(f"no recording: run make realworld ({type(error).__name__})") from None


def _record(name: str) -> None:
    """Fetch, build and record a program by its recipe."""
    command = ["sh", str(REAL / "record.sh"), name]
    environment = {**os.environ, "INCPROF": os.environ.get("INCPROF", str(Path(sys.executable).with_name("incprof")))}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        raise NotRecorded(f"record.sh {name} took longer than {LONGEST_S} s") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise NotRecorded(f"record.sh {name} failed with {done.returncode}: {last}")
