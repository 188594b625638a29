"""The cost of reading the kernel's rings: memory that all processors write to."""

import subprocess
from pathlib import Path

from tests.paths import INTEGRATION, ROOT


def test_rings_are_looked_at_once_for_all_that_they_hold(tmp_path: Path) -> None:
    rooms = [ROOT / "outside" / "include", *(path for path in (ROOT / "preload").iterdir() if path.is_dir())]
    sources = [INTEGRATION / "attach_fixtures" / "rings.c", ROOT / "outside" / "perf_rings.c"]
    includes = [f"-I{room}" for room in [*rooms, ROOT / "runtime"]]
    subprocess.run(["gcc", "-g", "-O1", *includes, *sources, "-o", tmp_path / "rings"], check=True)
    done = subprocess.run([tmp_path / "rings"], capture_output=True, text=True, check=True)
    # The second record of 103 was written after the rings had been looked at.
    assert done.stdout == "101 103 105 107 109 111 113 115 | 4 | 117 119 103 \n"
