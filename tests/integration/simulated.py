"""Parts of the collector on a simulated kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.paths import INTEGRATION, ROOT


def simulated(name: str, tmp_path: Path) -> Path:
    """Compile a part of the collector on a simulated kernel."""
    source = INTEGRATION / "parts_fixtures" / f"{name}.c"
    folders = [*(path for path in sorted((ROOT / "preload").iterdir()) if path.is_dir()), ROOT / "runtime" / "include"]
    words = ["gcc", "-std=gnu11", "-O1", "-Wall", "-Werror", *(f"-I{folder}" for folder in folders)]
    words += [
        str(source),
        str(ROOT / "runtime" / "vdso.c"),
        str(ROOT / "runtime" / "fixed_text.c"),
        "-o",
        str(tmp_path / name),
    ]
    subprocess.run(words, check=True)
    return tmp_path / name
