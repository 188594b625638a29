"""Run a program and record its interval profiles into a run directory.

    incprof record -i 0.5 -o run -- ./app input.txt

incprof replaces itself by the program: its exit status, output and signals are the program's own.
At its end, a line says where the recording is. `incprof help record` has the settings, as variables and in files too.
"""

from __future__ import annotations

import argparse
import os

from incprof import config, launch
from incprof.commands.becoming import NOT_FOUND, become, find_program
from incprof.elf.preflight import main_program, warning_for
from incprof.errors import UsageError
from incprof.printable import say

NAME = "record"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.usage = "incprof record [settings] -- COMMAND [ARGUMENT ...]"
    config.add_arguments(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")


def run(args: argparse.Namespace) -> int:
    """Become the recorded program. Returns only if it cannot be started."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise UsageError("record: no command given: incprof record [settings] -- COMMAND [ARGUMENT ...]")
    environment = {**os.environ, **launch.recording_variables(vars(args), os.environ), **launch.CLOSING_LINE}
    program = find_program(command[0])
    if program is None:
        return NOT_FOUND
    environment.pop(launch.PROGRAM, None)
    if chosen := main_program(program, command[1:]):
        environment[launch.PROGRAM] = chosen
    warning = warning_for(program, command[1:])
    if warning:
        say(warning)
    return become(program, command, environment)
