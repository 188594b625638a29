"""The libraries built for aarch64 by the cross compiler, and programs for it under qemu-user."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from tests.integration.collector import FIXTURES, Outcome, Recording, run, sources

ROOT = Path(__file__).parents[2]
TRIPLET = "aarch64-linux-gnu"
LIBRARIES = f"/usr/{TRIPLET}"  # where Debian and Ubuntu have the libc of the cross compiler
NEEDED = (f"{TRIPLET}-gcc", f"{TRIPLET}-g++", f"{TRIPLET}-objdump", "qemu-aarch64")


@dataclass(frozen=True)
class Cross:
    """A build of the libraries for aarch64 in `place`, where programs for it are put too."""

    place: Path

    @cached_property
    def collector(self) -> Path:
        """Return the collector, built on first use."""
        return self._made("incprof") / "preload/libincprof.so"

    @cached_property
    def heartbeats(self) -> Path:
        """Return the folder of the heartbeat library, both kinds, built on first use."""
        return self._made("appekg", "appekg_static") / "appekg"

    def _made(self, *targets: str) -> Path:
        cmake, libraries = find_cmake(), self.place / "libraries"
        assert cmake is not None
        toolchain = ROOT / f"cmake/{TRIPLET}.cmake"
        if not libraries.exists():
            _succeed([cmake, "-S", ROOT, "-B", libraries, f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"])
        _succeed([cmake, "--build", libraries, "-j2", "--target", *targets])
        return libraries

    def build(self, *names: str | Path, flags: str = "-O2", output: str = "program") -> Path:
        """Compile sources of fixtures (or files) with -pg."""
        compiler = f"{TRIPLET}-g++" if str(names[0]).endswith(".cpp") else f"{TRIPLET}-gcc"
        target = self.place / output
        words = [compiler, "-g", "-pg", *map(str, sources(names)), "-I", FIXTURES, "-o", target, *flags.split(), "-lm"]
        _succeed(words)
        return target

    def run(
        self, program: Path, *words: str, env: Mapping[str, str] | None = None, preload: Path | None = None
    ) -> Outcome:
        """Run a program to its end."""
        more = ["-E", f"LD_PRELOAD={preload}"] if preload else []
        command = ["qemu-aarch64", "-L", LIBRARIES, *more, program, *words]
        folder = self.place / f"run-{len(list(self.place.iterdir()))}"
        folder.mkdir()
        return run(command, folder, env or {})

    def record(self, program: Path, *words: str, interval: float = 0.25, collector: Path | None = None) -> Recording:
        """Run a program under the collector (or another build of it); it must end well and print nothing."""
        directory = self.place / f"recording-{len(list(self.place.iterdir()))}"
        # A sample under qemu costs ten times as much.
        env = {"INCPROF_DIR": str(directory), "INCPROF_INTERVAL": str(interval), "INCPROF_OVERHEAD": "100"}
        outcome = self.run(program, *words, env=env, preload=collector or self.collector)
        assert (outcome.status, outcome.stderr) == (0, ""), outcome
        return Recording(outcome, directory)


def find_cmake() -> str | None:
    """The system's, or that of the virtual environment."""
    return shutil.which("cmake") or shutil.which("cmake", path=str(Path(sys.executable).parent))


def _succeed(words: Sequence[str | Path]) -> None:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def cross(tmp_path_factory: pytest.TempPathFactory) -> Cross:
    """Skipped where there is no cross compiler, or nothing to run its programs."""
    missing = [name for name in NEEDED if shutil.which(name) is None] + ["cmake"] * (find_cmake() is None)
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    return Cross(tmp_path_factory.mktemp("aarch64"))
