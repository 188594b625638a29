"""Programs in Python that are deep, change while they are sampled, or use pools: they end as without recording."""

from __future__ import annotations

import collections
import os
import shutil
import subprocess
import sys
from pathlib import Path

from incprof.record.launch import find_library
from incprof.symbols.elf import is_elf
from soak.budget import Budget
from soak.finding import Keeper

HOSTS = Path(__file__).parent / "hosts"
DEPTHS = (20, 300, 3000, 90_000)
RATES = (100, 1000, 5000, 10000)


def interpreters() -> list[str]:
    """Return the running interpreter, and others on PATH or of pyenv."""
    found = [sys.executable, *(shutil.which(f"python3.{minor}") for minor in range(9, 16))]
    found += sorted(map(str, (Path.home() / ".pyenv" / "versions").glob("3.*/bin/python3")))
    return list({os.path.realpath(path): path for path in found if path and is_elf(path)}.values())


def run(seed: int, budget: Budget, scratch: Path, keeper: Keeper, only: str = "") -> collections.Counter[str]:
    """Run random combinations of interpreter, rate and length. only: the number of one."""
    done, known = collections.Counter[str](), interpreters()
    for number, random in budget.drawn("pythons", seed, only):
        python, rate, rounds = random.choice(known), random.choice(RATES), random.randint(20, 600)
        churn = [str(HOSTS / "churn.py"), str(rounds)]
        deep = [str(HOSTS / "deep.py"), str(random.choice(DEPTHS)), str(50 * rounds)]
        how, workers = random.choice(("fork", "spawn", "forkserver")), str(random.randint(1, 4))
        pools = [str(HOSTS / "pools.py"), how, workers, str(rounds // 10)]
        words = [python, *random.choice((churn, deep, pools))]
        directory = scratch / "pythons"
        shutil.rmtree(directory, ignore_errors=True)
        settings = {
            "LD_PRELOAD": str(find_library(os.environ)), "INCPROF_DIR": str(directory), "INCPROF_CLOCK": "perf",
            "INCPROF_EXE": os.path.realpath(python), "INCPROF_RATE": str(rate), "INCPROF_LOG": "quiet",
            "INCPROF_INTERVAL": "0.1", "INCPROF_OVERHEAD": "100",
        }  # fmt: skip
        plain, recorded = (
            subprocess.run(words, env={**os.environ, **more}, capture_output=True) for more in ({}, settings)
        )
        if plain.returncode != 0:
            continue  # a version that cannot run it
        for what, before, after in (
            ("status", plain.returncode, recorded.returncode),
            ("stdout", plain.stdout, recorded.stdout),
            ("stderr", plain.stderr, recorded.stderr),
        ):
            if before != after:
                wrong = f"{what} was {before!r:.80} and is {after!r:.80}"
                keeper.keep(f"pythons/{number}", wrong, {}, words=words, rate=rate)
        if not list(directory.glob("rank-*.gmon")):
            keeper.keep(f"pythons/{number}", "nothing was recorded", {}, words=words, rate=rate)
        done[f"at {rate} Hz"] += 1
    return done
