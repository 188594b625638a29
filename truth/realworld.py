"""The real programs: what was expected of them, and their recordings.

Those with a recipe (NAME.sh beside NAME.toml) are built and recorded here, once; the others by `make realworld`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import IncprofError
from incprof.model import IntervalProfile
from incprof.readers import open_run, read_profile
from truth.places import REAL, real_runs
from truth.recordings import NotRecorded
from truth.truths import Truth, phase_from

# To build a large program takes a while.
LONGEST_S = 3600


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
        steps_known = any(phase.steps for phase in phases)
        run = RealRun(text["recording"], text["split"], Truth(phases, tuple(text["k"]), steps_known=steps_known))
        if split in (None, run.split):
            runs.append(run)
    return runs


def has_recipe(program: str) -> bool:
    """Tell whether a program can be built and recorded here."""
    return (REAL / f"{program}.sh").exists()


def recording_of(run: RealRun, program: str | None = None, options: Sequence[str] = ()) -> IntervalProfile:
    """Read a recording; where there is none yet and there is a recipe, make it.

    Args:
        run: whose name is that of the recording.
        program: with the recipe; by default it has the same name.
        options: of record.sh.

    Raises:
        NotRecorded: it cannot be made here, or `make realworld` has not been run.
    """
    program = program or run.name
    if has_recipe(program) and not (real_runs() / run.name).exists():
        _record(program, [*options, "-o", run.name])
    try:
        return read_profile(open_run(real_runs() / run.name), libs="named", inlined=True)
    except IncprofError as error:
        raise NotRecorded(f"no recording: run make realworld ({type(error).__name__})") from None


def _record(name: str, options: Sequence[str]) -> None:
    """Fetch, build and record a program by its recipe."""
    command = ["sh", str(REAL / "record.sh"), name, *options]
    environment = {**os.environ, "INCPROF": os.environ.get("INCPROF", str(Path(sys.executable).with_name("incprof")))}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        raise NotRecorded(f"record.sh {name} took longer than {LONGEST_S} s") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise NotRecorded(f"record.sh {name} failed with {done.returncode}: {last}")
