"""Answers of a verb, kept beside the run: the same question about the same files is a read and a print.

An answer is what was printed and the exit status. It is one of the same question while nothing has changed that it was
made from: arguments and settings, the environment, the terminal, the files that were looked for (there or not), the
code of this program. Not kept is what came from other processes or from servers, what was too long, and what was made
from a file that may have changed unnoticed. Where an answer cannot be kept, it is computed again, without a warning.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from incprof.inputs import Noticed, noticing, read_input, state_of
from incprof.jsonstore import JsonStore
from incprof.jsontext import parse_json
from incprof.printable import PrintableStream, printable_stream, unfiltered

STORE, VERSION = "answers.json", 1
VERBS = frozenset(("phases",))
# The last ones asked for; longer texts are not what people ask for twice.
MOST_ANSWERS, MOST_TEXT, MOST_BYTES = 4, 1 << 18, 8 << 20
# What shells change from one command to the next.
OF_NO_MATTER = frozenset(("_", "OLDPWD", "PWD", "SHLVL"))
TOOLS = ("objdump", "addr2line", "llvm-symbolizer", "c++filt")
OUT, ERR = "out", "err"
# Numbers in the state of a file.
STATE = 5

Said = list[tuple[str, str]]


def answer(args: Namespace) -> int:
    """Run a verb, or print what it said before; the exit status."""
    question = _question(args) if _may_be_kept(args) else None
    if question is None:
        return int(args.run(args))
    known = _load(args.directory)
    for one in known:
        if one["question"] == question and all(state_of(path) == state for path, state in one["files"]):
            return _say_again(one)
    began, said = time.time_ns(), Said()
    with noticing() as noticed, _heard(said):
        status = int(args.run(args))
        sys.stdout.flush()
    files = _made_from(noticed, began)
    if files is not None and sum(len(text) for _, text in said) <= MOST_TEXT:
        others = [one for one in known if one["question"] != question][1 - MOST_ANSWERS :]
        new = {"question": question, "status": status, "said": said, "files": files}
        JsonStore(args.directory, STORE, VERSION).save({"answers": [*others, new]})
    return status


def _may_be_kept(args: Namespace) -> bool:
    """Whether the answer is text on stdout, and of what lies on this machine."""
    elsewhere = args.plot is not None or args.counters is not None or args.dask is not None
    return not elsewhere and not os.environ.get("DEBUGINFOD_URLS")


def _question(args: Namespace) -> str | None:
    """What says that two questions are the same; None where that cannot be told."""
    try:
        here = os.getcwd()
    except OSError:  # it is gone
        return None
    given = {name: repr(value) for name, value in vars(args).items() if name not in ("run", "debug")}
    environment = {name: value for name, value in os.environ.items() if name not in OF_NO_MATTER}
    out = sys.stdout
    terminal = (out.isatty(), out.encoding, out.errors, tuple(shutil.get_terminal_size()))
    tools = [(tool, path and state_of(path)) for tool, path in ((tool, shutil.which(tool)) for tool in TOOLS)]
    asked = [given, environment, here, os.geteuid(), terminal, tools, sys.version]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _load(directory: str) -> list[dict[str, Any]]:
    """The answers that are kept: only those that this user has written, for they are printed as they are."""
    try:
        path = Path(directory) / STORE
        stored = parse_json(read_input(path, MOST_BYTES, within=directory, owners={os.geteuid()}))
        here = os.path.abspath(directory)
        return [_checked(one, here) for one in stored["answers"]] if stored["version"] == VERSION else []
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return []


def _checked(one: dict[str, Any], directory: str) -> dict[str, Any]:
    """A kept answer, if it is one, and was made here: whoever made the directory elsewhere knows no file's state.

    Raises:
        KeyError, TypeError, ValueError: it is not.
    """
    said = [(which, text) for which, text in one["said"] if which in (OUT, ERR) and isinstance(text, str)]
    files = [(str(path), state) for path, state in one["files"]]
    here = [path for path, state in files if state and path.startswith(f"{directory}/") and len(state) == STATE]
    if len(said) != len(one["said"]) or not here:
        raise ValueError("no answer")
    return {"question": str(one["question"]), "status": int(one["status"]), "said": said, "files": files}


def _say_again(one: dict[str, Any]) -> int:
    for which, text in one["said"]:
        if which == OUT:
            unfiltered(sys.stdout).write(text)
        else:
            sys.stderr.write(text)
    return int(one["status"])


def _made_from(noticed: Noticed, began: int) -> list[tuple[str, Any]] | None:
    """The files that an answer was made from, with their states; None if one of them may have changed meanwhile."""
    if not noticed.complete:
        return None
    try:
        code = {path: state_of(path) for path in _code()}
    except OSError:
        return None
    if any(state is None or int(state[-1]) >= began for state in code.values()):
        return None
    if any(state_of(path) != state for path, state in noticed.files.items()):
        return None
    return sorted({**noticed.files, **code}.items())


def _code() -> Iterator[str]:
    """The files of this program: modules of Python, and libraries.

    Raises:
        OSError: there is no list of the libraries.
    """
    for module in list(sys.modules.values()):
        if path := getattr(module, "__file__", None):
            yield os.path.abspath(path)
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if line.count("/") and " r-xp " in line}
    yield from (path for path in paths if os.path.isfile(path))


class _Copied:
    """A text stream of which a copy is taken."""

    def __init__(self, stream: Any, said: Said, which: str):
        self._stream, self._said, self._which = stream, said, which

    def write(self, text: str) -> int:
        """Write a text."""
        self._said.append((self._which, text))
        self._stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Be the stream in everything else."""
        return getattr(self._stream, name)


class _Messages(PrintableStream):
    """Messages of which a copy is taken; what shows progress goes to the stream itself."""

    def __init__(self, stream: Any, said: Said):
        super().__init__(stream)
        self._said = said

    def write(self, text: str) -> int:
        """Write a text."""
        self._said.append((ERR, text))
        return super().write(text)


@contextmanager
def _heard(said: Said) -> Iterator[None]:
    """Take a copy of what is printed."""
    before = sys.stdout, sys.stderr
    sys.stdout = printable_stream(_Copied(unfiltered(before[0]), said, OUT))  # type: ignore[arg-type]
    sys.stderr = _Messages(unfiltered(before[1]), said)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
