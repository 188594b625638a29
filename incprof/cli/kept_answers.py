"""Cache of the output of verbs, beside the run: a repeated command is answered without computing.

A cached answer is the printed text and the exit status. It is valid while none of its inputs has changed: arguments and
settings, the environment, the terminal, the files that were searched for (present or not), the code of this program.
Not cached are answers that used other processes or servers, long ones, and those made from a file that may have changed
unnoticed. An answer that cannot be cached is computed again, without a warning.
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
from typing import Any

from incprof.safe.inputs import RecordedInputs, recording_inputs, state_of
from incprof.safe.jsonstore import JsonStore
from incprof.safe.printable import PrintableStream, printable_stream, unfiltered

STORE, VERSION = "answers.json", 1
# The most recently used ones; longer texts are rarely requested twice.
MOST_ANSWERS, MOST_TEXT, MOST_BYTES = 4, 1 << 18, 8 << 20
# Variables that shells change from one command to the next.
IRRELEVANT = frozenset(("_", "OLDPWD", "PWD", "SHLVL"))
TOOLS = ("objdump", "addr2line", "llvm-symbolizer", "c++filt")
OUT, ERR = "out", "err"
# Number of integers in the state of a file.
STATE = 5

Output = list[tuple[str, str]]


def answer(args: Namespace) -> int:
    """Run a verb, or print its cached answer; return the exit status."""
    question = _question(args) if _is_cacheable(args) else None
    if question is None:
        return int(args.run(args))
    # Answers are printed unchanged: only those written by this user.
    store = JsonStore(args.directory, STORE, VERSION, most_bytes=MOST_BYTES, owners={os.geteuid()})
    directory = os.path.abspath(args.directory)
    cached = store.load(lambda stored: [_checked(one, directory) for one in stored["answers"]]) or []
    for one in cached:
        if one["question"] == question and all(state_of(path) == state for path, state in one["files"]):
            return _repeat(one)
    began, output = time.time_ns(), Output()
    with recording_inputs() as inputs, _copying_output(output):
        status = int(args.run(args))
        sys.stdout.flush()
    files = _input_states(inputs, began)
    if files is not None and sum(len(text) for _, text in output) <= MOST_TEXT:
        others = [one for one in cached if one["question"] != question][1 - MOST_ANSWERS :]
        new = {"question": question, "status": status, "said": output, "files": files}
        store.save({"answers": [*others, new]})
    return status


def _is_cacheable(args: Namespace) -> bool:
    """Return whether the answer is text on stdout that depends on this machine only."""
    depends_on_other_files = args.plot is not None or args.counters is not None or args.dask is not None
    return not depends_on_other_files and not os.environ.get("DEBUGINFOD_URLS")


def _question(args: Namespace) -> str | None:
    """Return the identity of a command; None where it cannot be determined."""
    try:
        directory = os.getcwd()
    except OSError:  # it does not exist any more
        return None
    arguments = {name: repr(value) for name, value in vars(args).items() if name not in ("run", "debug")}
    environment = {name: value for name, value in os.environ.items() if name not in IRRELEVANT}
    out = sys.stdout
    terminal = (out.isatty(), out.encoding, out.errors, tuple(shutil.get_terminal_size()))
    tools = [(tool, path and state_of(path)) for tool, path in ((tool, shutil.which(tool)) for tool in TOOLS)]
    # Another installation has other code, and its own files of it are unchanged.
    program = (os.path.abspath(__file__), sys.prefix, sys.version)
    identity = [arguments, environment, directory, os.geteuid(), terminal, tools, program]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def _checked(one: dict[str, Any], directory: str) -> dict[str, Any]:
    """Validate a cached answer: file states written on another machine are meaningless.

    Raises:
        KeyError, TypeError, ValueError: it is invalid.
    """
    output = [(which, text) for which, text in one["said"] if which in (OUT, ERR) and isinstance(text, str)]
    files = [(str(path), state) for path, state in one["files"]]
    in_run = [path for path, state in files if state and path.startswith(f"{directory}/") and len(state) == STATE]
    if len(output) != len(one["said"]) or not in_run:
        raise ValueError("no answer")
    return {"question": str(one["question"]), "status": int(one["status"]), "said": output, "files": files}


def _repeat(one: dict[str, Any]) -> int:
    for which, text in one["said"]:
        if which == OUT:
            unfiltered(sys.stdout).write(text)
        else:
            sys.stderr.write(text)
    return int(one["status"])


def _input_states(inputs: RecordedInputs, began: int) -> list[tuple[str, Any]] | None:
    """Return the input files of an answer, with their states; None if one of them may have changed meanwhile."""
    if not inputs.complete:
        return None
    try:
        code = {path: state_of(path) for path in _code()}
    except OSError:
        return None
    if any(state is None or int(state[-1]) >= began for state in code.values()):
        return None
    if any(state_of(path) != state for path, state in inputs.files.items()):
        return None
    return sorted({**inputs.files, **code}.items())


def _code() -> Iterator[str]:
    """Yield the files of this program: modules of Python, and libraries.

    Raises:
        OSError: the libraries cannot be listed.
    """
    for module in list(sys.modules.values()):
        if path := getattr(module, "__file__", None):
            yield os.path.abspath(path)
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if line.count("/") and " r-xp " in line}
    yield from (path for path in paths if os.path.isfile(path))


class _Copied:
    """A text stream whose output is copied."""

    def __init__(self, stream: Any, output: Output, which: str):
        self._stream, self._output, self._which = stream, output, which

    def write(self, text: str) -> int:
        """Write a text."""
        self._output.append((self._which, text))
        self._stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the stream."""
        return getattr(self._stream, name)


class _Messages(PrintableStream):
    """A stream of messages whose output is copied; progress goes to the stream only."""

    def __init__(self, stream: Any, output: Output):
        super().__init__(stream)
        self._output = output

    def write(self, text: str) -> int:
        """Write a text."""
        self._output.append((ERR, text))
        return super().write(text)


@contextmanager
def _copying_output(output: Output) -> Iterator[None]:
    """Copy all output of the body."""
    before = sys.stdout, sys.stderr
    sys.stdout = printable_stream(_Copied(unfiltered(before[0]), output, OUT))  # type: ignore[arg-type]
    sys.stderr = _Messages(unfiltered(before[1]), output)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
