"""Help of the command line: first lines, and help with and without expert options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

START = """\
incprof finds the phases of a program, and the places in its source that stand for them. To start:
  incprof record -- ./app         run it as usual: the recording goes to gmon-app (build with -g for line numbers)
  incprof phases gmon-app         its phases; `incprof report gmon-app` makes a page of them for a browser
  incprof check ./app             what a recording of it will lack; building with -pg adds exact call counts
  incprof help [VERB]             all verbs, or the page on one; `incprof VERB --help` lists its options
"""

EXIT_STATUSES = {
    0: "done",
    1: "something failed; one line on standard error names it",
    2: "wrong command line or configuration file",
    3: "a gate such as --fail-on failed",
    4: "there is no usable data",
    5: "answered, but a damaged part of the data was left out",
}
# Exit statuses of verbs that become a program, or run one.
PROGRAMS_STATUS = "the program's own; 127 where it is not found, 126 where it cannot be run"


def exit_statuses(besides_the_programs: Sequence[int] | None = None) -> str:
    """Return the lines of a help text that explain exit statuses.

    besides_the_programs: the own statuses of a verb that passes the exit status of a program on.
    """
    own = EXIT_STATUSES if besides_the_programs is None else besides_the_programs
    lines = ["exit status:"] if besides_the_programs is None else ["exit status:", f"  {PROGRAMS_STATUS}; else"]
    return "\n".join([*lines, *(f"  {status}  {EXIT_STATUSES[status]}" for status in own)])


def expert(*actions: argparse.Action) -> None:
    """Mark options as expert ones: --help leaves them out, --help-all shows them."""
    for action in actions:
        action.is_expert = True  # type: ignore[attr-defined]


def expert_flags(parser: argparse.ArgumentParser, *flags: str) -> None:
    """Mark options of a parser as expert ones, by their long flags."""
    expert(*(parser._option_string_actions[flag] for flag in flags))


def is_expert(action: argparse.Action) -> bool:
    """Return whether --help leaves an option out."""
    return getattr(action, "is_expert", False)


class Help(argparse.Action):
    """Prints the help of a parser, and exits. const: whether all options are shown."""

    def __init__(self, option_strings: Sequence[str], dest: str, const: bool, help: str):
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, const=const, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *unused: Any) -> None:
        """Print and exit."""
        hidden = [] if self.const else hide_expert_options(parser)
        if hidden:
            more = f"--help-all shows {len(hidden)} more option{'s' * (len(hidden) > 1)}"
            parser.epilog = "\n\n".join(filter(None, [more, parser.epilog]))
        parser.print_help()
        parser.exit()


def hide_expert_options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Remove the expert options from the help of a parser, and return them."""
    hidden = [action for action in parser._actions if is_expert(action)]
    for action in hidden:
        action.help = argparse.SUPPRESS
    for group in parser._action_groups:
        if all(action.help is argparse.SUPPRESS for action in group._group_actions):
            group.description = None  # it would have no options below it
    return hidden
