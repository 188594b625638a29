"""The program that a verb runs, or becomes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from incprof.record import launch
from incprof.safe.printable import say

NOT_EXECUTABLE, NOT_FOUND = 126, 127


def find_program(name: str) -> str | None:
    """Return the file of a program, as a shell finds it; None, after a message, if there is none."""
    # A bare name is searched in PATH only: execve would also run a file of that name from the current directory.
    program = name if "/" in name else shutil.which(name)
    if program is None:
        say(f"{name}: command not found")
    return program


def become(program: str, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Replace this process by `program`; return the shell's exit status if that fails."""
    try:
        launch.become(program, list(command), environment)
    except FileNotFoundError:
        missing = "its interpreter was not found" if os.path.exists(program) else "command not found"
        say(f"{command[0]}: {missing}")
        return NOT_FOUND
    except OSError as error:
        say(f"{command[0]}: cannot be run: {error.strerror}")
        return NOT_EXECUTABLE
