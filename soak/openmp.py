"""Several OpenMP run-times in one process, as wheels and plug-ins load them: the same sums as without the library."""

from __future__ import annotations

import collections
import os
import shutil
import subprocess
from pathlib import Path
from random import Random

from incprof.record.launch import find_loop_library
from soak.budget import Budget
from soak.finding import Keeper
from soak.places import empty

HOSTS = Path(__file__).parent / "hosts" / "openmp"
STANDARD = b"libgomp.so.1"
PATIENCE_S = 120.0


def build(place: Path) -> list[Path]:
    """Build the program and its libraries: three with a copy of GCC's run-time each, and one of each other compiler."""
    compiled = ["-O2", "-g", "-shared", "-fPIC", "-fopenmp", str(HOSTS / "library.c"), "-o"]
    subprocess.run(["gcc", "-O1", HOSTS / "several.c", "-o", place / "several", "-ldl"], check=True)
    found = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True, check=True)
    text = Path(found.stdout.strip()).read_bytes()
    made = []
    for number in (7, 8, 9):
        name = f"libgomp.so.{number}"
        (place / name).write_bytes(text.replace(STANDARD, name.encode()))
        link = ["-nodefaultlibs", f"-L{place}", f"-l:{name}", "-lc", f"-Wl,-rpath,{place}"]
        made.append(place / f"library{number}.so")
        subprocess.run(["gcc", *compiled, made[-1], *link], check=True)
    for compiler in ("gcc", "clang"):
        library = place / f"library-{compiler}.so"
        if (
            shutil.which(compiler)
            and subprocess.run([compiler, *compiled, library], capture_output=True).returncode == 0
        ):
            made.append(library)
    return made


def _outcome(words: list[str], folder: Path, settings: dict[str, str]) -> tuple[int | None, bytes, bytes]:
    """Return status, output and errors."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    env = {**os.environ, **settings}
    try:
        ended = subprocess.run(words, env=env, cwd=folder, capture_output=True, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return None, b"", b"it hung"
    return ended.returncode, ended.stdout, ended.stderr


def _draw(dice: Random, place: Path, libraries: list[Path]) -> tuple[list[str], dict[str, str], str]:
    """Return a program's arguments, its settings, and the number of threads for the comparison of its loops."""
    words = [str(place / "several")]
    for _ in range(dice.randint(1, 12)):
        numbers = (dice.randrange(5), dice.randint(1, 40), dice.randint(1, 5000))
        words += [str(dice.choice(libraries)), *map(str, numbers)]
    threads = {"OMP_NUM_THREADS": str(dice.randint(1, 6)), "OMP_WAIT_POLICY": "passive", "OMP_MAX_ACTIVE_LEVELS": "2"}
    return words, threads, dice.choice(("0", "1"))


def run(seed: int, budget: Budget, scratch: Path, keeper: Keeper, only: str = "") -> collections.Counter[str]:
    """Run random orders of calls until the budget is used up. only: the number of one."""
    done = collections.Counter[str]()
    place = empty(scratch / "openmp")
    libraries = build(place)
    for number, dice in budget.drawn("openmp", seed, only):
        words, threads, baseline = _draw(dice, place, libraries)
        own = {
            "LD_PRELOAD": str(find_loop_library(os.environ)),
            "SELFANALYZE_DIR": str(place / "run"),
            "SELFANALYZE_BASELINE": baseline,
        }
        alone, analysed = _outcome(words, place, threads), _outcome(words, place, threads | own)
        if alone != analysed:
            keeper.keep(f"openmp/{number}", f"{analysed}, alone {alone}", {}, words=words, settings=threads | own)
        done["calls"] += len(words) // 4
    shutil.rmtree(place, ignore_errors=True)
    return done
