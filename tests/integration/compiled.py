"""Programs that tests compile: one that several workers need is compiled by the first of them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest


def shared_directory(tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    """Return a directory that the workers of this run of the tests share."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name


@dataclass(frozen=True)
class Compiled:
    """Runs each compiler's command once.

    Attributes:
        root: Where the results lie, each in a directory of its own.
    """

    root: Path

    def made(self, name: str, command: Sequence[str]) -> Path:
        """Return the file `name` that the command makes, once `-o FILE` is added; skip without the compiler."""
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not installed")
        target = self.root / hashlib.sha256("\0".join(command).encode()).hexdigest()[:16] / name
        if target.exists():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with (target.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                half = target.with_name(f"{name}.half")  # a build that fails half-way leaves nothing to be found
                words = [*command, "-o", str(half)]
                done = subprocess.run(words, cwd=target.parent, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr
                half.rename(target)
        return target
