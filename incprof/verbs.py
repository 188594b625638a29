"""The verbs of the command line, and its parser."""

from __future__ import annotations

import argparse
import importlib
import os
from typing import Any, NoReturn

from incprof import __version__, config_verbs
from incprof.errors import UsageError
from incprof.helping import Help, did_you_mean, exit_statuses, is_expert

# Group -> verb -> (module, one line of help). A module is imported when its verb is used: record starts without numpy.
GROUPS = {
    "record and analyse": {
        "check": ("incprof.commands.check", "check whether a program can be recorded"),
        "record": ("incprof.commands.record", "run a program and record its interval profiles"),
        "phases": ("incprof.commands.phases", "find the phases of a recorded run"),
        "report": ("incprof.commands.report", "write a page on a recorded run, for a browser"),
        "diff": ("incprof.commands.diff", "compare two recorded runs: what became slower, beyond noise"),
    },
    "into the source": {
        "sites": ("incprof.commands.sites", "show where in the source each phase is"),
        "instrument": ("incprof.commands.instrument", "put heartbeats into the source, or take them out"),
    },
    "watch": {
        "top": ("incprof.commands.top.verb", "watch a running job: its phase, functions and heartbeats now"),
        "heartbeats": ("incprof.commands.heartbeats.verb", "show what the heartbeats of a run measured"),
        "validate": ("incprof.commands.validate", "compare heartbeats with the phases of a recorded run"),
    },
    "counters and periods": {
        "sample": ("incprof.commands.sample", "record counters of a program every few milliseconds"),
        "advise": ("incprof.commands.advise", "find phases that fewer threads or a lower frequency hardly slow"),
        "periods": ("incprof.commands.periods.verb", "find what repeats in a series of samples or of events"),
        "dna": ("incprof.commands.dna.verb", "find the states of nodes, their next states and energy"),
        "selfanalyze": ("incprof.commands.selfanalyze.verb", "time the loops around a program's parallel regions"),
    },
    "MPI": {
        "trace": ("incprof.commands.trace", "trace the MPI calls of a program"),
        "signature": ("incprof.commands.signature", "find repeating MPI communication, and predict the run time"),
        "predict": ("incprof.commands.predict", "run the beginning of a program, and predict its run time"),
    },
    "other tools": {
        "merge": ("incprof.commands.merge", "join run directories of one launch into one"),
        "clean": ("incprof.commands.clean", "remove what can be made again from run directories"),
        "import": ("incprof.commands.importing", "make a run directory of another tool's profile"),
        "export": ("incprof.commands.export", "write a recorded run in another tool's format"),
        "env": ("incprof.commands.env", "print the environment that recording needs"),
        "config": ("incprof.commands.config", "show the settings in force, and where they come from"),
        "completion": ("incprof.commands.completion", "print a script that completes commands in a shell"),
        "doctor": ("incprof.commands.doctor", "check whether this machine can record, and how well"),
        "help": ("incprof.commands.help", "show the page on a verb, or on something else"),
    },
}
VERBS = {verb: about for group in GROUPS.values() for verb, about in group.items()}
# These run a program and pass its exit status on; what else they may end with.
RUN_PROGRAMS = {
    "record": (1, 2), "trace": (1, 2, 4, 5), "predict": (1, 2, 4), "sample": (1, 2, 4), "selfanalyze": (1, 2, 4, 5),
}  # fmt: skip

# These compute, and run no command of the user's, whose environment has to stay as it is.
COMPUTE = frozenset((
    "phases", "report", "diff", "sites", "top", "heartbeats", "validate", "periods", "dna", "signature", "merge",
    "clean", "import", "export",
))  # fmt: skip


# What is no verb, and what people mean by it.
MEANT = {
    "perfetto": "export DIR --format perfetto -o FILE", "flamegraph": "export DIR --format flamegraph -o FILE",
    "speedscope": "export DIR --format speedscope -o FILE", "script": "export DIR --format folded",
    "stat": "sample -- PROGRAM", "annotate": "report DIR",
}  # fmt: skip


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line. What the line gives wins over what files say."""

    def __init__(self, *, add_help: bool = True, **more: Any):
        super().__init__(add_help=False, **more)
        if add_help:
            self.add_argument("-h", "--help", action=Help, const=False, help="show this help message and exit")
            self.help_all = self.add_argument("--help-all", action=Help, const=True, help=argparse.SUPPRESS)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; options of which one excludes the other are those of the command line."""
        if args is not None:
            config_verbs.yield_to(self, list(args))
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
            nearest = did_you_mean(unknown[0].partition("=")[0], options) if unknown[0].startswith("--") else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{nearest}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """Print `message` and exit with 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser(verb: str | None, *, configured: bool = True) -> Parser:
    """The parser of a command line with this verb, or of the whole one, in which no verb has arguments.

    configured: with what the configuration files say. Help must be had where these are wrong, and a shell's start too.
    """
    parser = Parser(
        prog="incprof", usage="incprof VERB [ARGUMENTS]", epilog=f"{_overview()}\n\n{exit_statuses()}",
        description="Phases of a running program, from its interval profiles. `incprof` alone shows how to start.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"incprof {__version__}", help="show the version")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    verbs = parser.add_subparsers(
        metavar="VERB", dest="verb", required=True, parser_class=Parser, help=argparse.SUPPRESS
    )
    # The others would take a third of the time in which `record` starts.
    for name in VERBS if verb is None else [verb]:
        sub = verbs.add_parser(
            name, prog=f"incprof {name}", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if verb is not None:
            _fill_in(sub, name)
            if configured and name != "completion":
                config_verbs.check_files(os.environ, VERBS)
                config_verbs.apply(sub, name, os.environ)
    return parser


def _overview() -> str:
    """The verbs in their groups, a line each."""
    lines = []
    for group, verbs in GROUPS.items():
        lines += ["", f"{group}:", *(f"  {verb:12}{line}" for verb, (_, line) in verbs.items())]
    return "\n".join(lines[1:])


def check_verb(verb: str | None) -> None:
    """Refuse what is no verb.

    Raises:
        UsageError: the line says what may have been meant.
    """
    if verb is None or verb in VERBS:
        return
    if os.path.isdir(verb):
        meant = f"; did you mean incprof phases {verb}?"
    elif "/" in verb and os.access(verb, os.X_OK):
        meant = f"; did you mean incprof record -- {verb}?"
    elif verb in MEANT:
        meant = f"; did you mean incprof {MEANT[verb]}?"
    else:
        meant = did_you_mean(verb, VERBS)
    raise UsageError(f"{verb}: there is no such verb{meant or '; there are ' + ', '.join(VERBS)} (see incprof --help)")


def _fill_in(parser: Parser, verb: str) -> None:
    """Give a verb's parser its description and arguments."""
    module = importlib.import_module(VERBS[verb][0])
    parser.description, parser.epilog = module.__doc__, exit_statuses(RUN_PROGRAMS.get(verb))
    parser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    module.add_arguments(parser)
    if any(is_expert(action) for action in parser._actions):
        parser.help_all.help = "show this message with all options, and exit"
    parser.set_defaults(run=module.run)


def verb_parser(verb: str) -> Parser:
    """The parser of one verb, as the configuration files leave it alone."""
    parser = Parser(prog=f"incprof {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    _fill_in(parser, verb)
    return parser
