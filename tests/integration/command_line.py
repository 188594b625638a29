"""Runs the command line for tests: most verbs in this process, those that become another program in their own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from incprof.cli.main import main
from tests.integration.collector import clean_environment

ROOT = Path(__file__).parents[2]
# These compute an answer and end. The others become, start or follow a program.
IN_PROCESS = frozenset((
    "clean", "diff", "dna", "env", "export", "heartbeats", "import", "instrument", "merge", "periods", "phases",
    "report", "signature", "sites", "top", "validate",
))  # fmt: skip


def incprof(
    *words: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, check: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run `incprof words` in `cwd` with the environment `env` (default: this one without variables of incprof)."""
    environment = dict(clean_environment() if env is None else env)
    command = [str(word) for word in words]
    if command[0] in IN_PROCESS:
        done = _called(command, cwd or Path.cwd(), environment)
    else:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH")]))
        done = subprocess.run(
            [sys.executable, "-m", "incprof", *command], cwd=cwd, env=environment, capture_output=True, text=True,
            timeout=600, check=False,
        )  # fmt: skip
    if check:
        done.check_returncode()
    return done


def _called(words: list[str], cwd: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    # `top` lowers the priority of its process, which is that of the tests here.
    with (
        chdir(cwd),
        patch.dict(os.environ, environment, clear=True),
        patch.object(os, "nice", lambda more: 0),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        status = main(words)
        out.flush()
        err.flush()
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(words, status, *texts)
