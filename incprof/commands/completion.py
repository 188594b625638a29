"""Print a script that completes incprof's verbs, options and files on the command line.

    eval "$(incprof completion bash)"                                          # in ~/.bashrc
    incprof completion zsh > "${fpath[1]}/_incprof"
    incprof completion fish > ~/.config/fish/completions/incprof.fish

The script is made from the command line's own definitions: make it anew when incprof is updated.
"""

from __future__ import annotations

import argparse

from incprof.verbs import VERBS, Parser, verb_parser

NAME = "completion"
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("shell", choices=SHELLS, help="which shell the script is for")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    print(shtab.complete(whole_parser(), args.shell))
    return 0


def whole_parser() -> Parser:
    """The parser of the whole command line with all verbs filled in, knowing what to complete where."""
    parser = Parser(prog="incprof")
    parser.add_argument("--version", action="store_true", help="print the version")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)
    for verb, (_, line) in VERBS.items():
        filled = verb_parser(verb)
        for action in filled._actions:
            expect(action)
        verbs.add_parser(verb, help=line, parents=[filled], add_help=False)
    return parser


def expect(action: argparse.Action) -> None:
    """Tell what an argument is completed to, by the name that its help gives it."""
    import shtab

    name = str(action.metavar or "")
    if "|" in name and name.replace("|", "").isalnum():
        action.choices = name.split("|")
    elif name.endswith(("DIR", "DIR2", "SRC")):
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    elif name.startswith(("FILE", "PROGRAM", "SERIES", "COMMAND")) or action.dest == "program":
        action.complete = shtab.FILE  # type: ignore[attr-defined]
