"""The target of an export: stdout, or a file that appears whole or not at all."""

from __future__ import annotations

import argparse
import importlib.util
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from incprof.errors import GateError, IncprofError, UsageError
from incprof.safe.jsonstore import replacing, temporary_prefix
from incprof.safe.printable import printable_lines, printable_stream, unfiltered


def check_target(target: str, *, force: bool, binary: bool) -> None:
    """Reject an invalid target before any work is done.

    Raises:
        UsageError: the file exists and `force` is not given, it is a directory or its directory does not exist, or
            binary output would go to a terminal.
    """
    if target == "-":
        if binary and sys.stdout.isatty():
            raise UsageError("binary output is not written to a terminal: give a file with -o")
        return
    path = Path(target)
    if path.is_dir():
        raise UsageError(f"{target} is a directory: give the name of a file")
    if not path.parent.is_dir():
        raise UsageError(f"{target}: there is no directory {path.parent}")
    if path.exists() and not force:
        raise UsageError(f"{target} exists: give --force to replace it, or another name")


def check_gate(evidence: Sequence[str]) -> None:
    """Fail if there is evidence that a condition fails, a line each, after the answer on stdout.

    Raises:
        GateError: there is.
    """
    if evidence:
        sys.stdout.flush()
        raise GateError(*evidence)


def write_text(target: str, write: Callable[[TextIO], object]) -> None:
    """Let `write` produce the text that goes to `target`; unprintable characters are escaped."""
    if target == "-":
        # The same as in a file, whatever the terminal's encoding.
        stdout = unfiltered(sys.stdout)
        if isinstance(stdout, io.TextIOWrapper):
            stdout.reconfigure(encoding="utf-8")
        write(printable_stream(stdout))
        return
    with _opened(target) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as text:
        write(printable_stream(text))


def write_bytes(target: str, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` produce the bytes that go to `target`."""
    if target == "-":
        if sys.stdout.isatty():  # a terminal gets no binary output: it is text in some encoding
            buffer = io.BytesIO()
            write(buffer)
            sys.stdout.write(printable_lines(buffer.getvalue().decode("utf-8", "surrogateescape")))
            return
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with _opened(target) as raw:
        write(raw)


@contextmanager
def _opened(target: str) -> Iterator[BinaryIO]:
    """Open a temporary file beside the target, and rename it once the body has succeeded.

    Raises:
        OSError: names the target, whichever file could not be written.
    """
    try:
        with _opened_temporary(Path(target)) as raw:
            yield raw
    except OSError as error:
        if error.filename is None or Path(error.filename).name.startswith(temporary_prefix(Path(target))):
            raise OSError(error.errno, error.strerror, target) from None
        raise


@contextmanager
def _opened_temporary(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file, or a pipe or device, which must not be replaced."""
    if path.exists() and not path.is_file():
        with path.open("wb") as raw:
            yield raw
        return
    with replacing(path) as raw:
        yield raw


# `--plot FILE`: a plot of the answer, for the verbs that draw one.


FORMS = (".svg", ".png", ".pdf")
NAMED = ".svg, .png or .pdf"


def add_plot_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare the argument of the plot. what: it draws, for the help."""
    parser.add_argument("--plot", metavar="FILE", help=f"draw {what}: {NAMED}")


def check_plot(args: argparse.Namespace) -> None:
    """Reject an invalid file name before anything is read.

    Raises:
        UsageError: its name has another ending, or the target is invalid.
        IncprofError: matplotlib is not installed.
    """
    if args.plot is None:
        return
    if Path(args.plot).suffix.lower() not in FORMS:
        raise UsageError(f"--plot {args.plot}: expected a name that ends in {NAMED}")
    check_target(args.plot, force=args.force, binary=True)
    if importlib.util.find_spec("matplotlib") is None:
        raise IncprofError("--plot needs matplotlib: pip install 'incprof[plot]'")


def write_plot(args: argparse.Namespace, draw: Callable[[BinaryIO, str], None]) -> None:
    """Write the requested plot. draw: into an open file, in a form such as "svg"."""
    form = Path(args.plot).suffix.lower().lstrip(".")
    write_bytes(args.plot, lambda out: draw(out, form))
