"""The Fortran module, compiled by the compiler that is going to use it.

Module files differ between compilers and between versions, so none is installed: the first build that needs one
compiles it into a cache. Standard library only.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from appekg._library import Installation

DEFAULT_COMPILER = "gfortran"
TIMEOUT_S = 120


class CompilerError(Exception):
    """An error of the Fortran compiler or the cache, with its remedy, in one line."""


def module_directory(installation: Installation, compiler: str | None, environ: Mapping[str, str]) -> Path:
    """Return the directory of appekg.mod for a compiler; compile it if it does not exist yet.

    Any number of builds may call this at once: each compiles into a directory of its own, and the first one to finish
    is used.

    Args:
        installation: The installation whose appekg.f90 is compiled.
        compiler: The compiler's command, options included; None: $FC, else gfortran.
        environ: The environment, for FC, XDG_CACHE_HOME and HOME.

    Raises:
        CompilerError: the compiler does not exist, it rejects the module, or the cache cannot be written.
    """
    words = _command(compiler or environ.get("FC") or DEFAULT_COMPILER)
    source = installation.fortran / "appekg.f90"
    root = Path(environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "incprof" / "fortran"
    try:
        target = root / _key(words, source.read_bytes())
        if not (target / "appekg.mod").is_file():
            _compile(words, source, target)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise CompilerError(
            f"{where}{error.strerror or error}; the Fortran module is compiled into {root}: set XDG_CACHE_HOME to a "
            "directory that can be written"
        ) from None
    return target


def _command(text: str) -> list[str]:
    """Return the words of the compiler's command, the first one with its path."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CompilerError(f"Fortran compiler {text!r}: {error}") from None
    path = shutil.which(words[0]) if words else None
    if path is None:
        raise CompilerError(f"Fortran compiler {text!r} was not found; name one by --fc or FC")
    return [path, *words[1:]]


def _run(words: Sequence[str], directory: Path | None = None) -> str:
    """Return the output of a compiler."""
    try:
        done = subprocess.run(
            words,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CompilerError(f"{words[0]}: did not answer within {TIMEOUT_S} s") from None
    printed = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        lines = [line.strip() for line in printed.splitlines() if "rror" in line] or printed.split("\n", 1)
        raise CompilerError(f"{shlex.join(words[:-1])} fails: {lines[0] or f'status {done.returncode}'}")
    return printed


def _key(words: Sequence[str], source: bytes) -> str:
    """Return a name that changes with the compiler, its version, its options and the module."""
    version = _run([words[0], "--version"])
    parts = [os.path.realpath(words[0]), *words[1:], version, source.decode("utf-8")]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _compile(words: Sequence[str], source: Path, target: Path) -> None:
    """Compile the module into a new directory, and rename that to the target in one step."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as scratch:
        work = Path(scratch) / target.name
        work.mkdir()
        # Every compiler writes the module file to its working directory.
        _run([*words, "-c", "-o", "appekg.o", str(source)], work)
        if not (work / "appekg.mod").is_file():
            raise CompilerError(f"{shlex.join(words)} wrote no appekg.mod; use a compiler that writes .mod files")
        (work / "appekg.o").unlink(missing_ok=True)
        try:
            work.rename(target)
        except OSError:
            if not (target / "appekg.mod").is_file():  # else another build was first
                raise
