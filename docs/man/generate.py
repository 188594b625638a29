"""Makes the manual pages from the command line's own definitions: `make man`."""

from __future__ import annotations

import re
from pathlib import Path

from argparse_manpage.manpage import Manpage

from incprof import __version__
from incprof.cli.parser import RUN_PROGRAMS, VERBS, Parser, build_parser, verb_parser
from incprof.command.helping import EXIT_STATUSES

HERE = Path(__file__).parent


def exit_status(*verbs: str) -> str:
    """The section on exit statuses; `verbs` run a program."""
    lines = [".SH EXIT STATUS"]
    for status, text in EXIT_STATUSES.items():
        lines += [".TP", str(status), text.replace("-", "\\-")]
    for verb in verbs:
        lines += [".PP", f".B incprof {verb}", "passes on the exit status of the program."]
    return "\n".join(lines) + "\n"


def page(parser: Parser, name: str, line: str) -> str:
    """One page: what argparse knows of a parser, under the name that man has for it."""
    parser.epilog = None
    manual = Manpage(parser)
    manual.prog, manual.description, manual.date = name, line, ""
    manual.source, manual.manual = f"incprof {__version__}", "incprof"
    # Lines of an example stay lines.
    text = re.sub(r"((?:^    .*\n)+)", r".nf\n\1.fi\n", str(manual), flags=re.MULTILINE)
    return re.sub(r"\n{2,}", "\n", re.sub(r"\n\n(?=[^.\n])", "\n.PP\n", text)).rstrip() + "\n"


def verbs() -> str:
    """The list of verbs in the page of incprof itself."""
    lines = [".SH VERBS"]
    for verb, (_, line) in VERBS.items():
        lines += [".TP", f".BR incprof\\-{verb} (1)", line.replace("-", "\\-")]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """All pages by file name."""
    made = {}
    for verb, (_, line) in VERBS.items():
        text = page(verb_parser(verb), f"incprof-{verb}", line)
        made[f"incprof-{verb}.1"] = (
            text + exit_status(*[verb] * (verb in RUN_PROGRAMS)) + ".SH SEE ALSO\n.BR incprof (1)\n"
        )
    whole = Parser(prog="incprof", description=build_parser(None).description, usage="incprof VERB [ARGUMENTS]")
    text = page(whole, "incprof", "phases of a running program, from its interval profiles")
    made["incprof.1"] = text + verbs() + "\n" + exit_status(*sorted(RUN_PROGRAMS))
    return made


def main() -> None:
    """Write the pages beside this file."""
    for old in HERE.glob("*.1"):
        old.unlink()
    for name, text in pages().items():
        (HERE / name).write_text(text)


if __name__ == "__main__":
    main()
