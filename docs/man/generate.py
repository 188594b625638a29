"""Makes the manual pages from the command line's own definitions: `make man`."""

from __future__ import annotations

import re
from pathlib import Path

from argparse_manpage.manpage import Manpage

from incprof import __version__
from incprof.verbs import VERBS, Parser, build_parser, verb_parser

HERE = Path(__file__).parent
EXIT_STATUS = """
.SH EXIT STATUS
.TP
0
done
.TP
1
something failed; one line on standard error says what
.TP
2
wrong command line or configuration file
.TP
3
a gate such as \\-\\-fail\\-on failed
.TP
4
there is no usable data
.TP
5
answered, but a damaged part of the data was left out
.PP
.B incprof record
passes on the exit status of the program.
"""


def page(parser: Parser, name: str, line: str) -> str:
    """One page: what argparse knows of a parser, under the name that man has for it."""
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
        made[f"incprof-{verb}.1"] = text + EXIT_STATUS.strip() + "\n.SH SEE ALSO\n.BR incprof (1)\n"
    whole = Parser(prog="incprof", description=build_parser(None).description, usage="incprof VERB [ARGUMENTS]")
    text = page(whole, "incprof", "phases of a running program, from its interval profiles")
    made["incprof.1"] = text + verbs() + EXIT_STATUS
    return made


def main() -> None:
    """Write the pages beside this file."""
    for old in HERE.glob("*.1"):
        old.unlink()
    for name, text in pages().items():
        (HERE / name).write_text(text)


if __name__ == "__main__":
    main()
