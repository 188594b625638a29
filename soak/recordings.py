"""Recordings of the examples, made once on this machine and kept beside the findings: the same seed, the same cases."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from incprof.launch import find_library
from soak.subject import Tree, tree_of

ROOT = Path(__file__).parent.parent
SECONDS = 1.5
# source, how it is built, settings of the recording
EXAMPLES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("phases.c", "gcc -O2 -g -pg {} -lm", {}),
    ("phases.c", "gcc -O0 -gdwarf-4 -gz -pg {} -lm", {"INCPROF_FORMAT": "gmon"}),
    ("mesh.cpp", "g++ -O2 -g -pg -std=c++17 {}", {}),
    ("heat.f90", "gfortran -O2 -g -pg {}", {}),
    ("omp.c", "gcc -O2 -g -pg -fopenmp {} -lm", {"INCPROF_CLOCK": "perf", "INCPROF_RATE": "1000"}),
)


def _record(number: int, place: Path) -> None:
    """Build an example and record its first moments. Leaves nothing where there is no compiler for it."""
    source, build, settings = EXAMPLES[number]
    program = place / "app"
    words = build.format(ROOT / "examples" / source).split()
    place.mkdir(parents=True)
    done = subprocess.run([*words, "-o", program], cwd=place, capture_output=True, check=False)
    if done.returncode != 0:
        return
    library = {
        "LD_PRELOAD": str(find_library(os.environ)),
        "INCPROF_DIR": str(place / "run"),
        "INCPROF_INTERVAL": "0.1",
    }
    with subprocess.Popen(
        [program], cwd=place, env=os.environ | library | settings, stdout=subprocess.DEVNULL
    ) as process:
        time.sleep(SECONDS)
        process.terminate()


def recorded_trees(scratch: Path) -> list[Tree]:
    """What was recorded, with its program as `app`."""
    found = []
    for number, (source, _, _) in enumerate(EXAMPLES):
        place = scratch / "recordings" / f"{number}-{Path(source).stem}"
        if not place.exists():
            print(f"soak: recording {source}", file=sys.stderr)
            _record(number, place)
        if (place / "run").is_dir():
            found.append(tree_of(place))
    return found
