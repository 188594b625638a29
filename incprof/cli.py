"""The command line: finds the verb, runs it, and turns every exception into an exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from incprof import __version__
from incprof.errors import IncprofError

# Verb -> (module, one line of help). A module is imported when its verb is used, so that `record` starts without numpy.
VERBS = {
    "check": ("incprof.commands.check", "say whether a program can be recorded"),
    "record": ("incprof.commands.record", "run a program and record its interval profiles"),
    "phases": ("incprof.commands.phases", "find the phases of a recorded run"),
    "sites": ("incprof.commands.sites", "say where in the source each phase lives"),
    "instrument": ("incprof.commands.instrument", "put heartbeats into the source, or take them out"),
    "report": ("incprof.commands.report", "write a page on a recorded run, to look at in a browser"),
    "export": ("incprof.commands.export", "write a recorded run in another tool's format"),
    "heartbeats": ("incprof.commands.heartbeats", "say what the heartbeats of a run did"),
    "validate": ("incprof.commands.validate", "say whether heartbeats show the phases of a recorded run"),
    "selfanalyze": ("incprof.commands.selfanalyze", "time the loops around a program's parallel regions"),
    "sample": ("incprof.commands.sample", "record counters of a program every few milliseconds"),
    "periods": ("incprof.commands.periods", "find what repeats in a series of samples"),
    "env": ("incprof.commands.env", "print the environment that recording needs"),
    "doctor": ("incprof.commands.doctor", "say whether this machine can record, and how well"),
}

INTERRUPTED = 128 + 2
BROKEN_PIPE = 128 + 13


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line."""

    def error(self, message: str) -> NoReturn:
        """Print `message` and exit with 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser(verb: str | None) -> Parser:
    """The parser of the whole command line, in which only `verb` has its arguments filled in."""
    parser = Parser(prog="incprof", description="Phases of a running program, from its interval profiles.")
    parser.add_argument("--version", action="version", version=f"incprof {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    verbs = parser.add_subparsers(metavar="VERB", dest="verb", required=True, parser_class=Parser)
    for name, (module_name, line) in VERBS.items():
        sub = verbs.add_parser(
            name, help=line, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == verb:
            module = importlib.import_module(module_name)
            sub.description = module.__doc__
            sub.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
            module.add_arguments(sub)
            sub.set_defaults(run=module.run)
    return parser


def explain(error: BaseException) -> tuple[str, int]:
    """The line that tells the user about `error` (empty: say nothing), and the exit code."""
    if isinstance(error, IncprofError):
        return str(error), error.exit_code
    if isinstance(error, BrokenPipeError):
        return "", BROKEN_PIPE
    if isinstance(error, KeyboardInterrupt):
        return "", INTERRUPTED
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror or error}", 1
    what = f"{type(error).__name__}: {error}".replace("\n", " ")
    return f"internal error: {what}; run again with --debug for the traceback", 1


def run(argv: Sequence[str]) -> int:
    """Parse `argv` and run its verb. Exceptions come through."""
    verb = next((word for word in argv if not word.startswith("-")), None)
    args = build_parser(verb).parse_args(argv)
    status: int = args.run(args)
    sys.stdout.flush()
    return status


def discard_stdout() -> None:
    """Nobody reads stdout any more: what is still buffered must not raise again at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
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
            traceback.print_exc()
        if message:
            print(f"incprof: {message}", file=sys.stderr)
        return status
