"""The identity of a traced program: its arguments, the files that these name, and its binaries."""

from __future__ import annotations

import hashlib
import os
import shlex
import time
from collections.abc import Iterable, Iterator, Sequence

from incprof.errors import IncprofError
from incprof.safe.inputs import open_input
from incprof.symbols.elf.file import ElfFile
from incprof.systems.mpi.signature_types import Program
from incprof.systems.mpi.trace_types import Site, TraceMetadata

# Of larger files, only the beginning and the size are compared.
MOST_BYTES = 1 << 26
MOST_ARGUMENTS = 10_000
# Characters of the arguments in a message.
MOST_SHOWN = 60

# Possible differences between a signature and a run, in the words of --accept.
DIFFERENCES = ("arguments", "input", "binary")


def program_of(metadata: TraceMetadata, sites: Iterable[Site | None]) -> Program:
    """Return the program of a traced process. sites: its call sites."""
    argv, cwd = metadata.raw.get("argv"), metadata.raw.get("cwd")
    words = [str(word) for word in argv[1:MOST_ARGUMENTS]] if isinstance(argv, list) else []
    modules = {os.path.basename(one.module): one.build_id for one in sites if one is not None and one.build_id}
    files = files_of(words, cwd if isinstance(cwd, str) else "", metadata.start_unix_ns)
    return Program(tuple(words), files, dict(sorted(modules.items())))


def program_here(path: str, arguments: Sequence[str]) -> Program:
    """Return the program that will run in this directory. path: path of the program."""
    try:
        build_id = ElfFile(path).build_id
    except IncprofError:
        build_id = None
    modules = {os.path.basename(path): build_id} if build_id else {}
    return Program(tuple(arguments), files_of(arguments, os.getcwd(), time.time_ns()), modules)


def files_of(words: Iterable[str], cwd: str, start_unix_ns: int) -> dict[int, str]:
    """Return the digests of the arguments that name a file, alone or after "=", by position.

    Args:
        words: The arguments.
        cwd: Directory of relative paths.
        start_unix_ns: Files written after this time are not input.
    """
    found = {}
    for place, word in enumerate(words):
        names = [word, word.partition("=")[2]] if "=" in word else [word]
        digests = [_digest(os.path.join(cwd, name), start_unix_ns) for name in names if name]
        if any(digests):
            found[place] = next(digest for digest in digests if digest)
    return found


def _digest(path: str, start_unix_ns: int) -> str | None:
    """Return a digest of a file's beginning and size; None if it is not a file, or was written later."""
    try:
        with open_input(path) as file:
            status = os.fstat(file.fileno())
            if status.st_mtime_ns > start_unix_ns:
                return None
            return f"{status.st_size}-{hashlib.blake2b(file.read(MOST_BYTES), digest_size=16).hexdigest()}"
    except OSError:
        return None


def differences(known: Program, here: Program) -> Iterator[tuple[str, str]]:
    """Yield differences of a run from a signature's program: one of DIFFERENCES, and a line about it."""
    same = len(known.arguments) == len(here.arguments) and all(
        one == other or (place in known.files and known.files[place] == here.files.get(place))
        for place, (one, other) in enumerate(zip(known.arguments, here.arguments, strict=True))
    )
    if not same:
        there = _shown(known.arguments)
        yield "arguments", f"the arguments are {_shown(here.arguments)}, those of the signature {there}"
    else:
        for place, digest in known.files.items():
            if place < len(here.arguments) and here.files.get(place) != digest:
                yield "input", f"the file {here.arguments[place]} is not what it was when the signature was made"
    for name, build_id in known.modules.items():
        other = here.modules.get(name, build_id)
        if other != build_id:
            yield "binary", f"{name} is another build than the signature's ({other[:12]}, not {build_id[:12]})"


def other_ranks(known: int, here: int | None) -> Iterator[str]:
    """Yield a line if the number of ranks of a run is known and differs from the signature's."""
    if here is not None and here != known:
        yield f"it runs on {here} ranks, the signature is of {known}: trace it on as many"


def _shown(arguments: tuple[str, ...]) -> str:
    text = shlex.join(arguments)
    return f"'{text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + '...'}'"
