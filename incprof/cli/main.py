"""The command line: find the verb, run it, and turn every exception into an exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from incprof.cli.parser import CACHED, COMPUTE, build_parser, check_verb
from incprof.command.helping import START
from incprof.errors import GateError, IncprofError, UsageError
from incprof.safe.printable import printable_output, say

INTERRUPTED = 128 + 2
BROKEN_PIPE = 128 + 13
# Not packaged by Debian.
PARSERS = "tree-sitter tree-sitter-c tree-sitter-cpp tree-sitter-fortran"


def explain(error: BaseException) -> tuple[str, int]:
    """Return the message to the user about `error` (empty: none), and the exit code."""
    if isinstance(error, IncprofError):
        return str(error), error.exit_code
    if isinstance(error, BrokenPipeError):
        return "", BROKEN_PIPE
    if isinstance(error, KeyboardInterrupt):
        return "", INTERRUPTED
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror or error}", 1
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object!a}: not a valid file name", UsageError.exit_code
    if isinstance(error, MemoryError):
        return "not enough memory for this input", 1
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("tree_sitter"):
        return f"reading sources needs a parser that is not installed: pip install {PARSERS}", 1
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in ("sklearn", "kneed"):
        return "--method paper needs scikit-learn and kneed: pip install scikit-learn kneed", 1
    what = f"{type(error).__name__}: {error}".replace("\n", " ")
    return f"internal error: {what}; run again with --debug for the traceback", 1


def run(argv: Sequence[str]) -> int:
    """Parse `argv` and run its verb. Exceptions propagate."""
    if not argv:
        sys.stderr.write(START)
        return UsageError.exit_code
    verb = next((word for word in argv if not word.startswith("-")), None)
    own_arguments = argv[: argv.index("--") if "--" in argv else len(argv)]
    check_verb(verb)
    if verb in COMPUTE:
        # Once numpy is loaded, its BLAS starts a thread for every processor; no table here is large enough to profit.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    args = build_parser(verb, configured=not {"-h", "--help", "--help-all"} & set(own_arguments)).parse_args(argv)
    if verb in CACHED:
        from incprof.cli import kept_answers

        status = kept_answers.answer(args)
    else:
        status = int(args.run(args))
    sys.stdout.flush()
    return status


def escape_unencodable() -> None:
    """Escape characters of names that the encoding of the terminal lacks."""
    if isinstance(sys.stdout, io.TextIOWrapper) and (sys.stdout.errors == "strict" or sys.stdout.encoding != "utf-8"):
        sys.stdout.reconfigure(errors="backslashreplace")


def discard_stdout() -> None:
    """Discard buffered output once stdout has no reader: it must not raise again at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


def replace_closed_streams() -> None:
    """Replace a stdout or stderr that the user has closed, for which Python has no object, by a sink.

    The descriptor stays closed for the programs that incprof becomes.
    """
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    replace_closed_streams()
    escape_unencodable()
    with printable_output():
        return answer(list(sys.argv[1:] if argv is None else argv))


def answer(words: Sequence[str]) -> int:
    """Run the command line, report any error, and return its exit code."""
    # Only up to `--`: what follows belongs to the recorded program.
    debug = "--debug" in words[: words.index("--") if "--" in words else len(words)]
    try:
        return run(words)
    except SystemExit as stop:  # argparse, after --help or a usage error
        return stop.code if isinstance(stop.code, int) else 0
    except BaseException as error:
        message, status = explain(error)
        if isinstance(error, BrokenPipeError):
            discard_stdout()
        elif debug:
            import traceback

            traceback.print_exc()
        for line in error.lines if isinstance(error, GateError) else [message] * bool(message):
            say(line)
        return status
