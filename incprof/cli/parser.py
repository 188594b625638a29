"""The verbs of the command line, and its parser."""

from __future__ import annotations

import argparse
import importlib
import os
from typing import Any, NoReturn

from incprof.cli import verb_defaults as config_verbs
from incprof.command.helping import Help, exit_statuses, is_expert
from incprof.errors import UsageError, did_you_mean
from incprof.version import __version__

# Group -> verb -> (module, one line of help). A module is imported when its verb is used: record starts without numpy.
GROUPS = {
    "record and analyse": {
        "check": ("incprof.cli.verbs.check", "check whether a program can be recorded"),
        "record": ("incprof.cli.verbs.record", "run a program and record its interval profiles"),
        "phases": ("incprof.cli.verbs.phases", "find the phases of a recorded run"),
        "report": ("incprof.cli.verbs.report", "write a page on a recorded run, for a browser"),
        "diff": ("incprof.cli.verbs.diff", "compare two recorded runs: what became slower, beyond noise"),
    },
    "into the source": {
        "sites": ("incprof.cli.verbs.sites", "show where in the source each phase is"),
        "instrument": ("incprof.cli.verbs.instrument", "put heartbeats into the source, or take them out"),
    },
    "watch": {
        "top": ("incprof.systems.live.verb", "watch a running job: its phase, functions and heartbeats now"),
        "heartbeats": ("incprof.systems.heartbeats.verb", "show what the heartbeats of a run measured"),
        "validate": (
            "incprof.systems.heartbeats.validate",
            "compare heartbeats with the phases of a recorded run",
        ),
    },
    "counters and periods": {
        "sample": ("incprof.systems.counters.sample_verb", "record counters of a program every few milliseconds"),
        "advise": (
            "incprof.systems.counters.advise_verb",
            "find phases that fewer threads or a lower frequency hardly slow",
        ),
        "periods": ("incprof.systems.periods.verb", "find what repeats in a series of samples"),
        "loops": ("incprof.systems.periods.loops", "find the loops in a stream of names"),
        "dna": ("incprof.systems.nodes.verb", "find the states of nodes, their next states and energy"),
        "selfanalyze": ("incprof.systems.openmp.verb", "time the loops around a program's parallel regions"),
    },
    "MPI": {
        "trace": ("incprof.systems.mpi.trace_verb", "trace the MPI calls of a program"),
        "signature": (
            "incprof.systems.mpi.signature_verb",
            "find repeating MPI communication, and predict the run time",
        ),
        "predict": ("incprof.systems.mpi.predict_verb", "run the beginning of a program, and predict its run time"),
    },
    "other tools": {
        "merge": ("incprof.cli.verbs.merge", "join run directories of one launch into one"),
        "clean": ("incprof.cli.verbs.clean", "remove what can be made again from run directories"),
        "import": ("incprof.cli.verbs.importing", "make a run directory of another tool's profile"),
        "export": ("incprof.cli.verbs.export", "write a recorded run in another tool's format"),
        "env": ("incprof.cli.verbs.env", "print the environment that recording needs"),
        "config": ("incprof.cli.verbs.config", "show the settings in force, and where they come from"),
        "completion": ("incprof.cli.verbs.completion", "print a script that completes commands in a shell"),
        "doctor": ("incprof.cli.verbs.doctor", "check whether this machine can record, and how well"),
        "help": ("incprof.cli.verbs.help", "show the page on a verb, or on something else"),
    },
}
VERBS = {verb: about for group in GROUPS.values() for verb, about in group.items()}
# These run a program and pass its exit status on; their own additional statuses.
RUN_PROGRAMS = {
    "record": (1, 2), "trace": (1, 2, 4, 5), "predict": (1, 2, 3, 4), "sample": (1, 2, 4), "selfanalyze": (1, 2, 4, 5),
}  # fmt: skip

# These only compute; the others run a command of the user's, whose environment must not change.
COMPUTE = frozenset((
    "phases", "report", "diff", "sites", "top", "heartbeats", "validate", "periods", "loops", "dna", "signature",
    "merge", "clean", "import", "export",
))  # fmt: skip

# Their output is cached beside the run (kept_answers.py).
CACHED = frozenset(("phases",))


# Words that are no verbs, and the verbs that people mean.
INTENDED_VERBS = {
    "perfetto": "export DIR --format perfetto -o FILE", "flamegraph": "export DIR --format flamegraph -o FILE",
    "speedscope": "export DIR --format speedscope -o FILE", "script": "export DIR --format folded",
    "stat": "sample -- PROGRAM", "annotate": "report DIR",
}  # fmt: skip


class Parser(argparse.ArgumentParser):
    """Reports an error of the command line in one line. The command line overrides the files."""

    def __init__(self, *, add_help: bool = True, **more: Any):
        super().__init__(add_help=False, **more)
        if add_help:
            self.add_argument("-h", "--help", action=Help, const=False, help="show this help message and exit")
            self.help_all = self.add_argument("--help-all", action=Help, const=True, help=argparse.SUPPRESS)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; of mutually exclusive options, those of the command line win."""
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
    """Return the parser of a command line with this verb, or of the whole one, in which no verb has arguments.

    configured: with the configuration files. Help and shell start-up must work even where these are invalid.
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
    # The others would take a third of the start-up time of `record`.
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
    """Return the verbs in their groups, a line each."""
    lines = []
    for group, verbs in GROUPS.items():
        lines += ["", f"{group}:", *(f"  {verb:12}{line}" for verb, (_, line) in verbs.items())]
    return "\n".join(lines[1:])


def check_verb(verb: str | None) -> None:
    """Reject an unknown verb.

    Raises:
        UsageError: the line suggests a verb.
    """
    if verb is None or verb in VERBS:
        return
    if os.path.isdir(verb):
        suggestion = f"; did you mean incprof phases {verb}?"
    elif "/" in verb and os.access(verb, os.X_OK):
        suggestion = f"; did you mean incprof record -- {verb}?"
    elif verb in INTENDED_VERBS:
        suggestion = f"; did you mean incprof {INTENDED_VERBS[verb]}?"
    else:
        suggestion = did_you_mean(verb, VERBS)
    raise UsageError(
        f"{verb}: there is no such verb{suggestion or '; there are ' + ', '.join(VERBS)} (see incprof --help)"
    )


def _fill_in(parser: Parser, verb: str) -> None:
    """Add its description and arguments to a verb's parser."""
    module = importlib.import_module(VERBS[verb][0])
    parser.description, parser.epilog = module.__doc__, exit_statuses(RUN_PROGRAMS.get(verb))
    parser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    module.add_arguments(parser)
    if any(is_expert(action) for action in parser._actions):
        parser.help_all.help = "show this message with all options, and exit"
    parser.set_defaults(run=module.run)


def verb_parser(verb: str) -> Parser:
    """Return the parser of one verb, with the configuration files applied."""
    parser = Parser(prog=f"incprof {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    _fill_in(parser, verb)
    return parser
