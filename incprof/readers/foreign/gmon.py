"""Copy a directory of gmon.out files, one per interval, into one that names its program (docs/reference/formats.md)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from incprof import __version__
from incprof.errors import NoDataError, UsageError
from incprof.model import Module
from incprof.readers.gmon.file import read_gmon
from incprof.readers.run import files_of, open_run
from incprof.readers.stream.metadata import DEFAULT_RATE_HZ, VERSION
from incprof.safe.inputs import open_input
from incprof.symbols.elf.file import open_elf
from incprof.symbols.source import module_key


def copy_gmon(inputs: Sequence[str], target: Path, exe: str | None, interval_s: float) -> tuple[str, int, float]:
    """Copy a series' files and the program. Return the program's name, the number of intervals, and samples per second.

    Raises: UsageError without a program; NoDataError if there is no series; OSError.
    """
    if len(inputs) != 1 or not Path(inputs[0]).is_dir():
        raise UsageError("gmon-dir: give one directory, which holds gmon.out files")
    if exe is None:
        raise UsageError(f"{inputs[0]}: gmon.out files do not name their program: give it with --exe")
    if any(entry.name.startswith("gmon-meta.") for entry in Path(inputs[0]).iterdir()):
        raise UsageError(f"{inputs[0]} is a run directory as it is: incprof phases {inputs[0]}")
    run = open_run(inputs[0], exe=exe)
    if not run.processes[0].series:
        raise UsageError(f"{inputs[0]} is a run directory as it is: incprof phases {inputs[0]}")
    elf, path = open_elf(exe), os.path.abspath(exe)
    code = [section for section in elf.sections if section.executable]
    if not code:
        raise NoDataError(f"{exe}: no code in it: give the program")
    low, high = min(s.address for s in code), max(s.address + s.size for s in code)
    module = Module(0, path, elf.build_id, low, high, True)
    (target / "symbols").mkdir()
    _copy(exe, target / "symbols" / f"{module_key(module)}.elf")
    intervals, rate_hz = 0, DEFAULT_RATE_HZ
    for process in run.processes:
        for snapshot in files_of(process):
            behind = f".{process.pid}" if process.pid is not None else ""
            _copy(snapshot.path, target / f"gmon-{snapshot.number}.{process.rank}{behind}")
            if process is run.processes[0]:
                intervals += 1
                rates = [float(np.max(each.rate)) for each in read_gmon(snapshot.path).histograms if np.size(each.rate)]
                rate_hz = max([rate for rate in rates if rate > 0], default=rate_hz)
        said = {
            "format": "incprof-gmon", "version": VERSION, "tool": __version__, "imported": "gmon-dir",
            "app": Path(exe).name, "exe": path, "build_id": elf.build_id, "rank": process.rank, "ranks": None,
            "interval_s": interval_s, "rate_hz": rate_hz,
            "modules": [
                {
                    "id": 0, "path": path, "build_id": elf.build_id, "base": "0x0", "low": hex(low), "high": hex(high),
                    "app": True,
                }
            ],
        }  # fmt: skip
        (target / f"gmon-meta.{process.rank}.json").write_text(json.dumps(said), encoding="ascii")
    return Path(exe).name, intervals, rate_hz


def _copy(source: str, target: Path) -> None:
    """Copy a regular file."""
    with open_input(source) as file, target.open("xb") as copy:
        shutil.copyfileobj(file, copy, 1 << 20)
