"""How a verb becomes the program that it was given."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from incprof import launch
from incprof.printable import say

NOT_EXECUTABLE, NOT_FOUND = 126, 127


def find_program(name: str) -> str | None:
    """The file of a program, as a shell finds it; None, after a line, where there is none."""
    # A bare name is looked up in PATH alone: execve would also take a file of that name from here.
    program = name if "/" in name else shutil.which(name)
    if program is None:
        say(f"{name}: command not found")
    return program


def become(program: str, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Replace this process by `program`; the shell's exit status if that fails."""
    try:
        launch.become(program, list(command), environment)
    except FileNotFoundError:
        missing = "its interpreter was not found" if os.path.exists(program) else "command not found"
        say(f"{command[0]}: {missing}")
        return NOT_FOUND
    except OSError as error:
        say(f"{command[0]}: cannot be run: {error.strerror}")
        return NOT_EXECUTABLE
