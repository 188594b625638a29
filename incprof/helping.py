"""What the command line says of itself: the first lines, help with and without what experts need, and did-you-mean."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

START = """\
incprof finds the phases of a program, and the places in its source that stand for them. To start:
  incprof record -- ./app         run it as always: the recording goes to gmon-app (-g when it is built gives lines)
  incprof phases gmon-app         its phases; `incprof report gmon-app` makes a page of them for a browser
  incprof check ./app             what a recording of it will lack; building with -pg adds exact numbers of calls
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
# Of verbs that become a program, or run one.
PROGRAMS_STATUS = "the program's own; 127 where it is not found, 126 where it cannot be run"


def exit_statuses(besides_the_programs: Sequence[int] | None = None) -> str:
    """Return the lines of a help text that say what exit statuses mean.

    besides_the_programs: of a verb that passes the exit status of a program on: those that are its own.
    """
    own = EXIT_STATUSES if besides_the_programs is None else besides_the_programs
    lines = ["exit status:"] if besides_the_programs is None else ["exit status:", f"  {PROGRAMS_STATUS}; else"]
    return "\n".join([*lines, *(f"  {status}  {EXIT_STATUSES[status]}" for status in own)])


def expert(*actions: argparse.Action) -> None:
    """Show these options to those who ask for all: --help leaves them out, --help-all does not."""
    for action in actions:
        action.is_expert = True  # type: ignore[attr-defined]


def is_expert(action: argparse.Action) -> bool:
    """Say whether --help leaves an option out."""
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
    """Take the options that only experts need out of the help of a parser, and return them."""
    hidden = [action for action in parser._actions if is_expert(action)]
    for action in hidden:
        action.help = argparse.SUPPRESS
    for group in parser._action_groups:
        if all(action.help is argparse.SUPPRESS for action in group._group_actions):
            group.description = None  # which would stand there alone
    return hidden


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean WORD?", or nothing where no known word is like this one."""
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
