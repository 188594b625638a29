"""Print a script that completes incprof's verbs, options and files on the command line.

    eval "$(incprof completion bash)"                                          # in ~/.bashrc
    incprof completion zsh > "${fpath[1]}/_incprof"
    incprof completion fish > ~/.config/fish/completions/incprof.fish

The script is made from the command line's own definitions: make it anew when incprof is updated.
"""

from __future__ import annotations

import argparse
import re

from incprof.cli.parser import VERBS, Parser, verb_parser
from incprof.cli.verb_defaults import NOT_FROM_FILES

NAME = "completion"
SHELLS = ("bash", "zsh", "fish")
# bash splits --option=value into words at the sign: to the script, option and value follow each other.
EQUALS = """
_incprof() {
  local word words=() current=$COMP_CWORD place=0
  for word in "${COMP_WORDS[@]}"; do
    if [[ $word == = && $place -gt 0 && ${COMP_WORDS[place-1]} == --* ]]; then
      if ((place == COMP_CWORD)); then words+=(""); else ((place < COMP_CWORD && current--)); fi
    else
      words+=("$word")
    fi
    ((++place))
  done
  COMP_WORDS=("${words[@]}") COMP_CWORD=$current
  _shtab_incprof "$@"
}
complete -o bashdefault -F _incprof incprof
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("shell", choices=SHELLS, help="which shell the script is for")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    text = shtab.complete(whole_parser(), args.shell)
    if args.shell == "bash":
        text += EQUALS
    elif args.shell == "zsh":
        text = for_zsh(text)
    print(text)
    return 0


def for_zsh(text: str) -> str:
    """Let a value also follow its option after `=`, and let an argument repeat if it may be given several times."""
    text = re.sub(r'^(  "\*?--[\w-]+)(\[.*[^\\]\]:)', r"\1=\2", text, flags=re.MULTILINE)
    text = re.sub(r'^(  .*\{-\w),(--[\w-]+)(\}"\[.*[^\\]\]:)', r"\1+,\2=\3", text, flags=re.MULTILINE)
    return re.sub(r'^  "\(\*\)::?', '  "*:', text, flags=re.MULTILINE)


def whole_parser() -> Parser:
    """Return the parser of the whole command line with all verbs, prepared for completion."""
    parser = Parser(prog="incprof")
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)
    for verb, (_, line) in VERBS.items():
        filled = verb_parser(verb)
        for action in filled._actions:
            expect(action, verb)
        verbs.add_parser(verb, help=line, parents=[filled], add_help=False)
    return parser


def expect(action: argparse.Action, verb: str) -> None:
    """Set the completion of an argument, by the name in its help."""
    import shtab

    name = str(action.metavar or "")
    if "|" in name and name.replace("|", "").isalnum():
        action.choices = name.split("|")
    elif name == "VERB":
        without = NOT_FROM_FILES - {"record"} if verb == "config" else ()
        action.choices = [name for name in VERBS if name not in without]
    elif name.endswith(("DIR", "DIR2", "SRC")):
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    elif name.startswith(("FILE", "PROGRAM", "SERIES", "COMMAND")) or action.dest == "program":
        action.complete = shtab.FILE  # type: ignore[attr-defined]
