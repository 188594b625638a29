"""The verbs of the command line, and its parser."""

from __future__ import annotations

import argparse
import importlib
import os
from typing import Any, NoReturn

from incprof import __version__, config_verbs

# Verb -> (module, one line of help). A module is imported when its verb is used, so that `record` starts without numpy.
VERBS = {
    "check": ("incprof.commands.check", "say whether a program can be recorded"),
    "record": ("incprof.commands.record", "run a program and record its interval profiles"),
    "phases": ("incprof.commands.phases", "find the phases of a recorded run"),
    "sites": ("incprof.commands.sites", "say where in the source each phase lives"),
    "instrument": ("incprof.commands.instrument", "put heartbeats into the source, or take them out"),
    "top": ("incprof.commands.top.verb", "watch a running job: its phase, functions and heartbeats now"),
    "report": ("incprof.commands.report", "write a page on a recorded run, to look at in a browser"),
    "diff": ("incprof.commands.diff", "compare two recorded runs: what takes longer, beyond noise"),
    "export": ("incprof.commands.export", "write a recorded run in another tool's format"),
    "heartbeats": ("incprof.commands.heartbeats.verb", "say what the heartbeats of a run did"),
    "validate": ("incprof.commands.validate", "say whether heartbeats show the phases of a recorded run"),
    "selfanalyze": ("incprof.commands.selfanalyze.verb", "time the loops around a program's parallel regions"),
    "sample": ("incprof.commands.sample", "record counters of a program every few milliseconds"),
    "periods": ("incprof.commands.periods.verb", "find what repeats in a series of samples or of events"),
    "env": ("incprof.commands.env", "print the environment that recording needs"),
    "config": ("incprof.commands.config", "show the settings in force, and where they come from"),
    "completion": ("incprof.commands.completion", "print a script that completes commands in a shell"),
    "doctor": ("incprof.commands.doctor", "say whether this machine can record, and how well"),
}


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line. What the line gives wins over what files say."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; options of which one excludes the other are those of the command line."""
        if args is not None:
            config_verbs.yield_to(self, list(args))
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print `message` and exit with 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser(verb: str | None, *, configured: bool = True) -> Parser:
    """The parser of the whole command line, in which only `verb` has its arguments filled in.

    configured: with what the configuration files say. Help must be had where these are wrong, and a shell's start too.
    """
    parser = Parser(prog="incprof", description="Phases of a running program, from its interval profiles.")
    parser.add_argument("--version", action="version", version=f"incprof {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    verbs = parser.add_subparsers(metavar="VERB", dest="verb", required=True, parser_class=Parser)
    for name, (_, line) in VERBS.items():
        sub = verbs.add_parser(
            name, help=line, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == verb:
            _fill_in(sub, name)
            if configured and name != "completion":
                config_verbs.check_files(os.environ, VERBS)
                config_verbs.apply(sub, name, os.environ)
    return parser


def _fill_in(parser: argparse.ArgumentParser, verb: str) -> None:
    """Give a verb's parser its description and arguments."""
    module = importlib.import_module(VERBS[verb][0])
    parser.description = module.__doc__
    parser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)


def verb_parser(verb: str) -> Parser:
    """The parser of one verb, as the configuration files leave it alone."""
    parser = Parser(prog=f"incprof {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    _fill_in(parser, verb)
    return parser
