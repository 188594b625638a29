"""Run a command of the user in a copy of the source tree with the change applied."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from incprof.errors import IncprofError
from incprof.source.scratch import mirror, scratch_directory

TIMEOUT_S = 600.0
KEPT_BYTES = 64 << 10
UNPRINTABLE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


def check_command(
    root: Path, changed: Mapping[str, bytes], command: str, *, timeout_s: float = TIMEOUT_S
) -> str | None:
    """Run a shell command in a copy of the tree with new contents in some files; remove the copy.

    Args:
        root: The tree; version control repositories in it are not copied.
        changed: New contents by path relative to `root`.
        command: For /bin/sh, in the copy of `root`. It has no input; its output is not shown.
        timeout_s: After this time it is ended, with all processes of its session.

    Returns: None if it ends with 0; else the problem in one line: its last line of output.

    Raises: UsageError for a tree that is too large; IncprofError if the copy or the process cannot be created.
    """
    with scratch_directory() as scratch:
        tree = scratch / "tree"
        mirror(root, tree, changed, link=False)
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=tree,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise IncprofError(f"--check {command!r}: cannot be started: {error}") from error
        status, said = _watched(process, timeout_s)
    if status == 0:
        return None
    if status is None:
        return f"{command}: not done after {timeout_s:g} s"
    how = f"ended by signal {-status}" if status < 0 else f"exit code {status}"
    return f"{command}: {how}: {said}" if said else f"{command}: {how}, without a word"


def _watched(process: subprocess.Popen[bytes], timeout_s: float) -> tuple[int | None, str]:
    """Return the exit status, None if it had to be ended, and the last line of output."""
    kept = bytearray()
    assert process.stdout is not None
    reader = threading.Thread(target=_keep, args=(process.stdout, kept), daemon=True)
    reader.start()
    status: int | None = None
    try:
        status = process.wait(timeout_s)
        reader.join(0.2)
    except subprocess.TimeoutExpired:
        pass
    finally:
        # Processes that it left running would keep files of the copy, and the pipe, open.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join(5)
    lines = UNPRINTABLE.sub("", bytes(kept).decode("utf-8", "replace")).splitlines()
    return status, next((line.strip()[:500] for line in reversed(lines) if line.strip()), "")


def _keep(stream: IO[bytes], kept: bytearray) -> None:
    """Read all output, and keep its end."""
    with stream:
        while chunk := os.read(stream.fileno(), 1 << 16):
            kept += chunk
            del kept[:-KEPT_BYTES]
