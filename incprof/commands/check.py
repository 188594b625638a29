"""Say whether a program can be recorded, before it is run.

Exit status 0 if it can, 1 if not, 4 if the file is no readable ELF file.
"""

from __future__ import annotations

import argparse
import json
import sys

from incprof.elf.traits import read_traits
from incprof.elf.usability import usability

NAME = "check"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("program", help="the executable, or a shared library of it")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the table and the verdict."""
    traits = read_traits(args.program)
    usable, verdict = usability(traits)
    if args.json:
        from incprof.report.json.traits import as_json

        print(json.dumps(as_json(traits, usable, verdict), indent=1))
    else:
        from incprof.report.text.traits import write_text

        write_text(traits, verdict, sys.stdout)
    return 0 if usable else 1
