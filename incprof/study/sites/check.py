"""Checks of the changed files before anything is written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from appekg import _flags, _fortran_module, _library
from incprof.errors import IncprofError
from incprof.source.compile_check import check_command, syntax_check
from incprof.source.compile_commands import Command, read_commands
from incprof.source.languages import language_of
from incprof.source.write import Version
from incprof.study.listener import Listener

COMMANDS = "compile_commands.json"


def check_versions(
    root: Path, versions: Sequence[Version], listener: Listener, *, compile_commands: str | None, check: str | None
) -> None:
    """Check the new versions with compilers, and with a command of the user's.

    Args:
        root: the directory that holds the source.
        versions: files that change.
        listener: receives warnings about files that could not be checked.
        compile_commands: the file with the compile commands; None: search for it.
        check: a shell command that must succeed in a changed copy of the source.

    Raises:
        IncprofError: one of them fails.
    """
    changed = {version.path: version.new for version in versions}
    compiled = {path: new for path, new in changed.items() if language_of(path, new) != "python"}
    commands = _commands(root, compile_commands)
    if commands is not None and compiled:
        checked = syntax_check(root, compiled, commands, c_flags=_c_flags(), fortran_flags=_fortran_flags(compiled))
        listener.warn(f"{path}: not checked: {reason}" for path, reason in checked.unchecked)
        if checked.errors:
            path, message = checked.errors[0]
            more = f" (and {len(checked.errors) - 1} more files)" if len(checked.errors) > 1 else ""
            raise IncprofError(f"{path} would not compile: {message}{more}; nothing was written")
    if check is not None and changed and (reason := check_command(root, changed, check)):
        raise IncprofError(f"{reason}; nothing was written")


def _commands(root: Path, given: str | None) -> list[Command] | None:
    """Return the compile commands; None when there are none."""
    if given is not None:
        return read_commands(Path(given))
    for path in (root / COMMANDS, root / "build" / COMMANDS):
        if path.is_file():
            return read_commands(path)
    return None


def _c_flags() -> list[str]:
    """Return the compiler flags for appekg.h."""
    try:
        return _flags.compile_flags(_library.find(os.environ))
    except FileNotFoundError as error:
        raise IncprofError(str(error)) from None


def _fortran_flags(changed: dict[str, bytes]) -> list[str]:
    """Return the flags for the Fortran module, which is compiled only where a Fortran file changes."""
    if not any(language_of(path, b"") in ("fortran", "fixed") for path in changed):
        return []
    try:
        found = _library.find(os.environ)
        return _flags.fortran_flags(found, _fortran_module.module_directory(found, None, os.environ))
    except (FileNotFoundError, _fortran_module.CompilerError) as error:
        raise IncprofError(str(error)) from None
