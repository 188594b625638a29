"""The environment of benchmarks: a scratch folder, compiled programs, and the variables that record."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from incprof.record import launch

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Bed:
    """A scratch folder and the programs built in it."""

    scratch: Path
    pairs: int

    def compile(self, source: str | Path, *flags: str, pg: bool = True) -> Path:
        """Compile a program of benchmarks/programs (or from a path) with -O2 -g, and with -pg unless `pg` is False."""
        path = Path(source) if Path(source).is_absolute() else HERE / "programs" / source
        program = self.scratch / (path.stem if pg else f"{path.stem}-without-pg")
        hook = ["-pg"] if pg else []
        command = ["gcc", *hook, "-O2", "-g", *flags, str(path), "-o", str(program), "-lm", "-lpthread"]
        subprocess.run(command, check=True)
        return program

    def environment(self, **settings: object) -> dict[str, str]:
        """Return this process's environment with libincprof preloaded, writing into the scratch folder's `run`."""
        directory = self.scratch / "run"
        for old in self.scratch.glob("run*"):
            shutil.rmtree(old)
        library = launch.find_library(os.environ)
        recording = {f"INCPROF_{name.upper()}": str(value) for name, value in settings.items()}
        return {**os.environ, "LD_PRELOAD": str(library), "INCPROF_DIR": str(directory), **recording}

    def zstd(self) -> Path | None:
        """Return the zstd built with -pg by benchmarks/realworld/zstd.sh, or None."""
        build = subprocess.run(
            ["sh", str(HERE / "realworld" / "zstd.sh"), "build"], stdout=subprocess.DEVNULL, check=False
        )
        default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "incprof-realworld"
        program = Path(os.environ.get("INCPROF_SCRATCH", default)) / "zstd" / "zstd"
        return program if build.returncode == 0 and program.exists() else None
